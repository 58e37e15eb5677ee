"""All evaluation sets' segments in one file, and the index that finds pairs that contain one of them.

A segment has one or two sides. Its sides are compared with both sides of a pair, whatever their languages. A pair
matches a segment in one of these ways, the closest first:

- ``exact``: both sides are the same in all bytes.
- ``pair``: both sides are the same after normalization (:mod:`nmt_prep.cleaning.dedup.records`).
- ``side``: one side is the same after normalization, and has at least 20 letters.
- ``covered``: one side has a share of at least ``coverage`` of the different n-grams on a side of the segment.

N-grams consist of two words, or three characters in scripts that are written without spaces between words. Only
segments with at least 20 letters and six different n-grams can be covered. A character of a script without spaces
counts as two letters.

Segments also come from files that are not corpora of a config.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import _nmt_prep_core as core
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import ConfigError, CorpusError
from nmt_prep.base.runtime import kept
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.presets import effective_decontamination
from nmt_prep.config import Config, Corpus, DecontaminateSettings, ExtractSettings, Languages
from nmt_prep.config.file import as_tuples
from nmt_prep.config.problems import did_you_mean
from nmt_prep.corpora import PairBatch, format_of, iter_pairs, open_corpus, parts_of, reader_of
from nmt_prep.corpora.archives.entry import Archive, without_suffix
from nmt_prep.corpora.archives.extraction import WHOLE_FILE, extract_members
from nmt_prep.corpora.sources.catalogues import describe_mtdata, describe_opus
from nmt_prep.corpora.sources.sacrebleu_sets import ALL, SACREBLEU, evaluation_corpora, sacrebleu_pairs
from nmt_prep.text.blocks import TextPolicy, iter_blocks, spans


@dataclass(frozen=True)
class Segments:
    """The segments of evaluation sets, and their index."""

    index: SegmentIndex
    sets: Numbers  # the set index of each segment, ascending: int64, shape `[segments]`
    rows: Numbers  # the row of each segment in its set, counted from 0: int64, shape `[segments]`
    first: pa.Array  # one side of each segment: an array of strings
    second: pa.Array  # the other side; empty for segments with one side

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], coverage: float | None) -> Segments:
        """Builds the index of batches with the columns ``source``, ``target``, ``set`` and ``row``."""
        table = pa.Table.from_batches(batches, _schema())
        first, second, sets, rows = (
            pa.concat_arrays(table.column(name).chunks or [pa.array([], table.schema.field(name).type)])
            for name in ("source", "target", "set", "row")
        )
        return cls(SegmentIndex(first, second, coverage), sets.to_numpy(), rows.to_numpy(), first, second)

    def search_pairs(self, pairs: PairBatch) -> Matches:
        """Finds the segments that pairs contain; pairs with an empty target have one side."""
        return self.index.search({"source": pairs.source, "target": pairs.target})


def _schema() -> pa.Schema:
    kinds = {"source": pa.large_string(), "target": pa.large_string(), "set": pa.int64(), "row": pa.int64()}
    return pa.schema([pa.field(*each, nullable=False) for each in kinds.items()])


def numbered_segments(batches: Iterable[PairBatch], number: int) -> Iterator[pa.RecordBatch]:
    """Yields the segments in a set that have text, as batches with the set's index and the segments' rows."""
    row = 0
    for batch in batches:
        rows = np.arange(row, row + len(batch)) if batch.rows is None else batch.rows
        row += len(batch)
        sides = [side.cast(pa.large_string()) for side in (batch.source, batch.target)]
        filled = pc.or_(*(pc.greater(pc.binary_length(side), 0) for side in sides))
        columns = [*sides, pa.array(np.full(len(batch), number)), pa.array(rows)]
        yield pa.record_batch(columns, schema=_schema()).filter(filled)


@kept()
def load_segments(path: Path, sha256: str, coverage: float) -> Segments:
    """Returns the segments of a file and their index. The last result stays in memory for all tasks of the process."""
    del sha256
    return Segments.of(iter_pairs(path), coverage)


KINDS = ("none", "exact", "pair", "side", "covered")  # The ways in which a pair matches a segment, by number

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Kinds: TypeAlias = "npt.NDArray[np.uint8]"


@dataclass(frozen=True)
class Matches:
    """The segments that a batch of pairs contains."""

    closest: Numbers  # the index of each pair's closest segment, -1 without one: int64, shape `[pairs]`
    kinds: Kinds  # how that segment matches, as an index into `KINDS`: uint8, shape `[pairs]`
    # the share of that segment's n-grams in the pair, 1 if lines are the same: float64, shape `[pairs]`
    shares: npt.NDArray[np.float64]
    found: Numbers  # the numbers of all segments that some pair matches, ascending: int64, shape `[found]`
    found_kinds: Kinds  # the closest match kind for each of these segments: uint8, shape `[found]`


class SegmentIndex:
    """Finds segments in pairs. Threads may search at the same time."""

    def __init__(self, first: pa.Array, second: pa.Array, coverage: float | None) -> None:
        """Builds the index.

        Args:
            second: the other side, of the same length; empty for segments with one side.
            coverage: the share of n-grams that makes a match, above 0; None to compare whole lines only.
        """
        self._size = len(first)
        one, other = map(TextColumn.from_arrow, (first, second))
        share = np.inf if coverage is None else coverage
        self._index = core.SegmentIndex(one.data, one.offsets, other.data, other.offsets, share)

    def __len__(self) -> int:
        return self._size

    def search(self, text: Mapping[Side, pa.Array]) -> Matches:
        """Finds the segments that pairs contain."""
        columns = [TextColumn.from_arrow(lines) for lines in text.values()]
        if len(columns) == 1:
            columns.append(TextColumn(np.zeros(0, np.uint8), np.zeros(len(columns[0]) + 1, np.int64)))
        one, other = columns
        return Matches(*self._index.search(one.data, one.offsets, other.data, other.offsets))


_POLICY = TextPolicy(crlf="strip", mark="strip")


def read_segments(path: Path, languages: Languages, unpacked: Path) -> Iterator[PairBatch]:
    """Yields a file's segments; segments with one side have an empty target.

    A line in a text file is a segment, and so is a line in a TSV file: its first two columns are the sides. Other files
    are read by the format that their suffix implies.
    """
    corpus = _corpus(path)
    kind = format_of(corpus)
    if kind != "plain" and parts_of(corpus) != ("both",):
        raise CorpusError(f"{path}: format {kind} has one file per side; convert it to lines of text, or to TSV")
    if "fields" in reader_of(kind).options:
        raise CorpusError(f"{path}: format {kind} needs fields, which cannot be given here; convert it to TSV")
    content = path
    if without_suffix(path.name) != path.name:
        content = unpacked
        archive = Archive(path, path.name, _digest(path))
        extract_members(archive, [WHOLE_FILE], lambda _: unpacked, ExtractSettings(), lambda _: None)
    try:
        if kind in ("plain", "tsv"):
            yield from _lines(content)
        else:
            pairs = open_corpus(corpus.model_copy(update={"format": kind}), [{"both": content}], languages).pairs()
            yield from (batch.sound() for batch in pairs)
    except CorpusError as error:
        raise type(error)(str(error).replace(str(content), str(path))) from error


def needs_languages(path: Path) -> bool:
    """Returns true if the languages decide which texts of a file are read."""
    return reader_of(format_of(_corpus(path))).multilingual


def _corpus(path: Path) -> Corpus:
    return Corpus.model_validate({"name": "segments", "url": {"both": (str(path),)}})


def _digest(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error


def _lines(path: Path) -> Iterator[PairBatch]:
    for block in iter_blocks(path, _POLICY):
        lines = spans(block.data, block.starts, block.ends)
        with_tab = pc.binary_join_element_wise(lines, pa.scalar("", lines.type), pa.scalar("\t", lines.type))
        fields = pc.split_pattern(with_tab, "\t", max_splits=2)
        yield PairBatch(pc.list_element(fields, 0), pc.list_element(fields, 1))


FILE = "file:"
_CATALOGUES = {"opus": describe_opus, "mtdata": describe_mtdata}  # catalogs of single corpora, by prefix

REASON = "in_test_set:"  # Prefix of reasons for dropping pairs; the name of the evaluation set follows


# The evaluation sets that a config names in `clean.decontaminate.against`.
#
# An entry is the name of a split, `sacrebleu:<test set>` for all pairs of a set that have the config's languages,
# `sacrebleu:<test set>/<pair>` for any pair, `sacrebleu:all`, an ID of OPUS or mtdata, or `file:<path>`.


def set_name(entry: str) -> str:
    """Returns an evaluation set's name: a split, an ID without its catalog, or a file name."""
    return Path(entry.removeprefix(FILE)).name if entry.startswith(FILE) else entry.partition(":")[2] or entry


