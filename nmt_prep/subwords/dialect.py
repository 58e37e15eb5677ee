"""The interface of a subword dialect, for stages and commands.

To add a dialect, make a folder with one instance of a subclass of :class:`Dialect`, list the instance in
``nmt_prep.subwords.DIALECTS``, and add a class of options to ``nmt_prep.config.vocab``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from nmt_prep.columns import Lines
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.subwords.counts import TextCounts
from nmt_prep.subwords.tokenizer import IdLayout, ProgressCallback, Tokenizer

Options = TypeVar("Options", bound=VocabOptions)


class Dialect(ABC, Generic[Options]):
    """A subword dialect: its options, its training and its vocabulary files.

    Attributes:
        kind: name of the dialect: the value of ``vocab.kind`` in a config, and of :attr:`Tokenizer.dialect`.
        suffixes: suffixes of vocabulary files, which suggest the dialect before a file is there to be read.
        id_layouts: values of ``vocab.id_layout`` for existing files, the default first.
        has_spm: True if the vocabularies are SentencePiece models, which Marian reads.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    id_layouts: ClassVar[tuple[IdLayout, ...]] = ()
    has_spm: ClassVar[bool] = False

    def check(self, options: Options) -> None:
        """Checks the options against rules that the config's types cannot express, such as those of a library.

        Raises:
            NmtPrepError: a value is invalid; the message names its key.
        """

    def training_note(self, options: Options) -> str | None:
        """Returns a note on how the vocabulary is trained, for ``plan``; None for nothing of note."""
        return None

    def new_counts(self, options: Options) -> TextCounts | None:
        """Returns empty counts, which tasks fill from the sample; None if the dialect trains from lines."""
        return None

    @abstractmethod
    def train(
        self,
        text: TextCounts | Lines,
        options: Options,
        *,
        progress: ProgressCallback | None,
        threads: int,
        memory: int,
    ) -> Tokenizer:
        """Trains a vocabulary.

        Args:
            text: the filled counts of :meth:`new_counts`, or lines if it returns None.
            options: options of the vocabulary.
            progress: called with the steps of the training.
            threads: native threads to use.
            memory: bytes of memory that training may use.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
            TrainingError: the vocabulary cannot be trained from this text, or training needs more memory.
        """

    @abstractmethod
    def file_name(self, stem: str, side: str) -> str:
        """Returns the name of a vocabulary file.

        Args:
            stem: start of the name, ``vocab.<name>.<size>``.
            side: suffix of the side, such as ``.en``; empty if both sides share the vocabulary.
        """

    def name_for(self, options: Options, stem: str, side: str) -> str:
        """Returns the name of a vocabulary file with these options, by default that of :meth:`file_name`."""
        return self.file_name(stem, side)

    def id_layout(self, options: Options) -> IdLayout | None:
        """Returns the id layout of a SentencePiece model; None for other dialects."""
        return None

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Returns True if a file is a vocabulary of this dialect.

        Args:
            path: the file, or a directory.
            head: the first 64 bytes of the file; empty for a directory.
        """

    @abstractmethod
    def load(self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None) -> Tokenizer:
        """Reads a vocabulary file.

        Args:
            path: the file.
            id_layout: one of :attr:`id_layouts`; None for the default.
            merges: the second file of a vocabulary in two files; None if the first file implies it.

        Raises:
            VocabularyError: the file cannot be read, or is not a vocabulary of this dialect.
        """

    def variant(self, options: Options) -> str:
        """Returns the key for speed measurements: the kind, and the options that training time depends on."""
        return self.kind
