"""compile: from corpora of any format to Parquet parts of aligned, checked pairs.

Pairs with an empty side are dropped and counted; nothing else is dropped, and nothing is altered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import READERS, PairBatch, iter_pairs, open_corpus, row_groups
from nmt_prep.corpora.lines import text_bytes
from nmt_prep.corpora.parts import write_parts
from nmt_prep.errors import CorpusError
from nmt_prep.manifest import Counts
from nmt_prep.pipeline import Context, Result, Stage
from nmt_prep.progress import Meter
from nmt_prep.stages.extract import extracted_files

__all__ = ["Compile", "iter_pairs", "row_groups"]

DROP_REASONS = ("empty_source", "empty_target", "empty_both")


@dataclass(frozen=True)
class CompileTask:
    """One corpus of one split to compile."""

    key: str
    split: str
    index: int
    corpus: Corpus
    files: dict[str, Path]
    directory: Path


class Compile(Stage):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<part, 5 digits>.parquet``.

    Details::

        parts:   {split: [{file, pairs, bytes, corpus}, …]}     in order; bytes are UTF-8 bytes of both sides
        corpora: {split: {corpus: {pairs_in, pairs_out, dropped: {reason: pairs}, source_bytes, target_bytes}}}

    where ``source_bytes`` and ``target_bytes`` are of all lines that went in, with one byte for each line's end.
    """

    name: ClassVar[str] = "compile"
    inputs: ClassVar[tuple[str, ...]] = ("extract",)
    directory: ClassVar[str] = "compiled"

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus)
        return settings

    def run(self, context: Context) -> Result:
        tasks = [
            CompileTask(
                key=f"{split}-{index:03d}",
                split=split,
                index=index,
                corpus=corpus,
                files=extracted_files(context, split, corpus),
                directory=context.directory / split,
            )
            for split, corpora in context.config.splits.items()
            for index, corpus in enumerate(corpora)
        ]
        total = sum(path.stat().st_size for task in tasks for path in task.files.values())
        with context.progress.meter("compile", total, "bytes") as meter:
            results = context.tasks.run(partial(compile_corpus, meter), tasks)
        parts: dict[str, list[object]] = {split: [] for split in context.config.splits}
        corpora: dict[str, dict[str, Any]] = {split: {} for split in context.config.splits}
        for task, result in zip(tasks, results, strict=True):
            parts[task.split] += result["parts"]
            corpora[task.split][task.corpus.name] = result["counts"]
        return Result(
            counts=_total([result["counts"] for result in results]),
            files=[part["file"] for result in results for part in result["parts"]],
            details={"parts": parts, "corpora": corpora},
        )


def reading_settings(key: str, corpus: Corpus) -> dict[str, object]:
    """The settings that decide which pairs the files of a corpus hold."""
    columns = corpus.columns.model_dump() if corpus.columns else None
    return {f"{key}.format": corpus.resolved_format, f"{key}.columns": columns, f"{key}.header": corpus.header}


def compile_corpus(meter: Meter, task: CompileTask) -> dict[str, Any]:
    """Compiles one corpus; returns its parts and counts.

    Raises:
        CorpusError: the corpus is not aligned, not UTF-8, malformed, or has no pair with text on both sides.
    """
    counts = _CorpusCounts()
    batches = _without_empty(open_corpus(task.corpus, task.files).pairs(), counts, meter)
    parts = write_parts(batches, task.corpus.name, task.directory, f"part-{task.index:03d}")
    if not parts:
        names = " and ".join(str(task.files[part]) for part in READERS[task.corpus.resolved_format].parts)
        raise CorpusError(
            f"corpus {task.corpus.name} of {task.split} has no pair with text on both sides "
            f"({counts.pairs_in} pairs in {names}); check its members and columns in the config, or remove it"
        )
    name = task.corpus.name
    listed = [
        {"file": f"{task.split}/{part.file}", "pairs": part.pairs, "bytes": part.bytes, "corpus": name}
        for part in parts
    ]
    return {"parts": listed, "counts": counts.as_json()}


class _CorpusCounts:
    """What went into a corpus and what was dropped."""

    def __init__(self) -> None:
        self.pairs_in = 0
        self.bytes = {"source": 0, "target": 0}
        self.dropped = dict.fromkeys(DROP_REASONS, 0)

    def as_json(self) -> dict[str, Any]:
        return {
            "pairs_in": self.pairs_in,
            "pairs_out": self.pairs_in - sum(self.dropped.values()),
            "dropped": self.dropped,
            "source_bytes": self.bytes["source"],
            "target_bytes": self.bytes["target"],
        }


def _without_empty(batches: Iterator[PairBatch], counts: _CorpusCounts, meter: Meter) -> Iterator[PairBatch]:
    """Drops pairs of which a side is empty once stripped, and counts."""
    for batch in batches:
        sizes = [text_bytes(side) + len(side) for side in (batch.source, batch.target)]
        counts.pairs_in += len(batch)
        counts.bytes["source"] += sizes[0]
        counts.bytes["target"] += sizes[1]
        source_empty, target_empty = _empty(batch.source), _empty(batch.target)
        either, both = pc.or_(source_empty, target_empty), pc.and_(source_empty, target_empty)
        counts.dropped["empty_both"] += both.true_count
        counts.dropped["empty_source"] += source_empty.true_count - both.true_count
        counts.dropped["empty_target"] += target_empty.true_count - both.true_count
        keep = pc.invert(either)
        yield PairBatch(batch.source.filter(keep), batch.target.filter(keep)) if either.true_count else batch
        meter.advance(sum(sizes))


def _empty(lines: pa.Array) -> pa.Array:
    """Which lines ``str.strip`` leaves nothing of."""
    return pc.or_(pc.utf8_is_space(lines), pc.equal(pc.binary_length(lines), 0))


def _total(corpora: list[dict[str, Any]]) -> Counts:
    return Counts(
        pairs_in=sum(counts["pairs_in"] for counts in corpora),
        pairs_out=sum(counts["pairs_out"] for counts in corpora),
        dropped={reason: sum(counts["dropped"][reason] for counts in corpora) for reason in DROP_REASONS},
    )
