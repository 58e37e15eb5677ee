"""Every error that nmt_prep raises on purpose.

A message says what is wrong, where (file, line, config key), and what to do about it.

::

    NmtPrepError
    ├── ConfigError            the YAML file or an override is wrong
    │   ├── ArgumentError      an argument of a function or of a command is out of range
    │   └── MissingPackageError  an optional package is not installed
    ├── SourceError            a corpus cannot be obtained
    │   ├── DownloadError      a download failed, or its content is not what was expected
    │   └── ArchiveError       an archive is damaged, hostile, or lacks a member
    ├── CorpusError            the content of a corpus file is wrong
    │   ├── AlignmentError     the two sides have different numbers of lines
    │   └── InvalidTextError   bytes that are not text in the stated encoding
    ├── HealthError            a strict run ended with warnings about its data
    ├── CleaningError          a rule cannot be applied to a corpus, or would drop all of it
    │   └── ComputedError      a program or function cannot compute values, or they cannot be stored
    ├── TokenizerError
    │   ├── VocabularyError    a vocabulary file cannot be read, or is unsuitable
    │   ├── TrainingError      a vocabulary cannot be built from the lines and options given
    │   └── EncodeError        a text cannot be encoded, or IDs cannot be decoded
    ├── EngineError            no workers are available, or a task failed on them repeatedly
    ├── RecordsError           shards are damaged, missing, or do not belong to their dataset.json
    └── OutputError            the output directory cannot be written, or is in use
"""


class NmtPrepError(Exception):
    """Root of the tree: catch this to catch everything that nmt_prep raises on purpose.

    A notebook shows it without a traceback.
    """

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class ConfigError(NmtPrepError):
    """The YAML file or an override is wrong; the message lists every problem with its key's path."""


class ArgumentError(ConfigError, ValueError):
    """An argument of a function or command is out of range, or conflicts with another argument.

    Also a ``ValueError``, which is what TensorFlow raises for such arguments and what existing callers catch.
    """


class MissingPackageError(ConfigError, ImportError):
    """A package that comes with an extra is not installed; the message ends with the command that installs it."""


class SourceError(NmtPrepError):
    """A corpus cannot be obtained."""


class DownloadError(SourceError):
    """A download failed, or its content is not what was expected; also raised for local paths."""


class ArchiveError(SourceError):
    """An archive is damaged, hostile, or lacks a member."""


class CorpusError(NmtPrepError):
    """The content of a corpus file is wrong; the message names the file and, if known, the line."""


class AlignmentError(CorpusError):
    """The two sides of a corpus have different line counts."""


class InvalidTextError(CorpusError):
    """Bytes are not valid text in the stated encoding."""


class HealthError(NmtPrepError):
    """A strict run ended with warnings about its data. Everything that it made is kept."""


class AlignmentModelError(NmtPrepError):
    """A word alignment model, or counts for one, cannot be read, or the model does not suit the text."""


class CleaningError(NmtPrepError):
    """A rule cannot be applied to a corpus, or would drop all of it; the message names the key and the corpus."""


class ComputedError(CleaningError):
    """A program or function cannot compute values, or they cannot be stored; the message names both and the text."""


class TokenizerError(NmtPrepError):
    """Something is wrong with a tokenizer, its file or its input."""


class VocabularyError(TokenizerError):
    """A vocabulary file cannot be read, or is unsuitable for its use."""


class TrainingError(TokenizerError):
    """A vocabulary cannot be built from the lines and options given."""


class EncodeError(TokenizerError):
    """A text cannot be encoded, or IDs cannot be decoded."""


class EngineError(NmtPrepError):
    """No workers are available, or a task failed on them repeatedly."""


class RecordsError(NmtPrepError):
    """Shards are damaged, missing, or do not belong to their ``dataset.json``."""


class OutputError(NmtPrepError):
    """The output directory cannot be written, or another process is using it."""
