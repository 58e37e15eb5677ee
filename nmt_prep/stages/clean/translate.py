"""Translating corpora: a program makes one side of their pairs, which are then cleaned like others.

Tasks make the texts for slices of the parts, which job-array members share; then one task per part applies the rules to
the pairs. The texts are stored together with other runs' texts (:mod:`nmt_prep.text.computed`), so a run that was
killed, or that has more corpora, translates only new lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import contains
from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import CleaningError, ComputedError
from nmt_prep.base.sides import OTHER, SIDES, Side
from nmt_prep.cleaning.chrf import best_by_chrf
from nmt_prep.cleaning.rejects import Verdict, merged
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import ComputedValue, Config
from nmt_prep.config.corpus import Translate
from nmt_prep.corpora.parts import PairFile, iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.cleaned_corpora import CleanedCorpus, CorpusWork, cleaned_corpora, pairs_in, rewrite_parts
from nmt_prep.stages.clean.computed import SliceTask, TextsLeft, at_most, counted, slices_of
from nmt_prep.stages.clean.first_rules import clean_part
from nmt_prep.stages.clean.parts import PartTask, part_round
from nmt_prep.text.computed import Column, close_columns
from nmt_prep.training.modifiers.draws import scrambled

MADE = "made"  # The pass
VERSION = 3  # To be increased if a pass would write other bytes
_WRONG = "\t"  # The beginning of an answer with a wrong number of candidates, which the candidates cannot have
_REASON = "candidates"
_MOST_COPIES, _FEW = 0.1, 9  # The share and the number of texts that give no warning


@dataclass(frozen=True)
class Maker:
    """How a corpus's texts are made."""

    where: str  # key in the config, for messages
    side: Side  # the side that they become
    settings: Translate
    value: ComputedValue
    ranking: ComputedValue | None  # the number that ranks candidates; None if none does

    @classmethod
    def of(cls, config: Config, corpus: CleanedCorpus) -> Maker:
        settings = corpus.corpus.translate
        assert settings is not None
        (real,) = config.real_sides(corpus.corpus)
        ranking = config.computed.get(settings.best)
        where = f"{corpus.name}.translate"
        return cls(where, OTHER[real], settings, config.computed[settings.by], ranking)

    def columns(self, context: Context) -> tuple[Column, Column | None]:
        """Returns the text, and the number that ranks candidates.

        Raises:
            CleaningError: there is no such program or function, or it does not take the side.
        """
        languages, base_dir = context.languages, context.base_dir
        try:
            text = Column(self.settings.by, self.value, languages, (OTHER[self.side],), base_dir)
            best = self.settings.best
            rank = None if self.ranking is None else Column(best, self.ranking, languages, SIDES, base_dir)
        except ValueError as error:
            raise CleaningError(f"{self.where}: {error}") from error
        if not text.sides:
            raise CleaningError(f"{self.where}: {self.value.name} is not for the side {OTHER[self.side]}")
        return text, rank

    @property
    def definition(self) -> dict[str, Any]:
        """The settings that the pairs depend on."""
        ranking = None if self.ranking is None else self.ranking.definition
        keep = self.settings.best or self.settings.keep
        context = {"context": self.settings.context} if self.settings.context else {}
        return {"text": self.value.definition, "keep": keep, "ranking": ranking, **context, "version": VERSION}


@dataclass(frozen=True)
class MadeTexts:
    """Counts texts that a program made, in a corpus or in a part of it."""

    texts: int = 0
    empty: int = 0
    copies: int = 0  # texts that are equal to the line that they were made from
    miscounted: int = 0  # answers that have more or fewer candidates than promised

    def __add__(self, other: MadeTexts) -> MadeTexts:
        return MadeTexts(**merged(vars(self), vars(other)))


@dataclass(frozen=True)
class TranslateTask(SliceTask):
    """A slice of a part whose other side is made."""

    maker: Maker
    salt: int

    def given(self, sides: Sequence[Side]) -> Iterator[dict[Side, pa.Array]]:
        for _, text in self.batches_in_context():
            yield {sides[0]: text}

    def batches_in_context(self) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        """Yields the pairs, and their lines on the real side after the lines before them in their documents."""
        real, context = OTHER[self.maker.side], self.maker.settings.context
        if not context:
            yield from ((batch, batch.column(real)) for batch in self.batches([*SIDES, "row"]))
            return
        skipped, before = min(self.first, context), None
        wider = replace(self, first=self.first - skipped, pairs=self.pairs + skipped)
        for batch in wider.batches([*SIDES, "row", "document"]):
            own = pa.table({"line": batch.column(real), "document": batch.column("document").cast(pa.string())})
            lines = own if before is None else pa.concat_tables([before, own])
            text = _with_context(lines.combine_chunks(), context)[-len(batch) :]
            yield batch[skipped:], text[skipped:]
            skipped, before = max(skipped - len(batch), 0), lines[-context:]


