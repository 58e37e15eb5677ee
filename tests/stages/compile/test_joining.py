"""Corpora that join two others by a pivot language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.runs.checks import check_config
from nmt_prep.runs.lineage import CorpusRows
from nmt_prep.stages.compile import joining
from tests.stages.runs import manifest, run

GERMAN = [
    ("Hallo!", "Hello!", 1.0),
    ("Danke", "Thank you.", 0.5),
    ("In 2020", "In 2020", 0.25),
    ("danke.", "thank you", 1.0),
]
CZECH = [
    *[("thank YOU", f"dík {n}", 0.75) for n in "abab"],
    ("hello", "ahoj", 0.5),
    ("In 2021", "V 2021", 1.0),
    ("Thank you", "děkuji", 1.0),
]


def config_in(path: Path, german: Any = GERMAN, **pivot: Any) -> Config:
    for name, rows in (("de", german), ("cs", CZECH)):
        (path / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    corpora: list[dict[str, Any]] = [
        {"name": "both", "pivot": "en", "corpora": ["german", "czech"], **pivot},
        {"name": "german", "url": "de.tsv", "languages": {"source": "de", "target": "en"}, "scores": {"text": 2}},
        {"name": "czech", "url": "cs.tsv", "languages": {"source": "en", "target": "cs"}, "scores": {"text": 2}},
    ]
    data = {"name": "t", "seed": 1, "output_dir": str(path / "run"), "pairs": "all", "splits": {"train": corpora}}
    return check_config(data, "test config").within(path)


def joined(config: Config, workers: int = 2) -> list[tuple[object, ...]]:
    run(config, until="compile", workers=workers)
    parts = [part for part in manifest(config, "compile").details["parts"]["train"] if part["corpus"] == "both"]
    read = [batch for part in parts for batch in iter_pairs(config.run_dir / "compiled" / part["file"])]
    table = pa.Table.from_batches(read).drop_columns("corpus")
    return [tuple(row.values()) for row in table.to_pylist()]


PAIRS = [
    ("Hallo!", "ahoj", 0, 0.5),
    ("Danke", "dík a", 1, 0.5),
    ("Danke", "dík b", 2, 0.5),
    ("Danke", "děkuji", 3, 0.5),
]


def test_pairs_are_in_the_order_of_both_corpora_with_the_smaller_score(tmp_path: Path) -> None:
    assert joined(config_in(tmp_path)) == PAIRS


def test_the_number_of_ranges_does_not_change_the_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "RANGE_BYTES", 8)
    assert joined(config_in(tmp_path), workers=1) == PAIRS


def test_the_first_translations_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.stages.compile.joining._TRANSLATIONS", 1)
    assert joined(config_in(tmp_path, [*GERMAN, ("Vielen Dank", "Thank you", 1.0)])) == PAIRS[:2]


def test_no_equal_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"splits.train.both: german and czech have no equal lines of en; name other"):
        run(config_in(tmp_path, [("Hut", "hat", 1.0)]), until="compile")


def test_rows_are_found_in_the_joined_pairs(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    run(config, until="compile")
    outputs = Outputs(config, config.run_dir, {name: manifest(config, name) for name in ("extract", "compile")})
    rows = CorpusRows(outputs, "train", "both")
    assert rows.number_of(3) == 3
    assert [*map(str, rows.files_of(3))] == ["german and czech, joined, pair 4"]
