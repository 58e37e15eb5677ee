"""Rule ``currency``: currencies that the sides do not share.

Value: 2m / (a + b), where a and b are the numbers of different currencies on the two sides, and m is the number of
currencies that are on both; 1.0 if there are none. A pair passes if ``value >= min``. Currencies are recognized by
their symbols and ISO codes. All dollars count as one currency, and so do yen and yuan, because $ and ¥ are ambiguous.

The other side may spell a currency out, as in ``$5`` and ``5 Dollar``: with ``missing: false`` the value is 1.0 if one
side has no symbol or code. OpusCleaner's currency_mismatch is stricter.
"""

from __future__ import annotations

from _nmt_prep_core import currency_similarity

from nmt_prep.cleaning.rule import SHARES, PairRule, Pairs, Values
from nmt_prep.config import Section


class CurrencyOptions(Section):
    """The least similarity of the currencies."""

    min: float = 0.5
    """a number from 0 to 1: the least similarity that passes"""
    missing: bool = False
    """true or false: whether a pair is compared if one side names no currency"""


class CurrencyRule(PairRule[CurrencyOptions]):
    """The similarity of the sides' currencies."""

    edges = SHARES

    def pair_values(self, pairs: Pairs) -> Values:
        return currency_similarity(pairs.lines("source"), pairs.lines("target"), self.given.missing)
