"""The ``training`` section: the pairs of each training stage, and what changes pairs while they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from nmt_prep.base.artefacts import write_json, writing
from nmt_prep.base.sides import Side
from nmt_prep.config.language_pairs import groups_of_directions
from nmt_prep.config.section import Name, Section

Weight: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False)]
Epochs: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)] | Literal["inf"]
Modifier: TypeAlias = Annotated[dict[str, Any], Field(min_length=1)]

ROWS = "rows"
"""The key in ``until`` that is not a corpus."""


class StageSettings(Section):
    """A stage of training."""

    name: Name
    """letters, digits, dots, dashes and underscores: the name of the stage"""
    mix: Annotated[dict[Name, Weight], Field(min_length=1)]
    """a mapping from corpora and groups to numbers >= 0: relative shares of the pairs"""
    until: dict[Name, Epochs] = Field(default_factory=dict)
    """{NAME: EPOCHS}, {rows: NUMBER}, or nothing in the last stage: when the stage ends; EPOCHS counts passes over a
    corpus or group, NUMBER counts pairs"""
    modifiers: tuple[Modifier, ...] | None = None
    """a list like training.modifiers, or null for that list: the modifiers of the stage"""

    def _problems(self) -> Iterator[str]:
        if len(self.until) > 1:
            yield "until has several keys; give one corpus, group or rows"
        if not sum(self.mix.values()):
            yield "the weights of mix sum to 0; give one of them a weight above 0"
        for name, amount in self.until.items():
            if name == ROWS and (amount == "inf" or float(amount) != int(amount)):
                yield f"until.rows is {amount}; it must be a whole number"
            if name != ROWS and not self.mix.get(name):
                yield f"until names {name!r}, which the stage does not read; give it a weight in mix"

    @property
    def endless(self) -> bool:
        """True if the stage has no end."""
        return "inf" in (self.until or {"": "inf"}).values()


class TrainingSettings(Section):
    """How training reads the pairs; these keys do not change the records."""

    groups: dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]] = Field(default_factory=dict)
    """a mapping from names to lists of corpora: names for groups of corpora"""
    stages: tuple[StageSettings, ...] = ()
    """a list of mappings: the training stages, in order"""
    subwords: dict[Side, Annotated[dict[Literal["alpha", "nbest", "dropout"], Weight], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """a mapping such as {source: {alpha: 0.5}, target: {dropout: 0.1}}: subword regularization: alpha and nbest for
    unigram models, dropout for BPE"""
    modifiers: tuple[Modifier, ...] = ()
    """a list of mappings such as {UpperCase: 0.1}: modifiers with their probabilities and options, in order"""

    def _problems(self) -> Iterator[str]:
        names = [stage.name for stage in self.stages]
        for number, stage in enumerate(self.stages):
            if stage.endless and number + 1 < len(names):
                yield f"stages.{number} ({stage.name}) never ends, but another stage follows; give it until"
            if stage.name in names[:number]:
                yield f"two stages are named {stage.name!r}; rename one"
        for group, members in self.groups.items():
            if len(set(members)) < len(members):
                yield f"groups.{group} names a corpus twice; name it once"

    @property
    def is_plain(self) -> bool:
        """True if pairs are read as they are, each once in an epoch."""
        return not (self.stages or self.modifiers)

    def by_direction(self, corpora: Iterable[tuple[str, str]]) -> TrainingSettings:
        """Returns the settings with one group of corpora per language pair, which stages may name."""
        groups = groups_of_directions(corpora) if self.stages else {}
        return self.model_copy(update={"groups": {**groups, **self.groups}}) if groups else self

    def members(self, name: str) -> tuple[str, ...]:
        """Returns the corpora of a group; a single corpus is a group too."""
        return self.groups.get(name, (name,))

    def problem(self, corpora: set[str]) -> str | None:
        """Returns the problem in corpus names, given the existing names, or None without a problem."""
        for group, members in self.groups.items():
            divided = all(member == group or member.startswith(f"{group}.") for member in members)
            if (group in corpora and not divided) or group == ROWS:
                return f"groups.{group} has the name of a corpus, or is rows; rename it"
            for member in members:
                if member not in corpora:
                    return f"groups.{group} names {member!r}; the corpora are {', '.join(sorted(corpora))}"
        known = {*corpora, *self.groups}
        for number, stage in enumerate(self.stages):
            for name in stage.mix:
                if name not in known:
                    return f"stages.{number}.mix names {name!r}; the corpora and groups are {', '.join(sorted(known))}"
        return None


TRAINING_FILE = "training.json"
"""A run's file with the ``training`` section of its last config."""


def note_training(run_dir: Path, training: TrainingSettings, base_dir: Path) -> None:
    """Writes the ``training`` section for loaders; removes an earlier file if the section is empty."""
    path = run_dir / TRAINING_FILE
    if training == TrainingSettings():
        with writing(path):
            path.unlink(missing_ok=True)
    else:
        write_json(path, {"base_dir": os.path.relpath(base_dir, run_dir), **training.model_dump(mode="json")})
