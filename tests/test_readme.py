"""The first examples of README run as they stand; tests/training/torch/test_examples.py runs that of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import nmt_prep
from tests.readme import REPOSITORY, block, command_line_arguments, copy_toy


def test_every_page_of_the_docs_is_linked() -> None:
    text = (REPOSITORY / "README.md").read_text("utf-8")
    pages = {f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")}
    assert pages - set(re.findall(r"\]\((docs/[^)#]*)", text)) == set()


@pytest.mark.tensorflow
def test_the_command_line_and_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert nmt_prep(*command_line_arguments()).returncode == 0
    assert (tmp_path / "runs" / "toy" / "records" / "toy-train-00000-of-00004").exists()

    shapes: list[list[int]] = []

    def train_step(source: Any, target_input: Any, target_output: Any, lengths: Any) -> None:
        assert target_input.shape == target_output.shape
        shapes.append([*source.shape, *lengths.shape])

    exec(block("python", "make_dataset"), {"train_step": train_step})
    assert len(shapes) > 5
    assert all(rows == lengths and rows * width <= 4096 for rows, width, lengths in shapes)