def translate(task: TranslateTask, tick: Tick) -> MadeTexts:
    """Writes the texts for a slice of a part. Reports progress per pair."""
    counts, (text, ranking) = MadeTexts(), task.maker.columns(task.of.context)
    schema = pa.schema([pa.field(task.maker.side, pa.string())])
    with atomic_write(task.output) as beside, writing(task.output), pa.ipc.new_file(str(beside), schema) as file:
        for batch, lines in task.batches_in_context():
            given = batch.column(OTHER[task.maker.side])
            try:
                made = _chosen(task, batch, text.texts({OTHER[task.maker.side]: lines}), ranking).cast(pa.string())
            except ComputedError as error:
                raise ComputedError(f"{task.maker.where}: {error}") from error
            empty, copies = pc.equal(pc.utf8_trim_whitespace(made), ""), pc.equal(made, given)
            found = (pc.sum(each).as_py() or 0 for each in (empty, copies, pc.starts_with(made, _WRONG)))
            counts += MadeTexts(len(made), *found)
            file.write_batch(pa.record_batch([made], schema=schema))
            tick(len(batch))
    return counts


def _with_context(lines: pa.Table, context: int) -> pa.Array:
    """Returns each line after the lines before it in its document, with tabs between them."""
    line = pc.replace_substring(lines.column("line").combine_chunks().cast(pa.large_string()), "\t", " ")
    document = lines.column("document").combine_chunks()
    joined, same = line, np.ones(len(line), np.bool_)
    for back in range(1, min(context, len(line) - 1) + 1):
        equal = pc.equal(document[back:], document[:-back]).fill_null(False).to_numpy(zero_copy_only=False)
        same &= np.concatenate([np.zeros(back, np.bool_), equal])
        before = pa.concat_arrays([line[:back], line[:-back]])
        joined = pc.if_else(
            pa.array(same), pc.binary_join_element_wise(before, joined, pa.scalar("\t", line.type)), joined
        )
    return joined


def _chosen(task: TranslateTask, batch: pa.RecordBatch, texts: pa.Array, ranking: Column | None) -> pa.Array:
    """Returns a batch's texts, one for each pair; an answer with a wrong number of candidates gets a tab in front."""
    count = task.maker.value.candidates
    if count == 1 and not contains(texts, "\t"):
        return texts
    right = pc.equal(pc.count_substring(texts, "\t"), count - 1)
    whole = pc.all(right).as_py()
    given, answers = (batch, texts) if whole else (batch.filter(right), texts.filter(right))
    chosen = answers if count == 1 else _best(task, given, pc.split_pattern(answers, "\t").flatten(), ranking)
    if whole:
        return chosen
    wrong = pc.binary_join_element_wise(pa.scalar("", texts.type), texts, pa.scalar(_WRONG, texts.type))
    return pc.replace_with_mask(wrong, right, chosen)


def _best(task: TranslateTask, batch: pa.RecordBatch, candidates: pa.Array, ranking: Column | None) -> pa.Array:
    """Returns each pair's chosen candidate."""
    real, settings, count = OTHER[task.maker.side], task.maker.settings, task.maker.value.candidates
    if settings.keep == "sample":
        rows = np.asarray(batch.column("row").to_numpy(), np.uint64)
        chosen = (scrambled(rows ^ np.uint64(task.salt)) % np.uint64(count)).astype(np.int64)
    elif ranking is not None:
        repeated = pa.array(np.repeat(np.arange(len(batch)), count))
        pairs: dict[Side, pa.Array] = {real: batch.column(real).take(repeated), task.maker.side: candidates}
        chosen = ranking.numbers(pairs).reshape(-1, count).argmax(axis=1)
    elif settings.best:
        chosen = best_by_chrf(candidates.to_pylist(), batch.column(task.maker.side).to_pylist())
    else:
        chosen = np.zeros(len(batch), np.int64)
    return candidates.take(pa.array(chosen + count * np.arange(len(batch))))


