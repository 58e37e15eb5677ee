"""The check that cleaning does not drop all of the first pairs of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_prep.cleaning.counts import EMPTY, CleanCounts
from nmt_prep.cleaning.decontamination.sets import REASON
from nmt_prep.errors import CleaningError
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.clean_tasks import CorpusTask


@dataclass(frozen=True)
class CheckTask:
    """A corpus whose first pairs were all dropped; ``whole`` is true if it has no other pairs."""

    key: str
    of: CorpusTask
    counts: CleanCounts
    whole: bool


@dataclass(frozen=True)
class Checked:
    """The result of a check that succeeds; no check does."""


def refuse_corpus(task: CheckTask, tick: object) -> Checked:
    """Raises the error for a corpus whose first pairs were all dropped.

    Raises:
        CleaningError: always; the message names the rule that most pairs fail, its key, and the corpus.
    """
    del tick
    counts, keys = task.counts, task.of.cleaning.keys
    failed = {EMPTY: counts.dropped[EMPTY], **{rule: row[rule] for rule, row in counts.failed.items()}}
    worst = max(failed, key=lambda rule: failed[rule])
    which = f"all {counts.pairs_in:,} pairs" if task.whole else f"the first {counts.pairs_in:,} pairs"
    others = "".join(f", {rule} {count:,}" for rule, count in failed.items() if count and rule != worst)
    if worst.startswith(REASON):
        raise CleaningError(
            f"clean.decontaminate: cleaning drops {which} of {task.of.name} (failed: {worst} {failed[worst]:,}"
            f"{others}); remove the corpus or the test set from the config, or pass --allow-empty to go on"
        )
    where = "clean.fix" if worst == EMPTY else f"{keys[worst]}{worst}"
    raise CleaningError(
        f"{where}: cleaning drops {which} of {task.of.name} (failed: {worst} {failed[worst]:,}{others}); change the "
        f"rules for this corpus below clean.overrides.{task.of.corpus}, or pass --allow-empty to go on"
    )


CHECK = Round("check-first", refuse_corpus, Checked, unit="corpora", by_all=True)
