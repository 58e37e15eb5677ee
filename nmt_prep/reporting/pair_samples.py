"""Each corpus's sample, whose lengths and characters ``encode`` counts for the report.

The sample has up to :data:`SAMPLE_PAIRS` pairs per corpus, fewer if a split has many corpora, or all pairs of a smaller
corpus. They are drawn at random; seed, split and corpus name fix the choice, whatever the work's order. A task
collects its part's sampled pairs in a :class:`PairSample`, and writes it to a file; the parts' samples add up to the
corpus's sample.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Lines, count_ids, line_lengths

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.subwords.frame import Frame
from nmt_prep.training.records.shuffle_plan import GlobalShuffle

SAMPLE_PAIRS = 20_000  # Maximum number of pairs in a corpus's sample

SPLIT_PAIRS, LEAST_PAIRS = 100_000, 1000
"""Maximum number of sampled pairs per split, and the number per corpus that is kept even beyond this maximum."""

EXAMPLES = 10  # Number of random examples per corpus
LONGEST = 3  # Number of longest pairs per corpus

_EXAMPLE_CHARACTERS, _EXAMPLE_PIECES = 300, 120


@dataclass(frozen=True)
class EncodedPair:
    """A pair as the report shows it; long texts are cut."""

    row: int  # number of the pair among the encoded pairs of its corpus, from 0
    rank: int  # rank among the random examples, or 0
    length: dict[Side, int]  # piece count of each side before cutting, without the frame
    text: dict[Side, str]  # the first characters of each side
    ids: dict[Side, list[int]]  # the first IDs of each side, without the frame


@dataclass(frozen=True)
class CorpusSample:
    """Chooses the sampled pairs of a corpus."""

    pairs: int  # pair count of the corpus
    seed: int  # seed of the config
    split: str  # split of the corpus
    corpus: str  # corpus name
    corpora: int = 1  # corpus count of the split

    def rows(self) -> npt.NDArray[np.int64]:
        """Returns the sample's rows in random order, int64; the first :data:`EXAMPLES` are the examples."""
        shuffle = GlobalShuffle(self.pairs, self.seed, f"sample of {self.split}/{self.corpus}")
        most = min(SAMPLE_PAIRS, max(SPLIT_PAIRS // self.corpora, LEAST_PAIRS))
        return shuffle.rows_at(np.arange(min(self.pairs, most)))


@dataclass
class PairSample:
    """Counts the sampled pairs of a corpus or a part, and the token IDs of all its pairs."""

    # for each side, the count of each token ID in all pairs, frames included: int64, shape `[vocabulary]`
    ids: dict[Side, npt.NDArray[np.int64]]
    # lengths of the sampled pairs, in the order of rows: int32, shape `[pairs, 2, 3]` (source and target, `UNITS`)
    lengths: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 2, 3), np.int32))
    # for each side, the count of each code point in the sampled pairs
    characters: dict[Side, Counter[int]] = field(default_factory=lambda: {side: Counter() for side in SIDES})
    examples: list[EncodedPair] = field(default_factory=list)  # the random examples
    longest: list[EncodedPair] = field(default_factory=list)  # the pairs with the most pieces on one side, of all pairs

    def __add__(self, other: PairSample) -> PairSample:
        return PairSample(
            {side: self.ids[side] + other.ids[side] for side in SIDES},
            np.concatenate([self.lengths, other.lengths]),
            {side: self.characters[side] + other.characters[side] for side in SIDES},
            sorted([*self.examples, *other.examples], key=lambda pair: pair.rank),
            _longest([*self.longest, *other.longest]),
        )

    def save(self, path: Path) -> None:
        texts = {"examples": [*map(vars, self.examples)], "longest": [*map(vars, self.longest)]}
        held = io.BytesIO()
        np.save(held, np.frombuffer(json.dumps(texts).encode(), np.uint8))
        np.save(held, self.lengths)
        for side in SIDES:
            np.save(held, self.ids[side])
            np.save(held, np.array(sorted(self.characters[side].items()), np.int64).reshape(-1, 2))
        with atomic_write(path) as beside, writing(path):
            beside.write_bytes(held.getbuffer())

    @classmethod
    def load(cls, path: Path) -> PairSample:
        """Reads a file that :meth:`save` wrote."""
        with path.open("rb") as file:
            texts, lengths, *counts = (np.load(file) for _ in range(2 + 2 * len(SIDES)))
        pairs = json.loads(texts.tobytes())
        return cls(
            dict(zip(SIDES, counts[::2], strict=True)),
            lengths,
            {side: Counter(dict(points.tolist())) for side, points in zip(SIDES, counts[1::2], strict=True)},
            [EncodedPair(**pair) for pair in pairs["examples"]],
            [EncodedPair(**pair) for pair in pairs["longest"]],
        )


