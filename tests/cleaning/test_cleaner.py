from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.cleaner import Cleaner, Judged
from nmt_prep.cleaning.dedup.records import Comparison, Group, records_of
from nmt_prep.cleaning.presets import Cleaning, cleaning_of
from nmt_prep.cleaning.rejects import CleanCounts, RejectNotes, RepairedLine
from nmt_prep.cleaning.rule import Context
from nmt_prep.config import CleanSettings, Languages

BOTH: tuple[Side, ...] = ("source", "target")
MODULE = """
import numpy as np
import pyarrow.compute as pc

def same_start(source, target):
    return pc.equal(pc.utf8_slice_codeunits(source, 0, 1), pc.utf8_slice_codeunits(target, 0, 1))

def upper(line):
    return line.upper()

def wrong(source, target):
    return [True]
"""


def cleaner(
    directory: Path, rules: dict[str, Any], fix: Any = (), sides: tuple[Side, ...] = BOTH, cleaned: Side | None = None
) -> Cleaner:
    (directory / "own.py").write_text(MODULE)
    settings = CleanSettings(preset="none", rules=rules, fix=fix)
    languages = Languages(source="en", target="de")
    context = Context(languages, sides, directory)
    return Cleaner(cleaning_of(settings, languages, "c"), context, "splits.train.c", cleaned=cleaned)


def clean(made: Cleaner, *pairs: tuple[str, str]) -> Judged:
    source, target = zip(*pairs, strict=True) if pairs else ((), ())
    return made.clean({"source": pa.array(source, pa.string()), "target": pa.array(target, pa.string())})


LENGTH = {"unit": "token", "min": 1, "max": 2}
OWN = {"length": LENGTH, "python": "own:same_start"}
PAIRS = [("a b", "a b"), ("a b", "a b c"), ("a b c d", "x"), ("a", "x"), ("", "a"), ("a", "a")]


@pytest.mark.parametrize("exchanged", [False, True])
def test_keys_of_known_lines_are_those_of_the_lines(tmp_path: Path, exchanged: bool) -> None:
    made, group = cleaner(tmp_path, OWN), Group(salt=5, exchanged=exchanged)
    comparisons = [Comparison(what, "normalized", (), 1) for what in ("pair", *BOTH)]
    for pairs in (PAIRS, [("A.", "a"), *PAIRS, ("", "x")], [("", "")]):
        judged = clean(made, *pairs)
        keys, kept = judged.line_keys("normalized", judged.kept), pa.array(judged.kept)
        rows = pa.array(np.flatnonzero(judged.kept))
        batch = pa.record_batch([*(judged.text[side].filter(kept) for side in BOTH), rows], names=[*BOTH, "row"])
        assert keys is not None
        for known, computed in zip(
            *(records_of(batch, 1, comparisons, group, each) for each in (keys, None)), strict=True
        ):
            assert known.tolist() == computed.tolist()


def test_keys_are_not_known_without_rules_or_both_sides(tmp_path: Path) -> None:
    for made in (cleaner(tmp_path, {}), cleaner(tmp_path, {"length": LENGTH}, sides=("source",))):
        judged = clean(made, *PAIRS)
        assert judged.line_keys("exact", judged.kept) is None


def test_lines_of_earlier_batches_are_judged_as_before(tmp_path: Path) -> None:
    made = cleaner(tmp_path, {"length": LENGTH, "html": {}, "only_digits": {"max": 0.5}})
    first = clean(made, *PAIRS)
    again = clean(made, ("x", "<b>x</b>"), *PAIRS, ("a", "12"))
    assert again.reasons.tolist() == [2, *first.reasons.tolist(), 3]
    assert again.values.tolist() == pytest.approx([1, *first.values.tolist(), 1], nan_ok=True)


