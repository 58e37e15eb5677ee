r"""Rule ``url_only``: text that consists of addresses.

Value: the number of characters in URLs, e-mail addresses and host names, divided by the number of all characters except
white space; 0 for an empty text. A pair passes if ``value < max`` on both sides. ``max: 0.001`` drops every pair with
an address.

A URL begins with http://, https://, ftp:// or www.; a host name ends with a common top-level domain. Both end before
white space, any of ``<>"{}|\^``, backquotes, and characters outside ASCII. Punctuation around an address does not
belong to it.
"""

from __future__ import annotations

from _nmt_prep_core import address_shares

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import SHARES, Pairs, PerSide, SideRule, Values
from nmt_prep.config import Section


class UrlOnlyOptions(Section):
    """The limit for the share of addresses."""

    max: PerSide[float] = PerSide[float].both(0.6)
    """a number from 0 to 1, or one a side: a share of this size does not pass"""


class UrlOnlyRule(SideRule[UrlOnlyOptions]):
    """The share of addresses on each side."""

    edges = SHARES
    below = True

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return address_shares(pairs.lines(side))
