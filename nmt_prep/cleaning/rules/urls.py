"""Rule ``urls``: URLs that the sides do not share.

Value: 2m / (a + b), where a and b are the numbers of URLs (http, https, ftp, www) on the two sides, and m is the number
of URLs that are on both; 1.0 if there are none. A pair passes if ``value >= min``. With ``min: 1`` both sides must have
the same URLs in any order, as in OpusCleaner's url_mismatch.
"""

from __future__ import annotations

from _nmt_prep_core import url_similarity

from nmt_prep.cleaning.rule import SHARES, PairRule, Pairs, Values
from nmt_prep.config import Section


class UrlsOptions(Section):
    """The least similarity of the URLs."""

    min: float = 1
    """a number from 0 to 1: the least similarity that passes"""


class UrlsRule(PairRule[UrlsOptions]):
    """The similarity of the sides' URLs."""

    edges = SHARES

    def pair_values(self, pairs: Pairs) -> Values:
        return url_similarity(pairs.lines("source"), pairs.lines("target"))
