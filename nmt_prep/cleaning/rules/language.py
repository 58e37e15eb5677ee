"""Rule ``language``: sides that are in another language than the expected one.

Value: the most probable rival's probability minus the expected language's, divided by their sum, or by 0.5 if the sum
is less; from -1 to 1. A pair passes if ``value <= margin`` on both sides. So a pair is dropped only if another language
is clearly more probable than the expected one; it need not be the model's first choice.

- Similar languages, which models confuse with the expected one (:data:`~nmt_prep.cleaning.languages.tags.SIMILAR`),
  add to its probability, except for the language of the other side. All other languages that share a script with the
  expected one are rivals. A rival that also uses other scripts, such as Japanese kana, counts only if a tenth of the
  letters are in these.
- Letters from other scripts count against the language without a model: the value is at least ``1 - 2 s``. Here ``s``
  is the share of letters in the expected language's scripts, or the share of its script among the characters that only
  Simplified or only Traditional Chinese has, if that is smaller.
- Text with fewer than ``min_letters`` letters (L*) is not judged and has the value -1. A letter of a script without
  spaces between words (Han, kana, Thai, …) counts as four letters, a Hangul syllable as two.
- If a text has n letters, and n is less than three times ``min_letters``, a value r becomes ``1 - (1 - r) * 3 *
  min_letters / n``, because models err more often with short text: the pair is dropped only if the rival is almost
  certain. This does not apply if the rival is the language of the other side: swapped sides and untranslated text are
  the most likely errors.
- Text in capital letters is lowercased before it is judged, because models know lowercase text better.
- Rivals with a probability of 0.05 or less count as 0.
- A text's language is unknown if neither the expected language nor a rival has a probability above ``margin``. The
  value is then the difference of the probabilities, which passes, or 1 with ``unknown: drop``.

If the model does not know a side's language, the side is not judged; a warning is logged once.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import possible_capitals, script_weights
from pydantic import Field

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.languages import load_identifier, model_file
from nmt_prep.cleaning.languages.tags import Expected, chinese_shares
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, SideRule, Values
from nmt_prep.config import Section

_log = logging.getLogger(__name__)

_NOT_JUDGED, _WRONG = -1.0, 1.0
_LEAST_RIVAL = 0.05
_LEAST_SUM = 0.5
_LEAST_OF_SCRIPT = 0.1
_CERTAIN = 3  # times min_letters: values of longer text are not changed


class LanguageOptions(Section):
    """The model, and how much more probable another language must be than the expected one."""

    model: str = Field("lid.176", min_length=1)
    """lid.176, or a path: the model; lid.176 needs the extra clean, a path names a supervised fastText model (.bin or
    .ftz) such as OpenLID, GlotLID or NLLB's"""
    margin: float = Field(0.3, ge=0, le=1)
    """a number from 0 to 1: drop a pair if another language is more probable than the expected one by more than this"""
    min_letters: int = Field(20, ge=0)
    """an integer, 0 or more: text with fewer letters is kept; a Han character counts as four"""
    similar: bool = True
    """true or false: also accept languages that models confuse with the expected one, such as sk for cs"""
    unknown: Literal["keep", "drop"] = "keep"
    """keep or drop: what happens to text of which the model is not sure"""


class LanguageRule(SideRule[LanguageOptions]):
    """Compares the expected language of each side with its rivals, by their probabilities."""

    edges = tuple(round(number / 10, 1) for number in range(-10, 11))

    def __init__(self, options: LanguageOptions, context: Context) -> None:
        self.given = options
        self._identifier = load_identifier(options.model, context.base_dir)
        languages = context.languages
        tags = {"source": (languages.source, languages.target), "target": (languages.target, languages.source)}
        self._expected = {
            side: Expected(self._identifier.labels, *tags[side], accept_similar=options.similar)
            for side in context.sides
        }
        self.sides: tuple[Side, ...] = tuple(side for side in context.sides if self._expected[side].own)
        for side in context.sides:
            if side not in self.sides:
                _warn_of_unknown(options.model, context.language(side))
        self.columns = self.sides
        self.bounds = (Bounds(high=options.margin),) * len(self.sides)
        self.files = {f"model {options.model}": model_file(options.model, context.base_dir)}

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        options, expected = self.given, self._expected[side]
        contest = self._identifier.contest(_uncapitalised(pairs, side), expected.own, expected.rivals, _LEAST_RIVAL)
        own, rival = contest.own.astype(np.float64), contest.rival.astype(np.float64)
        rival[np.isin(contest.label, expected.variants)] = 0.0
        for scripts, lines in expected.needing_scripts(contest.label):
            places = np.flatnonzero(lines)
            some = Pairs({side: pairs.arrow(side).take(pa.array(places))})
            rival[places[script_weights(some.lines(side), scripts)[1] < _LEAST_OF_SCRIPT]] = 0.0
        letters, shares = script_weights(pairs.lines(side), expected.scripts or [])
        shares = np.minimum(shares, chinese_shares(pairs.lines(side), expected.chinese))

        values = (rival - own) / np.maximum(rival + own, _LEAST_SUM)
        doubt = np.maximum(_CERTAIN * options.min_letters / np.maximum(letters, 1.0), 1.0)
        values = 1.0 - (1.0 - values) * np.where(expected.is_other(contest.label), 1.0, doubt)
        unknown = np.maximum(own, rival) <= options.margin
        values[unknown] = (rival - own)[unknown] if options.unknown == "keep" else _WRONG
        if expected.scripts is not None:
            np.maximum(values, 1.0 - 2.0 * shares, out=values)
        values[letters < options.min_letters] = _NOT_JUDGED
        return np.clip(values, -1.0, 1.0)


def _uncapitalised(pairs: Pairs, side: Side) -> TextColumn:
    """Returns a side's lines; lines in capital letters are lowercased."""
    lines = pairs.arrow(side)
    capitals = possible_capitals(pairs.lines(side)) > 0
    places = np.flatnonzero(capitals)
    capitals[places] = pc.utf8_is_upper(lines.take(pa.array(places)))
    if not capitals.any():
        return pairs.side(side)
    mask = pa.array(capitals)
    return TextColumn.from_arrow(pc.replace_with_mask(lines, mask, pc.utf8_lower(lines.filter(mask))))


@lru_cache(maxsize=256)
def _warn_of_unknown(model: str, language: str) -> None:
    """Logs that a model does not know a language, once for each model and language."""
    _log.warning(
        "the language model %s does not include the language %s; the rule language keeps that side", model, language
    )
