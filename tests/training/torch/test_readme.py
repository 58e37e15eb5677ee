"""The example of README for PyTorch runs as it stands there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from nmt_prep.runs.runner import run
from tests.readme import block, copy_toy

pytestmark = pytest.mark.torch


def test_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("configs/toy.yaml")
    shapes: list[Any] = []

    def model(input_ids: Any, attention_mask: Any, labels: Any) -> SimpleNamespace:
        assert input_ids.shape == attention_mask.shape
        assert len(input_ids) == len(labels)
        assert input_ids.dtype == attention_mask.dtype == labels.dtype == torch.int64
        shapes.append(input_ids.shape)
        return SimpleNamespace(loss=torch.zeros(()))

    names: dict[str, Any] = {"model": model}
    exec(block("python", "nmt_prep.torch"), names)
    assert names["loss"].item() == 0
    assert len(shapes) > 5
    assert all(rows * width <= 4096 for rows, width in shapes)
