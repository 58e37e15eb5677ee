"""The interface of rules that need the whole corpus, as the stage clean applies them.

:data:`~nmt_prep.cleaning.corpus_rules.CORPUS_RULES` has their names, and :mod:`~nmt_prep.stages.clean.passes` their
order. Each has rounds of its own, in which it judges the pairs that the passes before it kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmt_prep.config import Config
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.clean.corpora import CleanedCorpus, CorpusWork


class CorpusRule(ABC):
    """A rule that needs the whole corpus.

    Attributes:
        name: name of the rule.
        this: name of its pass, in the names of tasks and files.
        rounds: the rounds that apply it, in order. Their names are unique within the stage.
    """

    name: str
    this: str
    rounds: tuple[Round[Any, Any], ...]

    def applies(self, corpus: CleanedCorpus) -> bool:
        """Returns true if a corpus takes this pass."""
        return corpus.has_rule(self.name)

    def scores(self, corpus: CleanedCorpus) -> tuple[str, ...]:
        """Returns the names of the scores that a corpus must come with."""
        return ()

    def settings(self, config: Config) -> dict[str, object]:
        """Returns the settings that the result depends on, besides the options of the rule."""
        return {}

    def check(self, corpus: CleanedCorpus, base_dir: Path) -> None:  # noqa: B027  (most rules read no files)
        """Checks the local files that the rule reads for a corpus.

        Raises:
            CleaningError: a file cannot be used; the message names the option and the corpus.
        """

    def files(self, corpus: CleanedCorpus, base_dir: Path) -> dict[str, Path]:
        """Returns the local files that the rule reads for a corpus, by their names in the config."""
        return {}

    def learns_from(self, spec: object) -> int:
        """Returns the most pairs of a split that a model of word alignment is learned from, given the options."""
        return 0

    @abstractmethod
    def apply(self, job: Job, corpora: Sequence[CorpusWork]) -> Rounds[None]:
        """Yields the rounds, and adds the results to the corpora.

        Args:
            job: the job.
            corpora: the corpora that take this pass.
        """
