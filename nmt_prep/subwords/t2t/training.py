"""Builds the pieces of a Tensor2Tensor vocabulary from counted tokens.

You get the same vocabulary as from ``SubwordTextEncoder.build_to_target_size`` in tensor2tensor 1.15.7, byte for byte.
The native core uses another algorithm (``t2t_trainer.h``), linear in the total length of the distinct tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from _nmt_prep_core import T2TCandidate, T2TTokenCounter, T2TTrainer

from nmt_prep.base.columns import Lines, TextColumn, text_columns
from nmt_prep.base.errors import InvalidTextError, TrainingError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.dialect import TextCounts
from nmt_prep.subwords.tokenizer import ProgressCallback

PAD = "<pad>"
EOS = "<EOS>"

_LOWEST, _HIGHEST = 1, 1000  # bounds of upstream's search for the minimum count
_PASSES = 4
_BYTES_PER_CHARACTER = 48  # per character of the distinct tokens plus one per token; 38 to 46 were measured
_ALPHABET_ONLY = 1  # with this max_subtoken_length, no piece is added to the alphabet


class TokenCounts(TextCounts[T2TTokenCounter]):
    """Distinct tokens of a text and how often each occurs.

    A line is split as in ``tensor2tensor.data_generators.tokenizer.encode``: into runs of letters and numbers, and runs
    of all other characters, without the single spaces between two runs. Lines are not stripped; the caller may do that.
    """

    unit = "tokens"

    def __init__(self) -> None:
        """Starts empty."""
        super().__init__(T2TTokenCounter())

    def add(self, lines: Lines | TextColumn, threads: int | None = None) -> None:
        """Counts the tokens of lines.

        Args:
            threads: native threads to use; None is one per available core.
        """
        for column in [lines] if isinstance(lines, TextColumn) else text_columns(lines):
            self.native.add(column.data, column.offsets, threads or available_cores())

    @property
    def training_bytes(self) -> int:
        """Estimated memory for training, in bytes; a few long, repetitive tokens need more."""
        return self.native.characters() * _BYTES_PER_CHARACTER


def build_pieces(
    counts: TokenCounts,
    size: int,
    max_subtoken_length: int | None,
    reserved: Sequence[str],
    progress: ProgressCallback | None,
    threads: int,
) -> list[str]:
    """Returns the pieces in the vocabulary with the size nearest to ``size``, in ID order.

    Bisection between 1 and 1000 finds the minimum count of a piece; it stops early within 1% of the size. A minimum
    count is skipped if an upper bound for its piece count is far too small already.
    """
    if size < 1:
        raise TrainingError(f"vocabulary size {size}: it must be 1 or more")
    tokens = [PAD, EOS, *(checked_text(token, "reserved token") for token in reserved)]
    for token in tokens:
        if not token or "\r" in token:
            raise TrainingError(f"reserved token {token!r}: it must have characters, and no carriage return")
        if tokens.count(token) > 1:
            raise TrainingError(
                f"reserved token {token!r} is given twice; each needs one ID of its own, "
                f"and {PAD} and {EOS} have theirs already"
            )
    max_depth = -1 if max_subtoken_length is None else max(max_subtoken_length, _ALPHABET_ONLY) - 1
    trainer = T2TTrainer(counts.native, tokens, max_depth)

    search = _Search(trainer, size, len(tokens), threads, progress)
    low, high = _LOWEST, _HIGHEST
    while True:
        min_count = (low + high) // 2
        last = low >= high or min_count < _LOWEST + 1
        pieces = None if last else search.too_few(min_count)
        if pieces is None:
            pieces = search.build(max(min_count, _LOWEST))
            last |= abs(pieces - size) * 100 < size
        if last:
            return trainer.pieces(search.best())
        if pieces > size:
            low = min_count + 1
        else:
            high = min_count - 1


class _Search:
    """The vocabularies that a bisection builds, and the minimum counts that it can skip."""

    def __init__(
        self, trainer: T2TTrainer, size: int, reserved: int, threads: int, progress: ProgressCallback | None
    ) -> None:
        self._trainer = trainer
        self._size = size
        self._reserved = reserved
        self._threads = threads
        self._progress = progress
        self._best: tuple[int, int, T2TCandidate] | None = None  # distance from the size, turn, vocabulary
        self._skipped: list[tuple[int, int, int]] = []  # least distance, turn, minimum count
        self._turns = 0

    def too_few(self, min_count: int) -> int | None:
        """Returns an upper bound of the size that the minimum count gives; None unless it is more than 1% too small."""
        most = self._reserved + self._trainer.most_pieces(min_count)
        if (self._size - most) * 100 < self._size:
            return None
        self._skipped.append((self._size - most, self._turns, min_count))
        self._turns += 1
        return most

    def build(self, min_count: int) -> int:
        """Builds the vocabulary with a minimum count and returns its size."""
        size = self._build(min_count, self._turns)
        self._turns += 1
        return size

    def best(self) -> T2TCandidate:
        """Returns the vocabulary with the nearest size, of several the first; builds skipped ones that may be it."""
        assert self._best is not None
        for distance, turn, min_count in self._skipped:
            if (distance, turn) < self._best[:2]:
                self._build(min_count, turn)
        return self._best[2]

    def _build(self, min_count: int, turn: int) -> int:
        candidate = self._trainer.build(min_count, _PASSES, self._threads)
        size = self._reserved + len(candidate)
        distance = abs(size - self._size)
        if self._best is None or (distance, turn) < self._best[:2]:
            self._best = (distance, turn, candidate)
        if self._progress is not None:
            self._progress("bisection", {"min_count": min_count, "size": size})
        return size


def checked_text(token: str, what: str) -> str:
    """Returns the token."""
    try:
        token.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidTextError(f"{what} {token!r} contains a lone surrogate, which is not text; remove it") from error
    return token


def checked_pieces(pieces: Iterable[str]) -> tuple[str, ...]:
    """Returns the pieces as a tuple."""
    pieces = tuple(pieces)
    try:
        "".join(pieces).encode("utf-8")
    except UnicodeEncodeError:
        return tuple(checked_text(piece, "piece") for piece in pieces)
    return pieces
