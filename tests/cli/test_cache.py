from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.config import ComputedValue, Languages
from nmt_prep.text.computed import Column, close_columns
from tests.cli.program import nmt_prep


def test_stored_values_are_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "fn.py").write_text("def half(source): return [len(each) / 2 for each in source.to_pylist()]\n")
    languages = Languages(source="en", target="de")
    directories = []
    for version, count in (("a", 3), ("b", 2)):
        made = Column("kiwi", ComputedValue(python="fn:half", version=version), languages, ("source",), tmp_path)
        made.numbers({"source": pa.array([f"line {number}" for number in range(count)])})
        directories.append(made.directory)
    close_columns()
    listed = [line.split() for line in nmt_prep("cache").stdout.splitlines()]
    assert listed[0] == ["id", "name", "languages", "program", "version", "values", "size", "last", "use"]
    assert sorted(line[1:6] for line in listed[1:]) == [
        ["kiwi", "en-de", "fn:half", "a", "3"],
        ["kiwi", "en-de", "fn:half", "b", "2"],
    ]
    (log,) = directories[1].glob("*.log")
    os.truncate(log, log.stat().st_size - 1)
    facts = {each["version"]: each for each in map(json.loads, nmt_prep("cache", "--json").stdout.splitlines())}
    assert [(facts[name]["values"], facts[name]["unreadable"] > 0) for name in "ab"] == [(3, False), (0, True)]
    assert nmt_prep("cache", "--remove", "xyz").returncode == 2
    nmt_prep("cache", "--remove", directories[0].name[:12])
    assert [directory.exists() for directory in directories] == [False, True]
    os.utime(directories[1] / "about.json", (0, 0))
    assert directories[1].name[:8] in nmt_prep("cache", "--unused", "30").stdout
    assert not directories[1].exists()