@dataclass(frozen=True)
class MadeTask(PartTask):
    """A part whose pairs get a side, and are cleaned."""

    side: Side
    texts: tuple[Path, ...]  # files with the lines of the side, in order
    candidates: int  # number of candidates that the program promised

    def refused(self, batch: pa.RecordBatch) -> Verdict | None:
        texts = batch.column(self.side)
        wrong = pc.starts_with(texts, _WRONG)
        if not pc.any(wrong).as_py():
            return None
        found = pc.count_substring(texts.filter(wrong), "\t").to_numpy().astype(np.float64)
        reasons, sides = (pa.array([each] * len(found), pa.string()) for each in (_REASON, self.side))
        kept = ~wrong.to_numpy(zero_copy_only=False)
        return Verdict(kept, reasons, sides, found, np.full(len(found), float(self.candidates)))

    @property
    def cleaned(self) -> Side:
        return OTHER[self.side]

    def batches(self) -> Iterator[pa.RecordBatch]:
        with writing(self.kept):
            files = [pa.ipc.open_file(pa.memory_map(str(path))) for path in self.texts]
            made = pa.concat_tables([file.read_all() for file in files]).column(self.side)
        first = 0
        for batch in iter_pairs(self.part.path):
            lines = made.slice(first, len(batch)).combine_chunks()
            yield batch.set_column(batch.schema.get_field_index(self.side), batch.schema.field(self.side), lines)
            first += len(batch)


TRANSLATE = Round("translate", translate, MadeTexts, words="translating")
PAIRS = part_round("made-pairs", clean_part, "applying rules to made pairs")
MADE_ROUNDS: tuple[Round[Any, Any], ...] = (TRANSLATE, PAIRS)


def make_pairs(job: Job, corpora: Sequence[CorpusWork]) -> Rounds[dict[str, MadeTexts]]:
    """Yields the rounds, and adds the results to the corpora; returns counts by the corpus name."""
    made = {work.name: [*_slices(job, work)] for work in corpora}
    counts = yield from TRANSLATE.run_groups(made, pairs_in(corpora))
    close_columns()

    def task_of(work: CorpusWork, task: PartTask) -> MadeTask:
        maker = Maker.of(job.config, work.corpus)
        texts = tuple(each.output for each in slices_of(job, TRANSLATE.name, task, ".arrow"))
        return MadeTask(**vars(task), side=maker.side, texts=texts, candidates=maker.value.candidates)

    yield from rewrite_parts(job, MADE, PAIRS, corpora, task_of)
    return {name: reduce(add, parts, MadeTexts()) for name, parts in counts.items()}


def _slices(job: Job, work: CorpusWork) -> Iterator[TranslateTask]:
    maker = Maker.of(job.config, work.corpus)
    salt = seed_of(f"translate/{job.config.seed}/{work.of.corpus}")
    for task in work.tasks(job, MADE):
        for each in slices_of(job, TRANSLATE.name, task, ".arrow"):
            yield TranslateTask(**vars(each), maker=maker, salt=salt)


def translations_left(
    config: Config, unfinished: Sequence[Any], compiled: Sequence[PairFile] | None
) -> Iterator[TextsLeft]:
    """Yields the texts that are left to translate for each value; the arguments are the same as for ``texts_left``."""
    tasks = [task for task in unfinished if isinstance(task, TranslateTask)]
    makers: dict[str, dict[str, Column]] = {}
    for corpus in cleaned_corpora(config):
        if corpus.corpus.translate is not None:
            column, _ = Maker.of(config, corpus).columns(corpus.context(config))
            makers.setdefault(corpus.corpus.translate.by, {})[corpus.corpus.name] = column
    for name, columns in makers.items():
        own = [task for task in tasks if task.maker.settings.by == name]
        if own:
            yield counted(name, [(task, task.maker.columns(task.of.context)[0]) for task in own])
        else:
            yield at_most(name, columns.values(), columns, compiled)


def copy_warnings(corpora: Sequence[CorpusWork], made: Mapping[str, MadeTexts]) -> Iterator[HealthWarning]:
    """Yields a warning for each corpus with many texts that are copies, or empty."""
    for work in corpora:
        counts = made.get(work.name, MadeTexts())
        for what, number in (
            ("empty", counts.empty),
            ("copies of the lines that they are made from", counts.copies),
            ("more or fewer texts than candidates promises", counts.miscounted),
        ):
            if number > max(_MOST_COPIES * counts.texts, _FEW):
                text = f"{number:,} of {counts.texts:,} translations are {what}; check the program of translate"
                share = number / counts.texts
                yield HealthWarning("bad_translations", text, work.of.corpus, work.split, None, number, share)
