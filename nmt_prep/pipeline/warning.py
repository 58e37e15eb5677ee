"""A warning about the data of a run."""

from __future__ import annotations

from dataclasses import dataclass

from nmt_prep.base.sides import Side


@dataclass(frozen=True)
class HealthWarning:
    """A warning about the data of a run. The run goes on, unless the user asked for ``--strict``."""

    code: str  # a short identifier that does not change, such as `frequent_line`
    text: str  # a sentence for people, perhaps with text of a corpus
    corpus: str | None = None  # name of the corpus; None if the warning is not about a single corpus
    split: str | None = None  # name of the split; None if the warning is not about a single split
    side: Side | None = None  # the side; None if the warning is about both
    value: float | None = None  # the number that caused the warning, such as a count or a ratio
    # the affected share of the corpus or the side, from 0 to 1; None if there is no such share
    share: float | None = None

    @property
    def about(self) -> str:
        """Split and corpus, such as ``train/news``; empty if the warning is not about a single corpus."""
        return "" if self.corpus is None else f"{self.split}/{self.corpus}"

    def __str__(self) -> str:
        return f"{self.about}: {self.text}" if self.about else self.text


@dataclass(frozen=True)
class Warnings:
    """The observations of a stage that only has warnings."""

    warnings: tuple[HealthWarning, ...] = ()
