"""The report's tables, which the page and ``summary.txt`` share.

``summary.txt`` has all of them, at most about 100 columns wide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from nmt_prep.base.sides import SIDES
from nmt_prep.reporting import Json, about, corpora, languages_in_words, pieces_per, side_name
from nmt_prep.reporting.markup import Markup, percent, size, table, table_row, visible

LEARNED_RULES = {"translation": "Misaligned pairs", "adequacy": "Incomplete pairs"}
"""Findings of the rules that learn from the corpora, by rule."""


@dataclass(frozen=True)
class Table:
    """A table."""

    title: str  # title of the table
    head: Sequence[str]  # headings of the columns
    rows: Sequence[Sequence[str | int]]  # the cells of each row; numbers get separators of thousands
    left: Collection[int] = (0,)  # columns of text, which are aligned to the left
    keys: int = 1  # number of first columns that identify a row

    def without_empty_columns(self) -> Table:
        filled = [number for number in range(len(self.head)) if any(row[number] != "" for row in self.rows)]
        left = [place for place, number in enumerate(filled) if number in self.left]
        rows = [[row[number] for number in filled] for row in self.rows]
        return Table(self.title, [self.head[number] for number in filled], rows, left)

    def markup(self, *, sort: bool = True) -> Markup:
        """Returns the table for the page; the script may filter rows that begin with a corpus."""
        by_corpus = self.head[:1] == ["corpus"]
        rows = (table_row(row, left=self.left, corpus=str(row[0]) if by_corpus else None) for row in self.rows)
        return table(self.head, rows, caption=self.title, left=self.left, sort=sort)


def stages_table(summary: Json) -> Table:
    """Returns the stages of training."""
    return Table(
        "training stages", STAGES_HEAD, stage_rows(summary.get("training", {}).get("stages", ())), (0, 2, 3, 4)
    )


STAGES_HEAD = ("stage", "pairs", "mixture", "epochs", "modifiers")


def stage_rows(stages: Iterable[Json]) -> list[list[str | int]]:
    """Returns the table cells for the training stages."""
    return [
        [
            stage["name"],
            "no end" if stage["rows"] is None else stage["rows"],
            ", ".join(f"{name} {percent(share, 1)}" for name, share in stage["mix"].items()),
            ", ".join(f"{name} {epochs:,.2f}" for name, epochs in stage["epochs"].items()),
            ", ".join(stage["modifiers"]),
        ]
        for stage in stages
    ]


def origin_notes(facts: Json) -> list[str]:
    """Returns a corpus's tags, and the side that a program made."""
    notes = [f"{side} tag {piece}" for side, piece in facts.get("tag", {}).items()]
    return notes + [f"{made['side']} made by {made['value']}" for made in [facts.get("made")] if made]


def corpora_table(summary: Json) -> Table:
    """Returns each corpus's size before and after preparation."""
    rows = []
    for split, corpus, flow in corpora(summary["flow"]):
        facts = summary["corpora"][split][corpus]
        encoded = flow["encoded"] or {"pairs": 0, "source_tokens": 0, "target_tokens": 0}
        notes = origin_notes(facts)
        rows.append(
            [
                f"{split}/{corpus}",
                flow["read"]["pairs"],
                encoded["pairs"],
                percent(encoded["pairs"], flow["read"]["pairs"]),
                size(flow["read"]["bytes"]),
                size(flow["left"]["bytes"]),
                encoded["source_tokens"],
                encoded["target_tokens"],
                "; ".join([*notes, *(facts[key] for key in ("role", "licence") if key in facts)]),
            ]
        )
    head = ["corpus", "pairs in", "pairs out", "kept", "text in", "text out", "source IDs", "target IDs", "notes"]
    return Table("Corpora", head, rows, (0, 8)).without_empty_columns()


def translation_table(summary: Json) -> Table:
    """Returns what was translated by programs: lines before, and the texts and pairs that were made."""
    rows = []
    for split, corpus, counts in corpora(summary.get("untranslated", {})):
        texts = summary["translations"][split][corpus]
        made = texts["by"]
        dropped = ", ".join(f"{reason} {number:,}" for reason, number in counts["dropped"].items() if number)
        program = ", ".join([made["program"], *(f"{key} {made[key]}" for key in ("version", "keep") if key in made)])
        pairs = summary["clean"][split][corpus]["pairs_out"]
        faults = [texts[what] for what in ("empty", "copies", "miscounted")]
        numbers = [counts["pairs_in"], dropped or "none", texts["texts"], *faults, pairs]
        rows.append([f"{split}/{corpus}", *numbers, f"{made['value']} ({program})"])
    head = ["corpus", "lines", "dropped before", "translated", "empty", "copies", "wrong count", "pairs left", "by"]
    return Table("Translations", head, rows, (0, 2, 8))


