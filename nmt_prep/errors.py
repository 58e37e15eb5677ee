"""Every error that nmt_prep raises on purpose.

A message says what is wrong, where (file, line, config key), and what to do about it.

::

    NmtPrepError
    ├── ConfigError            the YAML file or an override is wrong
    │   └── ArgumentError      an argument of a function that gives batches is out of its range
    ├── SourceError            a corpus cannot be had
    │   ├── DownloadError      a server or a local path did not give the bytes that were asked for
    │   └── ArchiveError       an archive is damaged, hostile, or lacks a member
    ├── CorpusError            the content of a corpus file is wrong
    │   ├── AlignmentError     two sides do not pair up
    │   └── InvalidTextError   bytes that are not text in the stated encoding
    ├── TokenizerError
    │   ├── VocabularyError    a vocabulary file cannot be read, or does not fit its use
    │   ├── TrainingError      a vocabulary cannot be built from the lines and options given
    │   └── EncodeError        a text cannot be encoded, or ids cannot be decoded
    ├── EngineError            the workers that do the tasks are gone, or a task failed on them again and again
    ├── RecordsError           shards are damaged, missing, or do not belong to their dataset.json
    └── OutputError            the output directory cannot be written, or is in use
"""


class NmtPrepError(Exception):
    """Root of the tree: catch this to catch everything that nmt_prep raises on purpose."""


class ConfigError(NmtPrepError):
    """The YAML file or an override is wrong; the message lists every problem with its key's path."""


class ArgumentError(ConfigError, ValueError):
    """An argument of an input function is out of its range, or does not go with another one.

    Also a ``ValueError``, which is what TensorFlow raises for such arguments and what existing callers catch.
    """


class SourceError(NmtPrepError):
    """A corpus cannot be had."""


class DownloadError(SourceError):
    """A server or a local path did not give the bytes that were asked for."""


class ArchiveError(SourceError):
    """An archive is damaged, hostile, or lacks a member."""


class CorpusError(NmtPrepError):
    """The content of a corpus file is wrong; the message names the file and, where it can, the line."""


class AlignmentError(CorpusError):
    """The two sides of a corpus do not pair up."""


class InvalidTextError(CorpusError):
    """Bytes that are not text in the stated encoding."""


class TokenizerError(NmtPrepError):
    """Something is wrong with a tokenizer, its file or its input."""


class VocabularyError(TokenizerError):
    """A vocabulary file cannot be read, or does not fit the use it is put to."""


class TrainingError(TokenizerError):
    """A vocabulary cannot be built from the lines and options given."""


class EncodeError(TokenizerError):
    """A text cannot be encoded, or ids cannot be decoded."""


class EngineError(NmtPrepError):
    """The workers that do the tasks cannot be had or are gone, or a task failed on them again and again."""


class RecordsError(NmtPrepError):
    """Shards are damaged, missing, or do not belong to their ``dataset.json``."""


class OutputError(NmtPrepError):
    """The output directory cannot be written, or another process is using it."""