def test_the_first_rule_that_fails_is_the_reason(tmp_path: Path) -> None:
    judged = clean(cleaner(tmp_path, OWN), *PAIRS)
    assert judged.names == ("empty", "length", "python")
    assert judged.reasons.tolist() == [-1, 1, 1, 2, 0, -1]
    assert judged.kept.tolist() == [True, False, False, False, False, True]
    reversed_rules = {name: OWN[name] for name in reversed(OWN)}
    assert clean(cleaner(tmp_path, reversed_rules), *PAIRS).reasons.tolist() == [-1, 2, 2, 1, 0, -1]


def test_dropped_pairs_have_the_value_and_the_threshold_of_the_first_column_that_fails(tmp_path: Path) -> None:
    judged = clean(cleaner(tmp_path, OWN), *PAIRS)
    assert judged.columns.to_pylist() == ["target", "source", "pair", None]
    assert judged.values.tolist() == pytest.approx([3.0, 4.0, 0.0, math.nan], nan_ok=True)
    assert judged.thresholds.tolist() == pytest.approx([2.0, 2.0, 1.0, math.nan], nan_ok=True)


def test_pairs_and_refused_values_are_counted_by_rule_and_column(tmp_path: Path) -> None:
    made = cleaner(tmp_path, OWN)
    clean(made, *PAIRS)
    counts = made.counts
    assert (counts.pairs_in, counts.pairs_out) == (6, 2)
    assert counts.dropped == {"empty": 1, "length": 2, "python": 1}
    assert counts.failed == {"length": {"length": 2, "python": 0}, "python": {"length": 0, "python": 1}}
    source = counts.histograms["length"]["source"]
    assert source.edges[:6] == (0.0, 1.0, 2.0, 3.0, 5.0, 7.0)
    assert (source.kept[:4], source.dropped[:4]) == ((0, 1, 1, 0), (0, 1, 1, 1))
    own = counts.histograms["python"]["pair"]
    assert (own.edges, own.kept, own.dropped) == ((0.0, 0.5, 1.0), (0, 2), (1, 0))
    by_column = {column: shown.failed for column, shown in counts.histograms["length"].items()}
    assert (by_column, counts.failed["length"]["length"]) == ({"source": 1, "target": 1}, 2)
    assert (counts + counts).histograms["length"]["source"].failed == 2


def test_fixes_come_before_rules_and_may_leave_nothing(tmp_path: Path) -> None:
    made = cleaner(tmp_path, {"length": LENGTH}, ("whitespace", "control"))
    judged = clean(made, ("a \u3000 b", "a"), ("\x07", "a"), ("a", "a"), (" ", "b"))
    assert judged.text["source"].to_pylist() == ["a b", "", "a", ""]
    assert judged.reasons.tolist() == [-1, 0, -1, 0]
    assert made.counts.altered == {"control": 1, "whitespace": 2}


def test_fixes_of_each_side_are_counted_and_shown_by_position(tmp_path: Path) -> None:
    dashes = {"replace": {"pattern": "[–—]", "with": "-", "label": "dashes"}}
    fix = {"source": (dashes, {"python": "own:upper"}, {"replace": {"pattern": "A+"}}, {"replace": {"pattern": "B"}})}
    made = cleaner(tmp_path, {}, fix)
    judged = clean(made, ("a–b", "a–b"), ("c", "c"), ("aa", "c"), ("–", ""), ("——", "—"), ("e—", "f"))
    assert [judged.text[side].to_pylist() for side in BOTH] == [
        ["-", "C", "", "-", "--", "E-"],
        ["a–b", "c", "c", "", "—", "f"],
    ]
    assert made.counts.dropped == {"empty": 2}
    assert judged.columns.to_pylist() == ["replace.source", None]
    assert made.counts.altered == {"dashes.source": 4, "python.source": 4, "replace.source": 2, "replace-2.source": 1}
    shown = {fix: [(line.side, line.before, line.after) for line in lines] for fix, lines in made.repaired.items()}
    assert shown == {
        "dashes.source": [("source", "a–b", "a-b"), ("source", "–", "-"), ("source", "——", "--")],
        "python.source": [("source", "a-b", "A-B"), ("source", "c", "C"), ("source", "aa", "AA")],
        "replace.source": [("source", "A-B", "-B"), ("source", "AA", "")],
        "replace-2.source": [("source", "-B", "-")],
    }
    assert [*made.files] == ["python own:upper of the source"]
    notes = RejectNotes(repaired=made.repaired)
    assert (notes + notes).repaired["replace.source"] == [
        *made.repaired["replace.source"],
        made.repaired["replace.source"][0],
    ]


