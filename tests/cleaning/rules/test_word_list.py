"""Rule ``word_list``: words of a list that only one side has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cleaning.rules.values import passed, rule_of, values
from tests.guard import must_end


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "en.txt").write_text("damn\nbloody hell\n\n", encoding="utf-8")
    (tmp_path / "zh.txt").write_text("该死\nok\n", encoding="utf-8")
    return tmp_path


def test_difference(directory: Path) -> None:
    rule = rule_of("word_list", {"source": "en.txt", "target": "zh.txt", "max": 1}, base_dir=directory)
    batch = [
        ("Damn! Damnation.", "真该死了"),
        ("bloody Hell, damn", "OK了"),
        ("damn damn damn", "ok ok"),
        ("hell", "joke"),
    ]
    assert values(rule, *batch) == [[0], [2], [1], [0]]
    assert passed(rule, *batch) == [True, False, True, True]
    assert rule.files == {"en.txt": directory / "en.txt", "zh.txt": directory / "zh.txt"}


def test_a_pipe_or_an_empty_list_is_refused(directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    (directory / "none").write_text("\n", encoding="utf-8")
    for name, message in (("pipe", "is not a regular file; a run reads"), ("none", "contains no words")):
        with must_end(60), pytest.raises(ValueError, match=f"word_list: the word list .*{name} {message}"):
            rule_of("word_list", {"source": name, "target": "zh.txt"}, base_dir=directory)
