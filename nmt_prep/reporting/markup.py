"""HTML and SVG as text. All text but :class:`Markup` is escaped, so that text of a corpus cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import TypeAlias


class Markup(str):
    """A text of markup, which is not escaped again."""

    __slots__ = ()


Content: TypeAlias = "str | int | Iterable[Content] | None"
"""Markup, text, a number, nothing, or several of these. Text is escaped, numbers get separators of thousands."""

_LONGEST = 300  # characters of a text

_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Joiners (U+200C, U+200D) and variation selectors stay, because they change single characters only.

_SHAPES = frozenset({"rect", "line", "path", "use", "circle"})
_EMPTY = frozenset({"br", "col", "hr", "meta", *_SHAPES})


def visible(text: str) -> str:
    """Returns a text in which control, format and bidirectional characters are written as ``⟨U+202E⟩``."""
    if text.isprintable():  # fast path: most texts are printable, and none of these characters is
        return text
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def el(tag: str, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """Returns an element.

    Args:
        attributes: attributes of the element. ``_`` in a name stands for ``-``, and is removed from the end of a name
            (``class_``). The values None and False leave an attribute out, True gives an attribute without a value.
    """
    start = tag + "".join(map(_attribute, attributes, attributes.values()))
    inside = "".join(map(_text, content))
    if inside or tag not in _EMPTY:
        return Markup(f"<{start}>{inside}</{tag}>")
    return Markup(f"<{start}/>" if tag in _SHAPES else f"<{start}>")


def join(content: Content) -> Markup:
    """Returns content as markup."""
    return Markup(_text(content))


def corpus_text(text: str, language: str) -> Markup:
    """Returns a cell with corpus text, and the text's language and direction; a long text is cut."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} …"
    return el("td", text, lang=language, dir="auto")


def table(
    head: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    caption: str,
    left: Collection[int] = (0,),
    sort: bool = True,
) -> Markup:
    """Returns a table whose first column has the headings of the rows.

    Args:
        sort: True if the script may offer to sort it.
    """
    return el(
        "div",
        el(
            "table",
            el("caption", caption),
            el("thead", el("tr", (el("th", cell, scope="col", class_=_kind(n, left)) for n, cell in enumerate(head)))),
            el("tbody", (row if isinstance(row, Markup) else table_row(row, left=left) for row in rows)),
            class_="sortable" if sort else None,
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def table_row(
    cells: Sequence[Content],
    *,
    left: Collection[int] = (0,),
    corpus: str | None = None,
    **attributes: str | bool | None,
) -> Markup:
    """Returns a row of a table; ``corpus`` lets the script filter it, and ``attributes`` belong to the element."""
    return el(
        "tr",
        (
            cell
            if isinstance(cell, Markup) and cell.startswith(("<td", "<th"))
            else el("td" if n else "th", cell, scope=None if n else "row", class_=_kind(n, left))
            for n, cell in enumerate(cells)
        ),
        data_corpus=corpus,
        **attributes,
    )


def heat_cell(content: Content, share: float, title: str | None = None) -> Markup:
    """Returns a cell with a number, shaded by a share from 0 to 1."""
    if share <= 0:
        return el("td", "0" if content == percent(0, 1) else content, class_="n zero")
    return el("td", content, class_="n heat", style=f"--s:{min(share, 1.0) ** 0.5:.2f}", title=title)


def figure(title: str, how: str, drawing: Content, data: Content = None, *, corpus: str | None = None) -> Markup:
    """Returns a figure.

    Args:
        corpus: the corpus that the numbers belong to, for the script's filter; None for several corpora.
    """
    caption = el("figcaption", el("h3", title), explanation(how))
    return el("figure", caption, drawing, behind("Table", data) if data else None, data_corpus=corpus)


def explanation(text: str) -> Markup:
    """Returns a paragraph on how to read the following figure or table."""
    return el("p", text, class_="how")


def grid(*figures: Content, wide: bool = False) -> Markup:
    """Returns figures side by side, as many as fit."""
    return el("div", figures, class_="grid wide" if wide else "grid")


def legend(*entries: tuple[str, str]) -> Markup:
    """Returns a plot's legend: class and name of each kind."""
    return el("p", (join([el("span", class_=f"key {kind}"), f"{name} "]) for kind, name in entries), class_="legend")


def behind(summary: Content, content: Content, **attributes: str | bool | None) -> Markup:
    """Returns content that is folded away, such as a plot's table; ``attributes`` belong to the element."""
    return el("details", el("summary", summary), content, **attributes)


def percent(part: float, whole: float, digits: int = 1) -> str:
    """Returns a share as text; ``-`` if there is no whole. A small share is not written as zero."""
    if not whole:
        return "-"
    share = 100 * part / whole
    least = 10.0**-digits
    if 0 < share < least:
        return f"< {least:.{digits}f}%"
    if 100 - least < share < 100:
        return f"> {100 - least:.{digits}f}%"
    return f"{share:.{digits}f}%"


def number(value: float) -> str:
    """Returns a number with a useful number of digits."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}"


def short_number(value: float) -> str:
    """Returns a number in few characters, such as 12.3k."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def size(value: float) -> str:
    """Returns a number of bytes as text."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def _kind(column: int, left: Collection[int]) -> str | None:
    return None if column in left else "n"


# Most attributes of a page have few values. To the cache, 1 and True are different, -0.0 and 0.0 are not.
@lru_cache(4096, typed=True)
def _attribute(name: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    text = escape(visible(value)) if isinstance(value, str) else f"{value + 0.0:.2f}".rstrip("0").rstrip(".")
    return f' {key}="{text}"'


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content if isinstance(content, Markup) else escape(visible(content), quote=False)
    if content is None:
        return ""
    return f"{content:,}" if isinstance(content, int) else "".join(map(_text, content))
