"""Runs the examples of the docs."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from nmt_prep.runs.checks import load_config
from nmt_prep.runs.runner import run as run_pipeline

TOY = Path(__file__).resolve().parents[3] / "configs" / "toy.yaml"
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"


STAGED = [
    "records.layout=text",
    "vocab={kind: sentencepiece, model_type: unigram, size: 1600}",
    "training.subwords={source: {alpha: 0.3}, target: {alpha: 0.5}}",
    "training.modifiers=[{LowerCase: 0.3}]",
    "training.stages=[{name: first, mix: {toy: 1}, until: {rows: 3000}, modifiers: []}, {name: last, mix: {toy: 1}}]",
]


@pytest.mark.slow
@pytest.mark.tensorflow
@pytest.mark.parametrize("overrides", [[], STAGED], ids=["plain", "subwords and stages"])
def test_loss_on_the_toy_corpus_falls_and_training_resumes(tmp_path: Path, overrides: list[str]) -> None:
    import tensorflow as tf

    run_pipeline(load_config(TOY, [f"output_dir={tmp_path / 'toy'}", *overrides]))
    train = runpy.run_path(str(EXAMPLES / "train_gru.py"))["train"]
    tf.keras.utils.set_random_seed(1)
    whole = train(tmp_path / "toy", tmp_path / "whole", 60)
    assert len(whole) == 60
    assert np.mean(whole[-10:]) < 0.85 * np.mean(whole[:10])
    tf.keras.utils.set_random_seed(1)
    parts = train(tmp_path / "toy", tmp_path / "parts", 25) + train(tmp_path / "toy", tmp_path / "parts", 60)
    assert parts == pytest.approx(whole, rel=1e-4)
    assert train(tmp_path / "toy", tmp_path / "parts", 60) == []
