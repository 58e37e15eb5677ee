"""Translating corpora: a program makes one side of their pairs, which are then cleaned like others.

Tasks make the texts for slices of the parts, which job-array members share; then one task per part applies the rules to
the pairs. The texts are stored together with other runs' texts (:mod:`nmt_prep.text.computed`), so a run that was
killed, or that has more corpora, translates only new lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
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
from nmt_prep.cleaning.rejects import Verdict
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import Config
from nmt_prep.config.corpus import Translate
from nmt_prep.corpora.parts import iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.cleaned_corpora import CleanedCorpus, CorpusWork, MadeTexts, pairs_in, rewrite_parts
from nmt_prep.stages.clean.computed import ColumnRule, SliceTask, slices_of
from nmt_prep.stages.clean.first_rules import clean_part
from nmt_prep.stages.clean.parts import PartTask, part_round
from nmt_prep.stages.clean.untranslated import LINE_ROUNDS, lines_needed
from nmt_prep.text.computed import Column, close_columns
from nmt_prep.training.modifiers.draws import scrambled

VERSION = 5  # To be increased if a pass would write other bytes
_WRONG = "\t"  # The beginning of an answer with a wrong number of candidates, which the candidates cannot have
_REASON = "candidates"
_MOST_COPIES, _FEW = 0.1, 9  # The share and the number of texts that give no warning


def translate_settings(config: Config, corpus: CleanedCorpus) -> dict[str, Any]:
    """Returns the settings that a corpus's pairs depend on if a program makes them."""
    made, name, limit = corpus.corpus.translate, corpus.name, corpus.corpus.limit
    if made is None:
        return {}
    ranking = config.computed[made.best].definition if made.best in config.computed else None
    context = {"context": made.context} if made.context else {}
    text, keep = config.computed[made.by].definition, made.best or made.keep
    drawn = {} if limit is None else {"limit": limit, "hold_out": lines_needed(corpus.corpus) - limit}
    return {
        f"{name}.translate": {"text": text, "keep": keep, "ranking": ranking, **context, "version": VERSION},
        **{f"{name}.{key}": number for key, number in drawn.items() if number},
        **({"seed": config.seed} if limit is not None or made.keep == "sample" else {}),
    }


def columns_of(name: str, made: Translate, side: Side, context: Context) -> list[Column]:
    """Returns the text that becomes a side of a corpus, and the number that ranks candidates, if one does.

    Raises:
        CleaningError: there is no such program or function, or it does not take the other side.
    """
    languages, values = context.languages, context.computed
    try:
        text = Column(made.by, values[made.by], languages, (OTHER[side],), context.base_dir)
        ranking = [made.best] if made.best in values else []
        columns = [text, *(Column(best, values[best], languages, SIDES, context.base_dir) for best in ranking)]
    except ValueError as error:
        raise CleaningError(f"{name}.translate: {error}") from error
    if not text.sides:
        raise CleaningError(f"{name}.translate: {values[made.by].name} is not for the side {OTHER[side]}")
    return columns


@dataclass(frozen=True)
class TranslateTask(SliceTask):
    """A slice of a part whose other side is made."""

    made: Translate
    side: Side  # the side that the texts become

    @property
    def candidates(self) -> int:
        """How many texts the program promised for each line."""
        return self.of.context.computed[self.made.by].candidates

    def given(self, sides: Sequence[Side]) -> Iterator[dict[Side, pa.Array]]:
        for _, text in self.batches_in_context():
            yield {sides[0]: text}

    def batches_in_context(self) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        """Yields the pairs, and their lines on the real side after the lines before them in their documents."""
        real, context = OTHER[self.side], self.made.context
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
    counts, columns = MadeTexts(), columns_of(task.of.name, task.made, task.side, task.of.context)
    schema, real, (text, *ranking) = pa.schema([pa.field(task.side, pa.string())]), OTHER[task.side], columns
    try:
        with ExitStack() as files:
            for column in columns:
                files.enter_context(column.writing(task.output))
            beside = files.enter_context(atomic_write(task.output))
            files.enter_context(writing(task.output))
            file = files.enter_context(pa.ipc.new_file(str(beside), schema))
            for batch, lines in task.batches_in_context():
                made = _chosen(task, batch, text.texts({real: lines}, tick), ranking).cast(pa.string())
                empty, copies = pc.equal(pc.utf8_trim_whitespace(made), ""), pc.equal(made, batch.column(real))
                found = (pc.sum(each).as_py() or 0 for each in (empty, copies, pc.starts_with(made, _WRONG)))
                counts += MadeTexts(len(made), *found)
                file.write_batch(pa.record_batch([made], schema=schema))
    except ComputedError as error:
        raise ComputedError(f"{task.of.name}.translate: {error}") from error
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


