from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import CleaningError, ComputedError, ConfigError
from nmt_prep.cleaning.chrf import best_by_chrf, chrf, grams_of
from nmt_prep.config import Config
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs import runner, viewing
from nmt_prep.runs.checks import check_config
from nmt_prep.runs.trial.data import trial_data
from nmt_prep.stages.clean import Clean, computed
from tests.stages.cleaning import SHORT, cleaned, made_in_three_ways, pairs_below, write
from tests.stages.compile.test_slices import files_of, small_slices
from tests.stages.runs import BT, config_of, manifest, run, run_of, settings_of

TOY = """
import os, sys
for line in sys.stdin:
    print(line, file=open("calls", "a"), end="")
    if line == "die\\n" and not os.path.exists("mended"): sys.exit(1)
    print("" if line.startswith("none") else line[:-1] if line == "copy\\n" else line[:-1].upper())
"""
FUNCTIONS = """
import pyarrow as pa
def several(source): return [[f"{text} {n}" for n in (1, 3, 2)] for text in source.to_pylist()]
def last(source, target): return [int(text[-1]) for text in target.to_pylist()]
UNEVEN = {"a": ["a 1", "a 3", "a 2"], "few": [*"fg"], "many": [*"fghi"]}
def uneven(source): return [UNEVEN[text] for text in source.to_pylist()]
def shown(target): return [text.replace("\t", "|") for text in target.to_pylist()]
def vowels(target): return [int(text in "ae") for text in target.to_pylist()]
def lowered(source): return [text.lower() for text in source.to_pylist()]
def same(source): return [text.upper() for text in source.to_pylist()]
"""
TEXT = {"program": "python3 toy.py", "input": "target", "output": "text", "batch": 2, "restarts": 0}
TOY_BT = {"bt": TEXT}
SEVERAL = {"python": "fn:several", "input": "source", "output": "text", "candidates": 3}
DEDUP = {**SHORT, "dedup": {"pair": "exact"}}


def lines(directory: Path, name: str, *texts: str, **more: Any) -> dict[str, Any]:
    """Writes a corpus of target lines; returns its entry in a config."""
    (directory / name).write_text("".join(f"{text}\n" for text in texts))
    return {"name": name, "url": {"target": name}, "translate": "bt", **more}


def calls(directory: Path) -> list[str]:
    return sorted((directory / "calls").read_text().splitlines()) if (directory / "calls").exists() else []


@pytest.fixture(autouse=True)
def programs(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "fn.py").write_text(FUNCTIONS)


def back_translated(directory: Path, *more: dict[str, Any], **sections: Any) -> Config:
    parallel, dev = write(directory, "c", [("X", "x"), ("Y y", "y"), ("Z", "z")]), write(directory, "d", [("D", "d")])
    mono = lines(directory, "m", "a", "b", "a", "x", "d", "w w w w", "z", "", "e")
    sections = {"clean": DEDUP, "computed": TOY_BT, "splits": {"dev": [dev]}, **sections}
    return config_of(directory, mono, parallel, *more, **sections)


def test_only_lines_that_stay_are_translated_and_once(tmp_path: Path) -> None:
    config = back_translated(tmp_path)
    run(config)
    assert cleaned(config) == [("A", "a"), ("B", "b"), ("E", "e"), ("X", "x"), ("Y y", "y"), ("Z", "z")]
    assert calls(tmp_path) == ["a", "b", "e"]
    found = pairs_below(config, "rejected", "train", "row", "rule", "kept_corpus", "kept_row")
    assert sorted(found) == [
        (2, "duplicate_line", "m", 0),
        (3, "duplicate_line", "c", 0),
        (4, "duplicate_line", "splits.dev.d", 0),
        (5, "length", None, None),
        (6, "duplicate_line", "c", 2),
    ]
    output = manifest(config, "clean").details
    assert output["translations"] == {"train": {"m": {"texts": 3, "empty": 0, "copies": 0, "miscounted": 0}}}
    untranslated = output["untranslated"]["train"]["m"]
    assert (untranslated["pairs_in"], untranslated["pairs_out"]) == (8, 3)
    counts = manifest(config, "clean").counts
    assert (counts.pairs_in, counts.pairs_out, counts.dropped["duplicate_line"]) == (11, 6, 4)
    # The vocabularies learn from the real side.
    assert (tmp_path / "run" / "sample" / "source.txt").read_text() == "X\nY y\nZ\n"
    assert (tmp_path / "run" / "sample" / "target.txt").read_text() == "a\nb\ne\nx\ny\nz\n"
    run(back_translated(tmp_path, lines(tmp_path, "n", "f", "a", "g"), sample={"made": True}))
    assert calls(tmp_path) == ["a", "b", "e", "f", "g"]
    assert (tmp_path / "run" / "sample" / "source.txt").read_text() == "A\nB\nE\nX\nY y\nZ\nF\nG\n"


