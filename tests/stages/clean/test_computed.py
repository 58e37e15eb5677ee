from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import CleaningError, ComputedError, ConfigError
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs import runner
from tests.stages.cleaning import NONE, SHORT, pairs_below, rejected, write
from tests.stages.runs import config_of, manifest, run, run_of

LENGTHS = """
import sys
for line in sys.stdin:
    print(line, file=open("calls", "a"), end="")
    print(len(line) - 2)
"""
FUNCTIONS = """
import pyarrow.compute as pc
short = lambda source: pc.less(pc.utf8_length(source), 6)
"""
PAIRS = [("a b c d", "e"), ("aa", "b"), ("aaaa", "b"), ("aa", "b"), ("aaaaaa", "b"), ("aaa", "b")]
LENGTH = {"program": "python3 -S lengths.py"}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "lengths.py").write_text(LENGTHS)
    (tmp_path / "fn.py").write_text(FUNCTIONS)


def made(directory: Path, rules: dict[str, Any], clean: dict[str, Any] | None = None, **sections: Any) -> Any:
    whole = {**SHORT, "rules": {**SHORT["rules"], **rules}, "dedup": {"pair": "exact"}, **(clean or {})}
    sections = {"computed": {"len": LENGTH}, **sections}
    return run_of(directory, write(directory, "c", PAIRS), clean=whole, until="clean", **sections)


def calls(directory: Path) -> list[str]:
    return (directory / "calls").read_text().splitlines() if (directory / "calls").exists() else []


def test_a_model_sees_what_is_left_and_other_limits_compute_nothing(tmp_path: Path) -> None:
    config = made(tmp_path, {"score": {"len": {"min": 4}}})
    assert calls(tmp_path) == ["aa\tb", "aaaa\tb", "aaaaaa\tb", "aaa\tb"]  # no long pair, no duplicate
    assert pairs_below(config, "cleaned", "train", "row", "score:len") == [(2, 5.0), (4, 7.0), (5, 4.0)]
    assert sorted((row, rule, value, limit) for _, _, row, rule, value, limit in rejected(config)) == [
        (0, "length", 4.0, 3.0),
        (1, "score", 3.0, 4.0),
        (3, "duplicate_pair", None, None),
    ]
    config = made(tmp_path, {"score": {"len": {"max": 5}}, "top": {"score": "len", "keep": "50%"}})
    assert pairs_below(config, "cleaned", "train", "row", "score:len") == [(2, 5.0), (5, 4.0)]
    assert len(calls(tmp_path)) == 4


def test_short_forms_are_computed_values_too(tmp_path: Path) -> None:
    rules = {"python": "fn:short", "program/own": {"command": "python3 -S lengths.py", "min": 4}}
    config = made(tmp_path, rules, computed={})
    assert pairs_below(config, "cleaned", "train", "row") == [(2,), (5,)]
    assert {row: rule for _, _, row, rule, _, _ in rejected(config) if row not in (0, 3)} == {
        1: "program/own",
        4: "python",
    }
    assert calls(tmp_path) == ["aa\tb", "aaaa\tb", "aaa\tb"]  # `python` came first


def test_a_value_may_rank_duplicates_or_be_a_weight(tmp_path: Path) -> None:
    dedup = {"pair": "off", "max_sources_per_target": 1, "keep": ["len", "corpus"]}
    config = made(tmp_path, {}, {"dedup": dedup})
    assert pairs_below(config, "cleaned", "train", "row", "score:len") == [(4, 7.0)]
    config = made(tmp_path, {}, weight={"from": "score:len"})
    histogram = manifest(config, "clean").details["corpora"]["train"]["c"]["histograms"]["score"]["len"]
    assert (histogram["edges"][0], histogram["edges"][-1]) == (3, 7)
    assert [(place, n) for place, n in enumerate(histogram["kept"]) if n] == [(0, 1), (10, 1), (20, 1), (39, 1)]
    assert pairs_below(config, "cleaned", "train", "row", "score:len") == [(1, 3.0), (2, 5.0), (4, 7.0), (5, 4.0)]
    assert len(calls(tmp_path)) == 4


