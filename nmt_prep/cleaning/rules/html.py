"""Rule ``html``: HTML tags in the text.

Value: 1.0 for a side with a tag, else 0.0, which passes.

With ``tags: any``, a tag is a start tag of any name that ``bs4.BeautifulSoup(text, "html.parser").find()`` finds, so
``x <y z> w`` has a tag. A text that Python's html.parser refuses (``<![`` followed by an unknown word) has none. This
is OpusFilter's HtmlTagFilter. With ``tags: known``, a tag is a start or end tag of an element of HTML.
"""

from __future__ import annotations

from typing import Literal

from _nmt_prep_core import html_tags
from pydantic import Field

from nmt_prep.cleaning.rule import NOT_FOUND, YES_OR_NO, Context, Pairs, SideRule, Values
from nmt_prep.config import Section, Side


class HtmlOptions(Section):
    """The tags that count."""

    tags: Literal["any", "known"] = Field(
        "known", description="any or known: start tags of any name, or start and end tags of elements of HTML"
    )


class HtmlRule(SideRule[HtmlOptions]):
    """Tags in either side."""

    name = "html"
    options = HtmlOptions
    edges = YES_OR_NO

    def __init__(self, options: HtmlOptions, context: Context) -> None:
        super().__init__(options, context)
        self._known = options.tags == "known"
        self.bounds = (NOT_FOUND,) * len(context.sides)

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return html_tags(pairs.lines(side), self._known)
