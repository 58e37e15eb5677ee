"""Runs the examples of the docs."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.checks import load_config
from nmt_prep.runner import run as run_pipeline

TOY = Path(__file__).resolve().parents[2] / "configs" / "toy.yaml"
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
PAIRS = [([3 + i % 40, *[2] * (i % 9), 1], [3 + i % 40, *[3] * (i % 9), 1]) for i in range(2000)]


@pytest.mark.slow
@pytest.mark.tensorflow
def test_loss_on_the_toy_corpus_falls_and_training_resumes(tmp_path: Path) -> None:
    import tensorflow as tf

    run_pipeline(load_config(TOY, [f"output_dir={tmp_path / 'toy'}"]), base_dir=TOY.parent)
    train = runpy.run_path(str(EXAMPLES / "train_gru.py"))["train"]
    tf.keras.utils.set_random_seed(1)
    whole = train(tmp_path / "toy", tmp_path / "whole", 60)
    assert len(whole) == 60
    assert np.mean(whole[-10:]) < 0.85 * np.mean(whole[:10])
    tf.keras.utils.set_random_seed(1)
    parts = train(tmp_path / "toy", tmp_path / "parts", 25) + train(tmp_path / "toy", tmp_path / "parts", 60)
    assert parts == pytest.approx(whole, rel=1e-4)
    assert train(tmp_path / "toy", tmp_path / "parts", 60) == []


@pytest.mark.parametrize(("library", "file"), [("torch", "pytorch_batches.py"), ("jax", "jax_batches.py")])
def test_batches_for_other_libraries(encode_run: Callable[..., Path], library: str, file: str) -> None:
    pytest.importorskip(library)
    run = encode_run({"a": PAIRS})
    example = runpy.run_path(str(EXAMPLES / file))
    batches: list[Any] = list(example["Pairs"](str(run), 0) if library == "torch" else example["batches"](str(run), 0))
    sources = [row[row != 0].tolist() for source, _ in batches for row in np.asarray(source) if row.any()]
    assert sorted(sources) == sorted(source for source, _ in PAIRS)
