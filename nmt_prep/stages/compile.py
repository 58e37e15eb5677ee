"""compile: from corpora of any format to Parquet parts of aligned, checked pairs.

Pairs with an empty side are dropped and counted, as are those that the reader finds fault with. Nothing is altered but
by the corpus's ``tag``, a word before each line of a side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.config import Config, Corpus
from nmt_prep.config_section import Languages
from nmt_prep.corpora import Fault, PairBatch, iter_pairs, open_corpus, reader_of, row_groups
from nmt_prep.corpora.lines import text_bytes
from nmt_prep.corpora.parts import write_parts
from nmt_prep.engines import Tick
from nmt_prep.errors import CorpusError
from nmt_prep.manifest import Counts
from nmt_prep.stage import Context, Result, Stage
from nmt_prep.stages.extract import extracted_files
from nmt_prep.tasks import Round

__all__ = ["Compile", "iter_pairs", "row_groups"]

_FAULTS = {fault: fault.name.lower() for fault in Fault}

DROP_REASONS = ("empty_source", "empty_target", "empty_both", *_FAULTS.values(), "vocab_only")


@dataclass(frozen=True)
class CompileTask:
    """One corpus of one split to compile."""

    key: str
    split: str
    index: int
    corpus: Corpus
    languages: Languages
    files: list[dict[str, Path]]
    directory: Path


class Compile(Stage):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<part, 5 digits>.parquet``.

    Details::

        parts:   {split: [{file, pairs, bytes, corpus}, …]}     in order; bytes are UTF-8 bytes of both sides
        corpora: {split: {corpus: {pairs_in, pairs_out, dropped: {reason: pairs}, altered: {what: lines},
                   source_bytes, target_bytes}}}

    where ``source_bytes`` and ``target_bytes`` are of all lines that went in, with one byte for each line's end.
    """

    name: ClassVar[str] = "compile"
    inputs: ClassVar[tuple[str, ...]] = ("extract",)
    directory: ClassVar[str] = "compiled"
    rounds: ClassVar[tuple[str, ...]] = ("compile",)

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus, config.languages)
                settings[f"splits.{split}.{corpus.name}.tag"] = corpus.tag.model_dump() if corpus.tag else None
        return settings

    def run(self, context: Context) -> Result:
        tasks = [
            CompileTask(
                key=f"{split}-{index:03d}",
                split=split,
                index=index,
                corpus=corpus,
                languages=context.config.languages,
                files=extracted_files(context, split, corpus),
                directory=context.directory / split,
            )
            for split, corpora in context.config.splits.items()
            for index, corpus in enumerate(corpora)
        ]
        total = sum(path.stat().st_size for task in tasks for files in task.files for path in files.values())
        results = context.tasks.run(Round("compile", compile_corpus, tasks, total, "bytes"))
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


def reading_settings(key: str, corpus: Corpus, languages: Languages) -> dict[str, object]:
    """The settings that decide which pairs the files of a corpus hold."""
    reader = reader_of(corpus.resolved_format)
    settings = {"format": corpus.resolved_format, "role": corpus.role, "swap": corpus.swap, "reader": reader.version}
    settings |= corpus.model_dump(mode="json", include=set(reader.options))
    if corpus.role == "monolingual":
        settings["placeholder"] = corpus.placeholder
    if reader.multilingual:
        settings["languages"] = (corpus.languages or languages).model_dump()
    return {f"{key}.{name}": value for name, value in settings.items()}


def compile_corpus(task: CompileTask, tick: Tick) -> dict[str, Any]:
    """Compiles one corpus; returns its parts and counts. Ticks are bytes of text.

    Raises:
        CorpusError: the corpus is not aligned, not text, malformed, or has no pair with text on both sides; the message
            begins with its key in the config.
    """
    try:
        return _compile(task, tick)
    except CorpusError as error:
        raise type(error)(f"splits.{task.split}.{task.corpus.name}: {error}") from error


def _compile(task: CompileTask, tick: Tick) -> dict[str, Any]:
    counts = _CorpusCounts()
    reader = open_corpus(task.corpus, task.files, task.languages)
    batches = _tagged(_sound(reader.pairs(), counts, tick), task.corpus)
    name = task.corpus.name
    if task.corpus.role == "vocab":
        counts.dropped["vocab_only"] = sum(len(batch) for batch in batches)
        return {"parts": [], "counts": counts.as_json(reader.counts)}
    parts = write_parts(batches, name, task.directory, f"part-{task.index:03d}")
    if not parts:
        names = " and ".join(str(path) for files in task.files for path in files.values())
        reasons = ", ".join(f"{reason} {count}" for reason, count in counts.dropped.items() if count)
        raise CorpusError(
            f"no pair has text on both sides ({counts.pairs_in} pairs in {names}"
            f"{'; dropped: ' * bool(reasons)}{reasons}); check how the config says that it is read, or remove it"
        )
    listed = [
        {"file": f"{task.split}/{part.file}", "pairs": part.pairs, "bytes": part.bytes, "corpus": name}
        for part in parts
    ]
    return {"parts": listed, "counts": counts.as_json(reader.counts)}


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


def _tagged(batches: Iterator[PairBatch], corpus: Corpus) -> Iterator[PairBatch]:
    """Puts the corpus's tags before the lines."""
    if corpus.tag is None:
        return batches
    source, target = corpus.tag.source, corpus.tag.target
    return (PairBatch(_with_tag(source, batch.source), _with_tag(target, batch.target)) for batch in batches)


def _with_tag(tag: str | None, lines: pa.Array) -> pa.Array:
    if tag is None:
        return lines
    return pc.binary_join_element_wise(pa.scalar(tag, lines.type), lines, pa.scalar(" ", lines.type))


def _empty(lines: pa.Array) -> pa.Array:
    """Which lines ``str.strip`` leaves nothing of."""
    return pc.or_(pc.utf8_is_space(lines), pc.equal(pc.binary_length(lines), 0))


def _total(corpora: list[dict[str, Any]]) -> Counts:
    return Counts(
        pairs_in=sum(counts["pairs_in"] for counts in corpora),
        pairs_out=sum(counts["pairs_out"] for counts in corpora),
        dropped={reason: sum(counts["dropped"][reason] for counts in corpora) for reason in DROP_REASONS},
    )
