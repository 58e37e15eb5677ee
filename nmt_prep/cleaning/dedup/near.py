"""Near duplicates: pairs whose sides share most of their character n-grams.

Two pairs are near duplicates if the Jaccard similarity of their n-gram sets is at least the given similarity, for the
sources and for the targets. Candidates are found with MinHash: pairs with the same hash in one of several bands. A
band's hash depends on the MinHash values of some hash functions, ``rows`` for each side. All candidates are then
verified.

Records, edges and requests are rows of uint64. A record is a band's hash, the pair's ranks, and its place. An
edge from a pair to a better candidate is the place of the worse pair, then the ranks and the place of the better one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import band_hashes, bucket_edges, group_rows, sort_bands, verify_pairs

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES
from nmt_prep.cleaning.dedup.records import ALL, Group, GroupedWriter, Records, parts_of, places_of
from nmt_prep.config import DedupSettings

RECALL = 0.98  # The probability with which a pair of exactly the given similarity becomes a candidate

MOST_BANDS = 32
MOST_ROWS = 8
LAST_BANDS = 64  # Maximum number of bands; a small similarity that needs more gets less recall
BUCKET_CAP = 128  # Number of the best pairs in a bucket that the others are compared with

EDGES_AT_ONCE = 1 << 19


@dataclass(frozen=True)
class Bands:
    """The number of bands, and how many hash functions each band uses per side."""

    bands: int
    rows: int

    @classmethod
    def of(cls, similarity: float) -> Bands:
        """Returns the bands that find candidates of at least the given similarity with a probability of :data:`RECALL`.

        More rows let fewer other pairs become candidates, but need more bands.
        """
        # MinHash values of two sets are equal with a probability of their Jaccard similarity s (Broder, 1997). A band
        # has `rows` values of either side, so two pairs have the same hash of a band with a probability of s^(2 rows),
        # and are candidates with 1 - (1 - s^(2 rows))^bands. `_bands_for` solves this for the number of bands.
        numbers = {rows: _bands_for(similarity, rows) for rows in range(1, MOST_ROWS + 1)}
        rows = max((rows for rows, bands in numbers.items() if bands <= MOST_BANDS), default=1)
        return cls(min(numbers[rows], LAST_BANDS), rows)


def _bands_for(similarity: float, rows: int) -> int:
    same = similarity ** (2 * rows)
    if same >= RECALL:
        return 1
    return math.ceil(math.log1p(-RECALL) / math.log1p(-same)) if same > 1e-9 else 1 << 40


@dataclass(frozen=True)
class Signatures:
    """The contents of a part's records."""

    bands: Bands
    scores: tuple[str, ...]  # names of the scores that rank the pairs, the most important first

    @classmethod
    def of(cls, settings: DedupSettings) -> Signatures:
        """Returns the record contents for a config's settings."""
        known = (score for score in settings.keep[:-1] if score not in COMPUTED_SCORES)  # the others come later
        return cls(Bands.of(settings.near.similarity), tuple(known))

    @property
    def width(self) -> int:
        """Column count of records and edges."""
        return 2 + len(self.scores)

    @property
    def record_bytes(self) -> int:
        return 8 * self.width

    def records(self, pairs: pa.RecordBatch, part: int, group: Group = ALL) -> Records:
        """Returns the records for a batch of pairs in a part: uint64, shape ``[pairs * bands, width]``."""
        first, second = (TextColumn.from_arrow(pairs.column(side)) for side in SIDES)
        hashes = band_hashes(first.data, first.offsets, second.data, second.offsets, self.bands.bands, self.bands.rows)
        others = [*group.ranks(pairs, self.scores), places_of(pairs, part)]
        return np.column_stack(
            [hashes.reshape(-1) ^ np.uint64(group.salt), *(np.repeat(each, self.bands.bands) for each in others)]
        )


def write_groups(file: GroupedWriter, rows: Records, groups: npt.NDArray[np.integer[Any]], count: int) -> None:
    """Writes rows, uint64, shape ``[rows, width]``, in any order to a file of groups."""
    if len(rows):
        file.write(*group_rows(np.ascontiguousarray(rows), groups.astype(np.uint32), count))


@dataclass
class BucketCounts:
    """Bucket counts for one range of hashes."""

    # how many record pairs are compared; the same pairs may be in buckets of several bands
    comparisons: int = 0
    full_buckets: int = 0  # number of buckets in which some pairs were not compared, because there are too many


def edges_of(records: Records, counts: BucketCounts) -> Iterator[Records]:
    """Yields the edges between a hash range's records, ascending, and sorts the records in place.

    An edge may come several times, in different arrays. ``counts`` is updated.
    """
    # A bucket of n pairs has n²/2 comparisons, and a frequent text may put millions of pairs into one. So each pair is
    # compared only with the best `BUCKET_CAP` pairs of its bucket, which makes the work linear. The result depends on
    # the order of ranks and places alone. Edges come in pieces, so that memory does not depend on the buckets either.
    sort_bands(records)
    counts.comparisons += _comparisons(records[:, 0])
    after = 0
    while after < len(records):
        edges, after, full = bucket_edges(records, BUCKET_CAP, after, EDGES_AT_ONCE)
        counts.full_buckets += full
        if len(edges):
            yield edges


