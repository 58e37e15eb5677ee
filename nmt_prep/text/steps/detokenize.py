"""Step ``detokenize``: text from words, by Moses' detokenizer.perl or, in Chinese and Japanese, by their characters."""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import moses_detokenizer

from nmt_prep.text.step import NativeStep, StepContext, StepOptions, named_step

_WITHOUT_SPACES = frozenset({"zh", "ja", "yue", "wuu", "lzh", "nan", "hak"})


class DetokenizeOptions(StepOptions):
    """The way to join words."""

    by: Literal["moses", "spaces"]
    """moses or spaces: as detokenizer.perl, or no space between Chinese and Japanese characters and one around Latin
    words; other languages stay as they are with spaces"""


class Detokenize(NativeStep[DetokenizeOptions]):
    """Joins words to text."""

    options = DetokenizeOptions
    short = "by"

    def __init__(self, options: DetokenizeOptions, context: StepContext) -> None:
        language = context.base_language
        if options.by == "moses":
            self.native = moses_detokenizer(language, False)
        else:
            self.native = named_step("spaces" if language in _WITHOUT_SPACES else "unchanged", "")
