"""Step ``width``: ASCII for full-width ASCII, U+FF01 to U+FF5E, except in East Asian languages."""

from __future__ import annotations

from nmt_prep.text.step import NativeStep, StepContext, StepOptions, named_step

_EAST_ASIAN = frozenset({"zh", "ja", "ko", "yue", "wuu", "lzh"})


class Width(NativeStep[StepOptions]):
    """Replaces full-width ASCII, which belongs to East Asian scripts."""

    options = StepOptions

    def __init__(self, options: StepOptions, context: StepContext) -> None:
        del options
        self.native = named_step("unchanged" if context.base_language in _EAST_ASIAN else "width", "")