class SampleCollector:
    """Collects a corpus's sample from consecutive pairs, batch by batch."""

    def __init__(self, sample: CorpusSample, first_row: int, sizes: Mapping[Side, int], frames: Mapping[Side, Frame]):
        rows = sample.rows()
        self._order = np.argsort(rows)
        self._rows = rows[self._order]
        self._next = first_row
        self._frames = frames
        self._ids = {side: np.zeros(sizes[side], np.int64) for side in SIDES}
        self._lengths: list[npt.NDArray[np.int32]] = []
        self._characters = {side: np.zeros(1, np.int64) for side in SIDES}
        self._examples: list[EncodedPair] = []
        self._longest: list[EncodedPair] = []

    def add(self, text: Mapping[Side, pa.Array], ids: Mapping[Side, Ragged], longest: int) -> None:
        for side, frame in self._frames.items():
            count_ids(self._ids[side], ids[side].values)
            np.add.at(self._ids[side], [*frame.before, *frame.after], len(ids[side]))
        first, self._next = self._next, self._next + len(ids["source"])
        begin, end = np.searchsorted(self._rows, [first, self._next])
        chosen = self._rows[begin:end] - first
        if len(chosen):
            taken = {side: text[side].take(pa.array(chosen)) for side in SIDES}
            columns = [self._side_lengths(side, taken[side], ids[side].lengths[chosen]) for side in SIDES]
            self._lengths.append(np.stack(columns, axis=1))
            for place in np.flatnonzero(self._order[begin:end] < EXAMPLES).tolist():
                rank = int(self._order[begin + place])
                self._examples.append(self._pair(int(chosen[place]), first, rank, text, ids))
        least = _longer(self._longest[-1]) if len(self._longest) == LONGEST else 0
        if longest - min(frame.size for frame in self._frames.values()) > least:
            source, target = (ids[side].lengths for side in SIDES)
            places = np.argsort(-np.maximum(source, target), kind="stable")[:LONGEST].tolist()
            self._longest = _longest([*self._longest, *(self._pair(place, first, 0, text, ids) for place in places)])

    def result(self) -> PairSample:
        characters = {side: np.flatnonzero(self._characters[side]) for side in SIDES}
        return PairSample(
            self._ids,
            np.concatenate([np.empty((0, 2, 3), np.int32), *self._lengths]),
            {
                side: Counter(dict(zip(points.tolist(), self._characters[side][points].tolist(), strict=True)))
                for side, points in characters.items()
            },
            sorted(self._examples, key=lambda pair: pair.rank),
            self._longest,
        )

    def _side_lengths(self, side: Side, lines: pa.Array, pieces: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Returns the lengths of lines, int32, shape ``[lines, units]``; counts their characters."""
        column = TextColumn.from_arrow(lines)
        raw = column.data[column.offsets[0] : column.offsets[-1]].tobytes()
        points = np.frombuffer(raw.decode("utf-8").encode("utf-32-le"), np.int32)
        size = 1 << int(points.max(initial=0)).bit_length()
        self._characters[side] = np.pad(self._characters[side], (0, max(size - len(self._characters[side]), 0)))
        count_ids(self._characters[side], points)
        native = Lines(column.data, column.offsets)
        lengths = [pieces, line_lengths(native, "word"), line_lengths(native, "char")]
        return np.stack([unit.astype(np.int32) for unit in lengths], axis=1)

    def _pair(
        self, place: int, first: int, rank: int, text: Mapping[Side, pa.Array], ids: Mapping[Side, Ragged]
    ) -> EncodedPair:
        inside = {side: ids[side][place] for side in SIDES}
        return EncodedPair(
            first + place,
            rank,
            {side: len(row) for side, row in inside.items()},
            {side: text[side][place].as_py()[:_EXAMPLE_CHARACTERS] for side in SIDES},
            {side: row[:_EXAMPLE_PIECES].tolist() for side, row in inside.items()},
        )


def _longer(pair: EncodedPair) -> int:
    return max(pair.length.values())


def _longest(pairs: list[EncodedPair]) -> list[EncodedPair]:
    """Returns the longest pairs, longest first, and pairs of equal length by row. Leaves out empty pairs."""
    return sorted(filter(_longer, pairs), key=lambda pair: (-_longer(pair), pair.row))[:LONGEST]