def test_long_repaired_lines_are_shown_around_the_change() -> None:
    assert RepairedLine.of("target", "x" * 1000 + "–" + "y" * 1000, "x" * 1000 + "-" + "y" * 1000) == RepairedLine(
        "target", "x" * 100 + "–" + "y" * 199, "x" * 100 + "-" + "y" * 199
    )


@pytest.mark.parametrize(
    ("fix", "problem"),
    [
        (("nfd",), "clean.fix: there is no step 'nfd'; did you mean 'nfc'"),
        (({"python": "own:absent"},), "clean.fix: python: own has no function absent, for the corpus splits.train.c"),
        (
            ({"python": "own:wrong"},),
            "clean.fix, for the corpus splits.train.c: own:wrong failed on the line 'a': Type",
        ),
    ],
)
def test_problems_of_fixes_name_their_place(tmp_path: Path, fix: Any, problem: str) -> None:
    with pytest.raises(CleaningError, match="^" + re.escape(problem)):
        clean(cleaner(tmp_path, {"python": "own:same_start"}, fix), ("a", "a"))


def test_without_rules_all_pairs_with_text_are_kept(tmp_path: Path) -> None:
    assert clean(cleaner(tmp_path, {}), ("\u3000", "a"), ("a", "a")).reasons.tolist() == [0, -1]
    made = cleaner(tmp_path, {})
    judged = clean(made, ("a", "b"))
    assert judged.kept.tolist() == [True]
    assert made.counts == CleanCounts(1, 1, {"empty": 0}, {}, {}, {})
    assert clean(made).reasons.tolist() == []


def test_corpora_of_one_side_are_cleaned_by_the_rules_of_one_side(tmp_path: Path) -> None:
    made = cleaner(tmp_path, OWN, sides=("target",))
    assert [rule.key for rule in made.rules] == ["length"]
    judged = clean(made, ("<mono>", "a b c"), ("<mono>", "a"), ("", "a"))
    assert judged.reasons.tolist() == [1, -1, -1]
    assert list(judged.text) == ["target"]


def test_a_side_that_was_cleaned_before_is_only_compared(tmp_path: Path) -> None:
    made = cleaner(tmp_path, OWN, ("whitespace",), cleaned="target")
    judged = clean(made, (" a ", "a b c "), ("a b c", "a"), ("x", "y"))
    assert [judged.names[reason] if reason >= 0 else "" for reason in judged.reasons] == ["", "length", "python"]
    assert [judged.text[side][0].as_py() for side in BOTH] == ["a", "a b c "]
    assert (made.counts.altered, [*made.counts.histograms["length"]]) == ({"whitespace": 1}, ["source"])


def test_cleaning_a_corpus_in_parts_gives_the_same_result(tmp_path: Path) -> None:
    whole, first, second = (cleaner(tmp_path, OWN, ("whitespace",)) for _ in range(3))
    clean(whole, *PAIRS)
    clean(first, *PAIRS[:2])
    clean(second, *PAIRS[2:])
    assert first.counts + second.counts == second.counts + first.counts == whole.counts
    assert CleanCounts() + whole.counts == whole.counts


