"""The tasks of the compile stage's second round: from the files of a corpus, or a slice of them, to Parquet parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.config.section import Languages
from nmt_prep.corpora import Fault, PairBatch, open_corpus
from nmt_prep.corpora.lines import text_bytes
from nmt_prep.corpora.parts import Part, write_parts
from nmt_prep.corpora.slices import line_slice
from nmt_prep.engines import Tick
from nmt_prep.errors import CorpusError
from nmt_prep.stages.compile_slices import CorpusFiles, CorpusSlice

_FAULTS = {fault: fault.name.lower() for fault in Fault}

FAULTS = tuple(_FAULTS.values())
"""Reasons to drop a pair that its reader gives."""

DROP_REASONS = ("empty_source", "empty_target", "empty_both", *FAULTS, "vocab_only")


@dataclass(frozen=True)
class CompileTask:
    """One corpus of one split to compile, or a slice of it.

    Attributes:
        key: names the task.
        source: the corpus.
        slice: what of it.
        number: of the slice.
        whole: whether it is all there is of the corpus.
        languages: of the config.
        directory: where the parts go.
    """

    key: str
    source: CorpusFiles
    slice: CorpusSlice
    number: int
    whole: bool
    languages: Languages
    directory: Path


def compile_slice(task: CompileTask, tick: Tick) -> dict[str, Any]:
    """Compiles one corpus or a slice of it; returns its parts, their digests, and counts. Ticks are bytes of text.

    Raises:
        CorpusError: the corpus is not aligned, not text, malformed, or has no pair with text on both sides; the message
            begins with its key in the config.
    """
    try:
        counts, parts = _compile(task, tick)
    except CorpusError as error:
        raise task.source.explained(error) from error
    if task.whole and not parts and task.source.corpus.role != "vocab":
        raise no_pairs(task.source, counts)
    names = [f"{task.source.split}/{part.file}" for part in parts]
    return {
        "parts": [
            {"file": name, "pairs": part.pairs, "bytes": part.bytes} for name, part in zip(names, parts, strict=True)
        ],
        "digests": {name: part.sha256 for name, part in zip(names, parts, strict=True)},
        "counts": counts,
    }


def no_pairs(source: CorpusFiles, counts: Mapping[str, Any]) -> CorpusError:
    """The error to raise where no pair of a corpus is left."""
    names = " and ".join(str(path) for files in source.files for path in files.values())
    reasons = ", ".join(f"{reason} {count}" for reason, count in counts["dropped"].items() if count)
    error = CorpusError(
        f"no pair has text on both sides ({counts['pairs_in']} pairs in {names}"
        f"{'; dropped: ' * bool(reasons)}{reasons}); check how the config says that it is read, or remove it"
    )
    return source.explained(error)


def added_counts(slices: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts of a corpus from those of its slices."""
    return {
        name: {key: sum(counts[name][key] for counts in slices) for key in value}
        if isinstance(value, dict)
        else sum(counts[name] for counts in slices)
        for name, value in slices[0].items()
    }


def _compile(task: CompileTask, tick: Tick) -> tuple[dict[str, Any], list[Part]]:
    counts, corpus = _CorpusCounts(), task.source.corpus
    bounds = task.slice.bounds
    slices = {part: line_slice(path, bounds[part]) for part, path in task.slice.files[0].items()} if bounds else None
    reader = open_corpus(corpus, task.slice.files, task.languages, slices)
    batches = _sound(reader.pairs(), counts, tick)
    parts: list[Part] = []
    if corpus.role == "vocab":
        counts.dropped["vocab_only"] = sum(len(batch) for batch in batches)
    else:
        prefix = f"part-{task.source.index:03d}-{task.number:05d}"
        parts = write_parts(batches, corpus.name, task.directory, prefix)
    return counts.as_json(reader.counts), parts


class _CorpusCounts:
    """What went into a corpus and what was dropped."""

    def __init__(self) -> None:
        self.pairs_in = 0
        self.bytes = {"source": 0, "target": 0}
        self.dropped = dict.fromkeys(DROP_REASONS, 0)

    def as_json(self, altered: Mapping[str, int]) -> dict[str, Any]:
        return {
            "pairs_in": self.pairs_in,
            "pairs_out": self.pairs_in - sum(self.dropped.values()),
            "dropped": self.dropped,
            "altered": {what: altered.get(what, 0) for what in ("byte_order_marks", "carriage_returns")},
            "source_bytes": self.bytes["source"],
            "target_bytes": self.bytes["target"],
        }


def _sound(batches: Iterator[PairBatch], counts: _CorpusCounts, tick: Tick) -> Iterator[PairBatch]:
    """Drops pairs with a fault, and pairs of which a side is empty once stripped, and counts."""
    for batch in batches:
        sizes = [text_bytes(side) + len(side) for side in (batch.source, batch.target)]
        counts.pairs_in += len(batch)
        counts.bytes["source"] += sizes[0]
        counts.bytes["target"] += sizes[1]
        if batch.faults is not None:
            for fault, reason in _FAULTS.items():
                counts.dropped[reason] += int(np.count_nonzero(batch.faults == fault))
        pairs = batch.sound()
        source_empty, target_empty = _empty(pairs.source), _empty(pairs.target)
        either, both = pc.or_(source_empty, target_empty), pc.and_(source_empty, target_empty)
        counts.dropped["empty_both"] += both.true_count
        counts.dropped["empty_source"] += source_empty.true_count - both.true_count
        counts.dropped["empty_target"] += target_empty.true_count - both.true_count
        keep = pc.invert(either)
        yield PairBatch(pairs.source.filter(keep), pairs.target.filter(keep)) if either.true_count else pairs
        tick(sum(sizes))


def _empty(lines: pa.Array) -> pa.Array:
    """Which lines ``str.strip`` leaves nothing of."""
    return pc.or_(pc.utf8_is_space(lines), pc.equal(pc.binary_length(lines), 0))
