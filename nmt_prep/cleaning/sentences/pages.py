"""The text of HTML pages, a line for each block.

The parser reports tags and text one after the other, and no tree is kept, so that memory does not grow with the depth
of a page, nor with the sizes of its tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO

from nmt_prep.base.errors import CorpusError
from nmt_prep.base.runtime import needed_extra

_DEEPEST = 10_000  # Maximum number of open elements of a page

_MOST_STEPS = 500_000_000
"""Maximum product of open elements and end tags: the parser may look through all open elements at each end tag."""

_FED = 1 << 16

_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main nav ol optgroup option p plaintext pre "
    "section select summary table tbody td tfoot th thead tr ul xmp"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HIDDEN = frozenset({"head", "link", "meta", "script", "style", "template", "title"})
_AS_WRITTEN = frozenset({"listing", "plaintext", "pre", "xmp"})

_NO_DISPLAY = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f]+")


class _Lines:
    """Receives what a page consists of, and writes the text that is displayed: blocks end in two newlines."""

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest
        self._text, self._line = StringIO(), StringIO()
        self._depth = 0
        self._hidden_from = 0
        self._as_written = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._deepest:
            raise CorpusError(f"its elements are nested more than {self._deepest:,} deep; remove the page")
        hidden = tag in _HIDDEN or "hidden" in attributes or _NO_DISPLAY.search(attributes.get("style", ""))
        if hidden and not self._hidden_from:
            self._hidden_from = self._depth
        self._as_written += tag in _AS_WRITTEN
        self._edge(tag)

    def end(self, tag: str) -> None:
        self._edge(tag)
        self._as_written -= tag in _AS_WRITTEN
        if self._hidden_from == self._depth:
            self._hidden_from = 0
        self._depth -= 1

    def data(self, text: str) -> None:
        if self._hidden_from:
            return
        if not self._as_written:
            self._line.write(text)
            return
        first, *others = text.split("\n")
        self._line.write(first)
        for line in others:
            self._end_line("\n")
            self._line.write(line)

    def close(self) -> str:
        self._end_line("\n")
        return self._text.getvalue()

    def _edge(self, tag: str) -> None:
        if self._hidden_from:
            return
        if tag in _BLOCKS:
            self._end_line("\n\n")
        elif tag == "br":
            self._end_line("\n")
        elif tag == "q":
            self.data('"')

    def _end_line(self, end: str) -> None:
        if self._line.tell():
            if line := _SPACES.sub(" ", self._line.getvalue()).strip():
                self._text.write(f"{line}{end}")
            self._line = StringIO()


def lines_of_html(text: str) -> str:
    """Returns the displayed text of an HTML page: a line for each block, with an empty line after it."""
    etree = needed_extra("lxml.etree", "documents", "text of HTML")
    lines = _Lines(min(_DEEPEST, _MOST_STEPS // max(text.count("</"), 1)))
    parser = etree.HTMLParser(target=lines, encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    if not text.strip():
        return ""
    data = text.replace("\0", "\ufffd").encode()
    for start in range(0, len(data), _FED):  # an error ends parsing after the data that were fed
        parser.feed(data[start : start + _FED])
    displayed: str = parser.close()
    return displayed
