"""The interface of a subword dialect: what stages and commands ask about it.

A dialect is a folder with one instance of a subclass, which ``nmt_prep.subwords.DIALECTS`` lists, and a class of
options in ``nmt_prep.config.vocab``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from nmt_prep.columns import Lines
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.subwords.counts import TextCounts
from nmt_prep.subwords.tokenizer import IdLayout, ProgressCallback, Tokenizer

Options = TypeVar("Options", bound=VocabOptions)


@dataclass(frozen=True)
class Speed:
    """Typical times and memory, for estimates on machines where no run has measured them.

    Attributes:
        encoding: bytes of text encoded per second and worker.
        sample: bytes of the sample that the next two were measured with.
        seconds: time to train a vocabulary.
        memory: bytes of memory to train a vocabulary.
    """

    encoding: float = 50e6
    sample: float = 100e6
    seconds: float = 4.0
    memory: float = 500e6


class Dialect(ABC, Generic[Options]):
    """A kind of vocabulary: its options, its training and its files.

    Attributes:
        kind: its name, the value of ``vocab.kind`` in a config and of :attr:`Tokenizer.dialect`.
        options: class of its options in a config.
        speed: for estimates.
    """

    kind: ClassVar[str]
    options: type[Options]
    speed: ClassVar[Speed] = Speed()

    def check(self, options: Options) -> None:
        """Checks options as far as that takes more than the config's types, such as a library's own rules.

        Raises:
            NmtPrepError: a value is not possible; the message names its key.
        """

    def new_counts(self, options: Options) -> TextCounts | None:
        """Returns empty counts, to be filled with the sample by several tasks; None if training reads lines."""
        return None

    @abstractmethod
    def train(
        self, text: TextCounts | Lines, options: Options, *, progress: ProgressCallback | None, memory: int
    ) -> Tokenizer:
        """Trains a vocabulary.

        Args:
            text: the filled counts of :meth:`new_counts`, or lines if it returns None.
            options: of the vocabulary.
            progress: called with steps of the training.
            memory: bytes that the training may take.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
            TrainingError: the vocabulary cannot be trained from this text, or not within the memory.
        """

    @abstractmethod
    def file_name(self, stem: str, side: str) -> str:
        """Returns the name of a vocabulary file.

        Args:
            stem: the beginning, ``vocab.<name>.<size>``.
            side: suffix of a side, such as ``.en``; empty if both sides share the vocabulary.
        """

    def id_layout(self, options: Options) -> IdLayout | None:
        """Returns the numbering of a SentencePiece model's pieces; None for other dialects."""
        return None

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Tells whether a file is a vocabulary of this dialect.

        Args:
            path: the file, or a directory.
            head: the first 64 bytes of the file; empty for a directory.
        """

    @abstractmethod
    def load(self, path: Path, *, id_layout: IdLayout | None = None) -> Tokenizer:
        """Reads a vocabulary file.

        Raises:
            VocabularyError: the file cannot be read, or is not a vocabulary of this dialect.
        """

    def variant(self, options: Options) -> str:
        """Returns the kind, with the options that the time of training depends on; measurements are kept under it."""
        return self.kind
