"""The options of the rule ``translation``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.config import Section
from nmt_prep.config.problems import problems_of
from nmt_prep.config.section import Count

SCORE_EDGES = tuple(round(number / 10, 1) for number in range(-80, 161))
"""Edges of histograms of scores."""


class TranslationOptions(Section):
    """The model that scores pairs, and the lowest score that passes."""

    min: Literal["auto"] | Annotated[float, Field(strict=False)] = Field(
        "auto",
        description="a number, or auto: the lowest score that passes; auto finds 98 % of pairs with exchanged targets, "
        "or fewer if more than 0.5 % of the clean pairs would be lost",
    )
    model: str | None = Field(
        None,
        min_length=1,
        description="a path, or null to learn from the corpora: a model that nmt-prep align --save wrote",
    )
    learn: bool = Field(
        False, description="true or false: also learn from the corpora if there is a model, which is then the beginning"
    )
    pairs: Count = Field(
        100_000, ge=1000, description="an integer >= 1000: the most pairs of a split to learn from, drawn at random"
    )

    @property
    def learns(self) -> bool:
        """True if a model is learned from the corpora."""
        return self.model is None or self.learn


def translation_options(spec: Any) -> TranslationOptions:
    """Returns the checked options.

    Raises:
        ValueError: an option is unknown or wrong; each line of the message begins with the rule's name.
    """
    try:
        return TranslationOptions.model_validate({} if spec is None or spec is True else spec)
    except ValidationError as error:
        lines = sorted(problems_of(error, TranslationOptions, {}))
        named = (f"{TRANSLATION}.{line}".replace(f"{TRANSLATION}.config:", f"{TRANSLATION}:") for line in lines)
        raise ValueError("\n".join(named)) from None


def model_path(model: str | None, base_dir: Path) -> Path | None:
    """Returns the path of the model that a config names, if it names one."""
    return None if model is None else base_dir / Path(model).expanduser()