@given(st.lists(st.tuples(st.text("ab ", max_size=8), st.text("ab ", max_size=8)), max_size=30), st.integers(0, 30))
def test_reasons_and_counts_are_those_of_the_plain_loop(tmp_path_factory: Any, pairs: list[Any], cut: int) -> None:
    directory = tmp_path_factory.mktemp("own")
    rules = {"length": LENGTH, "python": "own:same_start"}
    made = cleaner(directory, rules)
    found = [reason for part in (pairs[:cut], pairs[cut:]) for reason in clean(made, *part).reasons.tolist()]
    expected = []
    for source, target in pairs:
        if not source.strip() or not target.strip():
            expected.append(0)
        elif any(not 1 <= len(side.split()) <= 2 for side in (source, target)):
            expected.append(1)
        else:
            expected.append(-1 if source[0] == target[0] else 2)
    assert found == expected
    assert list(made.counts.dropped.values()) == [expected.count(reason) for reason in range(3)]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"length": {"maxi": 3}}, "clean.rules.length.maxi: unknown key; did you mean 'max'?"),
        ({"language": {"model": "own.py"}}, "clean.rules.language: the language model "),
        ({"language": {"model": "./none.bin"}}, "clean.rules.language: the language model "),
        ({"python": "nowhere:f"}, "clean.rules.python: there is no module nowhere, neither beside the config in"),
    ],
)
def test_errors_of_rules_and_fixes_name_key_and_corpus(tmp_path: Path, rules: dict[str, Any], message: str) -> None:
    with pytest.raises(CleaningError) as error:
        cleaner(tmp_path, rules)
    assert str(error.value).startswith(message)
    assert str(error.value).endswith(", for the corpus splits.train.c")


def test_a_rule_that_fails_is_named_with_its_key_and_corpus(tmp_path: Path) -> None:
    with pytest.raises(
        CleaningError,
        match=r"^clean\.rules\.python, for the corpus splits\.train\.c: own:wrong returned 1 values for 2 pairs;",
    ):
        clean(cleaner(tmp_path, {"python": "own:wrong"}), ("a", "b"), ("c", "d"))


def test_scores_reach_the_rules_of_pairs_with_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cleaner(tmp_path, {"length": LENGTH})
    seen: list[Any] = []
    (rule,) = made.rules
    original = rule.values
    monkeypatch.setattr(rule, "values", lambda pairs: (seen.append(pairs.scores), original(pairs))[1])
    text = {side: pa.array(["a", "", "b"]) for side in BOTH}
    made.clean(text, {"quality": np.array([0.1, 0.2, 0.3])})
    assert {name: scores.tolist() for name, scores in seen[0].items()} == {"quality": [0.1, 0.3]}


def test_cleaning_is_resolved_from_preset_to_corpus() -> None:
    settings = CleanSettings.model_validate(
        {
            "preset": "light",
            "fix": ("control",),
            "rules": {"length": {"max": 10}, "top": {"score": "s", "keep": 0.5}},
            "overrides": {
                "en-de": {"rules": {"length": {"max": 20}}, "fix": ("nfc",)},
                "en-fr": {"rules": {"length": "off"}},
                "c": {"rules": {"top": "off", "python": "own:f"}},
            },
        }
    )
    languages = Languages(source="en", target="de")
    assert cleaning_of(settings, languages, "d").rules["length"] == {"max": 20}
    assert cleaning_of(settings, languages, "d").corpus_rules["top"] == {"score": "s", "keep": 0.5}
    made = cleaning_of(settings, languages, "c")
    assert (made.fix, made.corpus_rules) == (("nfc",), {})
    assert list(made.rules)[-1] == "python"
    assert made.keys["length"] == "clean.overrides.en-de.rules."
    assert made.keys["python"] == "clean.overrides.c.rules."
    american = Languages(source="en-US", target="de")
    assert cleaning_of(settings, american, "d").rules["length"] == {"max": 20}
    assert "length" not in cleaning_of(settings, Languages(source="en", target="fr"), "d").rules
    only = CleanSettings(preset="none")
    assert cleaning_of(only, languages, "c") == Cleaning(())
