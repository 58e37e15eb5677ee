"""Rule ``script``: the share of letters in the language's script.

Value: the number of letters in the expected scripts, divided by the number of all letters; 1.0 if there are none.
Letters are code points with the Unicode property Alphabetic. A pair passes if ``value >= min`` on both sides. If the
option ``script`` is given, this is OpusFilter's CharacterScoreFilter.

By default, the expected scripts are those that the language tag implies (Unicode CLDR's likely subtags): Han, Hiragana
and Katakana for Japanese, Hangul and Han for Korean. Letters of the scripts Common and Inherited, such as ー, are then
expected, too. Tags of Chinese also imply Simplified or Traditional characters: ``zh`` and ``zh-CN`` the former,
``zh-TW``, ``zh-HK`` and ``yue`` the latter. The value is then at most their share of the characters that only one of
the two has.
"""

from __future__ import annotations

import numpy as np
from _nmt_prep_core import script_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.languages.tags import chinese_script, chinese_shares, script_number, scripts_of_language
from nmt_prep.cleaning.rule import SHARES, Context, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class ScriptOptions(Section):
    """Minimum share of letters in the right script."""

    script: PerSide[str | None] = PerSide[str | None].both(None)
    """a script such as Latin, Han, Hant or Cyrl, or null for the language's script, or one script per side: the
    script"""
    min: PerSide[float] = PerSide[float].both(0.5)
    """a number from 0 to 1, or one a side: the least share that passes"""


class ScriptRule(SideRule[ScriptOptions]):
    """The share of letters in the right script, on each side."""

    edges = SHARES

    def __init__(self, options: ScriptOptions, context: Context) -> None:
        super().__init__(options, context)
        self._scripts: dict[Side, list[int]] = {}
        self._chinese: dict[Side, str | None] = {}
        for side in context.sides:
            name = options.script.of(side)
            tag = context.language(side) if name is None else f"zh-{name}" if name in ("Hans", "Hant") else None
            self._scripts[side] = [script_number(name)] if tag is None and name else scripts_of_language(str(tag))
            self._chinese[side] = tag and chinese_script(tag)

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        lines = pairs.lines(side)
        return np.minimum(script_shares(lines, self._scripts[side]), chinese_shares(lines, self._chinese[side]))
