"""Step ``punctuation``: plain quotes, dashes and spaces around punctuation, as Moses or sacremoses normalize them."""

from __future__ import annotations

from typing import Literal

from nmt_prep.text.step import NativeStep, StepContext, StepOptions, named_step


class PunctuationOptions(StepOptions):
    """The tool that the step follows."""

    like: Literal["moses", "sacremoses"]
    """moses or sacremoses: as normalize-punctuation.perl, or as MosesPunctNormalizer"""
    language: str | None = None
    """a language tag, or null for the language of the text: whose rules apply; normalize-punctuation.perl without -l
    applies those of en"""


class Punctuation(NativeStep[PunctuationOptions]):
    """Normalizes punctuation by the language's rules."""

    options = PunctuationOptions
    short = "like"

    def __init__(self, options: PunctuationOptions, context: StepContext) -> None:
        language = context.base_language if options.language is None else options.language
        self.native = named_step(f"punctuation_{options.like}", language)
