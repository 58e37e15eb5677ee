"""The interface for a subword dialect, for stages and commands, and text counts, from which dialects train.

To add a dialect, make a folder with one instance of a :class:`Dialect` subclass, list the instance in
``nmt_prep.subwords.DIALECTS``, and add an options class to ``nmt_prep.config.vocab``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import ByteBPEWordCounter, SubwordNMTWordCounter, T2TTokenCounter

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import Lines, TextColumn
from nmt_prep.base.errors import OutputError, TrainingError, VocabularyError
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.subwords.tokenizer import IdLayout, ProgressCallback, Tokenizer, read_vocabulary
from nmt_prep.subwords.tokenizer_json import parse_json

NativeCounter = TypeVar("NativeCounter", T2TTokenCounter, ByteBPEWordCounter, SubwordNMTWordCounter)


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Distinct texts and how often each occurs.

    Attributes:
        texts: the distinct texts; none is empty.
        counts: count of each text, 1 or more; int64, shape ``[texts]``.
    """

    texts: TextColumn
    counts: npt.NDArray[np.int64]


class TextCounts(ABC, Generic[NativeCounter]):
    """Distinct texts of a sample and how often each occurs, from which a dialect trains a vocabulary.

    Memory grows with the number of distinct texts, not with the sample's size.

    Attributes:
        unit: name of the distinct texts, for messages.
        native: the counter.
    """

    unit: ClassVar[str]

    def __init__(self, native: NativeCounter) -> None:
        self.native: NativeCounter = native

    @abstractmethod
    def add(self, lines: Lines, threads: int | None = None) -> None:
        """Counts the texts of lines.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8; discard the counts then.
        """

    @property
    @abstractmethod
    def training_bytes(self) -> int:
        """Estimated memory for training, in bytes."""

    def add_counted(self, columns: CountColumns) -> None:
        """Adds the counts of another process.

        Raises:
            InvalidTextError: a text is not UTF-8.
            ValueError: a text is empty or its count is less than 1.
        """
        self.native.add_counted(columns.texts.data, columns.texts.offsets, columns.counts)

    def columns(self) -> CountColumns:
        """Returns all texts and their counts, in no particular order."""
        data, offsets, counts = self.native.columns()
        return CountColumns(TextColumn(data, offsets), counts)

    def check_memory(self, memory: int | None) -> None:
        """Checks that training needs no more than ``memory`` bytes; None means no limit.

        Raises:
            TrainingError: training needs more memory.
        """
        if memory is not None and self.training_bytes > memory:
            raise TrainingError(
                f"training from the distinct {self.unit} of these lines needs {-(-self.training_bytes // 10**6):,} MB "
                f"of memory, but {memory // 10**6:,} MB are allowed; allow more (engine.memory), or use fewer lines "
                "(sample.bytes_per_corpus)"
            )


TrainingText: TypeAlias = "TextCounts[Any] | Lines"
"""The text that a vocabulary is trained from: counts of a dialect that has them, or lines."""


def write_counts(path: Path, columns: CountColumns) -> None:
    """Writes counts as an Arrow file with the columns ``text`` and ``count``.

    Raises:
        OutputError: the file cannot be written.
    """
    batch = pa.record_batch([columns.texts.to_arrow(), pa.array(columns.counts)], names=["text", "count"])
    with (
        atomic_write(path) as beside,
        pa.OSFile(str(beside), "wb") as file,
        pa.ipc.new_file(file, batch.schema) as writer,
    ):
        writer.write_batch(batch)


def read_counts(path: Path) -> CountColumns:
    """Reads a file that :func:`write_counts` wrote, memory-mapped.

    Raises:
        OutputError: the file cannot be read.
    """
    try:
        with pa.memory_map(str(path)) as file:
            batch = pa.ipc.open_file(file).get_batch(0)
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"cannot read the counts in {path}: {error}; run again with --force vocab") from error
    return CountColumns(TextColumn.from_arrow(batch.column("text")), batch.column("count").to_numpy())


Options = TypeVar("Options", bound=VocabOptions)


class Training(NamedTuple):
    """Callback and resources for training a vocabulary.

    Attributes:
        progress: called with the training's steps; None to call nothing.
        threads: number of native threads.
        memory: bytes of memory.
        other: counts of the other side, if the sides are trained together, and each has a vocabulary.
    """

    progress: ProgressCallback | None
    threads: int
    memory: int
    other: TextCounts[Any] | None = None


class Dialect(ABC, Generic[Options]):
    """A subword dialect: its options, its training and its vocabulary files.

    Attributes:
        kind: the dialect's name: the value of ``vocab.kind`` in a config, and of :attr:`Tokenizer.dialect`.
        suffixes: vocabulary file suffixes, which suggest the dialect before a file is there to be read.
        id_layouts: values of ``vocab.id_layout`` for existing files, the default first.
        has_spm: True if the vocabularies are SentencePiece models, which Marian reads.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ()
    id_layouts: ClassVar[tuple[IdLayout, ...]] = ()
    has_spm: ClassVar[bool] = False

    def check(self, options: Options) -> None:
        """Checks the options against rules that the config's types cannot express, such as a library's rules.

        Raises:
            NmtPrepError: a value is invalid; the message names its key.
        """

    def training_note(self, options: Options) -> str | None:
        """Returns a note on how the vocabulary is trained, for ``plan``, or None."""
        return None

    def new_counts(self, options: Options) -> TextCounts[Any] | None:
        """Returns empty counts, which tasks fill from the sample, or None if the dialect trains from lines."""
        return None

    @abstractmethod
    def train(self, text: TrainingText, options: Options, run: Training) -> Tokenizer:
        """Trains a vocabulary.

        Args:
            text: the filled counts of :meth:`new_counts`, or lines if it returns None.
            options: options of the vocabulary.
            run: callback and resources of the training.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
            TrainingError: the vocabulary cannot be trained from this text, or training needs more memory.
        """

    @abstractmethod
    def file_name(self, options: Options, stem: str, side: str) -> str:
        """Returns the name of a vocabulary file.

        Args:
            options: options of the vocabulary.
            stem: start of the name, ``vocab.<name>.<size>``.
            side: suffix of the side, such as ``.en``; empty if both sides share the vocabulary.
        """

    def id_layout(self, options: Options) -> IdLayout | None:
        """Returns the ID layout of a SentencePiece model; None for other dialects."""
        return None

    @abstractmethod
    def recognises(self, path: Path, head: bytes) -> bool:
        """Returns True if a file is a vocabulary of this dialect.

        Args:
            path: the file, or a directory.
            head: the first 64 bytes of the file; empty for a directory.
        """

    def numbered(self, tokenizer: Tokenizer, path: Path, numbering: Path, threshold: int | None) -> Tokenizer:
        """Returns a tokenizer with the IDs of another file.

        Args:
            tokenizer: the loaded tokenizer.
            path: its file.
            numbering: the file of the IDs.
            threshold: minimum count of a piece in that file, for dialects with counts.

        Raises:
            VocabularyError: the file cannot be read, or does not fit.
        """
        if threshold is not None:
            raise VocabularyError(f"vocab.threshold is for codes of subword_nmt, and {path} is of kind {self.kind}")
        return tokenizer.numbered(parse_json(numbering, read_vocabulary(numbering)), str(numbering))

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
