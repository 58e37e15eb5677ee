"""Profile of the encoded text: sample counts, which the manifest of ``encode`` keeps for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.reporting import UNITS, Json
from nmt_prep.reporting.batch_estimates import first_shards
from nmt_prep.reporting.pair_samples import EncodedPair, PairSample
from nmt_prep.subwords.tokenizer import Tokenizer
from nmt_prep.training.batches.joined_segments import Joining
from nmt_prep.training.records.dataset_json import DatasetInfo, PairStats
from nmt_prep.training.records.document_index import document_sizes

LENGTH_EDGES = (*range(1, 8), *(step << octave for octave in range(1, 19) for step in (4, 5, 6, 7)))
"""First length of each bin. Lengths of 1 to 8 have a bin each, then an octave has four; the last bin has no end."""

RATIO_EDGES = tuple(2.0 ** (step / 4) for step in range(-15, 16))
"""Upper ends of the bins for target length / source length: four per octave from 1/16 to 16; the last bin is open."""

Numbers: TypeAlias = "npt.NDArray[np.integer[Any]]"

LISTED = 30  # Number of pieces in a list
LONGEST_TEXT = 60  # Number of characters at which the text of a piece is cut


@dataclass(frozen=True)
class TextPair:
    """An example with its pieces as text."""

    row: int  # number of the pair among the encoded pairs of its corpus, from 0
    length: dict[Side, int]  # piece count of each side before cutting
    text: dict[Side, str]  # the first characters of each side
    pieces: dict[Side, list[str]]  # the first pieces of each side


@dataclass(frozen=True)
class CorpusProfile:
    """The encoded pairs of a corpus. The bins of lengths are :data:`LENGTH_EDGES`."""

    pairs: int
    tokens: dict[Side, int]  # IDs per side, frames included
    tokens_by_length: dict[Side, list[int]]  # pairs per length in IDs, frames included, by side
    sampled: int  # pairs in the sample
    totals: dict[Side, dict[str, int]]  # sum of sampled lengths, by side and unit (`piece`, `word` and `char`)
    lengths: dict[Side, dict[str, list[int]]]  # sampled pairs per length, by side and unit
    joint: dict[str, list[tuple[int, int, int]]]  # sampled pairs per source and target length, by unit: bin, bin, count
    ratios: dict[str, list[int]]  # sampled pairs per ratio target / source, by unit, over the bins of `RATIO_EDGES`
    examples: list[TextPair]  # random pairs
    longest: list[TextPair]  # the longest of all pairs


@dataclass(frozen=True)
class VocabularyUse:
    """How one side of a split uses a vocabulary. Ids of frames do not count."""

    split: str
    pieces: int  # size of the vocabulary
    tokens: int  # number of IDs
    unknown: int | None  # count of unknown-piece IDs, or None if the vocabulary has no unknown piece
    unused: int  # number of pieces that do not occur
    singletons: int  # number of pieces that occur once
    curve: list[tuple[int, int]]  # rank (from 1) and frequency of pieces, at ranks that grow by about a tenth
    frequent: list[tuple[str, int]]  # the most frequent pieces: text, count
    longest: list[tuple[str, int]]  # the longest pieces that occur: text, count
    unused_pieces: list[str]  # the first pieces that do not occur
    escaped: list[tuple[str, int]]  # the most frequent characters of the sample without a piece: text, count
    escaped_kinds: int  # how many different characters in the sample have no piece
    escaped_count: int  # how often characters without a piece occur in the sample


@dataclass(frozen=True)
class LanguageUse:
    """How a language uses a vocabulary, in its corpora's samples."""

    pieces: int
    words: int
    characters: int
    bytes: int  # UTF-8 bytes
    escaped: int  # number of characters without a piece

    @classmethod
    def of(cls, samples: Sequence[PairSample], side: int, tokenizer: Tokenizer) -> LanguageUse:
        """Returns the use by one side (0 or 1) of samples."""
        points = sum((sample.characters[SIDES[side]] for sample in samples), Counter[int]())
        pieces, words, characters = (
            sum(int(sample.lengths[:, side, unit].sum(dtype=np.int64)) for sample in samples) for unit in range(3)
        )
        size = sum(len(chr(point).encode()) * count for point, count in points.items())
        return cls(pieces, words, characters, size, sum(count for _, count in _escaped(tokenizer, points)))


@dataclass(frozen=True)
class TextProfile:
    """The profile of all splits."""

    corpora: dict[str, dict[str, CorpusProfile]] = field(default_factory=dict)  # the corpora by split and name
    # the use of the vocabularies in train, or else in the first split
    vocabularies: dict[Side, VocabularyUse] = field(default_factory=dict)
    # the use of the vocabularies by each language there, by side, if there are several language pairs
    languages: dict[Side, dict[str, LanguageUse]] = field(default_factory=dict)


