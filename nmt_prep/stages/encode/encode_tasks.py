"""The tasks of the `encode` stage, and the profile of the encoded text.

Tasks encode parts, and sort and write shards. The tasks that encode parts also draw samples for the profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.align.links import Links, pharaoh
from nmt_prep.config.documents import DocumentSettings
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.schema import WeightSettings
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import BEFORE, WORDS, PairFile
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.corpora.scores import no_weights
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.reporting.pair_samples import CorpusSample, PairSample, SampleCollector
from nmt_prep.reporting.profile import (
    CorpusProfile,
    LanguageUse,
    TextProfile,
    VocabularyUse,
    corpus_profile,
    vocabulary_use,
)
from nmt_prep.stages.align import AlignedPart
from nmt_prep.stages.encode.encode_causal import contexts, turns_of
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.chat.template import PairRenderingError
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.words import after_words, words_in
from nmt_prep.training.records.causal_rows import CausalRows
from nmt_prep.training.records.dataset_json import PairStats, ShardInfo
from nmt_prep.training.records.document_index import Repeated, repeated_of_shard
from nmt_prep.training.records.record_columns import REPEATED, column_path, columns_of_shard, index_path, note_path
from nmt_prep.training.records.shard_reader import PairColumns
from nmt_prep.training.records.shuffle_plan import ShardPlan
from nmt_prep.training.records.text_records import LINKS, joined_columns
from nmt_prep.training.records.writer import SpillWriter, write_shards

_LARGEST_BUFFER = 32 << 20
_SMALLEST_BUFFER = 1 << 20
_CACHED_BUFFER = 8 << 20
"""Records in a buffer of this size are still in the processor's cache when they are grouped and written."""

ROWS_AT_A_TIME = 8192  # Number of causal language model rows that are made together

_SEGMENT = 64 << 10  # Bytes of a bucket that should be together in a spill file, so that shards are read quickly


_BUCKETS_IN_MEMORY = 64  # Number of buckets that fit into the memory of a run; each task needs the memory of three

_LARGEST_BUCKET = 256 << 20

_BYTES_PER_RECORD = 128
"""Approximate memory that a record needs in addition to its text while its bucket is sorted: 10 bytes in the spill
file, 55 around its IDs in the shard, the rest for its position, its sizes and its entry in the index."""


@dataclass(frozen=True)
class SpillTask:
    """One part to encode."""

    key: str
    part: PairFile
    corpus: int  # number of its corpus among the corpora of the split
    first_row: int  # number of its first pair in the split
    plan: ShardPlan  # plan of the split: assigns pairs to buckets
    spill: Path
    vocabularies: dict[Side, BuiltVocabulary]
    frames: dict[Side, Frame]  # for each side, the special pieces around the IDs of each row
    links: AlignedPart | None  # the part's word links, for text records; None for records without links
    memory: int  # bytes of memory that the task may use
    sample: CorpusSample  # how the corpus's sample is chosen
    first_pair: int  # number of the first pair in the corpus
    weight: WeightSettings | None = None  # origin of pair weights; None without weights
    rows: CausalRows | None = None  # makes the rows with layout causal; None for other layouts
    documents: DocumentSettings | None = None  # how rows with layout causal join segments; None for single segments

    @property
    def sampled(self) -> Path:
        """The file for the part's sample."""
        return self.spill.with_name(f"sample-{self.spill.name}")


@dataclass(frozen=True)
class ShardTask:
    """Consecutive shards of a split to sort and write: one, or several small ones."""

    key: str
    first: int  # number of the first shard in its split
    plan: ShardPlan  # plan that the spill files were written with
    spills: Path  # directory of the spill files
    parts: int  # how many spill files the split has
    outputs: tuple[Path, ...]  # the file to write for each shard
    first_rows: tuple[int, ...] = ()  # row index at which each spill file starts, if there are columns


def spill_name(split: str, plan: ShardPlan, part: int) -> str:
    """Returns the name of a part's spill file; if the bucket count changes, parts are spilled again."""
    return f"{split}-{part:05d}-in-{plan.buckets}"


_GROUP_BYTES = 32 << 20
_GROUP_SHARDS = 8


