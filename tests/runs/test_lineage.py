from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError
from nmt_prep.config import Config
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.runs.lineage import FilePlace, Lineage
from nmt_prep.runs.viewing import trace
from nmt_prep.stages import STAGES
from nmt_prep.training.records.shard_reader import read_shard
from tests.stages.runs import config_of as small_config

PLAIN = [f"one {number}" if number % 7 else "  " for number in range(60)]
TABLE = ["en\tde", *(f"two {number}\tzwei {number}" for number in range(40))]
OBJECTS = [json.dumps({"en": f"three {n}", "de": f"drei {n}"}) if n % 3 else "" for n in range(30)]


def config_of(directory: Path, name: str = "run", **more: Any) -> Config:
    """Writes corpora in several formats; returns a config."""
    for side, word in (("en", "one"), ("de", "eins")):
        text = "".join(f"{line.replace('one', word)}\n" for line in PLAIN)
        (directory / f"plain.{side}").write_text(text)
    (directory / "table.tsv").write_text("".join(f"{line}\n" for line in TABLE))
    (directory / "objects.jsonl").write_text("".join(f"{line}\n" for line in OBJECTS))
    languages = {"source": "en", "target": "de"}
    base = {"name": "lineage", "seed": 5, "vocab": {"size": 300}, "records": {"shards": {"train": 3}}}
    return small_config(
        directory,
        {"name": "plain", "url": {"source": "plain.en", "target": "plain.de"}},
        {"name": "table", "url": "table.tsv", "format": "tsv", "header": True, "columns": languages},
        {"name": "objects", "url": "objects.jsonl", "fields": languages},
        **{"languages": languages, "output_dir": str(directory / name), **base, **more},
    )


def made(directory: Path, config: Config) -> Lineage:
    nmt_prep.run(config, until="encode")
    return Lineage(outputs_in(config.run_dir, STAGES, config), "train")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"records": {"shards": {"train": 3}, "layout": "chunk"}},
        {"clean": {"preset": "none", "rules": {"length": {"min": 2, "max": 9, "unit": "char"}}}},
    ],
)
def test_every_record_leads_to_its_row_and_back(tmp_path: Path, more: dict[str, Any]) -> None:
    config = config_of(tmp_path, **more)
    lineage = made(tmp_path, config)
    tokenizer = nmt_prep.load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.en")))
    layout = config.records.layout
    record = 0
    seen = set()
    for shard in sorted(path for path in (tmp_path / "run" / "records").glob("lineage-train-*")):
        inputs, _ = read_shard(shard, layout)
        for position, ids in enumerate(inputs):
            if record % 3:
                record += 1
                continue
            traced = lineage.trace(record)
            assert (traced.shard, traced.position) == (shard.name, position)
            assert tokenizer.decode(ids.tolist()[:-1]) == traced.source
            word, number = traced.source.split()
            corpus = {"one": "plain", "two": "table", "three": "objects"}[word]
            assert (traced.corpus, traced.row) == (corpus, int(number))
            assert lineage.record(f"{corpus}:{number}") == record
            assert lineage.record(f"{shard.name}:{position}") == record == lineage.record(str(record))
            seen.add(traced.source)
            record += 1
    assert record == lineage.pairs
    assert len(seen) == (record + 2) // 3


def test_places_in_files_are_lines_from_1(tmp_path: Path) -> None:
    lineage = made(tmp_path, config_of(tmp_path))
    for corpus, row, places in (
        ("plain", 8, [("source", "plain.en", 9), ("target", "plain.de", 9)]),
        ("table", 0, [("both", "table.tsv", 2)]),
        ("objects", 4, [("both", "objects.jsonl", 5)]),
    ):
        traced = lineage.trace(lineage.record(f"{corpus}:{row}"))
        assert traced.files == tuple(FilePlace(part, file, "line", line) for part, file, line in places)
        lines = (tmp_path / places[0][1]).read_text().split("\n")
        assert traced.source in lines[places[0][2] - 1]


def test_rows_that_are_not_in_the_records_are_explained(tmp_path: Path) -> None:
    rules = {"length": {"max": 6, "unit": "char"}}
    fix = {"source": [{"replace": {"pattern": "^two 39$"}}, {"replace": {"pattern": "e 8", "with": "e-8"}}, "nfc"]}
    clean = {"preset": "none", "fix": fix, "rules": rules, "allow_empty": True}
    config = config_of(tmp_path, clean=clean)
    lineage = made(tmp_path, config)
    traced, _ = trace(config, "train", "plain:8", pieces=False)
    assert traced["fixes"] == [{"fix": "replace-2", "side": "source", "before": "one 8", "after": "one-8"}]
    for where, message in (
        ("plain:7", "row 7 of plain was dropped by compile: empty_both"),
        ("objects:3", "row 3 of objects was dropped by compile: blank"),
        (
            "table:12",
            (
                "row 12 of table was dropped by clean: length, target, value 7, threshold 6\n  table.tsv, line 14\n"
                "  source: two 12\n  target: zwei 12"
            ),
        ),
        ("table:39", "row 39 of table was dropped by clean: empty, replace.source"),
        ("plain:60", "there is no row 60 in plain; its rows are 0 to 59"),
        ("news:1", "train has no shard and no corpus 'news' (corpora: plain, table, objects)"),
        ("3:0", "there is no number 3 among the 3 shards of train, which are counted from 0"),
        ("0:99", "there is no number 99 among the 6 pairs in shard 0, which are counted from 0"),
        ("-1", "--trace -1: expected a record such as 1017"),
        (":1", "--trace :1: expected a record such as 1017"),
    ):
        with pytest.raises(ArgumentError) as caught:
            lineage.record(where)
        assert str(caught.value).startswith(message)
    with pytest.raises(ArgumentError, match="among the 18 records"):
        lineage.trace(18)
