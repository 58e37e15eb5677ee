"""Step ``han``: Chinese in one script, by OpenCC.

A line is changed if it has characters that only the other script has. With ``hk`` and ``tw``, characters in other
Traditional lines take their Hong Kong or Taiwan forms. Lines in other languages than Chinese stay as they are: Japanese
has characters from both scripts.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import Lines, han_counts

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.runtime import needed_extra
from nmt_prep.text.step import Step, StepContext, StepOptions

_CHINESE = frozenset({"zh", "cmn", "yue", "wuu", "lzh", "nan", "hak", "gan", "hsn"})

_CONVERSIONS = {
    "simplified": {"t": "t2s"},
    "traditional": {"s": "s2t"},
    "hk": {"s": "s2hk", "t": "t2hk"},
    "tw": {"s": "s2tw", "t": "t2tw"},
}
"""For each script OpenCC's conversions of lines with Simplified characters, and of lines with Traditional ones."""


class HanOptions(StepOptions):
    """The script to convert to."""

    to: Literal["simplified", "traditional", "hk", "tw"]
    """simplified, traditional, hk or tw: Simplified Chinese, or Traditional as in OpenCC, Hong Kong or Taiwan"""


class Han(Step[HanOptions]):
    """Converts between Chinese scripts."""

    options = HanOptions
    short = "to"

    def __init__(self, options: HanOptions, context: StepContext) -> None:
        opencc = needed_extra("opencc", "opencc", "the step han")
        chinese = context.base_language in _CHINESE
        self._converters = {
            script: opencc.OpenCC(conversion) for script, conversion in _CONVERSIONS[options.to].items() if chinese
        }

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        if not self._converters:
            return lines
        column = TextColumn.from_arrow(lines)
        simplified, traditional = (counts > 0 for counts in han_counts(Lines(column.data, column.offsets)))
        others = {"s": simplified, "t": traditional & ~simplified if "s" in self._converters else traditional}
        for script, converter in self._converters.items():
            chosen = others[script]
            if chosen.any():
                mask = pa.array(chosen)
                made = [converter.convert(line) for line in lines.filter(mask).to_pylist()]
                lines = pc.replace_with_mask(lines, mask, pa.array(made, pa.large_string()))
        return lines
