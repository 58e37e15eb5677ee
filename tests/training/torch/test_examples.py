"""The examples of README for PyTorch and of the docs for JAX run as they stand there."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nmt_prep.runs.checks import load_config
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


@pytest.mark.slow
def test_packed_rows_have_the_loss_of_single_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], repository: Path
) -> None:
    pytest.importorskip("transformers")
    copy_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    script = repository / "docs" / "examples" / "train_causal.py"
    sets = [line.split("'")[1] for line in script.read_text("utf-8").splitlines() if "--set '" in line]
    run(load_config("configs/toy.yaml", sets))
    arguments = ["runs/toy", "--steps", "2", "--width", "32", "--row-length", "256", "--rows", "4"]
    monkeypatch.setattr("sys.argv", [str(script), *arguments])
    runpy.run_path(str(script), run_name="__main__")
    first, last = (line.split() for line in capsys.readouterr().out.splitlines())
    assert (first[:3], last[:3]) == (["step", "1:", "loss"], ["step", "2:", "loss"])
    for line in (first, last):
        assert 5 < float(line[3]) == pytest.approx(float(line[5]), abs=1e-4)
    assert (tmp_path / "causal_model" / "config.json").exists()


PAIRS = [([100 + i, *[2] * (i % 9), 1], [100 + i, *[3] * (i * i % 19), 1]) for i in range(1000)]


def test_the_source_for_jax(encode_run: Callable[..., Path], repository: Path) -> None:
    pytest.importorskip("jax")
    run = str(encode_run({"a": PAIRS}))
    make: Any = runpy.run_path(str(repository / "docs" / "examples" / "jax_batches.py"))["Source"]
    source = make(run, epochs=2)
    batches = [next(source) for _ in range(3)]
    state = json.loads(json.dumps(source.get_state()))
    assert (state["epoch"], state["batches"]) == (0, 3)
    rest = list(source)
    resumed = make(run, epochs=2)
    resumed.set_state(state)
    for found, expected in zip(resumed, rest, strict=True):
        assert [side.tolist() for side in found] == [side.tolist() for side in expected]
    batches += rest
    assert {(side.shape, side.dtype.name) for batch in batches for side in batch} <= {
        ((64, width), "int32") for width in (16, 32)
    }
    firsts = np.concatenate([np.asarray(source)[:, 0] for source, _ in batches])
    assert sorted(firsts[firsts > 0].tolist()) == sorted(2 * [100 + i for i in range(1000)])
