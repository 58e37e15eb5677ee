"""Learns a byte-level BPE vocabulary from text, with the same merges as Hugging Face's ``BpeTrainer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from _nmt_prep_core import ByteBPEWordCounter

from nmt_prep.base.columns import Lines, text_columns
from nmt_prep.base.errors import TrainingError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import (
    BYTE_CHARACTERS,
    GPT2_PATTERN,
    Pretokenization,
    Pretokenizer,
    bytes_of,
    unspelled,
)
from nmt_prep.subwords.byte_bpe.vocabulary import MAX_TOKENS, ByteBPEVocabulary
from nmt_prep.subwords.dialect import TextCounts
from nmt_prep.subwords.tokenizer import ProgressCallback

_BYTES_PER_PLACE = 40  # per byte of a distinct pretoken and per end of one; 38 to 39 bytes were measured


class PretokenCounts(TextCounts[ByteBPEWordCounter]):
    """Distinct pretokens of a text and how often each occurs."""

    unit = "words"

    def __init__(
        self, how: str | Pretokenization = GPT2_PATTERN, added: Mapping[str, AddedToken] | None = None
    ) -> None:
        """Starts empty.

        Args:
            how: a pretoken's pattern, or how a vocabulary splits text.
            added: added tokens, which are left out.
        """
        self.pretokenization = Pretokenization.by_pattern(how) if isinstance(how, str) else how
        self._pretokenizer = Pretokenizer(self.pretokenization, added)
        super().__init__(ByteBPEWordCounter())

    @classmethod
    def of(cls, lines: Lines, pattern: str, threads: int | None) -> Self:
        """Returns the counts of lines; arguments as for the constructor, errors as from :meth:`add`."""
        counts = cls(pattern)
        counts.add(lines, threads)
        return counts

    def add(self, lines: Lines, threads: int | None = None) -> None:
        """Counts the pretokens of lines.

        Args:
            threads: native threads to use; None is one per available core.
        """
        for column in text_columns(lines):
            texts, splitter, _ = self._pretokenizer.cut(column)
            self.native.add(texts.data, texts.offsets, splitter, threads or available_cores())

    @property
    def training_bytes(self) -> int:
        """Estimated memory for training, in bytes."""
        return self.native.places() * _BYTES_PER_PLACE


def learn_vocabulary(
    words: PretokenCounts,
    size: int,
    specials: Sequence[str],
    *,
    min_frequency: int,
    progress: ProgressCallback | None,
    threads: int,
) -> ByteBPEVocabulary:
    """Learns merges from counted pretokens.

    Special tokens get the first IDs, then bytes in the order of their characters, then merges. The most frequent pair
    is merged first, and of equally frequent pairs the one with the lowest IDs. Unlike in tokenizers, no merge ever
    produces a special token.

    Args:
        specials: names of the special tokens, in ID order, from 0.
    """
    if not words.native.places():
        raise TrainingError("there is no text to train from: every line is empty; check the files that were sampled")
    check_specials(specials)
    alphabet = sorted(BYTE_CHARACTERS)
    least = len(specials) + len(alphabet)
    if not least <= size <= MAX_TOKENS:
        raise TrainingError(
            f"vocabulary size {size}: it must be at least {least}, for {len(specials)} special tokens and "
            f"{len(alphabet)} bytes, and no more than {MAX_TOKENS}"
        )

    def report(tokens: int) -> None:
        if progress is not None:
            progress("merges", {"size": tokens, "target": size})

    never = [token for token in map(bytes_of, specials) if token]
    symbols = [*(b"" for _ in specials), *map(unspelled, alphabet)]
    tokens, merges = words.native.train(symbols, never, size, min_frequency, threads, report)
    return ByteBPEVocabulary(
        tokens=tuple(tokens),
        merges=merges.reshape(-1, 3),
        added={name: AddedToken(number) for number, name in enumerate(specials)},
        pretokenization=words.pretokenization,
    )


def check_specials(specials: Sequence[str]) -> None:
    """Checks the names of special tokens."""
    if clash := set(BYTE_CHARACTERS) & set(specials):
        raise TrainingError(f"the special token {min(clash)!r} is the spelling of a byte; use a longer name")
    for name in specials:
        if not name or specials.count(name) > 1:
            raise TrainingError(f"the special token {name!r} is {'given twice' if name else 'empty'}; name each once")
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TrainingError(f"the special token {name!r} contains a lone surrogate; rename it") from error
