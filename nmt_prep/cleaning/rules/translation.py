"""Rule ``translation``: whether the sides of a pair translate each other, by a model of word alignment.

Value: the score of the pair, see :meth:`nmt_prep.align.model.Model.score`. A pair passes if ``value >= min``. A pair
that has no words on a side is not judged and passes.

In a run, the model is learned from the corpora themselves, and each pair is judged without what the model learned from
it and from pairs with the same normalized text. This needs the whole text, so the rule is applied in separate rounds,
after duplicates are dropped (:mod:`nmt_prep.stages.clean_translation`). ``min: auto`` finds the threshold for each
corpus (:mod:`nmt_prep.cleaning.translation.threshold`). In a stream the rule needs a model, and a number for ``min``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError

from nmt_prep.align.loading import shared_model
from nmt_prep.cleaning.rule import Bounds, Context, PairRule, Pairs, Values
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.config import Section
from nmt_prep.config.problems import problems_of
from nmt_prep.config.section import Count

SCORE_EDGES = tuple(round(number / 10, 1) for number in range(-80, 161))
"""Edges of histograms of scores."""


class TranslationOptions(Section):
    """How pairs are scored, and the lowest score that passes."""

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
        1_000_000, ge=1000, description="an integer >= 1000: the most pairs of a split to learn from, drawn at random"
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


class TranslationRule(PairRule[TranslationOptions]):
    """Scores pairs by a given model, for streams."""

    name = TRANSLATION
    options = TranslationOptions
    edges = SCORE_EDGES

    def __init__(self, options: TranslationOptions, context: Context) -> None:
        if options.model is None or options.min == "auto":
            raise ValueError(
                "without the whole corpus it needs a model, which nmt-prep align --save writes, and a number for min"
            )
        path = context.base_dir / Path(options.model).expanduser()
        self.files = {options.model: path}
        self.bounds = (Bounds(low=float(options.min)),)
        self._model = shared_model(path)

    def pair_values(self, pairs: Pairs) -> Values:
        scores = self._model.score(pairs.side("source"), pairs.side("target"))
        return np.where(np.isnan(scores), SCORE_EDGES[-1], scores)


def model_path(model: str | None, base_dir: Path) -> Path | None:
    """Returns the path of the model that a config names, if it names one."""
    return None if model is None else base_dir / Path(model).expanduser()
