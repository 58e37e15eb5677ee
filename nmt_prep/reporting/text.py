"""``summary.txt``: the numbers of a run as tables of text, at most about 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from nmt_prep.reporting.combined import pieces_per
from nmt_prep.reporting.flow import Json
from nmt_prep.reporting.visible import visible

_SIDES = ("source", "target")


def render_text(summary: Json) -> str:
    """Returns the report as text.

    Args:
        summary: the content of ``summary.json``.
    """
    languages = summary["languages"]
    lines = [f"{summary['name']}: {languages['source']} → {languages['target']}", summary["signature"], ""]
    for section in (
        _warnings,
        _corpora,
        _dropped,
        _fixed,
        _near,
        _leaks,
        _misaligned,
        _vocabularies,
        _batches,
        _records,
    ):
        found = list(section(summary))
        lines += [*found, ""] if found else []
    return "\n".join(lines[:-1]) + "\n"


def _warnings(summary: Json) -> Iterator[str]:
    for warning in summary["warnings"]:
        about = "/".join(filter(None, [warning["split"], warning["corpus"]]))
        yield f"warning: {about}{': ' * bool(about)}{visible(warning['text'])}"


def _corpora(summary: Json) -> Iterator[str]:
    rows = []
    for split, corpora in summary["flow"].items():
        for corpus, flow in corpora.items():
            facts = summary["corpora"][split][corpus]
            notes = [f"{side} {piece}" for side, piece in facts.get("tag", {}).items()]
            notes += [facts[key] for key in ("role", "licence") if key in facts]
            encoded = flow["encoded"] or {"pairs": 0, "source_tokens": 0, "target_tokens": 0}
            rows.append(
                (
                    f"{split}/{corpus}",
                    _number(flow["read"]["pairs"]),
                    _number(encoded["pairs"]),
                    _share(encoded["pairs"], flow["read"]["pairs"]),
                    _number(encoded["source_tokens"]),
                    _number(encoded["target_tokens"]),
                    visible("; ".join(notes)),
                )
            )
    head = ("corpora", "pairs in", "pairs out", "kept", "source tokens", "target tokens", "notes")
    yield from table(head, rows, left=(0, 6))


def _dropped(summary: Json) -> Iterator[str]:
    rows = []
    for split, corpora in summary["flow"].items():
        for corpus, flow in corpora.items():
            for drop in flow["drops"]:
                where = f"{split}/{corpus}"
                share = _share(drop["pairs"], flow["read"]["pairs"])
                rows.append((where, drop["group"], drop["reason"], _number(drop["pairs"]), share))
    if rows:
        yield from table(("dropped pairs", "by", "reason", "pairs", "share"), _without_repeats(rows), left=(0, 1, 2))
    else:
        yield "dropped pairs: none"


def _without_repeats(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    for _, group in groupby(rows, key=lambda row: row[0]):
        for number, row in enumerate(group):
            yield ("" if number else row[0], *row[1:])


def _fixed(summary: Json) -> Iterator[str]:
    rows = [
        (f"{split}/{corpus}", fix, _number(lines))
        for split, corpora in summary["flow"].items()
        for corpus, flow in corpora.items()
        for fix, lines in flow["fixed"].items()
    ]
    if rows:
        yield from table(("repaired text", "fix", "lines"), _without_repeats(rows), left=(0, 1))


def _near(summary: Json) -> Iterator[str]:
    for split, found in summary.get("duplicates", {}).items():
        near = found["near"]
        if near is not None and near["full_buckets"]:
            yield (
                f"near duplicates in {split}: {_number(near['full_buckets'])} groups of candidates are too large to "
                "compare all pairs"
            )


def _leaks(summary: Json) -> Iterator[str]:
    rows = [
        (
            f"{split}/{leak['corpus']}",
            leak["set"],
            *(_number(leak[key]) for key in ("segments", "size", "pairs", "dropped")),
        )
        for split, leaks in summary.get("leaks", {}).items()
        for leak in leaks
    ]
    if rows:
        head = ("test sets in corpora", "set", "segments found", "of", "in pairs", "dropped")
        yield from table(head, _without_repeats(rows), left=(0, 1))


def _misaligned(summary: Json) -> Iterator[str]:
    rows = []
    for split, corpora in summary.get("translation", {}).items():
        for corpus, facts in corpora.items():
            estimates = ("" if facts[name] is None else f"{facts[name]:.2%}" for name in ("noise", "found", "lost"))
            threshold = "" if facts["threshold"] is None else f"{facts['threshold']:.2f}"
            learned = _number(facts["learned_from"]) if facts["learned_from"] else "-"
            rows.append((f"{split}/{corpus}", threshold, learned, *estimates, facts["left_out"]))
    if rows:
        head = (
            "misaligned (estimates)",
            "threshold",
            "model pairs",
            "share",
            "found",
            "others lost",
            "left out because",
        )
        yield from table(head, rows, left=(0, 6))


def _vocabularies(summary: Json) -> Iterator[str]:
    rows = []
    for side in _SIDES:
        facts, use = summary["vocab"][side], summary["pieces"][side]
        unknown = "-" if use["unknown"] is None else _share(use["unknown"], use["tokens"], digits=3)
        rows.append(
            (
                side,
                _number(facts["size"]),
                facts["kind"],
                _number(use["unused"]),
                unknown,
                *(f"{pieces_per(summary, side, unit) or 0:.3f}" for unit in ("word", "char")),
                facts["file"],
            )
        )
    head = ("vocabularies", "pieces", "kind", "unused", "unknown", "per word", "per char", "file")
    yield from table(head, rows, left=(0, 2, 7))


def _batches(summary: Json) -> Iterator[str]:
    rows = []
    for split, estimates in summary["batches"].items():
        if estimates:
            own = estimates[0]
            rows.append(
                (
                    split,
                    _number(own["batches_per_epoch"]),
                    f"{own['pairs'] / own['batches']:.1f}" if own["batches"] else "-",
                    f"{own['tokens'] / own['batches']:,.0f}" if own["batches"] else "-",
                    _share(own["cells"] - own["tokens"], own["cells"]),
                    _number(own["left_out"]),
                )
            )
    yield from table(("batches", "an epoch", "pairs", "tokens", "padding", "pairs too long"), rows, left=(0,))


def _records(summary: Json) -> Iterator[str]:
    rows = [
        (
            name,
            _number(split["pairs"]),
            _number(split["shards"]),
            _number(split["bytes"]),
            _number(split["longest_source"]),
            _number(split["longest_target"]),
        )
        for name, split in summary["splits"].items()
    ]
    yield from table(("records", "pairs", "shards", "bytes", "longest source", "longest target"), rows, left=(0,))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], left: Sequence[int]) -> Iterator[str]:
    """Yields the lines of a table whose columns are as wide as needed.

    Args:
        head: headings of the columns.
        rows: the texts of the cells.
        left: numbers of the columns that are aligned to the left; the others are aligned to the right.
    """
    cells = [head, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        texts = (
            text.ljust(width) if column in left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(texts).rstrip()


def _number(value: int) -> str:
    return f"{value:,}"


def _share(part: int, whole: int, digits: int = 1) -> str:
    return f"{part / whole:.{digits}%}" if whole else "-"