def test_members_share_the_texts_and_the_plan_counts_them(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        write(tmp_path, "c", PAIRS),
        clean={**SHORT, "dedup": {"pair": "exact"}},
        computed={"len": LENGTH},
    )
    run(config, until="compile")
    assert [vars(left) for left in runner.computed_left(config)] == [
        {"name": "len", "texts": 6, "stored": 0, "exact": False}
    ]
    for name in ("clean-first", "clean", "clean-pairs", "clean-dedup"):
        runner.run_share(config, Share(name, 0, 1))
    (left,) = runner.computed_left(config)
    assert (left.texts, left.stored, left.exact, calls(tmp_path)) == (4, 0, True, [])
    assert runner.run_share(config, Share("computed-len", 0, 2)).ran == 1
    assert runner.run_share(config, Share("computed-len", 1, 2)).ran == 0
    run(config, until="clean")
    assert (runner.computed_left(config), len(calls(tmp_path))) == ([], 4)


def test_a_program_that_writes_too_much_in_the_end_loses_its_values(tmp_path: Path) -> None:
    (tmp_path / "lengths.py").write_text(LENGTHS + "print(1)")
    clean = {**NONE, "rules": {"score": {"len": {"max": 5}}}}
    config = config_of(tmp_path, write(tmp_path, "c", PAIRS), clean=clean, computed={"len": LENGTH})
    run(config, until="compile")
    runner.run_share(config, Share("clean-first", 0, 1))
    for make in (
        partial(runner.run_share, config, Share("computed-len", 0, 1)),
        partial(run, config),
        partial(run, config),
    ):
        with pytest.raises(ComputedError, match=r"^the value len: python3 -S lengths\.py wrote more than it had lines"):
            make()


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"computed": {"len": {}}}, r"computed\.len: give either program or python"),
        (
            {"computed": {"len": LENGTH}},
            r"computed\.len: numbers are computed for pairs that are cleaned; add .* clean",
        ),
        ({"computed": {"corpus": LENGTH}, "clean": {}}, r"computed\.corpus: the name has another meaning"),
        (
            {"computed": {"t": {**LENGTH, "output": "text"}}, "clean": {"rules": {"score": {"t": {"min": 1}}}}},
            r"computed\.t\.output: a rule, clean\.dedup\.keep or weight uses this text as a score",
        ),
        ({"computed": {"len": {**LENGTH, "candidates": 2}}, "clean": {}}, "candidates are texts; set output to text"),
        ({"computed": {"len": {"program": "./no"}}, "clean": {}}, r"computed\.len: there is no program '\./no' in"),
        ({"computed": {"s": LENGTH}, "clean": {}}, r"computed\.s: the corpus splits\.train\.c already has a score of"),
    ],
)
def test_mistakes_are_errors_before_any_work(tmp_path: Path, sections: dict[str, Any], message: str) -> None:
    (tmp_path / "s.txt").write_text("1\n" * len(PAIRS))
    corpus = {**write(tmp_path, "c", PAIRS), "scores": {"s": "s.txt"}}
    with pytest.raises((ConfigError, CleaningError), match=message):
        run(config_of(tmp_path, corpus, **sections))


def test_a_wrong_answer_names_the_key_the_corpus_and_the_text(tmp_path: Path) -> None:
    (tmp_path / "lengths.py").write_text(
        "import sys\nfor line in sys.stdin: print('x' if line == 'aaaa\\tb\\n' else 1)"
    )
    where = (
        r"^computed\.len, for the corpus splits\.train\.c: python3 -S lengths\.py wrote 'x' for 'aaaa\\tb'; each answer"
    )
    with pytest.raises(ComputedError, match=where):
        made(tmp_path, {})
