"""The page: the sample's pairs, controls that decide about them in the browser, and the exported judgments.

The judgments are a table of pairs marked good or bad.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from nmt_prep.base.errors import ArgumentError
from nmt_prep.reporting.markup import Markup, el
from nmt_prep.reporting.page import document, titled

MOST_BYTES = 5_000_000
"""Maximum size of a page with 5,000 pairs: word links are removed first, then long texts are cut."""

_SHORTEST = 200


def render(data: dict[str, Any]) -> str:
    """Returns the page."""
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


_HEAD = ("corpus", "row", "key", "judgement")


@dataclass(frozen=True)
class Judgement:
    """A judged pair."""

    where: str  # file and line, for messages
    key: str  # the key of its text, from `text_key`
    good: bool  # true if the pair should be kept


Judgements = Mapping[str, Mapping[int, Judgement]]  # Judgments by split and corpus name, and by the row


def read_judgements(path: Path) -> Judgements:
    """Reads the table that the page exports."""
    try:
        head, *lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {path}: {error}") from error
    if tuple(head.split("\t")) != _HEAD:
        raise ArgumentError(f"{path}, line 1: expected the columns {', '.join(_HEAD)}, separated by tabs, as exported")
    judgements: dict[str, dict[int, Judgement]] = {}
    for number, line in enumerate(lines, 2):
        match line.split("\t"):
            case [""]:
                continue
            case [corpus, row, key, "good" | "bad" as judgement] if row.isascii() and row.isdigit():
                where = f"{path}, line {number}"
                judgements.setdefault(corpus, {})[int(row)] = Judgement(where, key, judgement == "good")
            case _:
                raise ArgumentError(f"{path}, line {number}: expected a corpus, a row, a key, and good or bad")
    return judgements


def judged_pairs(judgements: Judgements, data: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Returns the numbers of judged pairs in the page's data, with ``good`` or ``bad``."""
    pairs, names = data["pairs"], [corpus["name"] for corpus in data["corpora"]]
    left = {(name, row): judgement for name, rows in judgements.items() for row, judgement in rows.items()}
    judged = []
    for number, (corpus, row, key) in enumerate(zip(pairs["corpus"], pairs["row"], pairs["key"], strict=True)):
        judgement = left.get((names[corpus], row))
        if judgement is not None and judgement.key == key:
            del left[names[corpus], row]
            judged.append((number, "good" if judgement.good else "bad"))
    for (name, row), judgement in left.items():
        known = "" if name in names else f" (the corpora are {', '.join(names)})"
        raise ArgumentError(
            f"{judgement.where}: row {row:,} of {name} is not the pair that was judged{known}; the judgments are of "
            "another corpus, or it has changed since"
        )
    return judged