def _comparisons(hashes: Records) -> int:
    """Returns the number of comparisons in the buckets of ascending hashes."""
    sizes = np.diff(np.flatnonzero(np.diff(hashes)) + 1, prepend=0, append=len(hashes))
    best = np.minimum(sizes, BUCKET_CAP)
    return int((best * (best - 1) // 2 + (sizes - best) * BUCKET_CAP).sum())


def distinct(rows: Records) -> Records:
    """Returns rows in ascending order, without repetitions."""
    if len(rows) < 2:
        return rows
    ordered = rows[np.lexsort(rows.T[::-1])]
    first: Records = ordered[np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])]
    return first


def requests_of(edges: Records) -> Records:
    """Returns the places of the better pairs in edges, each with the worse pair's part: shape ``[n, 2]``."""
    return distinct(np.column_stack([edges[:, -1], parts_of(edges[:, 0]).astype(np.uint64)]))


def best_of(edges: Records) -> Records:
    """Returns the edge from each worse pair to the best of its better pairs."""
    ordered = distinct(edges)
    return ordered[np.concatenate([[True], ordered[1:, 0] != ordered[:-1, 0]])] if len(ordered) else ordered


@dataclass(frozen=True)
class Texts:
    """Pairs that others are compared with, and their places in ascending order."""

    places: Records
    source: TextColumn
    target: TextColumn

    @classmethod
    def of(cls, runs: Iterable[Records]) -> Texts:
        """Joins texts that :func:`write_texts` wrote."""
        schema = _texts_schema()
        batches = [pa.ipc.read_record_batch(pa.py_buffer(run), schema) for run in runs]
        table = pa.Table.from_batches(batches, schema).combine_chunks()
        source, target = (TextColumn.from_arrow(pa.concat_arrays(table.column(side).chunks)) for side in SIDES)
        return cls(np.asarray(table.column("place").to_numpy(), np.uint64), source, target)


def write_texts(file: GroupedWriter, pairs: pa.RecordBatch, places: Records, requests: Records, count: int) -> None:
    """Writes the texts of pairs for the parts that requested them, in groups by part.

    Args:
        places: places of these pairs, ascending.
        requests: places of some of these pairs, each with the part that requested it: uint64, shape ``[requests, 2]``.
    """
    # A grouped file holds rows of uint64. A part's texts are serialized as one Arrow batch, whose bytes are written as
    # rows of one number: `starts` then says where each part's batch begins.
    if not len(requests):
        return
    requests = requests[np.argsort(requests[:, 1], kind="stable")]
    lines = pa.array(np.searchsorted(places, requests[:, 0]))
    # Texts of a part may together be longer than 32-bit offsets allow.
    columns = [pairs.column(side).cast(pa.large_string()).take(lines) for side in SIDES]
    texts = pa.record_batch([pa.array(requests[:, 0]), *columns], schema=_texts_schema())
    parts, begins = np.unique(requests[:, 1].astype(np.int64), return_index=True)
    bounds = pairwise([*begins.tolist(), len(requests)])
    # Arrow pads a serialized batch to a multiple of 8 bytes.
    blobs = [np.frombuffer(texts[begin:end].serialize(), np.uint64) for begin, end in bounds]
    sizes = np.zeros(count + 1, np.uint64)
    sizes[parts + 1] = [len(blob) for blob in blobs]
    file.write(np.concatenate(blobs).reshape(-1, 1), np.cumsum(sizes, dtype=np.uint64))


def verified_edges(pairs: pa.RecordBatch, places: Records, texts: Texts, edges: Records, similarity: float) -> Records:
    """Returns, for each pair with near duplicates, the edge to the best of them.

    Args:
        places: places of these pairs, ascending.
        edges: edges in ascending order; edges from other pairs are left out.
    """
    # Edges are ordered by the worse pair, then by the better one, the best first. `verify_pairs` stops at the first
    # candidate of a pair that is similar, so no pair is compared further once the best among these texts is found.
    if not len(places) or not len(texts.places):
        return edges[:0]
    first, last = np.searchsorted(edges[:, 0], [places[0], places[-1] + np.uint64(1)])
    edges = edges[first:last]
    own = np.searchsorted(places, edges[:, 0])
    others = np.minimum(np.searchsorted(texts.places, edges[:, -1]), len(texts.places) - 1)
    there = texts.places[others] == edges[:, -1]  # a text may be in another piece
    edges = edges[there]
    candidates: npt.NDArray[np.int64] = np.column_stack([own[there], others[there]]).astype(np.int64)
    source, target = (TextColumn.from_arrow(pairs.column(side)) for side in SIDES)
    similar = verify_pairs(
        source.data,
        source.offsets,
        target.data,
        target.offsets,
        texts.source.data,
        texts.source.offsets,
        texts.target.data,
        texts.target.offsets,
        np.ascontiguousarray(candidates),
        similarity,
    )
    return edges[similar]


def _texts_schema() -> pa.Schema:
    return pa.schema([("place", pa.uint64()), *((side, pa.large_string()) for side in SIDES)])
