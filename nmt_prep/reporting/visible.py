"""Shows control, format and bidirectional characters, which are invisible or change the order of other text."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""The characters to show. Joiners (U+200C, U+200D) and variation selectors change single characters only; they stay."""


def visible(text: str) -> str:
    """Returns a text in which control, format and bidirectional characters are written as ``⟨U+202E⟩``."""
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
