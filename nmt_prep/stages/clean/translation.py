"""The rule ``translation`` in the stage clean.

A model is learned from the corpora, and their pairs are scored (:mod:`~nmt_prep.stages.clean.learned`). The scores of
re-paired pairs (:mod:`~nmt_prep.stages.clean.repaired`) stand for the scores of misaligned pairs; the threshold of each
corpus follows from both histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nmt_prep.align.model import shared_model
from nmt_prep.cleaning.corpus_rules.translation import (
    THRESHOLD_VERSION,
    TRANSLATION,
    TranslationOptions,
    auto_threshold,
)
from nmt_prep.cleaning.rule import checked_options
from nmt_prep.config import Config
from nmt_prep.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.corpora import CorpusWork, LearnedFacts
from nmt_prep.stages.clean.learned import (
    LearnedRule,
    Scored,
    ScoreTask,
    Text,
    learn_models,
    samples_of,
    scored_parts,
    write_scores,
)
from nmt_prep.stages.clean.parts import drop_below, part_round
from nmt_prep.stages.clean.repaired import (
    EDGES,
    NullScores,
    NullTask,
    Repaired,
    RepairedScores,
    RepairTask,
    exchange_targets,
    moved_scores,
    score_repaired,
    total_bins,
)
from nmt_prep.stages.learning import LEARNING_VERSION, SCORE_SETTINGS, LearningRounds
from nmt_prep.stages.pair_sample import SampleRounds


def score_part(task: ScoreTask, tick: Tick) -> Scored:
    """Writes the scores of the pairs of a part. It ticks for each pair.

    Raises:
        AlignmentModelError: the model cannot be read, or was given and knows few words of the part.
        CorpusError: a file cannot be read.
        OutputError: the scores cannot be written.
    """
    model = shared_model(task.model)
    return write_scores(task, model, model.score, tick)


def _repaired_files(task: RepairTask, result: Repaired) -> list[Path]:
    numbers = (result.learned, result.others)
    return [path for path, pairs in zip(task.files_made, numbers, strict=True) if pairs]


SAMPLE, LEARN = SampleRounds(TRANSLATION), LearningRounds(TRANSLATION, SCORE_SETTINGS)
REPAIR = Round("translation-repair", exchange_targets, Repaired, made=_repaired_files, words="exchanging targets")
NULL = Round("translation-repaired", score_repaired, NullScores, words="scoring exchanged targets")
SCORE = Round("translation-scores", score_part, Scored, words="scoring translations")
DROP = part_round("translation", drop_below, "dropping misaligned pairs")


class Translation(LearnedRule):
    """The rule, with its own model or with models that are learned from the corpora."""

    name = this = TRANSLATION
    sampling, learning = SAMPLE, LEARN
    rounds = (*SAMPLE.rounds, REPAIR, *LEARN.rounds, NULL, SCORE, DROP)

    @staticmethod
    def options_of(spec: object) -> TranslationOptions:
        """Returns the checked options of the rule."""
        return checked_options(TRANSLATION, TranslationOptions, spec)

    def load(self, path: Path, *, learns: bool) -> object:
        del learns
        return shared_model(path)

    def settings(self, config: Config) -> dict[str, object]:
        return {"seed": config.seed, "clean.translation.version": [LEARNING_VERSION, THRESHOLD_VERSION]}

    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        texts = yield from samples_of(job, self, corpora)
        yield from _repair(job, texts)
        yield from learn_models(job, self, texts)
        repaired = yield from _repaired_scores(texts)
        models = {text.name: text.model for text in texts}
        real = yield from scored_parts(job, TRANSLATION, texts, models, SCORE)
        facts = {
            work.name: _facts(text, self.options(work.corpus).lowest, real.get(work.name, []), repaired.get(work.name))
            for text in texts
            for work in text.corpora
        }
        yield from self.drop(job, texts, facts, DROP)


def _repair(job: Job, texts: Sequence[Text]) -> Rounds[None]:
    """Yields the round that exchanges the targets of pairs; adds its results to the texts."""
    tasks = {
        text.name: [
            RepairTask.of(
                f"repaired-{work.split}-{work.of.corpus}",
                text.sample.selected.get(work.of.corpus, ()),
                work.pairs,
                text.sample.limits.get(work.of.corpus, 0),
                job.scratch / TRANSLATION,
                learns=text.learns,
            )
            for work in text.corpora
            if text.learns or not text.options.learns
        ]
        for text in texts
    }
    results = yield from REPAIR.run_groups(tasks)
    for text in texts:
        text.repaired = list(zip(tasks[text.name], results[text.name], strict=True))


def _repaired_scores(texts: Sequence[Text]) -> Rounds[dict[str, RepairedScores]]:
    """Yields the round that scores re-paired pairs; returns their scores by the name of the corpus."""
    tasks = {
        text.name: [
            NullTask(
                f"null-{task.key}",
                text.model,
                task.files_made[0] if made.learned else None,
                task.files_made[1] if made.others else None,
            )
            for task, made in text.repaired
            if text.model is not None
        ]
        for text in texts
    }
    results = yield from NULL.run_groups(tasks)
    return {
        work.name: scores
        for text in texts
        for work, scores in zip(text.corpora, moved_scores(results[text.name]), strict=False)
    }


def _facts(text: Text, lowest: float | None, real: Sequence[Scored], scored: RepairedScores | None) -> LearnedFacts:
    """Returns the facts about the rule in a corpus.

    Args:
        text: the text of the corpus.
        lowest: the lowest score that passes, as the config has it; None to find it.
        real: histogram of the scores of its pairs.
        scored: scores of its re-paired pairs; None if there are none.
    """
    if text.model is None:
        return LearnedFacts(left_out=text.too_few)
    repaired, certain = (total_bins([]), 0) if scored is None else (scored.bins, scored.certain)
    return text.facts(
        real,
        ("re-paired", repaired),
        lowest,
        lambda pairs: auto_threshold(EDGES, pairs.tolist(), repaired.tolist(), certain, lowest),
        "no two pairs have different sources and different targets",
    )