def document_table(summary: Json) -> Table:
    """Returns document, sentence and bead counts of the document corpora."""
    rows = [
        [
            f"{split}/{corpus}",
            note["documents"],
            len(note["refused"]),
            *note["sentences"],
            percent(note["alone"], sum(note["sentences"])),
            note["pairs"],
            note["weak"],
        ]
        for split, corpus, note in corpora(summary.get("documents", {}))
    ]
    head = ["corpus", "documents", "skipped", "source", "target", "no counterpart", "pairs", "weak"]
    return Table("Documents and sentences", head, rows)


def segment_table(summary: Json) -> Table:
    """Returns each split's documents, and how an epoch joins their segments."""
    rows = []
    for split, facts in summary.get("segments", {}).items():
        pairs, sampled = summary["splits"][split]["pairs"], facts["sampled"]
        mean = f"{pairs / max(facts['documents'], 1):,.1f}"
        shares = percent(facts["joined"], sampled), f"{facts['rows'] * pairs // sampled:,}"
        rows.append(
            [split, facts["documents"], pairs, mean, facts["longest"], *shares, percent(facts["repeated"], sampled)]
        )
    head = ["split", "documents", "segments", "mean", "longest", "joined", "rows per epoch", "repeated"]
    return Table("Document segments", head, rows)


def weight_table(summary: Json) -> Table:
    """Returns the weight distribution of each split."""
    rows = [
        [
            split,
            *(f"{value:.3f}" for value in facts["quantiles"]),
            f"{facts['mean']:.3f}",
            percent(facts["zero"], facts["sampled"]),
        ]
        for split, facts in summary.get("weights", {}).items()
    ]
    return Table("Weights", ["split", "least", "10 %", "median", "90 %", "most", "mean", "zero"], rows)


def pair_table(summary: Json) -> Table:
    """Returns each language pair's numbers in train, and its share of an epoch at some temperatures."""
    pairs: Json = summary.get("pairs", {})
    total = sum(facts["kept"] for facts in pairs.values())
    heats = list(next(iter(pairs.values()))["drawn"]) if pairs else []
    rows = []
    for pair, facts in pairs.items():
        lost = sorted(facts["dropped"].items(), key=lambda item: (-item[1], item[0]))
        row = [pair, facts["read"], facts["kept"], percent(facts["kept"], facts["read"])]
        shares = [percent(facts["drawn"].get(heat, 0), total) for heat in heats]
        rows.append([*row, *shares, ", ".join(f"{reason} {number:,}" for reason, number in lost)])
    head = ["pair", "read", "kept", "share", *(f"epoch at {heat}" for heat in heats), "dropped"]
    return Table("Language pairs", head, rows, (0, len(head) - 1))


def language_table(summary: Json) -> Table:
    """Returns how each language uses the vocabularies, in the samples of train."""
    rows = [
        [
            language,
            side,
            *(f"{use['pieces'] / max(use[unit], 1):.3f}" for unit in ("words", "characters", "bytes")),
            f"{use['escaped']:,} ({percent(use['escaped'], use['characters'], 3)})",
        ]
        for side, languages in summary.get("languages_of_sides", {}).items()
        for language, use in languages.items()
    ]
    head = ["language", "side", "pieces per word", "per character", "per byte", "characters without a piece"]
    return Table("Languages", head, rows, (0, 1), 2)


def comparison_table(summary: Json) -> Table:
    """Returns how several vocabularies divide the same texts.

    Parity is the piece count relative to the first text. Only texts with the same meaning have one.
    """
    rows: list[list[str | int]] = []
    for name, fits in summary.get("comparison", {}).items():
        first = next(iter(fits.values()))["pieces"]
        for text, fit in fits.items():
            pieces = fit["pieces"]
            wholes = (fit["words"], fit["characters"], 0 if "pairs" in summary else first)
            ratios = (f"{pieces / whole:.3f}" if whole else "-" for whole in wholes)
            shares = (percent(fit[kind], pieces, 3) for kind in ("unknown", "partial"))
            rows.append([name, text, pieces, *ratios, *shares, f"{fit['unused']:,} of {fit['size']:,}"])
    ratios_head = ["per word", "per character", "parity"]
    head = ["vocabulary", "text", "pieces", *ratios_head, "unknown", "parts of characters", "unused pieces"]
    return Table("Vocabularies compared", head, rows, (0, 1), 2)


