"""The ``translation`` rule in the `clean` stage: learns a model (:mod:`nmt_prep.cleaning.repaired`), and scores pairs.

Re-paired pairs stand for misaligned pairs; each corpus's threshold follows from both score histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmt_prep.cleaning.align.model import Model, shared_model
from nmt_prep.cleaning.align.settings import LEARNING_VERSION
from nmt_prep.cleaning.corpus_rules.translation import (
    THRESHOLD_VERSION,
    TRANSLATION,
    TranslationOptions,
    auto_threshold,
)
from nmt_prep.cleaning.repaired import EDGES, BadScores, DrawnPairs, learn_translation, repaired_scores, total_bins
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
    write_scores,
)
from nmt_prep.stages.clean.parts import drop_below, part_round
from nmt_prep.stages.pair_sample import reader_of, select_round


def learn_text(task: LearnTask, tick: Tick) -> LearnedText:
    """Writes a text's model, and scores re-paired pairs. Reports progress per pair in each round of learning."""
    corpora = [DrawnPairs(reader_of([files]), files.pairs, files.limit, files.teaches) for files in task.corpora]
    given: Model | None = None if task.given is None else shared_model(task.given)
    if not task.learns:
        assert given is not None
        repaired = (corpus.repaired(learns=False) for corpus in corpora)
        return LearnedText(0, tuple(repaired_scores(given, repaired, task.threads)))
    sample = task.sample()
    if few := too_few(sample):
        return few
    model, scores = learn_translation(sample, corpora, given, task.threads, tick)
    model.save(task.output)
    save_array(task.keys, sample.keys)
    return LearnedText(len(sample.keys), tuple(scores))


def score_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the scores of a part's pairs. Reports progress per pair."""
    model = shared_model(task.model)
    return write_scores(task, model, model.score, tick)


SAMPLE = select_round(TRANSLATION)
LEARN = learn_round(TRANSLATION, learn_text, "learning translations")
SCORE = Round("translation-scores", score_part, Scored, words="scoring translations")
DROP = part_round("translation", drop_below, "dropping misaligned pairs")


class Translation(LearnedRule):
    """The rule, with its own model or with models that are learned from the corpora."""

    name = this = TRANSLATION
    options_type = TranslationOptions
    sampling, learning, scoring, dropping = rounds = (SAMPLE, LEARN, SCORE, DROP)

    def load(self, path: Path, *, learns: bool) -> object:
        del learns
        return shared_model(path)

    def settings(self, config: Config) -> dict[str, object]:
        return {"seed": config.seed, "clean.translation.version": [LEARNING_VERSION, THRESHOLD_VERSION]}

    def facts_of(self, text: Text, number: int, lowest: float | None, real: Sequence[Scored]) -> LearnedFacts:
        bad: BadScores = text.result.bad[number]
        return text.facts(
            real,
            ("re-paired", total_bins(bad.bins)),
            lowest,
            lambda pairs: auto_threshold(EDGES, pairs.tolist(), bad.bins[0], bad.certain, lowest),
            "no two pairs have different sources and different targets",
        )