def corpus_profile(sample: PairSample, stats: PairStats, words: Mapping[Side, Sequence[str]]) -> CorpusProfile:
    """Returns a corpus's profile."""
    lengths = {unit: tuple(sample.lengths[:, side, number] for side in (0, 1)) for number, unit in enumerate(UNITS)}
    return CorpusProfile(
        pairs=stats.pairs,
        tokens={"source": stats.source_tokens, "target": stats.target_tokens},
        tokens_by_length={
            "source": length_counts(stats.source_lengths),
            "target": length_counts(stats.target_lengths),
        },
        sampled=len(sample.lengths),
        totals={
            side: {unit: int(both[number].sum(dtype=np.int64)) for unit, both in lengths.items()}
            for number, side in enumerate(SIDES)
        },
        lengths={
            side: {unit: count_bins(length_bins(both[number])) for unit, both in lengths.items()}
            for number, side in enumerate(SIDES)
        },
        joint={unit: joint_counts(*both) for unit, both in lengths.items()},
        ratios={unit: ratio_counts(*both) for unit, both in lengths.items()},
        examples=[_in_words(pair, words) for pair in sample.examples],
        longest=[_in_words(pair, words) for pair in sample.longest],
    )


def vocabulary_use(
    split: str, tokenizer: Tokenizer, words: Sequence[str], ids: npt.NDArray[np.int64], characters: Counter[int]
) -> VocabularyUse:
    """Returns how a side of a split uses the vocabulary.

    Args:
        ids: count per token ID, without frames: int64, shape ``[vocabulary]``.
    """
    unknown = tokenizer.unk_id
    ranked = np.argsort(-ids, kind="stable")
    used = int(np.count_nonzero(ids))
    escaped = _escaped(tokenizer, characters)
    occurring = np.flatnonzero(ids)
    sizes = np.array([len(words[number]) for number in occurring.tolist()], np.int64)
    longest = occurring[np.argsort(-sizes, kind="stable")].tolist()

    def listed(numbers: Sequence[int]) -> list[tuple[str, int]]:
        return [(words[number][:LONGEST_TEXT], int(ids[number])) for number in numbers[:LISTED]]

    return VocabularyUse(
        split=split,
        pieces=len(ids),
        tokens=int(ids.sum()),
        unknown=None if unknown is None else int(ids[unknown]),
        unused=len(ids) - used,
        singletons=int(np.count_nonzero(ids == 1)),
        curve=[(rank, int(ids[ranked[rank - 1]])) for rank in _curve_ranks(used)],
        frequent=listed(ranked[:used].tolist()),
        longest=listed(longest),
        unused_pieces=[words[number][:LONGEST_TEXT] for number in np.flatnonzero(ids == 0)[:LISTED].tolist()],
        escaped=escaped[:LISTED],
        escaped_kinds=len(escaped),
        escaped_count=sum(count for _, count in escaped),
    )


def _escaped(tokenizer: Tokenizer, characters: Counter[int]) -> list[tuple[str, int]]:
    """Returns the characters without a piece, most frequent first."""
    lacking = tokenizer.uncovered([chr(point) for point in sorted(characters)])
    return sorted(((text, characters[ord(text)]) for text in lacking), key=lambda entry: (-entry[1], entry[0]))


