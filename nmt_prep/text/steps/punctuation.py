"""Step ``punctuation``: plain quotes, dashes and spaces around punctuation, as Moses or sacremoses normalize them."""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import punctuation_step

from nmt_prep.config import Section
from nmt_prep.text.step import NativeStep, StepContext


class PunctuationOptions(Section):
    """The tool that the step follows."""

    like: Literal["moses", "sacremoses"]
    """moses or sacremoses: as normalize-punctuation.perl, or as MosesPunctNormalizer"""


class Punctuation(NativeStep[PunctuationOptions]):
    """Normalizes punctuation by the rules of the language."""

    options = PunctuationOptions
    short = "like"

    def __init__(self, options: PunctuationOptions, context: StepContext) -> None:
        self.native = punctuation_step(options.like == "moses", context.base_language)