def shards_per_task(shards: int, text_bytes: int) -> int:
    """Returns how many shards of a split a task writes: several if they are small, to flush them together."""
    return min(max(_GROUP_BYTES * shards // max(text_bytes, 1), 1), _GROUP_SHARDS)


def spill_buffer(memory: int, buckets: int | None = None) -> int:
    """Returns the bytes of records that a task with ``memory`` bytes may buffer."""
    wanted = _LARGEST_BUFFER if buckets is None else min(max(buckets * _SEGMENT, _CACHED_BUFFER), _LARGEST_BUFFER)
    return min(max(memory // 8, _SMALLEST_BUFFER), wanted)


def in_buckets(plan: ShardPlan, text_bytes: int, memory: int) -> ShardPlan:
    """Returns a plan whose buckets fit into a run's memory. All plans give the same shards."""
    largest = min(max(memory // _BUCKETS_IN_MEMORY, _SMALLEST_BUFFER), _LARGEST_BUCKET)
    return plan.divided(text_bytes + _BYTES_PER_RECORD * plan.rows, largest)


def encode_part(task: SpillTask, tick: Tick) -> PairStats:
    """Encodes one part into one spill file; returns the counts. Ticks are pairs. Writes the sample of the part too."""
    tokenizers = {side: task.vocabularies[side].load() for side in SIDES}
    # The plan maps a pair's index in its split to a shard and a position there. So parts can be encoded in any order,
    # on any machine: the index decides, not the time.
    row = task.first_row
    sizes = {side: len(tokenizers[side]) for side in SIDES}
    collector = SampleCollector(task.sample, task.first_pair, sizes, task.frames)
    source, target = ((task.frames[side].before, task.frames[side].after) for side in SIDES)
    weights: list[npt.NDArray[np.float32]] = []
    repeats, repeated = REPEATED[0] in task.plan.columns, list[Repeated]()
    with SpillWriter(
        task.spill, task.plan, frames=(source, target), buffer_bytes=spill_buffer(task.memory, task.plan.buckets)
    ) as writer:
        links = iter(()) if task.links is None else task.links.linked()
        all_columns = task.weight is not None or bool(task.plan.text_columns) or repeats or task.documents is not None
        for batch in task.part.batches(columns=None if all_columns else [*SIDES, "row", *WORDS.values()]):
            text = {side: strip_lines(batch.column(side)) for side in SIDES}
            words = {side: words_in(batch, side, tokenizers[side]) for side in SIDES}
            ids = {side: after_words(tokenizers[side]).encode_batch(words[side], threads=1) for side in SIDES}
            turns = np.ones(len(batch), np.int64)
            if task.plan.layout == "text":
                lengths = [ids[side].lengths + task.frames[side].size for side in SIDES]
                columns = map(pa.array, [*lengths, *_columns(batch, task, links)])
                stats = PairStats.of(*lengths)
                writer.add_text(row, text["source"], joined_columns(text["target"], columns), task.corpus, stats)
            elif task.rows is not None:
                stats, turns = _add_rows(writer, task, batch, text, row)
            else:
                stats = writer.add(row, ids["source"], ids["target"], task.corpus)
            collector.add(text, ids, max(stats.max_lengths, default=0))
            if task.weight is not None:
                weights.append(mean_of_turns(weights_of(batch, task.weight), turns))
            if BEFORE["source"] in batch.schema.names and repeats:
                repeated.append(_repeated_in(batch, task, tokenizers, row - task.first_row))
            row += len(batch)
            tick(len(batch))
        collector.result().save(task.sampled)
        if task.weight is not None:
            with atomic_write(note_path(task.spill, "weight")) as beside:
                np.concatenate([np.empty(0, "<f4"), *weights]).tofile(beside)
        if repeats:
            Repeated.joined(repeated).note(task.spill)
        return writer.close()


def _add_rows(
    writer: SpillWriter, task: SpillTask, batch: pa.RecordBatch, text: Mapping[Side, pa.Array], first: int
) -> tuple[PairStats, npt.NDArray[np.int64]]:
    """Adds a batch's rows; returns their counts, and each row's turn count, which is 0 for an empty row."""
    stats, turns = PairStats(), [np.empty(0, np.int64)]
    for start in range(0, len(batch), ROWS_AT_A_TIME):  # prompts may be much longer than texts
        sides = [text[side][start : start + ROWS_AT_A_TIME] for side in SIDES]
        try:
            made, counts = _rows_of(task, batch[start : start + ROWS_AT_A_TIME], sides, first + start)
        except PairRenderingError as error:
            row = f", row {batch.column('row')[start + error.pair]}" if "row" in batch.schema.names else ""
            raise error.at(f"splits.{task.plan.shuffle.split}.{task.part.corpus}{row}", sides[0]) from error
        stats += writer.add(first + start, made.inputs, made.targets, task.corpus)
        turns.append(counts)
    return stats, np.concatenate(turns)


def _rows_of(
    task: SpillTask, batch: pa.RecordBatch, sides: Sequence[pa.Array], first: int
) -> tuple[PairColumns, npt.NDArray[np.int64]]:
    """Returns a row for each pair, or with documents, for each window or segment with context; and their turns."""
    assert task.rows is not None
    rows, corpora, settings = task.rows, np.full(len(batch), task.corpus, np.int32), task.documents
    turns, context = np.ones(len(batch), np.int64), None
    if settings is not None and rows.prompter.has("document context"):
        count = settings.context.source if settings.context else settings.max_segments - 1
        context = contexts(batch, sides[0].cast(pa.large_string()), count)
    alone = rows.rows(sides[0], sides[1], corpora, first, context, threads=1)
    if settings is None or context is not None:
        return alone, turns
    drawn = task.plan.shuffle.split == "train"
    joined = turns_of(batch, alone.inputs.lengths, settings, task.sample.seed, drawn=drawn)
    if (joined == 1).all():
        return alone, turns
    last_only = settings.context is not None
    made = rows.rows(sides[0], sides[1], corpora, first, None, joined, threads=1, last_only=last_only)
    return made, turns if last_only else joined


def mean_of_turns(values: npt.NDArray[np.float32], turns: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Returns the mean value over each row's turns, which end with its pair."""
    sums, ends = np.concatenate([[0], np.cumsum(values, dtype=np.float64)]), np.arange(1, len(values) + 1)
    means = (sums[ends] - sums[ends - turns]) / np.maximum(turns, 1)
    return np.where(turns == 1, values, means).astype("<f4")


def _columns(batch: pa.RecordBatch, task: SpillTask, links: Iterator[Links]) -> Iterator[pa.Array]:
    """Yields the other columns of pairs in text records; a column that the part lacks is null."""
    for name, kind in task.plan.text_columns:
        if name == LINKS:
            yield pharaoh(next(links)) if task.links is not None else pa.nulls(len(batch))
        else:
            yield batch.column(name).cast(kind) if name in batch.schema.names else pa.nulls(len(batch))


def _repeated_in(batch: pa.RecordBatch, task: SpillTask, tokenizers: Mapping[Side, Tokenizer], first: int) -> Repeated:
    """Returns the repeated segments before a batch's pairs, given its first pair's row in the part."""
    ids = {}
    for side in SIDES:
        texts = strip_lines(batch.column(BEFORE[side]).flatten())
        ids[side] = task.frames[side].around(tokenizers[side].encode_batch(texts, threads=1))
    counts = batch.column(BEFORE["source"]).value_lengths().to_numpy()
    return Repeated(np.repeat(np.arange(first, first + len(batch)), counts), ids["source"], ids["target"])


def weights_of(batch: pa.RecordBatch, weight: WeightSettings) -> npt.NDArray[np.float32]:
    """Returns the weights of a part's pairs: float32, shape ``[pairs]``."""
    if weight.origin not in batch.schema.names:
        return np.full(len(batch), weight.default, np.float32)
    scores = batch.column(weight.origin).to_numpy(zero_copy_only=False)
    wrong = no_weights(scores)
    if len(wrong):
        corpus, row = (batch.column(name)[int(wrong[0])].as_py() for name in ("corpus", "row"))
        raise CorpusError(
            f"weight.from: {weight.origin} of {corpus}, row {row}, is {scores[wrong[0]]:g}; a weight is a finite "
            "number of at least 0: correct the scores, or name others"
        )
    return np.where(np.isnan(scores), weight.default, scores).astype(np.float32)


def order_shards(task: ShardTask, tick: Tick) -> tuple[ShardInfo, ...]:
    """Writes a task's shards; returns their entries for ``dataset.json``. Ticks are pairs."""
    spills = [task.spills / spill_name(task.plan.shuffle.split, task.plan, part) for part in range(task.parts)]
    shards = write_shards(task.outputs, task.plan, task.first, spills)
    if task.plan.columns:
        for place, path in enumerate(task.outputs):
            where = path, task.plan, task.first + place, spills, task.first_rows
            columns = columns_of_shard(*where)
            columns |= repeated_of_shard(*where) if REPEATED[0] in task.plan.columns else {}
            shards[place] = shards[place].model_copy(update={"columns": columns})
    tick(sum(shard.pairs for shard in shards))
    return tuple(shards)


def shard_files(shard: Path, columns: Sequence[str]) -> list[Path]:
    """Returns the files of a shard: itself, its index and its columns."""
    return [shard, index_path(shard), *(column_path(shard, name) for name in columns)]


ENCODE = Round(
    "encode",
    encode_part,
    PairStats,
    words="encoding pairs",
    made=lambda task, _: [
        *(task.spill, task.sampled),
        *(note_path(task.spill, name) for name in task.plan.columns if name != DOCUMENT),
    ],
)
SHUFFLE = Round(
    "shuffle",
    order_shards,
    tuple[ShardInfo, ...],
    words="shuffling pairs",
    made=lambda task, _: [path for output in task.outputs for path in shard_files(output, task.plan.columns)],
)


Encoded: TypeAlias = "list[tuple[SpillTask, PairStats]]"
"""The tasks that encoded the parts, in each corpus's order, and their pair counts."""


def profile_of(
    parts: Encoded, vocabularies: Mapping[Side, BuiltVocabulary], pairs: Mapping[str, LanguagePair]
) -> TextProfile:
    """Returns the profile of all parts; reads the files with their samples."""
    tokenizers = {side: vocabulary.load() for side, vocabulary in vocabularies.items()}
    words_of = {tokenizer: tokenizer.words() for tokenizer in set(tokenizers.values())}  # one, if the sides share it
    words = {side: words_of[tokenizer] for side, tokenizer in tokenizers.items()}
    corpora: dict[str, dict[str, CorpusProfile]] = {}
    uses: dict[Side, VocabularyUse] = {}
    spoken: dict[Side, dict[str, list[PairSample]]] = {side: {} for side in SIDES}
    splits = list(dict.fromkeys(task.sample.split for task, _ in parts))
    told = "train" if "train" in splits else splits[0]
    for split in splits:
        corpora[split] = {}
        ids = {side: np.zeros(len(tokenizers[side]), np.int64) for side in SIDES}
        characters: dict[Side, Counter[int]] = {side: Counter() for side in SIDES}
        for corpus in dict.fromkeys(task.sample.corpus for task, _ in parts if task.sample.split == split):
            own = [part for part in parts if (part[0].sample.split, part[0].sample.corpus) == (split, corpus)]
            sample = reduce(add, (PairSample.load(task.sampled) for task, _ in own))
            stats = reduce(add, (counts for _, counts in own))
            frames = own[0][0].frames
            if own[0][0].rows is not None:  # which the counts belong to; the profile is for both sides
                tokens = (int(sample.ids[side].sum()) for side in SIDES)
                stats = replace(stats, source_tokens=next(tokens), target_tokens=next(tokens))
            if split == told and corpus in pairs:
                for side, language in zip(SIDES, pairs[corpus], strict=True):
                    spoken[side].setdefault(language, []).append(sample)
            corpora[split][corpus] = corpus_profile(sample, stats, words)
            for side in SIDES:
                # Each row has the pieces around it once. They say nothing about how the vocabulary suits the text.
                for number in (*frames[side].before, *frames[side].after):
                    sample.ids[side][number] -= stats.pairs
                ids[side] += sample.ids[side]
                characters[side] += sample.characters[side]
        if split == told:
            uses = {
                side: vocabulary_use(split, tokenizers[side], words[side], ids[side], characters[side])
                for side in SIDES
            }
    languages = {
        side: {
            language: LanguageUse.of(samples, SIDES.index(side), tokenizers[side])
            for language, samples in spoken[side].items()
        }
        for side in SIDES
        if spoken[side]
    }
    return TextProfile(corpora, uses, languages)