def _curve_ranks(last: int) -> list[int]:
    """Returns ranks from 1 to the last rank: all small ranks, then ranks that grow by about a tenth."""
    # From the end, so that the last rank is always there; on a logarithmic axis the points are then equally far apart.
    ranks = {last} if last else set()
    while last > 1:
        last = min(last - 1, last * 10 // 11)
        ranks.add(last)
    return sorted(ranks)


def _in_words(pair: EncodedPair, words: Mapping[Side, Sequence[str]]) -> TextPair:
    pieces = {side: [words[side][number][:LONGEST_TEXT] for number in pair.ids[side]] for side in SIDES}
    return TextPair(pair.row, pair.length, pair.text, pieces)


def length_bins(lengths: Numbers) -> npt.NDArray[np.int64]:
    """Returns each length's bin, int64; the first bin for lengths below 1."""
    return np.maximum(np.searchsorted(LENGTH_EDGES, lengths, side="right") - 1, 0)


def count_bins(bins: npt.NDArray[np.int64], weights: Numbers | None = None) -> list[int]:
    """Returns the number of elements in each bin, up to the last bin that is not empty."""
    return [int(count) for count in np.bincount(bins, weights).tolist()] if len(bins) else []


def length_counts(lengths: dict[int, int]) -> list[int]:
    """Returns a histogram over :data:`LENGTH_EDGES`, given the number of elements of each length."""
    values, counts = (np.array([*part], np.int64) for part in (lengths.keys(), lengths.values()))
    return count_bins(length_bins(values), counts)


def ratio_counts(source: Numbers, target: Numbers) -> list[int]:
    """Returns the histogram of target / source ratios; pairs with a length of 0 are excluded."""
    both = (source > 0) & (target > 0)
    bins = np.searchsorted(RATIO_EDGES, target[both] / source[both], side="right")
    return [int(count) for count in np.bincount(bins, minlength=len(RATIO_EDGES) + 1)]


def joint_counts(source: Numbers, target: Numbers) -> list[tuple[int, int, int]]:
    """Returns the nonempty cells of the source and target length histogram: both bins and the count."""
    bins = length_bins(source) * len(LENGTH_EDGES) + length_bins(target)
    cells, counts = np.unique(bins, return_counts=True)
    return [(*divmod(int(cell), len(LENGTH_EDGES)), int(count)) for cell, count in zip(cells, counts, strict=True)]


# Samples have up to 20,000 pairs of a corpus, whatever its size, so they cannot just be added: each histogram is scaled
# by pairs / sampled first. Ids by length are counted for all pairs, so `tokens_by_length` is not scaled. Cells are
# rounded, to 1 at least, so that rare lengths stay visible.
def combined(corpora: Json) -> Json:
    """Returns a split's histograms, as in a profile, and ``means``: the mean lengths by side and unit."""
    sampled = [corpus for corpus in corpora.values() if corpus["sampled"]]
    pairs = sum(corpus["pairs"] for corpus in sampled)
    total = max(pairs, 1)
    return {
        "pairs": pairs,
        "sampled": sum(corpus["sampled"] for corpus in sampled),
        "tokens_by_length": {side: summed(corpus["tokens_by_length"][side] for corpus in sampled) for side in SIDES},
        "lengths": {
            side: {unit: _scaled((corpus, corpus["lengths"][side][unit]) for corpus in sampled) for unit in UNITS}
            for side in SIDES
        },
        "means": {
            side: {
                unit: round(sum(_whole(corpus, corpus["totals"][side][unit]) for corpus in sampled) / total, 3)
                for unit in UNITS
            }
            for side in SIDES
        },
        "joint": {unit: _cells(sampled, unit) for unit in UNITS},
        "ratios": {unit: _scaled((corpus, corpus["ratios"][unit]) for corpus in sampled) for unit in UNITS},
    }


def summed(histograms: Iterable[Sequence[float]]) -> list[float]:
    """Returns the sum of several histograms, which may differ in length."""
    listed = list(histograms)
    size = max(map(len, listed), default=0)
    return [sum(counts[place] for counts in listed if place < len(counts)) for place in range(size)]


def _scaled(histograms: Iterable[tuple[Json, Sequence[int]]]) -> list[int]:
    """Returns the summed sample histograms, each scaled to its corpus's pair count."""
    return [
        round(value) for value in summed([_whole(corpus, count) for count in counts] for corpus, counts in histograms)
    ]


def _cells(corpora: Sequence[Json], unit: str) -> list[list[int]]:
    cells: Counter[tuple[int, int]] = Counter()
    for corpus in corpora:
        for source, target, count in corpus["joint"][unit]:
            cells[source, target] += _whole(corpus, count)  # type: ignore[assignment]
    return [[*cell, max(round(count), 1)] for cell, count in sorted(cells.items())]


def _whole(corpus: Json, count: float) -> float:
    """Returns a count in a corpus's sample, scaled to all its pairs."""
    scaled: float = count if corpus["sampled"] == corpus["pairs"] else count * corpus["pairs"] / corpus["sampled"]
    return scaled


QUANTILES = (0, 0.1, 0.5, 0.9, 1)


def column_facts(records_dir: Path, info: DatasetInfo) -> Json:
    """Returns the sections on documents and on weights by split; none for records without them."""
    splits = [name for name, split in info.splits.items() if split.pairs]
    facts: Json = {}
    if info.documents is not None:
        facts["segments"] = {split: _segments(records_dir, info, split) for split in splits}
    if "weight" in info.columns:
        facts["weights"] = {split: _weights(records_dir, info, split) for split in splits}
    return facts


def _segments(records_dir: Path, info: DatasetInfo, split: str) -> Json:
    """Returns the document sizes, and the rows that epoch 0 makes from a sample of the segments."""
    sizes: Counter[int] = Counter()
    for part in document_sizes(records_dir, split, info.splits[split].pairs):
        numbers, counts = np.unique(part, return_counts=True)
        sizes.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
    index = first_shards(records_dir, info, split)
    assert index is not None
    joining = Joining.of(info, split, 0)
    assert joining is not None
    segments, examples = joining.first_examples(index)
    repeated = 0 if segments.repeated is None else int(segments.repeated.sum())
    return {
        "documents": sum(sizes.values()),
        "longest": max(sizes, default=0),
        "sizes": sorted(sizes.items())[:_SIZES_SHOWN],
        "sampled": len(segments.entries) - repeated,
        "rows": len(examples),
        "joined": int(examples.targets[examples.end - examples.first["source"] > 1].sum()),
        "repeated": repeated,
    }


_SIZES_SHOWN = 100


def _weights(records_dir: Path, info: DatasetInfo, split: str) -> Json:
    """Returns the quantiles and the mean of the sampled pairs' weights."""
    index = first_shards(records_dir, info, split)
    assert index is not None
    weights = index.column_of("weight", np.arange(len(index.runs.pairs)))
    quantiles = np.quantile(weights, QUANTILES, method="lower").tolist()
    mean = round(float(weights.mean(dtype=np.float64)), 6)
    return {"sampled": len(weights), "quantiles": quantiles, "mean": mean, "zero": int((weights == 0).sum())}
