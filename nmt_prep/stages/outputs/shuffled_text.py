"""Shuffles pairs as text, for the outputs that hold text, through spill files, by the permutation of the records.

The outputs with the same form and shard count share a split's spill files. Lines in some outputs contain piece links,
which are computed from word links and the lines' segmentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.align.links import Links, pharaoh, piece_links, pieces_of
from nmt_prep.cleaning.align.word_vocabulary import Words, words_of
from nmt_prep.config import Config
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.align import Align, AlignedPart
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.encode.encode_tasks import in_buckets, spill_buffer, spill_name
from nmt_prep.stages.vocab import BuiltVocabulary, built_vocabularies, corpus_frames
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.words import words_in
from nmt_prep.training.outputs import Form
from nmt_prep.training.outputs.output_pairs import TextPairs
from nmt_prep.training.outputs.vocabulary_files import pieces_of as piece_lines_of
from nmt_prep.training.records.document_index import shuffle_of
from nmt_prep.training.records.shuffle_plan import CorpusOrder, ShardPlan, Shuffle
from nmt_prep.training.records.text_records import joined_columns
from nmt_prep.training.records.writer import SpillWriter


@dataclass(frozen=True)
class TextTask:
    """A part whose text goes to a spill file."""

    key: str
    part: PairFile
    corpus: int  # number of its corpus among the corpora of the split
    first_row: int  # number of its first pair in the split
    plan: ShardPlan  # assigns pairs to buckets
    spill: Path
    tags: Mapping[Side, str]  # for each side with a tag, the tag, which becomes the first word of each line
    linking: Linking | None  # how the lines get piece links; None for text lines without links
    memory: int  # bytes of memory that the task may use
    score: str | None = None  # the score by which translations are chosen and rejected; None for lines of all pairs
    vocabularies: Mapping[Side, BuiltVocabulary] = field(default_factory=dict)  # what the words are for; empty for text


def spill_text(task: TextTask, tick: Tick) -> int:
    """Writes a part's stripped text to a spill file; returns how many pairs lack the links for long words."""
    row, cut = task.first_row, 0
    links = iter(()) if task.linking is None else task.linking.links.linked()
    with SpillWriter(task.spill, task.plan, buffer_bytes=spill_buffer(task.memory, task.plan.buckets)) as writer:
        columns = [*task.part.words().values()] if task.vocabularies else SIDES
        for batch in task.part.batches(columns=columns if task.score is None else None):
            text: dict[Side, pa.Array] = {side: _lines(task, batch, side) for side in SIDES}
            if task.score is not None:
                source, target = text["source"], preferred(batch, text, f"score:{task.score}")
            elif task.linking is None:
                source, target = (tagged(text[side], task.tags.get(side)) for side in SIDES)
            else:
                source, target, more = task.linking.linked(next(links), text, task.tags)
                cut += more
            writer.add_text(row, source, target, task.corpus)
            row += len(batch)
            tick(len(batch))
        writer.close()
    return cut


def _lines(task: TextTask, batch: pa.RecordBatch, side: Side) -> pa.Array:
    if not task.vocabularies:
        return strip_lines(batch.column(side))
    return words_in(batch, side, task.vocabularies[side].load())


def preferred(batch: pa.RecordBatch, text: Mapping[Side, pa.Array], score: str) -> pa.Array:
    """Returns the chosen and the rejected translation in each group of consecutive pairs with the same source.

    They are at the first pair of the group. The rejected translation is empty for other pairs, and for groups whose
    translations or scores do not differ.
    """
    chosen, rejected = np.arange(len(batch)), np.full(len(batch), -1)
    if score in batch.schema.names:
        scores = batch.column(score).to_numpy(zero_copy_only=False)
        same = np.asarray(pc.equal(text["source"][1:], text["source"][:-1]), np.bool_)
        starts = np.flatnonzero(np.concatenate([[True], ~same])[: len(batch)])
        ends = np.append(starts[1:], len(batch))
        for start, end in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True):
            rated = start + np.flatnonzero(~np.isnan(scores[start:end]))
            if len(rated):
                best, worst = rated[scores[rated].argmax()], rated[scores[rated].argmin()]
                if scores[best] > scores[worst] and text["target"][int(best)] != text["target"][int(worst)]:
                    chosen[start], rejected[start] = best, worst
    worse = text["target"].take(pa.array(rejected, mask=rejected < 0))
    return joined_columns(text["target"].take(pa.array(chosen)), [worse])


