"""The page: the pairs of the sample, and controls that decide about them in the browser."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from nmt_prep.reporting.markup import Markup, el
from nmt_prep.reporting.page import document, titled

MOST_BYTES = 5_000_000
"""The size that a page of 5,000 pairs does not exceed: links of words are left out first, then long texts are cut."""

_SHORTEST = 200


def render(data: dict[str, Any]) -> str:
    """Returns the page.

    Args:
        data: what :func:`~nmt_prep.trial.data.trial_data` returns.
    """
    content = _json(data)
    most = MOST_BYTES * max(len(data["pairs"]["row"]) / 5000, 1)
    pairs = data["pairs"]
    if len(content.encode()) > most and "links" in pairs:
        pairs = {name: column for name, column in pairs.items() if name not in {"words", "links"}}
        content = _json({**data, "pairs": pairs})
    longest = 4000
    while len(content.encode()) > most and longest > _SHORTEST:
        longest //= 2
        cut = {side: [_cut(text, longest) for text in pairs[side]] for side in ("source", "target")}
        raw = {place: [_cut(text, longest) for text in texts] for place, texts in pairs["raw"].items()}
        content = _json({**data, "pairs": {**pairs, **cut, "raw": raw}})
    languages = ", ".join(dict.fromkeys(" → ".join(corpus["languages"]) for corpus in data["corpora"]))
    header = [
        el("ul", (el("li", note) for note in data["notes"]), class_="notes") if data["notes"] else None,
        el("div", id="figures", class_="figures", role="status"),
    ]
    body = [
        el("noscript", el("p", "This page needs JavaScript, which runs in the page alone; no request leaves it.")),
        el("main", titled("rules", "Rules"), titled("pairs", "Pairs"), class_="trial"),
        el("script", Markup(content), id="data", type="application/json"),
    ]
    kind, script, style = "Try cleaning rules on a sample", _resource("trial.js"), _resource("trial.css")
    return document(kind, (data["name"], languages), header, "pairs", body, script, style)


def _json(data: object) -> str:
    """Returns JSON in which no text can end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\x7f", "\\u007f")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} …"


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