def cut_word_table(summary: Json) -> Table:
    """Returns the words of the texts that each vocabulary cuts into most pieces."""
    rows = [
        [name, text, "  ".join(f"{word} ({count})" for word, count in fit["cut"])]
        for name, fits in summary.get("comparison", {}).items()
        for text, fit in fits.items()
    ]
    return Table("Words cut most", ["vocabulary", "text", "words (pieces)"], rows, (0, 1, 2), 2)


def drop_table(summary: Json) -> Table:
    """Returns the number of dropped pairs by corpus and reason."""
    rows = [
        [
            f"{split}/{corpus}",
            drop["group"],
            drop["reason"],
            drop["pairs"],
            percent(drop["pairs"], flow["read"]["pairs"]),
        ]
        for split, corpus, flow in corpora(summary["flow"])
        for drop in flow["drops"]
    ]
    return Table("Dropped pairs", ["corpus", "by", "reason", "pairs", "share"], rows, (0, 1, 2), 3)


def fix_table(summary: Json) -> Table:
    """Returns the number of lines that each fix altered."""
    rows = [
        [f"{split}/{corpus}", fix, lines]
        for split, corpus, flow in corpora(summary["flow"])
        for fix, lines in flow["fixed"].items()
    ]
    return Table("Repaired text", ["corpus", "fix", "lines"], rows, (0, 1), 2)


def leak_table(summary: Json) -> Table:
    """Returns how many test-set segments occur in the corpora."""
    rows = [
        [
            f"{split}/{leak['corpus']}",
            leak["set"],
            leak["segments"],
            leak["size"],
            percent(leak["segments"], leak["size"]),
            leak["pairs"],
            leak["dropped"],
        ]
        for split, leaks in summary.get("leaks", {}).items()
        for leak in leaks
    ]
    head = ["corpus", "test set", "segments found", "of", "share", "in pairs", "dropped"]
    return Table("Test sets in corpora", head, rows, (0, 1), 2)


def learned_rule_table(summary: Json, rule: str) -> Table:
    """Returns the thresholds and estimates of a rule that learns from the corpora, by corpus."""
    rows = []
    for split, corpus, facts in corpora(summary.get(rule, {})):
        shares = ["" if facts[name] is None else percent(facts[name], 1, 2) for name in ("noise", "found", "lost")]
        threshold = "" if facts["threshold"] is None else f"{facts['threshold']:.2f}"
        rows.append([f"{split}/{corpus}", threshold, facts["learned_from"], *shares, facts["left_out"]])
    head = ["corpus", "threshold", "model pairs", "share", "found", "others lost", "skipped because"]
    return Table(f"{LEARNED_RULES[rule]} (estimates)", head, rows, (0, 6)).without_empty_columns()


def vocabulary_table(summary: Json) -> Table:
    """Returns facts about the vocabularies of both sides, and how the text uses them."""
    facts = [_vocabulary(summary, side) for side in SIDES]
    rows = [[name, *(side[name] for side in facts)] for name in facts[0]]
    return Table("Vocabularies", ["fact", *(side_name(summary, side) for side in SIDES)], rows)


def _vocabulary(summary: Json, side: str) -> dict[str, str | int]:
    vocabulary, use = summary["vocab"][side], summary["pieces"][side]
    asked = summary["provenance"]["vocab_size"]
    unknown = use["unknown"]
    per = {unit: pieces_per(summary, side, unit) for unit in ("word", "char")}
    return {
        "kind": vocabulary["kind"],
        "file": vocabulary["file"],
        **({} if asked is None else {"requested pieces": asked}),
        "pieces": vocabulary["size"],
        "unused pieces": f"{use['unused']:,} ({percent(use['unused'], use['pieces'])})",
        "pieces that occur once": use["singletons"],
        "IDs": use["tokens"],
        "unknown IDs": "no such ID" if unknown is None else f"{unknown:,} ({percent(unknown, use['tokens'], 3)})",
        "pieces per word": "-" if per["word"] is None else f"{per['word']:.3f}",
        "pieces per character": "-" if per["char"] is None else f"{per['char']:.3f}",
        "characters without a piece, in the sample": f"{use['escaped_kinds']:,} ({use['escaped_count']:,} times)",
    }


_BATCHES = ["batches per epoch", "pairs per batch", "IDs per batch", "padding", "skipped pairs", "of all"]


def row_table(summary: Json) -> Table:
    """Returns the row lengths of each split, in model tokens."""
    rows = [
        [
            split,
            facts["rows"],
            facts["ids"],
            f"{facts['ids'] / facts['rows']:,.1f}" if facts["rows"] else "-",
            *facts["percentiles"].values(),
            facts["longest"],
            f"{facts['counted']:.1%}",
        ]
        for split, facts in summary.get("rows", {}).items()
    ]
    return Table("Rows", ["split", "rows", "tokens", "mean", "median", "90 %", "99 %", "longest", "in the loss"], rows)