SPILL_TEXT = Round("spill-text", spill_text, int, made=lambda task, _: [task.spill], words="shuffling text")


LINE_SIZES: Mapping[Form, int] = {"text": 1, "linked_text": 2, "linked_tsv": 2, "linked_pieces": 4, "preference": 2}
"""Estimated bytes of lines with their links, per byte of text. Buckets are planned by them."""


def is_linked(form: Form) -> bool:
    """Returns True for lines with piece links."""
    return form.startswith("linked")


@dataclass(frozen=True, order=True)
class Wanted:
    """Lines that outputs need."""

    split: str
    shards: int
    form: Form
    tagged: bool = True  # True if lines begin with the tags of their corpora
    ordered: bool = False  # True for the order of the corpora
    score: str = ""  # the score by which translations are chosen and rejected
    words: bool = False  # True for the words that vocabularies encode

    @property
    def name(self) -> str:
        """Name of its tasks and spill files."""
        more = {"untagged": not self.tagged, "ordered": self.ordered, "words": self.words}
        name = f"{self.form}{self.score}-{self.split}-{self.shards}"
        return "-".join([name, *(word for word, given in more.items() if given)])


def shuffled_text(
    job: Job, parts: Mapping[str, Sequence[PairFile]], wanted: Iterable[Wanted]
) -> Rounds[dict[Wanted, list[TextPairs]]]:
    """Yields the rounds that shuffle lines; returns each shard's pairs."""
    plans = {want: _plan(job.config, want, parts[want.split], job.directory_of(Encode)) for want in sorted(set(wanted))}
    linkings = {form: _linkings(job, form) for form in {want.form for want in plans}}
    spills = [
        task
        for want, plan in plans.items()
        for task in _spill_tasks(job, want, plan, parts[want.split], linkings[want.form])
    ]
    spilled = iter((yield from SPILL_TEXT.run(spills, sum(plan.rows for plan in plans.values()))))
    cut = {want: sum(next(spilled) for _ in parts[want.split]) for want in plans}
    return {
        want: [
            TextPairs(
                plan,
                shard,
                tuple(job.scratch / spill_name(want.name, plan, part) for part in range(len(parts[want.split]))),
                want.form != "text",
                cut[want] if shard + 1 == want.shards else 0,
            )
            for shard in range(want.shards)
        ]
        for want, plan in plans.items()
    }


def _plan(config: Config, want: Wanted, parts: Sequence[PairFile], records: Path) -> ShardPlan:
    rows = sum(part.pairs for part in parts)
    shuffle: Shuffle = CorpusOrder(rows, want.split)
    if not want.ordered:
        shuffle = shuffle_of(rows, config.seed, want.split, records, documents=config.documents is not None)
    size = LINE_SIZES[want.form] * sum(part.text_bytes for part in parts)
    return in_buckets(ShardPlan(shuffle, want.shards, 1, "text"), size, config.engine.memory)


def _spill_tasks(
    job: Job,
    want: Wanted,
    plan: ShardPlan,
    parts: Sequence[PairFile],
    linking: Callable[[str, int, str], Linking] | None,
) -> Iterator[TextTask]:
    row = 0
    tags = {corpus.name: corpus.tags for corpus in job.config.directed(want.split)}
    numbers: dict[str, int] = {}
    for number, part in enumerate(parts):
        yield TextTask(
            key=f"{want.name}-{number:05d}",
            part=part,
            corpus=numbers.setdefault(part.corpus, len(numbers)),
            first_row=row,
            plan=plan,
            spill=job.scratch / spill_name(want.name, plan, number),
            tags=tags[part.corpus] if want.tagged else {},
            linking=None if linking is None else linking(want.split, number, part.corpus),
            memory=job.task_memory,
            score=want.score or None,
            vocabularies=built_vocabularies(job) if want.words else {},
        )
        row += part.pairs


LinkedForm: TypeAlias = Literal["linked_text", "linked_tsv", "linked_pieces"]


