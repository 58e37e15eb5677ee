"""The rule ``adequacy`` in the stage clean.

As for ``translation``, a model of word alignment is learned from a sample of the pairs that are left. Then a task for
each text learns a classifier from this sample (:mod:`nmt_prep.cleaning.adequacy`), and judges defective pairs made from
the sample. The pairs of each part are judged; the threshold of each corpus follows from both histograms. In the end a
task per part writes the part with its values, without pairs whose values are too low.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.align.model import shared_model
from nmt_prep.align.vocabulary import Integers
from nmt_prep.cleaning.adequacy import files
from nmt_prep.cleaning.adequacy.classifier import Classifier, count_words, no_words
from nmt_prep.cleaning.adequacy.learning import ADEQUACY_VERSION, SAMPLE_PAIRS, defective_values, learn
from nmt_prep.cleaning.corpus_rules.adequacy import ADEQUACY, AdequacyOptions, incomplete_threshold
from nmt_prep.cleaning.rule import Values, checked_options
from nmt_prep.columns import TextColumn
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.engines import Tick
from nmt_prep.errors import AlignmentModelError
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES
from nmt_prep.stages.clean.corpora import CorpusWork, LearnedFacts
from nmt_prep.stages.clean.learned import (
    LearnedRule,
    Scored,
    ScoreTask,
    Text,
    learn_models,
    samples_of,
    save_array,
    scored_parts,
    unanswered_file,
    write_scores,
)
from nmt_prep.stages.clean.parts import drop_below, part_round
from nmt_prep.stages.clean.repaired import EDGES, bins_of, total_bins
from nmt_prep.stages.learning import LEARNING_VERSION, SCORE_SETTINGS, LearningRounds
from nmt_prep.stages.pair_sample import ORDER, SampleRounds, column_of


@dataclass(frozen=True)
class ClassifierTask:
    """A text whose classifier is learned, or given.

    Attributes:
        key: name of the task.
        model: the model of word alignment, or the given classifier.
        shards: files with a sample of the pairs.
        seed: seed of the random numbers.
        learns: true to learn a classifier.
        output: file for the classifier that is learned.
    """

    key: str
    model: Path
    shards: tuple[Path, ...]
    seed: int
    learns: bool
    output: Path


@dataclass(frozen=True)
class Classified:
    """The result of learning a classifier.

    Attributes:
        bins: for each defect, the histogram in fine bins of the values of pairs made with it.
        left_out: why no classifier was learned; empty if there is one.
    """

    bins: tuple[tuple[int, ...], ...]
    left_out: str = ""


def make_classifier(task: ClassifierTask, tick: Tick) -> Classified:
    """Learns a classifier from a sample of pairs, and judges defective pairs. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read.
        CorpusError: a shard cannot be read.
        OutputError: the classifier cannot be written.
    """
    given = None if task.learns else files.shared_classifier(task.model)
    model = shared_model(task.model) if given is None else given.model
    sums = no_words(model)

    def count(batch: pa.RecordBatch) -> None:
        if given is None:
            count_words(model, model.numbered(*_lines(batch)), np.ones(len(batch), np.int64), sums)
        tick(len(batch))

    lines = _first_pairs(task.shards, count)
    copies = np.full(len(lines[0]), int(task.learns), np.int64)
    if given is None:
        try:
            classifier = learn(model, *lines, copies, task.seed, sums=sums).classifier
        except AlignmentModelError as error:
            return Classified((), f"{error}, or a model with a classifier (clean.rules.adequacy.model)")
        files.save(classifier, task.output)
    else:
        classifier = given
    return Classified(tuple(map(bins_of, defective_values(classifier, *lines, copies, task.seed))))


def _first_pairs(shards: Sequence[Path], count: Callable[[pa.RecordBatch], None]) -> tuple[TextColumn, TextColumn]:
    """Returns the first pairs of a sample in its order; they do not depend on the number of shards.

    ``count`` is called with all pairs, batch by batch.
    """
    orders = [column_of(batch, ORDER) for path in shards for batch in iter_pairs(path, columns=[ORDER])]
    first = np.sort(np.concatenate([np.zeros(0, np.uint64), *orders]))[:SAMPLE_PAIRS]
    numbers = [first[:0]]
    sides: list[list[pa.Array]] = [[pa.array([], pa.large_string())] for _ in SIDES]
    for path in shards:
        for batch in iter_pairs(path, columns=[*SIDES, ORDER]):
            inside = np.isin(column_of(batch, ORDER), first)
            chosen = batch.filter(pa.array(inside))
            numbers.append(column_of(chosen, ORDER))
            for arrays, side in zip(sides, SIDES, strict=True):
                arrays.append(chosen.column(side).cast(pa.large_string()))  # a side may have more than 2 GiB
            count(batch)
    places = pa.array(np.argsort(np.concatenate(numbers), kind="stable"))
    source, target = (TextColumn.from_arrow(pa.concat_arrays(arrays).take(places)) for arrays in sides)
    return source, target


def _lines(batch: pa.RecordBatch) -> tuple[TextColumn, TextColumn]:
    source, target = (TextColumn.from_arrow(batch.column(side)) for side in SIDES)
    return source, target


def judge_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the values of the pairs of a part, and the words without counterpart. It ticks for each pair.

    Raises:
        AlignmentModelError: the classifier cannot be read, or was given and knows few words of the part.
        CorpusError: a file cannot be read.
        OutputError: the values cannot be written.
    """
    classifier: Classifier = files.shared_classifier(task.model)
    pretokenized, places = classifier.model.settings.pretokenized, [np.zeros((0, 3), np.int32)]

    def judge(source: TextColumn, target: TextColumn, copies: Integers) -> Values:
        judged = classifier.judge(source, target, copies)
        places.append(judged.unanswered(source, target, pretokenized=pretokenized))
        return judged.values

    scored = write_scores(task, classifier.model, judge, tick)
    save_array(unanswered_file(task.output), np.concatenate(places))
    return scored


