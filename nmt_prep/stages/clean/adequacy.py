"""The ``adequacy`` rule in the `clean` stage.

As for ``translation``, one task learns a word alignment model from a sample of the pairs that are left. It then learns
a classifier from the same sample (:mod:`nmt_prep.cleaning.adequacy`), and scores defective pairs made from it. Scores
the pairs in each part; each corpus's threshold follows from both histograms. In the end a task per part writes the part
with its values, without pairs whose values are too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.adequacy import classifier as files
from nmt_prep.cleaning.adequacy.classifier import Classifier
from nmt_prep.cleaning.adequacy.classifier_training import (
    ADEQUACY_VERSION,
    defective_values,
    first_pairs,
    learn_first,
)
from nmt_prep.cleaning.align.learning import learn as align_learn
from nmt_prep.cleaning.align.model import shared_model
from nmt_prep.cleaning.align.settings import LEARNING_VERSION, SCORE_SETTINGS
from nmt_prep.cleaning.align.word_vocabulary import Integers
from nmt_prep.cleaning.corpus_rules.adequacy import ADEQUACY, AdequacyOptions, incomplete_threshold
from nmt_prep.cleaning.pair_sample import ORDER
from nmt_prep.cleaning.repaired import EDGES, BadScores, bins_of, total_bins
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import Config
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.clean.cleaned_corpora import LearnedFacts
from nmt_prep.stages.clean.learned import (
    LearnedRule,
    LearnedText,
    LearnTask,
    Scored,
    ScoreTask,
    Text,
    learn_round,
    save_array,
    too_few,
    unanswered_file,
    write_scores,
)
from nmt_prep.stages.clean.parts import drop_below, part_round
from nmt_prep.stages.pair_sample import select_round


def learn_text(task: LearnTask, tick: Tick) -> LearnedText:
    """Writes a text's classifier, and judges defective pairs. Reports progress per pair in each round of learning."""
    sample, threads = task.sample(), task.threads
    batches = sample.batches([*SIDES, ORDER])
    if not task.learns:
        assert task.given is not None
        classifier, (source, target, copies) = files.shared_classifier(task.given), first_pairs(batches)
        values = defective_values(classifier, source, target, copies * 0, task.seed, threads)
        return LearnedText(0, (BadScores(tuple(map(bins_of, values))),))
    if few := too_few(sample):
        return few
    prior = None if task.given is None else shared_model(task.given)
    model = align_learn(sample.text, SCORE_SETTINGS, prior, threads, tick)
    try:
        classifier, first = learn_first(model, batches, task.seed, threads)
    except AlignmentModelError as error:
        left_out = f"{error}, or a model with a classifier (clean.rules.adequacy.model)"
        return LearnedText(0, left_out=left_out)
    files.save(classifier, task.output)
    save_array(task.keys, sample.keys)
    values = defective_values(classifier, *first, task.seed, threads)
    return LearnedText(len(sample.keys), (BadScores(tuple(map(bins_of, values))),))


def judge_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the values of a part's pairs, and the words without counterpart. Reports progress per pair."""
    classifier: Classifier = files.shared_classifier(task.model)
    pretokenized, places = classifier.model.settings.pretokenized, [np.zeros((0, 3), np.int32)]

    def judge(source: TextColumn, target: TextColumn, copies: Integers) -> Values:
        judged = classifier.judge(source, target, copies)
        places.append(judged.unanswered(source, target, pretokenized=pretokenized))
        return judged.values

    scored = write_scores(task, classifier.model, judge, tick)
    save_array(unanswered_file(task.output), np.concatenate(places))
    return scored


SAMPLE = select_round(ADEQUACY)
LEARN = learn_round(ADEQUACY, learn_text, "learning what incomplete pairs look like")
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
    options_type = AdequacyOptions
    sampling, learning, scoring, dropping = rounds = (SAMPLE, LEARN, JUDGE, DROP)

    def load(self, path: Path, *, learns: bool) -> object:
        return shared_model(path) if learns else files.shared_classifier(path)

    def settings(self, config: Config) -> dict[str, object]:
        return {"seed": config.seed, "clean.adequacy.version": [LEARNING_VERSION, ADEQUACY_VERSION]}

    def facts_of(self, text: Text, number: int, lowest: float | None, real: Sequence[Scored]) -> LearnedFacts:
        [bad] = text.result.bad
        return text.facts(
            real,
            ("defective", total_bins(bad.bins)),
            lowest,
            lambda pairs: incomplete_threshold(EDGES, pairs.tolist(), bad.bins, lowest),
            "no defective pairs can be made of so few pairs",
        )