def test_lines_are_the_best_by_their_score_before_they_are_translated(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("".join(f"{score}\n" for score in (5, 1, 4, 3, 2)))
    mono = lines(tmp_path, "m", "a", "b", "c", "d", "e", scores={"s": "s.txt"}, limit=2)
    clean = {**DEDUP, "overrides": {"m": {"rules": {"top": {"score": "s", "keep": 0.6}}}}}
    config = run_of(tmp_path, mono, write(tmp_path, "p", [("X", "c")]), computed=TOY_BT, clean=clean, until="clean")
    assert cleaned(config) == [("A", "a"), ("D", "d"), ("X", "c")]
    assert calls(tmp_path) == ["a", "d"]


def test_numbers_of_lines_are_computed_before_they_are_translated(tmp_path: Path) -> None:
    sections = {"computed": {**TOY_BT, "v": {"python": "fn:vowels", "input": "target"}}}
    rules = {"rules": {"score": {"v": {"min": 1}}}}
    sections["clean"] = {**DEDUP, "overrides": {"m": rules, "n": rules}}
    config = back_translated(tmp_path, lines(tmp_path, "n", "f", "ae", limit=1), **sections)
    run(config, until="compile")
    assert [(left.name, left.texts) for left in runner.computed_left(config)] == [("v", 10), ("bt", 9)]
    run(config, until="clean")
    assert cleaned(config) == [("A", "a"), ("E", "e"), ("X", "x"), ("Y y", "y"), ("Z", "z"), ("AE", "ae")]
    assert calls(tmp_path) == ["a", "ae", "e"]


def test_numbers_of_a_side_that_programs_make_too_follow_the_translation(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("AE\nQ\n")
    forward = {"name": "f", "url": {"source": "en"}, "translate": "ft"}
    numbers = {"v": {"python": "fn:vowels", "input": "target"}}
    ft = {"python": "fn:lowered", "input": "source", "output": "text"}
    sections: dict[str, Any] = {"computed": {**TOY_BT, "ft": ft, **numbers}}
    sections["clean"] = {**DEDUP, "overrides": {name: {"rules": {"score": {"v": {"min": 1}}}} for name in "mf"}}
    config = back_translated(tmp_path, forward, **sections)
    run(config)
    assert cleaned(config) == [("A", "a"), ("E", "e"), ("X", "x"), ("Y y", "y"), ("Z", "z"), ("AE", "ae")]


def test_lines_of_pairs_that_lose_a_side_or_are_fixed_are_known(tmp_path: Path) -> None:
    mono, dev = lines(tmp_path, "m", "a", "b", "c&c", "e"), write(tmp_path, "d", [("D", "c&amp;c")])
    devs = [dev, {**write(tmp_path, "e", [("E", "e")]), "translate": "bt"}]
    corpora = mono, {**write(tmp_path, "c", [("X", "b")]), "translate": "bt"}
    clean = {**DEDUP, "splits": ["train", "dev"], "fix": ["html_entities"]}
    sections = {"computed": TOY_BT, "clean": clean, "splits": {"dev": devs}}
    config = run_of(tmp_path, *corpora, until="clean", sample={"made": True}, **sections)
    assert cleaned(config) == [("A", "a"), ("B", "b")]
    found = pairs_below(config, "rejected", "train", "row", "rule", "kept_corpus", "kept_row")
    known = "c", "splits.dev.d", "splits.dev.e"
    assert sorted(found) == [(row, "duplicate_line", corpus, 0) for row, corpus in enumerate(known, 1)]


def test_lines_of_large_files_are_read_in_place(tmp_path: Path) -> None:
    config = back_translated(tmp_path)
    with small_slices(8):
        run(config, until="clean")
    assert {file for file in files_of(config) if file.startswith("train/part-000")} == {
        f"train/part-000-{number:05d}-00000.json" for number in range(2)
    }
    assert cleaned(config) == [("A", "a"), ("B", "b"), ("E", "e"), ("X", "x"), ("Y y", "y"), ("Z", "z")]


def test_a_run_that_was_killed_translates_no_line_twice(tmp_path: Path) -> None:
    config = back_translated(tmp_path, lines(tmp_path, "n", "g", "f", "die"))
    with pytest.raises(ComputedError, match=r"splits\.train\.n\.translate: .*toy\.py"):
        run(config)
    (tmp_path / "mended").touch()
    run(config)
    assert [line for line in calls(tmp_path) if line != "die"] == ["a", "b", "e", "f", "g"]
    assert ("DIE", "die") in cleaned(config)


def test_a_program_that_writes_too_much_in_the_end_loses_its_texts(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(f"{TOY}print(1)")
    config = back_translated(tmp_path)
    for _ in range(2):
        with pytest.raises(ComputedError, match=r"^the value bt: python3 toy\.py wrote more than it had lines"):
            run(config)


def test_members_share_the_lines_and_the_plan_counts_them(tmp_path: Path) -> None:
    config = back_translated(tmp_path, lines(tmp_path, "n", "g", "f", "f", limit=2))
    run(config, until="compile")
    assert [vars(left) for left in runner.computed_left(config)] == [
        {"name": "bt", "texts": 10, "stored": 0, "exact": False}
    ]
    for name in ("clean-first", "clean", "line-keys", "line-compare", "line-dedup", "line-draw", "line-limit"):
        runner.run_share(config, Share(name, 0, 1))
    (left,) = runner.computed_left(config)
    assert (left.texts, left.stored, left.exact, calls(tmp_path)) == (5, 0, True, [])
    assert runner.run_share(config, Share("translate", 0, 2)).ran == 1
    run(config, until="clean")
    assert (calls(tmp_path), runner.computed_left(config)) == (["a", "b", "e", "f", "g"], [])


def test_shares_and_workers_give_the_same_bytes(tmp_path: Path) -> None:
    mono = lines(tmp_path, "m", *(f"w{number % 70}" for number in range(90)), limit=40)
    other = lines(tmp_path, "n", *(f"w{number}" for number in range(60, 80)))
    corpora = mono, write(tmp_path, "c", [(f"W{n}", f"w{n}") for n in range(10)]), other
    config = made_in_three_ways(tmp_path, *corpora, clean=DEDUP, computed=BT)
    pairs = cleaned(config)
    assert len(pairs) == 40 + 10 + 10
    assert {source for source, _ in pairs} == {target.upper() for _, target in pairs}


@pytest.mark.parametrize(
    ("keep", "made", "chosen"),
    [
        ("first", {}, ["a 1", "b 1", "c 1"]),
        ({"best": "chrf"}, {}, ["a 3", "b 1", "c 2"]),
        ({"best": "last"}, {"last": {"python": "fn:last"}}, ["a 3", "b 3", "c 3"]),
        ("sample", {}, ["a 1", "b 1", "c 3"]),
    ],
)
def test_a_candidate_replaces_the_target(tmp_path: Path, keep: object, made: Any, chosen: list[str]) -> None:
    corpus = {
        **write(tmp_path, "c", [("a", "a 3"), ("b", "b1"), ("c", "c 2")]),
        "translate": {"by": "up", "keep": keep},
    }
    config = run_of(tmp_path, corpus, computed={"up": SEVERAL, **made}, sample={"made": True})
    assert cleaned(config) == [*zip("abc", chosen, strict=True)]
    assert (tmp_path / "run" / "sample" / "target.txt").read_text().splitlines() == chosen
    assert config.model_dump(mode="json")["splits"]["train"][0]["translate"]["keep"] == keep
    assert config.made_side(config.splits["train"][0])["keep"] == (keep["best"] if isinstance(keep, dict) else keep)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_program_may_get_the_lines_before_of_the_same_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(computed, "SLICE_PAIRS", size)
    (tmp_path / "docs").write_text("p\np\np\np\nq\nq\np\n")
    mono = lines(tmp_path, "m", *"abcdefg", translate={"by": "bt", "context": 2}, document={"url": "docs"})
    made = {"bt": {"python": "fn:shown", "input": "target", "output": "text"}}
    config = config_of(tmp_path, mono, computed=made, clean=SHORT, sample={"made": True})
    run(config, until="compile")
    for name in ("clean-first", "clean"):
        runner.run_share(config, Share(name, 0, 1))
    assert [left.texts for left in runner.computed_left(config)] == [7]
    run(config)
    assert [source for source, _ in cleaned(config)] == ["a", "a|b", "a|b|c", "b|c|d", "e", "e|f", "g"]


def test_the_lines_to_translate_and_the_seed_of_samples_are_settings(tmp_path: Path) -> None:
    mono = lines(tmp_path, "m", "a", limit=4, hold_out=[{"pairs": 3}], translate={"by": "bt", "keep": "sample"})
    made = {"computed": {"bt": {**TEXT, "candidates": 2}}, "sample": {"made": True}}
    settings = Clean().settings(config_of(tmp_path, mono, clean=DEDUP, **made))
    assert [settings[f"splits.train.m.{key}"] for key in ("limit", "hold_out")] == [4, 3]
    assert settings["seed"] == 1


@pytest.mark.parametrize(("kept", "chosen"), [("first", "a 1"), ({"best": "chrf"}, "a 3")])
def test_another_number_of_candidates_drops_a_pair(tmp_path: Path, kept: object, chosen: str) -> None:
    corpus = write(tmp_path, "c", [("a", "a 3"), ("few", "f"), ("many", "m")])
    up = {**SEVERAL, "python": "fn:uneven"}
    config = run_of(
        tmp_path, {**corpus, "translate": {"by": "up", "keep": kept}}, computed={"up": up}, sample={"made": True}
    )
    assert cleaned(config) == [("a", chosen)]
    found = pairs_below(config, "rejected", "train", "source", "target", "rule", "column", "value", "threshold")
    assert sorted(found) == [
        ("few", "\tf\tg", "candidates", "target", 2, 3),
        ("many", "\tf\tg\th\ti", "candidates", "target", 4, 3),
    ]
    output = manifest(config, "clean")
    assert output.details["translations"]["train"]["c"]["miscounted"] == 2
    assert (output.counts.pairs_in, output.counts.pairs_out, output.counts.dropped["candidates"]) == (3, 1, 2)


@pytest.mark.parametrize(
    ("text", "reference", "percent"),
    [
        ("the cat sat on the mat", "a cat sat on a mat", 55.11170308673565),
        ("über alles", "uber  alles!", 73.86571948678404),
        ("ab", "abc", 63.636363636363626),
        ("我们 去 北京", "我去北京了", 32.666666666666664),
        ("", "abc", 0.0),
    ],
)
def test_chrf_is_that_of_sacrebleu(text: str, reference: str, percent: float) -> None:
    assert chrf(grams_of(text), grams_of(reference)) == pytest.approx(percent / 100)
    assert best_by_chrf(["", text, "", text], [reference, reference]).tolist() == [int(percent > 0)] * 2


@pytest.mark.parametrize(
    ("change", "sections", "message"),
    [
        ({"translate": "b"}, {}, r"m\.translate names 'b'; did you mean 'bt'\? the section computed has bt"),
        ({"translate": None}, {}, "the corpus has only the side target: name the other one too, or give translate"),
        ({}, {"computed": {"bt": {**TEXT, "output": "number"}}}, r"needs a text, and computed\.bt\.output is number"),
        ({}, {"computed": {"bt": {**TEXT, "input": "source"}}}, r"computed\.bt\.input is source; set it to target"),
        ({"translate": {"by": "bt", "keep": "sample"}}, {}, r"keep chooses among candidates, and computed\.bt\.cand"),
        (
            {"translate": {"by": "bt", "keep": {"best": "chrf"}}},
            {"computed": {"bt": {**TEXT, "candidates": 2}}},
            "chrf compares candidates with the side that they replace, and the corpus has none",
        ),
        (
            {"translate": {"by": "bt", "keep": {"best": "x"}}},
            {"computed": {"bt": {**TEXT, "candidates": 2}}},
            "keep names 'x'; name a value of computed with output: number",
        ),
        (
            {},
            {"computed": {"bt": {**SEVERAL, "python": "fn:same", "input": None, "candidates": 1}}},
            "same is not for the side target",
        ),
        ({}, {"clean": {"splits": ["dev"]}}, "pairs are made before they are cleaned; add train to clean.splits"),
        ({}, {"sample": {}}, "sample: programs make the source side of all corpora of train, .* set made: true"),
        ({"translate": {"by": "bt", "context": 1}}, {}, "context takes lines of the same document; give document"),
        ({"role": "vocab"}, {}, "translate makes pairs, and a corpus of role vocab has none"),
        (
            {"url": {"source": "m", "target": "m2"}},
            {"computed": {"bt": {**TEXT, "input": None}}},
            "set it to source or",
        ),
    ],
)
def test_mistakes_are_errors_before_any_work(tmp_path: Path, change: Any, sections: Any, message: str) -> None:
    mono = {**lines(tmp_path, "m", "a"), **change}
    dev = write(tmp_path, "d", [("D", "d")])
    with pytest.raises((ConfigError, CleaningError), match=message):
        run(
            config_of(
                tmp_path, mono, **{"computed": TOY_BT, "sample": {"made": True}, "splits": {"dev": [dev]}, **sections}
            )
        )
    assert calls(tmp_path) == []


def test_provenance_and_faults_are_shown(tmp_path: Path) -> None:
    mono = lines(tmp_path, "m", "a", *(f"none {n}" for n in range(10)), "copy", "b", tag={"source": "<BT>"})
    corpora = mono, write(tmp_path, "c", [("X", "x"), ("Y", "y")])
    vocab = {"kind": "byte_bpe", "size": 270, "reserved": ["<BT>"]}
    config = config_of(tmp_path, *corpora, computed={"bt": {**TEXT, "version": 7}}, clean=DEDUP, vocab=vocab)
    nmt_prep.run(config)
    made = {"side": "source", "value": "bt", "program": "python3 toy.py", "version": "7"}
    info = json.loads((tmp_path / "run" / "records" / "dataset.json").read_text())
    assert [corpus.get("made") for corpus in info["corpora"]["train"]] == [made, None]
    row, _ = viewing.trace(config, "train", "m:12", pieces=False)
    assert [row[key] for key in ("source", "target", "made", "row", "tag")] == ["B", "b", made, 12, {"source": "<BT>"}]
    text = (tmp_path / "run" / "report" / "summary.txt").read_text()
    table = [line.split() for line in text.splitlines() if "python3" in line]
    assert table == [["train/m", "13", "none", "13", "10", "1", "0", "3", "bt", "(python3", "toy.py,", "version", "7)"]]
    assert "10 of 13 translations are empty; check the program of translate" in text
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "train/m: 3 random pairs; source tag &lt;BT&gt;; source made by bt" in page


def test_lines_are_compared_with_both_directions_of_their_languages(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("x\nu\nv\n")
    spoken = [{"languages": {"source": source, "target": target}} for source, target in (("en", "de"), ("de", "en"))]
    corpora = [
        {**write(tmp_path, "c", [("X", "x"), ("Y", "y")]), **spoken[0], "both_directions": True},
        {"name": "m", "url": {"target": "m"}, "translate": "bt", "limit": 1, **spoken[0]},
        {"name": "f", "url": {"source": "m"}, "translate": "fwd", **spoken[1]},
        {**write(tmp_path, "d", [("U", "fr")]), "languages": {"source": "en", "target": "fr"}},
    ]
    values = {"bt": BT["bt"], "fwd": {"python": "fn:same", "input": "source", "output": "text"}}
    settings = {**settings_of(tmp_path, *corpora, clean=DEDUP, computed=values), "pairs": "all"}
    del settings["languages"]
    config = check_config(settings, "test config").within(tmp_path)
    nmt_prep.run(config)
    assert cleaned(config) == [("X", "x"), ("Y", "y"), ("V", "v"), ("u", "U"), ("v", "V"), ("U", "fr")]
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_text())
    assert summary["pairs"]["en-de"]["dropped"] == {"duplicate_line": 1, "limit": 1}
    drops = summary["flow"]["train"]["m"]["drops"]
    assert {drop["reason"]: drop["group"] for drop in drops} == {"duplicate_line": "duplicates", "limit": "division"}


def test_a_trial_shows_the_lines_that_are_to_be_translated(tmp_path: Path) -> None:
    config = back_translated(tmp_path, clean={**DEDUP, "preset": "light"})
    assert [(corpus["name"], corpus["size"]) for corpus in trial_data(config, 100)["corpora"]] == [
        ("train/m", 8),
        ("train/c", 3),
    ]
    assert calls(tmp_path) == []