@dataclass(frozen=True)
class Linking:
    """Settings for piece links in a part's lines."""

    form: LinkedForm
    links: AlignedPart  # the part's word links
    vocabularies: Mapping[Side, BuiltVocabulary]
    frames: Mapping[Side, Frame]  # for each side, the special pieces around the IDs of each row
    words: bool = False  # True for word links after lines without tags, which are joined later

    def linked(
        self, links: Links, text: Mapping[Side, pa.Array], tags: Mapping[Side, str]
    ) -> tuple[pa.Array, pa.Array, int]:
        """Returns the lines on both sides, and how many lack the links for long words.

        The target lines end with the piece links.
        """
        if self.words:
            return text["source"], joined_columns(text["target"], [pharaoh(links)]), 0
        sides = [self._side(side, text[side], tags.get(side)) for side in SIDES]
        (source, source_words, source_pieces), (target, target_words, target_pieces) = sides
        # A word link (i, j) becomes the links between all pieces of word i and all pieces of word j, found by the spans
        # of words and pieces in the same line. `too_long` counts pairs with words that get no links, to report the new
        # ones.
        found = piece_links(links, (source_words, target_words), (source_pieces, target_pieces))
        if self.form == "linked_pieces":
            before = [len(self.frames[side].before) for side in SIDES]
            found = Links(found.links + np.array(before, np.int32), found.offsets, found.too_long)
        return source, joined_columns(target, [pharaoh(found)]), found.too_long - links.too_long

    def _side(self, side: Side, text: pa.Array, tag: str | None) -> tuple[pa.Array, Words, Words]:
        """Returns a side's lines, and their word and piece spans."""
        tokenizer = self.vocabularies[side].load()
        if self.form == "linked_pieces":
            rows = tokenizer.encode_batch(text, threads=1)
            places, _ = pieces_of(TextColumn.from_arrow(text), rows, tokenizer)
            words = words_of(TextColumn.from_arrow(text))
            return piece_lines_of(tokenizer).lines(self.frames[side].around(rows)), words, places
        start = "" if tag is None else f"{tag} "
        starts = pa.array([start] * len(text), text.type)
        return places_of_lines(self.form, tokenizer, text, starts, np.full(len(text), len(start.encode()), np.int32))


def places_of_lines(
    form: LinkedForm, tokenizer: Tokenizer, text: pa.Array, starts: pa.Array, before: npt.NDArray[np.int32]
) -> tuple[pa.Array, Words, Words]:
    """Returns text lines after ``starts`` (prefixes of ``before`` bytes), and their word and piece spans."""
    words = words_of(TextColumn.from_arrow(text))
    lines = pc.binary_join_element_wise(starts, text, pa.scalar("", text.type))
    # The tokenizer must see the line as a reader of the output does: with the tag, and in TSV without tabs.
    read = pc.replace_substring(lines, "\t", " ") if form == "linked_tsv" else lines
    places, _ = pieces_of(TextColumn.from_arrow(read), tokenizer.encode_batch(read, threads=1), tokenizer)
    # Links refer to words of the corpus, so words are found without the tag, and their spans moved behind it.
    moves = np.repeat(before, np.diff(words.offsets))
    return lines, Words(words.begins + moves, words.ends + moves, words.offsets), places


def _linkings(job: Job, form: Form) -> Callable[[str, int, str], Linking] | None:
    """Returns a function from the split, the number and a part's corpus to its linking; None without links."""
    if not is_linked(form):
        return None
    aligned, directory, vocabularies = job.read(Align).parts, job.directory_of(Align), built_vocabularies(job)
    framed = corpus_frames(job) if form == "linked_pieces" else {}

    def of_part(split: str, number: int, corpus: str) -> Linking:
        links, frames = aligned[split][number].below(directory), framed[split][corpus] if framed else {}
        return Linking(cast("LinkedForm", form), links, vocabularies, frames, job.config.documents is not None)

    return of_part


def tagged(lines: pa.Array, tag: str | None) -> pa.Array:
    """Returns lines with a tag as their first word; None for no tag."""
    if tag is None:
        return lines
    return pc.binary_join_element_wise(pa.scalar(tag, lines.type), lines, pa.scalar(" ", lines.type))
