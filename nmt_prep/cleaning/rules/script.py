"""Rule ``script``: the share of letters in the script of the language.

Value: the number of letters in the expected scripts, divided by the number of all letters; 1.0 if there are none.
Letters are code points with the Unicode property Alphabetic. A pair passes if ``value >= min`` on both sides. If the
option ``script`` is given, this is OpusFilter's CharacterScoreFilter.

By default, the expected scripts are those that the language tag implies (Unicode CLDR's likely subtags): Han, Hiragana
and Katakana for Japanese, Hangul and Han for Korean. Letters of the scripts Common and Inherited, such as ー, are then
expected, too.
"""

from __future__ import annotations

from _nmt_prep_core import script_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.languages.tags import script_number, scripts_of_language
from nmt_prep.cleaning.rule import SHARES, Context, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class ScriptOptions(Section):
    """The least share of letters of the right script."""

    script: PerSide[str | None] = PerSide[str | None].both(None)
    """a script such as Latin, Han or Cyrl, or null for that of the language, or one a side: the script"""
    min: PerSide[float] = PerSide[float].both(0.5)
    """a number from 0 to 1, or one a side: the least share that passes"""


class ScriptRule(SideRule[ScriptOptions]):
    """The share of letters of the right script, of each side."""

    edges = SHARES

    def __init__(self, options: ScriptOptions, context: Context) -> None:
        super().__init__(options, context)
        self._scripts = {
            side: scripts_of_language(context.language(side)) if name is None else [script_number(name)]
            for side in context.sides
            for name in [options.script.of(side)]
        }

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return script_shares(pairs.lines(side), self._scripts[side])