def packing_table(summary: Json) -> Table:
    """Returns how rows of each split fill longer rows."""
    rows = [
        [
            split,
            int(length),
            packing["longer"],
            percent(packing["longer"], facts["rows"]),
            f"{1 - packing['fill']:.2%}" if packing["fill"] else "-",
            f"{max(1 - facts['ids'] / (facts['rows'] * int(length)), 0):.1%}" if facts["rows"] else "-",
        ]
        for split, facts in summary.get("rows", {}).items()
        for length, packing in facts["row_lengths"].items()
    ]
    head = ["split", "row_length", "longer", "share", "packing wastes", "padding wastes"]
    return Table("Rows in rows of a length", head, rows)


def batch_table(summary: Json) -> Table:
    """Returns each split's batches with the config's settings."""
    rows = [
        [split, *_batches(estimates[0], summary["splits"][split]["pairs"])]
        for split, estimates in summary["batches"].items()
        if estimates
    ]
    return Table("Batches", ["split", *_BATCHES], rows)


def setting_table(summary: Json, split: str) -> Table:
    """Returns a split's batches with the config's settings and with others."""
    rows = []
    for estimate in summary["batches"][split]:
        setting = ", ".join(f"{key}: {_value(value)}" for key, value in estimate["setting"].items())
        rows.append([setting or "as in the config", *_batches(estimate, summary["splits"][split]["pairs"])])
    return Table(f"Batches of {split} with different settings", ["setting", *_BATCHES], rows)


def _batches(estimate: Json, pairs: int) -> list[str | int]:
    batches = estimate["batches"]
    return [
        estimate["batches_per_epoch"],
        f"{estimate['pairs'] / batches:,.1f}" if batches else "-",
        f"{estimate['tokens'] / batches:,.0f}" if batches else "-",
        percent(estimate["cells"] - estimate["tokens"], estimate["cells"]),
        estimate["left_out"],
        percent(estimate["left_out"], pairs),
    ]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else str(value)


def record_table(summary: Json) -> Table:
    """Returns each split's size."""
    keys = ("pairs", "shards", "bytes", "longest_source", "longest_target")
    rows = [[split, *(counts[key] for key in keys)] for split, counts in summary["splits"].items()]
    return Table("Records", ["split", *(key.replace("_", " ") for key in keys)], rows)


TABLES: tuple[Callable[[Json], Table], ...] = (
    corpora_table,
    pair_table,
    drop_table,
    fix_table,
    translation_table,
    document_table,
    segment_table,
    weight_table,
    leak_table,
    *(partial(learned_rule_table, rule=rule) for rule in LEARNED_RULES),
    vocabulary_table,
    language_table,
    comparison_table,
    row_table,
    packing_table,
    batch_table,
    stages_table,
    record_table,
)
"""The text's tables, in order."""


def render_text(summary: Json) -> str:
    """Returns the report as text."""
    blocks = [[f"{summary['name']}: {languages_in_words(summary)}", summary["signature"]]]
    blocks += [list(_warnings(summary)), *(list(_lines(made(summary))) for made in TABLES)]
    return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _warnings(summary: Json) -> Iterator[str]:
    for label, warnings in (("warning", summary["warnings"]), ("before cleaning", summary.get("mended", ()))):
        for warning in warnings:
            where = about(warning)
            yield f"{label}: {where}{': ' * bool(where)}{visible(warning['text'])}"
    for split, duplicates in summary.get("duplicates", {}).items():
        near = duplicates["near"]
        if near is not None and near["full_buckets"]:
            groups = f"{near['full_buckets']:,} groups of candidates"
            yield f"near duplicates in {split}: {groups} are too large to compare all pairs"


def _lines(table: Table) -> Iterator[str]:
    """Yields a table's lines, whose title takes the place of its first heading; none for a table without rows.

    A corpus is named in the first of its rows only.
    """
    if not table.rows:
        return
    cells = [[table.title.lower(), *table.head[1:]]]
    cells += [[f"{cell:,}" if isinstance(cell, int) else visible(cell) for cell in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    before = ""
    for row in cells:
        first, before = "" if row[0] == before else row[0], row[0]
        texts = (
            text.ljust(width) if column in table.left else text.rjust(width)
            for column, (text, width) in enumerate(zip([first, *row[1:]], widths, strict=True))
        )
        yield "  ".join(texts).rstrip()
