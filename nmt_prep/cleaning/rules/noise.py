r"""Rule ``noise``: signs that a text is not running text.

Value: the number of noise kinds on a side, among the kinds that the option names; 0 passes. The kinds:

- ``breadcrumbs``: three or more separators with spaces around them: ``>`` ``|`` ``»`` ``›`` ``→`` ``::`` ``•`` ``·``.
  The other text must be at most 30 bytes for each separator, white space not counted. ``»`` and ``›`` count only in
  lines without ``«`` and ``‹``;
- ``glued_words``: a token of four or more capitalised words (``HomeAboutContactNews``). Fewer words may be a name, such
  as YouTube, McDonald's or MacBookPro. Tokens with digits or any of ``/.@#_\:=&?%`` do not count;
- ``spaced_letters``: five or more tokens of a single letter in a row (``H e l l o``), in scripts with spaces between
  words;
- ``escapes``: ``\u00e4``, ``\xe4``, or two or more such as ``%C3%A4``;
- ``mojibake``: UTF-8 read as Latin-1 or Windows-1252 (``Ã¤``, ``â€™``, ``Ð¿Ñ€``), and U+FFFD;
- ``unassigned``: unassigned and private code points, and control characters from U+0080 on.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from _nmt_prep_core import noise_kinds
from pydantic import BeforeValidator, Field

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rule import Pairs, SideRule, Values
from nmt_prep.config import Section

Kind: TypeAlias = Literal["breadcrumbs", "glued_words", "spaced_letters", "escapes", "mojibake", "unassigned"]
_BITS: dict[Kind, int] = {
    "breadcrumbs": 1,
    "glued_words": 2,
    "spaced_letters": 4,
    "escapes": 8,
    "mojibake": 16,
    "unassigned": 32,
}


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value  # configs have tuples for lists


class NoiseOptions(Section):
    """The kinds of noise that do not pass."""

    kinds: Annotated[tuple[Kind, ...], BeforeValidator(_tuple), Field(min_length=1)] = Field(
        default_factory=lambda: tuple(_BITS)
    )
    """a list of breadcrumbs, glued_words, spaced_letters, escapes, mojibake and unassigned: what counts"""


class NoiseRule(SideRule[NoiseOptions]):
    """The noise kinds on each side."""

    edges = (0, 1, 2, 3, 4, 5, 6)

    def line_values(self, pairs: Pairs, side: Side) -> Values:
        return noise_kinds(pairs.lines(side), sum(_BITS[kind] for kind in set(self.given.kinds)))
