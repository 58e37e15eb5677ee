"""Learning a byte-level BPE vocabulary from text: the merges that Hugging Face's ``BpeTrainer`` learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from _nmt_prep_core import ByteBPEWordCounter

from nmt_prep.columns import Lines, TextColumn, text_columns
from nmt_prep.errors import TrainingError
from nmt_prep.runtime.cores import available_cores
from nmt_prep.subwords.byte_bpe.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenization, Pretokenizer
from nmt_prep.subwords.byte_bpe.spelling import bytes_of, spelled
from nmt_prep.subwords.byte_bpe.vocabulary import MAX_TOKENS, ByteBPEVocabulary
from nmt_prep.subwords.counts import CountColumns, check_memory
from nmt_prep.subwords.tokenizer import ProgressCallback

_BYTES_PER_PLACE = 40  # of the distinct pretokens, each with its end; 38 to 39 were measured


class PretokenCounts:
    """Pretokens of a text and how often each occurs, gathered as the text comes by.

    Memory grows with the distinct pretokens, not with the text.
    """

    def __init__(self, pattern: str = GPT2_PATTERN) -> None:
        """Starts empty.

        Args:
            pattern: what pretokens match; anything but ``GPT2_PATTERN`` is cut by ``tokenizers``, which is slower.

        Raises:
            VocabularyError: tokenizers is not installed, or does not accept the pattern.
        """
        self.pretokenization = Pretokenization.by_pattern(pattern)
        self._pretokenizer = Pretokenizer(self.pretokenization)
        self._native = ByteBPEWordCounter()

    def add(self, lines: Lines, threads: int | None = None) -> None:
        """Counts the pretokens of lines.

        Args:
            lines: strings, or Arrow string arrays (read in place).
            threads: native threads to use; None is one per available core.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8; the counts are then of no use.
        """
        for column in text_columns(lines):
            cut = self._pretokenizer.cut(column)
            pretokens = column if cut is None else cut.column
            self._native.add(pretokens.data, pretokens.offsets, threads or available_cores(), cut is None)

    def add_counted(self, columns: CountColumns) -> None:
        """Adds pretokens that others counted, in another process perhaps.

        Raises:
            InvalidTextError: a pretoken is not UTF-8.
            ValueError: a pretoken is empty or its count is less than 1.
        """
        self._native.add_counted(columns.texts.data, columns.texts.offsets, columns.counts)

    def columns(self) -> CountColumns:
        """All pretokens and their counts, in no order to rely on."""
        data, offsets, counts = self._native.columns()
        return CountColumns(TextColumn(data, offsets), counts)

    def check_memory(self, memory: int | None) -> None:
        """Refuses to train in no more bytes than that; None is no bound.

        Raises:
            TrainingError: the training would not fit.
        """
        check_memory(self.training_bytes, memory, "the distinct words")

    @property
    def training_bytes(self) -> int:
        """Memory that learning merges needs, in bytes: an estimate."""
        return self._native.places() * _BYTES_PER_PLACE

    @property
    def native(self) -> ByteBPEWordCounter:
        """The counts as the native core holds them."""
        return self._native


def learn_vocabulary(
    words: PretokenCounts,
    size: int,
    specials: Sequence[str],
    *,
    min_frequency: int = 0,
    initial_alphabet: Literal["bytes", "seen"] = "bytes",
    limit_alphabet: int | None = None,
    progress: ProgressCallback | None = None,
) -> ByteBPEVocabulary:
    """Learns merges from counted pretokens.

    Ids go to special tokens first, then to bytes in the order of their characters, then to merges. The most frequent
    pair is merged first, of equally frequent ones that with the lower ids. Unlike in tokenizers, no merge makes a
    special token, whatever the text holds.

    Args:
        words: counted pretokens.
        size: number of tokens aimed at, special ones included.
        specials: names of special tokens; their ids are their places.
        min_frequency: pairs that occur less often are not merged.
        initial_alphabet: start from all 256 bytes, or from those in the text (others then cannot be encoded).
        limit_alphabet: keep only that many bytes, the most frequent, and learn as if the others were not in the text.
        progress: called with ``("merges", {"size": …, "target": …})`` every now and then, and at the end.

    Raises:
        TrainingError: there is no text, or the options are impossible.
    """
    counts = words.native.byte_counts()
    if not counts.any():
        raise TrainingError("there is no text to learn from: every line is empty; check the files that were sampled")
    _check_specials(specials)
    alphabet = _alphabet(counts.tolist(), initial_alphabet, limit_alphabet)
    if clash := {spelled(byte) for byte in alphabet} & set(specials):
        raise TrainingError(f"the special token {min(clash)!r} is the spelling of a byte; take a longer name")
    least = len(specials) + len(alphabet)
    if not least <= size <= MAX_TOKENS:
        raise TrainingError(
            f"vocabulary size {size}: it must be {least} or more, for {len(specials)} special tokens and "
            f"{len(alphabet)} bytes, and no more than {MAX_TOKENS}"
        )

    def report(found: int) -> None:
        if progress is not None:
            progress("merges", {"size": found, "target": size})

    never = [token for token in map(bytes_of, specials) if token]
    tokens, merges = words.native.train([*(b"" for _ in specials), *alphabet], never, size, min_frequency, report)
    return ByteBPEVocabulary(
        tokens=tuple(tokens),
        merges=merges.reshape(-1, 3),
        added={name: AddedToken(number) for number, name in enumerate(specials)},
        pretokenization=words.pretokenization,
    )


def _check_specials(specials: Sequence[str]) -> None:
    for name in specials:
        if not name or specials.count(name) > 1:
            raise TrainingError(f"the special token {name!r} is {'given twice' if name else 'empty'}; give each a name")
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TrainingError(f"the special token {name!r} holds a lone surrogate; take another name") from error


def _alphabet(counts: list[int], initial: Literal["bytes", "seen"], limit: int | None) -> list[bytes]:
    if initial not in ("bytes", "seen"):
        raise TrainingError(f"initial_alphabet {initial!r}: it must be 'bytes' or 'seen'")
    # As in tokenizers bytes asked for outweigh any that are only seen.
    weights = [(0 if initial == "bytes" else -count, spelled(bytes([byte]))) for byte, count in enumerate(counts)]
    kept = sorted(weight for weight, count in zip(weights, counts, strict=True) if count or initial == "bytes")
    return [token for _, name in sorted(kept[:limit], key=lambda weight: weight[1]) if (token := bytes_of(name))]
