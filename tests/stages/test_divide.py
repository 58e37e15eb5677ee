"""Hold-outs and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base import digests
from nmt_prep.base.errors import ArgumentError, ConfigError, CorpusError, NmtPrepError
from nmt_prep.config import Config
from nmt_prep.corpora import slices
from nmt_prep.corpora.parts import iter_pairs
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.runs.lineage import CorpusRows
from nmt_prep.runs.runner import run
from nmt_prep.stages import STAGES
from nmt_prep.stages.divide import Divide
from nmt_prep.stages.pair_files import pair_files
from tests.corpus import tree
from tests.stages.runs import config_of

LINES = [(f"s{n}", f"t{n}") for n in range(90)] + [(f"s{n}", f"other {n}") for n in range(10)]  # 10 repeated sources

KEPT = {"held_out_duplicate": 0, "limit": 0}


def corpus(directory: Path, lines: list[tuple[str, str]] = LINES, **more: Any) -> dict[str, Any]:
    for side, text in zip(("en", "zh"), zip(*lines, strict=True), strict=True):
        (directory / f"x.{side}").write_text("".join(f"{line}\n" for line in text))
    return {"name": "x", "url": {"source": "x.en", "target": "x.zh"}, **more}


def rows_of(config: Config) -> dict[str, list[int]]:
    files = pair_files(outputs_in(config.run_dir, STAGES, config))
    return {
        split: [row for part in parts for batch in iter_pairs(part.path) for row in batch["row"].to_pylist()]
        for split, parts in files.items()
    }


@pytest.mark.parametrize(
    ("keys", "dev", "train", "dropped"),
    [
        ({"hold_out": 30, "limit": "0.03k"}, 30, 28, {"held_out_duplicate": 2, "limit": 40}),
        ({"hold_out": {"pairs": 30, "duplicates": "keep"}}, 30, 70, KEPT),
        ({"hold_out": {"every": 23}}, [22, 45, 68, 91], 95, {"held_out_duplicate": 1, "limit": 0}),
        (
            {"hold_out": {"every": 23, "duplicates": "keep"}},
            [22, 45, 68, 91],
            96,
            {"held_out_duplicate": 0, "limit": 0},
        ),
        ({"limit": 40}, [], 40, {"held_out_duplicate": 0, "limit": 60}),
    ],
)
def test_pairs_are_held_out_and_left_out(
    tmp_path: Path, keys: dict[str, Any], dev: int | list[int], train: int, dropped: dict[str, int]
) -> None:
    config = config_of(tmp_path, corpus(tmp_path, **keys))
    outcome = run(config, until="divide")[-1]
    rows = rows_of(config)
    assert len(rows.get("dev", [])) == dev or rows.get("dev", []) == dev
    assert len(rows["train"]) == train
    assert outcome.counts is not None
    assert outcome.counts.dropped == dropped
    assert not set(rows["train"]) & set(rows.get("dev", []))
    if dropped["held_out_duplicate"]:
        held = {line for row in rows["dev"] for line in LINES[row]}
        assert not held & {line for row in rows["train"] for line in LINES[row]}


def test_two_splits_and_a_limit_come_from_ranges_of_the_same_keys(tmp_path: Path) -> None:
    wanted = [{"pairs": 8, "split": "test"}, {"every": 30}, {"pairs": 5, "split": "extra", "duplicates": "keep"}]
    config = config_of(tmp_path, corpus(tmp_path, [(f"s{n}", f"t{n}") for n in range(90)], hold_out=wanted, limit=20))
    run(config)
    rows = rows_of(config)
    assert {split: len(each) for split, each in rows.items()} == {"train": 20, "test": 8, "dev": 3, "extra": 5}
    assert rows["dev"] == [29, 59, 89]
    assert len({row for each in rows.values() for row in each}) == 36
    assert "splits.dev.x" not in config.model_dump_json()
    outputs = outputs_in(config.run_dir, STAGES, config)
    (gone, held) = (min(set(range(90)) - {row for each in rows.values() for row in each}), rows["test"][0])
    finder = CorpusRows(outputs, "train", "x")
    for row, reason in ((gone, "divide: limit, 20 pairs"), (held, "divide: held_out for test")):
        with pytest.raises(ArgumentError, match=f"row {row} of x was dropped by {reason}"):
            finder.find(pair_files(outputs)["train"], row)
    sample = (tmp_path / "run" / "sample" / "source.txt").read_text().split()
    assert sample == [f"s{row}" for row in rows["train"]]


@pytest.mark.parametrize("cleans", [False, True])
def test_the_choice_does_not_depend_on_workers_and_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleans: bool
) -> None:
    clean = {"clean": {"preset": "none", "dedup": {"max_targets_per_source": 1}}} if cleans else {}
    lines = [(f"s{n % 1900} {'x' * (n % 50)}", f"t{n}") for n in range(2000)]
    keys = {"hold_out": [{"pairs": 100}, {"every": 500, "split": "test", "duplicates": "keep"}], "limit": 1900}
    found: list[tuple[dict[str, list[int]], dict[str, str]]] = []
    for slice_bytes, workers in ((64 << 20, 1), (20000, 1), (20000, 3)):
        monkeypatch.setattr(slices, "SLICE_BYTES", slice_bytes)
        monkeypatch.setattr(digests, "STEP_BYTES", 1000)
        place = tmp_path / f"{slice_bytes}-{workers}"
        place.mkdir()
        config = config_of(place, corpus(place, lines, **keys), output_dir=str(place / "run"), **clean)
        run(config, workers=workers, until="divide")
        found.append((rows_of(config), tree(place / "run" / "divided")))
    assert found[0][0] == found[1][0]
    assert found[1] == found[2]
    assert len(found[0][0]["dev"]) == 100
    assert len(found[0][0]["test"]) == (3 if cleans else 4)
    in_place = {Path(name).suffix for name in found[1][1] if "held-out" not in name}
    assert in_place == {".kept"}  # without text


def test_documents_are_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("".join(f"s{n}\tt{n}\td{n // 7}\n" for n in range(140)))
    keys = {"url": "x.tsv", "format": "tsv", "document": 2, "hold_out": 10, "limit": 60}
    config = config_of(tmp_path, {"name": "x", **keys})
    run(config, until="divide")
    rows = rows_of(config)
    assert [len(rows[split]) for split in ("dev", "train")] == [14, 56]
    for split in rows:
        assert {row // 7 for row in rows[split]} == {row // 7 for row in rows[split] if row % 7 == 0}
        assert len(rows[split]) == 7 * len({row // 7 for row in rows[split]})


def test_other_corpora_lose_duplicates_and_stay_where_they_are_otherwise(tmp_path: Path) -> None:
    for name, lines in (("y", ["s89", "other"]), ("z", ["fine", "text"])):
        for side in ("en", "zh"):
            (tmp_path / f"{name}.{side}").write_text(
                "".join(f"{line}{'' if side == 'en' else '!'}\n" for line in lines)
            )
    others = [{"name": name, "url": {"source": f"{name}.en", "target": f"{name}.zh"}} for name in ("y", "z")]
    train = [corpus(tmp_path, LINES[:90], hold_out={"every": 90}), *others]
    config = config_of(tmp_path, splits={"train": train, "test": [others[0], {**others[1], "limit": 1}]})
    run(config, until="divide")
    output = outputs_in(config.run_dir, STAGES, config).read(Divide)
    assert output.dropped["test"]["z"] == {"held_out": 0, "held_out_duplicate": 0, "limit": 1}
    assert output.dropped["train"]["y"] == {"held_out": 0, "held_out_duplicate": 1, "limit": 0}
    assert [part.file for part in output.parts["train"][1:]] == [
        "train/part-001-00000-00000.kept",
        "../compiled/train/part-002-00000-00000.parquet",
    ]


@pytest.mark.parametrize(
    ("positions", "first", "second"),
    [("corpus", [5], [5]), ("split", [5], [2, 7]), ("lines", [7], [7]), ("lines 10", [], [1])],
)
def test_positions_count_pairs_or_lines_of_one_corpus_or_of_all(
    tmp_path: Path, positions: str, first: list[int], second: list[int]
) -> None:
    counted, _, every = positions.partition(" ")
    keys = {"hold_out": {"every": int(every or 4), "positions": counted, "duplicates": "keep"}}
    corpora = []
    for name, dropped in (("a", 1), ("b", 0)):
        lines = [(f"{name}{n}", "" if n in (dropped, 3) else f"{name}{n}") for n in range(9 - dropped)]
        made = corpus(tmp_path, lines, **keys)
        urls = {side: f"{name}.{code}" for side, code in (("source", "en"), ("target", "zh"))}
        for code in ("en", "zh"):
            (tmp_path / f"x.{code}").rename(tmp_path / f"{name}.{code}")
        corpora.append({**made, "name": name, "url": urls})
    config = config_of(tmp_path, *corpora)
    run(config, until="divide")
    assert rows_of(config)["dev"] == [*first, *second]


def test_impossible_hold_outs_are_errors(tmp_path: Path) -> None:
    for keys, message in (
        ({"hold_out": 100}, "splits.train.x: cleaning leaves 100 pairs, too few for hold_out and limit"),
        ({"hold_out": {"every": 101}}, "splits.train.x.hold_out.every is 101, but cleaning leaves 100 pairs; lower it"),
    ):
        with pytest.raises(CorpusError, match=message):
            run(config_of(tmp_path, corpus(tmp_path, **keys)), until="divide")
    clean = {"preset": "none", "rules": {"length": {"min": 99}}, "allow_empty": True}
    for keys, message in (
        ({"hold_out": 10}, "splits.train.x: cleaning leaves no pairs for hold_out; change the rules"),
        ({}, "vocab source: there is no text to learn from, since the corpora of train have no pairs left; nmt-prep"),
        ({"limit": 5}, "vocab source: there is no text to learn from, since the corpora of train have no pairs left"),
    ):
        with pytest.raises(NmtPrepError, match=message):
            run(config_of(tmp_path, corpus(tmp_path, **keys), clean=clean), until="vocab")
    for keys, message in (
        ({"hold_out": {"pairs": 5, "every": 5}}, r"give either pairs \(how many to draw\) or every"),
        ({"hold_out": [5, 6]}, "hold_out"),
        ({"hold_out": [{"pairs": 5}, {"pairs": 6}]}, "hold_out names a split twice"),
        ({"hold_out": {"pairs": 5, "split": "train"}}, "split is train"),
        ({"limit": 5, "role": "vocab"}, "hold_out and limit are for pairs"),
        ({"limit": "20MB"}, "limit.*such as 20M"),
    ):
        with pytest.raises(ConfigError, match=message):
            config_of(tmp_path, corpus(tmp_path, **keys), {**corpus(tmp_path), "name": "y"})
    with pytest.raises(ConfigError, match=r"splits.dev.x: hold_out is for corpora of train"):
        config_of(tmp_path, corpus(tmp_path), splits={"dev": [corpus(tmp_path, hold_out=5)]})
