"""Rule ``html``: HTML tags and entities in the text.

Value: 1.0 for a side with a tag, else 0.0, which passes.

With ``tags: any``, a tag is a start tag of any name that ``bs4.BeautifulSoup(text, "html.parser").find()`` finds, so
``x <y z> w`` has a tag. A text that Python's html.parser refuses (``<![`` followed by an unknown word) counts as text
without tags. This is OpusFilter's HtmlTagFilter. With ``tags: known``, a tag is a start or end tag of an HTML element.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Literal

import numpy as np
import pyarrow.compute as pc
from _nmt_prep_core import html_tags

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import YES_OR_NO, Pairs, SideRule, Values
from nmt_prep.config import Section


class HtmlOptions(Section):
    """The tags that count."""

    tags: Literal["any", "known"] = "known"
    """any or known: start tags with any name, or start and end tags of HTML elements"""
    entities: bool = False
    """true or false: count entities such as &nbsp; too"""


_ENTITY = re.compile("&(#[0-9]{1,7};|#[xX][0-9A-Fa-f]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)")


class HtmlRule(SideRule[HtmlOptions]):
    """Tags and entities in either side."""

    edges = YES_OR_NO

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        found = html_tags(pairs.lines(side), self.given.tags == "known")
        return np.maximum(found, _entities(pairs, side)) if self.given.entities else found


def _entities(pairs: Pairs, side: Side) -> Values:
    lines = pairs.arrow(side)
    found = np.asarray(pc.match_substring_regex(lines, _ENTITY.pattern).to_numpy(zero_copy_only=False), np.float64)
    for place in np.flatnonzero(found).tolist():  # few lines; checks whether names are known
        names = _ENTITY.findall(lines[place].as_py())
        found[place] = float(any(name.startswith("#") or name in html5 for name in names))
    return found
