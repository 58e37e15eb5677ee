"""compile: from corpora of any format to Parquet parts of aligned, checked pairs.

Two rounds of tasks: the lines of large files are counted; then corpora are compiled, large ones a slice at a time.
Pairs with an empty side are dropped and counted, as are those that the reader finds fault with. Nothing is altered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from nmt_prep.config import Config, Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import iter_pairs, reader_of, row_groups
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.stages.compile_slices import CorpusFiles, slice_corpora
from nmt_prep.stages.compile_tasks import DROP_REASONS, CompileTask, added_counts, compile_slice, no_pairs
from nmt_prep.stages.extract import extracted_files, file_names

__all__ = ["DROP_REASONS", "Compile", "iter_pairs", "row_groups"]


class Compile(Stage):
    """Writes ``compiled/<split>/part-<corpus, 3 digits>-<slice, 5 digits>-<part, 5 digits>.parquet``.

    Details::

        parts:   {split: [{file, pairs, bytes, corpus}, …]}     in order; bytes are UTF-8 bytes of both sides
        corpora: {split: {corpus: {pairs_in, pairs_out, dropped: {reason: pairs}, altered: {what: lines},
                   source_bytes, target_bytes}}}

    where ``source_bytes`` and ``target_bytes`` are of all lines that went in, with one byte for each line's end.
    """

    name: ClassVar[str] = "compile"
    inputs: ClassVar[tuple[str, ...]] = ("extract",)
    directory: ClassVar[str] = "compiled"
    rounds: ClassVar[tuple[str, ...]] = ("lines", "compile")
    version: ClassVar[int] = 2

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            settings[f"splits.{split}"] = [corpus.name for corpus in corpora]
            for corpus in corpora:
                settings |= reading_settings(f"splits.{split}.{corpus.name}", corpus, config.languages)
        return settings

    def run(self, context: Context) -> Result:
        sources = [
            CorpusFiles(
                split, index, corpus, extracted_files(context, split, corpus), file_names(context, split, corpus)
            )
            for split, corpora in context.config.splits.items()
            for index, corpus in enumerate(corpora)
        ]
        for held_out, train in _same_files(sources):
            context.progress.event("same_as_train", corpus=held_out.where, train=train.where)
        tasks = [
            CompileTask(
                key=f"{source.split}-{source.index:03d}-{number:05d}",
                source=source,
                slice=slice_,
                number=number,
                whole=len(slices) == 1,
                languages=context.config.languages,
                directory=context.directory / source.split,
            )
            for source, slices in zip(sources, slice_corpora(context.tasks, sources), strict=True)
            for number, slice_ in enumerate(slices)
        ]
        total = sum(path.stat().st_size for source in sources for files in source.files for path in files.values())
        results = context.tasks.run(
            Round(
                "compile",
                compile_slice,
                tasks,
                total,
                "bytes",
                made=lambda task, result: (context.directory / part["file"] for part in result["parts"]),
            )
        )
        parts: dict[str, list[object]] = {split: [] for split in context.config.splits}
        corpora: dict[str, dict[str, Any]] = {split: {} for split in context.config.splits}
        digests: dict[str, str] = {}
        for source in sources:
            own = [result for task, result in zip(tasks, results, strict=True) if task.source is source]
            counts = added_counts([result["counts"] for result in own])
            written = [part for result in own for part in result["parts"]]
            if not written and source.corpus.role != "vocab":
                raise no_pairs(source, counts)
            parts[source.split] += [{**part, "corpus": source.corpus.name} for part in written]
            corpora[source.split][source.corpus.name] = counts
            digests |= {file: digest for result in own for file, digest in result["digests"].items()}
        return Result(
            counts=_total([result["counts"] for result in results]),
            files=list(digests),
            digests=digests,
            details={"parts": parts, "corpora": corpora},
        )


def _same_files(sources: Sequence[CorpusFiles]) -> list[tuple[CorpusFiles, CorpusFiles]]:
    """Returns the corpora outside train that read the very files of one in train, each with that one."""
    train = [source for source in sources if source.split == "train"]
    others = [source for source in sources if source.split != "train"]
    return [(other, source) for other in others for source in train if list(other.files) == list(source.files)]


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


def _total(slices: Sequence[Mapping[str, Any]]) -> Counts:
    total = added_counts(slices)
    return Counts(pairs_in=total["pairs_in"], pairs_out=total["pairs_out"], dropped=total["dropped"])