def is_split(entry: str) -> bool:
    """Returns true if an entry names a split."""
    return ":" not in entry


def against_of(config: Config) -> tuple[str, ...]:
    """Returns a config's evaluation sets, or no sets if the config does not clean."""
    if config.clean is None:
        return ()
    return effective_decontamination(config.clean, config.own_splits).against or ()


def is_decontaminated(config: Config, split: str, corpus: Corpus) -> bool:
    """Returns true if the pairs of a cleaned corpus are compared with evaluation sets.

    Returns false for splits that are evaluation sets themselves, and for corpora of role ``vocab``.
    """
    against = against_of(config)
    return bool(against) and split not in against and corpus.role != "vocab"


def against_problems(
    settings: DecontaminateSettings, splits: Collection[str] | None, languages: Languages
) -> Iterator[str]:
    """Yields the problems in the entries of ``against``.

    Args:
        splits: all splits of the config; None for a stream of pairs, which has none.
    """
    entries = settings.against or ()
    names = [set_name(entry) for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        if names.count(name) > 1:
            yield f"two evaluation sets have the name {name!r}, which the report uses; rename one of the files"
        if is_id(entry):
            try:
                list(id_corpora([entry], languages))
            except ConfigError as error:
                yield str(error)
        elif entry.startswith(FILE):
            if not entry.removeprefix(FILE):
                yield "file: must be followed by a path, such as file:extra.txt"
        elif splits is None:
            yield f"{entry!r} is a split, which a stream does not have; name files (file:…) and IDs (sacrebleu:…)"
        elif entry not in splits:
            meant = did_you_mean(entry, [*splits, f"{FILE}{entry}", f"{SACREBLEU}{entry}"])
            known = f"splits: {', '.join(splits)}; files are named file:…; splits that hold_out makes come later"
            yield f"there is no split {entry!r} ({known}){meant}"


def is_id(entry: str) -> bool:
    """Returns true if an entry is an ID of a catalog."""
    return entry.startswith((SACREBLEU, *(f"{catalogue}:" for catalogue in _CATALOGUES)))


def id_corpora(against: Collection[str], languages: Languages) -> Iterator[tuple[str, str, Corpus]]:
    """Yields the corpora of the IDs among entries: the entry, the name such as ``wmt22/en-de``, and the corpus.

    Each set that ``sacrebleu:all`` stands for is an entry; a text that an earlier set has is left out. A set that two
    other entries name is yielded once.
    """
    seen: set[object] = set()
    for entry in against:
        if entry.startswith(SACREBLEU):
            for address in sacrebleu_pairs(entry, languages):
                if address not in seen:
                    seen.add(address)
                    yield from _sacrebleu_set(entry, address, seen)
        elif is_id(entry):
            name = set_name(entry)
            corpus = {**as_tuples(_described(entry, languages)), "name": re.sub(r"[^A-Za-z0-9._-]", "-", name)}
            yield entry, name, Corpus.model_validate(corpus)


def _described(entry: str, languages: Languages) -> dict[str, Any]:
    """Returns the config keys of a corpus by ID, in the order of the languages if it has them, or else of the ID."""
    describe, spoken = _CATALOGUES[entry.partition(":")[0]], re.split("[-/]", entry)
    try:
        return describe(entry, languages)
    except ConfigError:
        return describe(
            entry, Languages.model_construct(source=spoken[-2 if len(spoken) > 1 else -1], target=spoken[-1])
        )


def _sacrebleu_set(entry: str, address: str, seen: set[object]) -> Iterator[tuple[str, str, Corpus]]:
    name, _, pair = address.removeprefix(SACREBLEU).rpartition("/")
    source, _, target = pair.partition("-")
    languages = {"source": source, "target": target}
    for number, known in enumerate(evaluation_corpora(address), 1):
        places = [known.get(key) for key in ("member", "source", "target")]
        texts = repr(sorted(known["url"].values())), frozenset(filter(None, places))
        if entry != ALL or texts not in seen:
            seen.add(texts)
            whole = f"{name}/{pair}" if number == 1 else f"{name}/{pair}/{number}"
            corpus = {**known, "name": whole.replace("/", "-"), "languages": languages}
            yield SACREBLEU + name if entry == ALL else entry, whole, Corpus.model_validate(corpus)


def id_corpora_of(config: Config) -> list[Corpus]:
    """Returns the corpora that a config names by IDs as evaluation sets."""
    return [corpus for _, _, corpus in id_corpora(against_of(config), config.languages)]