def _chosen(task: TranslateTask, batch: pa.RecordBatch, texts: pa.Array, ranking: Sequence[Column]) -> pa.Array:
    """Returns a batch's texts, one for each pair; an answer with a wrong number of candidates gets a tab in front."""
    count = task.candidates
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


def _best(task: TranslateTask, batch: pa.RecordBatch, candidates: pa.Array, ranking: Sequence[Column]) -> pa.Array:
    """Returns each pair's chosen candidate."""
    real, count = OTHER[task.side], task.candidates
    if task.made.keep == "sample":
        rows = np.asarray(batch.column("row").to_numpy(), np.uint64)
        salt = np.uint64(seed_of(f"translate/{task.of.seed}/{task.of.corpus}"))
        chosen = (scrambled(rows ^ salt) % np.uint64(count)).astype(np.int64)
    elif ranking:
        repeated = pa.array(np.repeat(np.arange(len(batch)), count))
        pairs: dict[Side, pa.Array] = {real: batch.column(real).take(repeated), task.side: candidates}
        chosen = ranking[0].numbers(pairs).reshape(-1, count).argmax(axis=1)
    elif task.made.best:
        chosen = best_by_chrf(candidates.to_pylist(), batch.column(task.side).to_pylist())
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


TRANSLATE = Round("translate", translate, MadeTexts, end=close_columns, words="translating")
PAIRS = part_round("made-pairs", clean_part, "applying rules to made pairs")


class MadePairs(ColumnRule):
    """The pass that makes the pairs of translated corpora. The rounds that drop lines come before it."""

    name = "rule:translate"  # no value has this name
    this = "made"
    rounds = (*LINE_ROUNDS, TRANSLATE, PAIRS)

    def applies(self, corpus: CleanedCorpus) -> bool:
        return corpus.corpus.translate is not None

    def columns(self, corpus: CleanedCorpus, config: Config) -> list[Column]:
        return columns_of(corpus.name, *_made(config, corpus), corpus.context(config))

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        for work in corpora:
            work.begin_pairs(job.config)
        made = {work.name: [*self._slices(job, work)] for work in corpora}
        counts = yield from TRANSLATE.run_groups(made, pairs_in(corpora))
        for work in corpora:
            work.texts = reduce(add, counts[work.name], MadeTexts())

        def task_of(work: CorpusWork, task: PartTask) -> MadeTask:
            made, side = _made(job.config, work.corpus)
            texts = tuple(each.output for each in slices_of(job, self.name, TRANSLATE.name, task))
            return MadeTask(**vars(task), side=side, texts=texts, candidates=job.config.computed[made.by].candidates)

        yield from rewrite_parts(job, self.this, PAIRS, corpora, task_of)

    def _slices(self, job: Job, work: CorpusWork) -> Iterator[TranslateTask]:
        made, side = _made(job.config, work.corpus)
        for task in work.tasks(job, self.this):
            for each in slices_of(job, self.name, TRANSLATE.name, task):
                yield TranslateTask(**vars(each), made=made, side=side)


def _made(config: Config, corpus: CleanedCorpus) -> tuple[Translate, Side]:
    """Returns how a corpus is translated, and the side that the texts become."""
    assert corpus.corpus.translate is not None
    (real,) = config.real_sides(corpus.corpus)
    return corpus.corpus.translate, OTHER[real]


def copy_warnings(corpora: Sequence[CorpusWork]) -> Iterator[HealthWarning]:
    """Yields a warning for each corpus with many texts that are copies, or empty."""
    for work in corpora:
        counts = work.texts or MadeTexts()
        for what, number in (
            ("empty", counts.empty),
            ("copies of the lines that they are made from", counts.copies),
            ("more or fewer texts than candidates promises", counts.miscounted),
        ):
            if number > max(_MOST_COPIES * counts.texts, _FEW):
                text = f"{number:,} of {counts.texts:,} translations are {what}; check the program of translate"
                share = number / counts.texts
                yield HealthWarning("bad_translations", text, work.of.corpus, work.split, None, number, share)