SAMPLE, LEARN = SampleRounds(ADEQUACY), LearningRounds(ADEQUACY, SCORE_SETTINGS)
CLASSIFIER = Round(
    "adequacy-classifier",
    make_classifier,
    Classified,
    made=lambda task, result: [task.output] if task.learns and not result.left_out else [],
    words="learning what incomplete pairs look like",
)
JUDGE = Round(
    "adequacy-values",
    judge_part,
    Scored,
    made=lambda task, _: [task.output, unanswered_file(task.output)],
    words="judging completeness",
)
DROP = part_round("adequacy", drop_below, "dropping incomplete pairs")


class Adequacy(LearnedRule):
    """The rule, with its own classifier or with classifiers that are learned from the corpora."""

    name = this = ADEQUACY
    tells_unanswered = True
    sampling, learning = SAMPLE, LEARN
    rounds = (*SAMPLE.rounds, *LEARN.rounds, CLASSIFIER, JUDGE, DROP)

    @staticmethod
    def options_of(spec: object) -> AdequacyOptions:
        return checked_options(ADEQUACY, AdequacyOptions, spec)

    def load(self, path: Path, *, learns: bool) -> object:
        return shared_model(path) if learns else files.shared_classifier(path)

    def settings(self, config: Config) -> dict[str, object]:
        return {"seed": config.seed, "clean.adequacy.version": [LEARNING_VERSION, ADEQUACY_VERSION]}

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        texts = yield from samples_of(job, self, corpora)
        yield from learn_models(job, self, texts)
        tasks = {
            text.name: ClassifierTask(
                f"adequacy-classifier-{text.name}",
                text.model,
                tuple(text.sample.shards),
                job.config.seed,
                text.learned is not None,
                job.scratch / ADEQUACY / f"{text.name}.classifier",
            )
            for text in texts
            if text.model is not None
        }
        results = yield from CLASSIFIER.run(tasks.values(), sum(text.pairs for text in texts if text.name in tasks))
        classified = {text.name: Classified((), text.too_few) for text in texts}
        classified |= dict(zip(tasks, results, strict=True))
        models: dict[str, Path | None] = {text.name: None for text in texts}
        for name, task in tasks.items():
            if not classified[name].left_out:
                models[name] = task.output if task.learns else task.model
        real = yield from scored_parts(job, ADEQUACY, texts, models, JUDGE)
        facts = {
            work.name: _facts(text, self.options(work.corpus).lowest, real.get(work.name, []), classified[text.name])
            for text in texts
            for work in text.corpora
        }
        yield from self.drop(job, texts, facts, DROP)


def _facts(text: Text, lowest: float | None, real: Sequence[Scored], classified: Classified) -> LearnedFacts:
    """Returns the facts about the rule in a corpus; ``real`` is the histogram of the values of its pairs."""
    if classified.left_out:
        return LearnedFacts(left_out=classified.left_out)
    return text.facts(
        real,
        ("defective", total_bins(classified.bins)),
        lowest,
        lambda pairs: incomplete_threshold(EDGES, pairs.tolist(), classified.bins, lowest),
        "no defective pairs can be made of so few pairs",
    )
