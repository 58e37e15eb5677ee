"""Makes characters visible that would be invisible, or would change the order or the markup of the text around them."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""All but joiners (U+200C, U+200D) and variation selectors, which change single characters only."""


def visible(text: str) -> str:
    """Returns a text in which control, format and bidirectional characters are written as ``⟨U+202E⟩``."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
