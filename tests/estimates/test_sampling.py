from __future__ import annotations

from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.estimates.sampling import Sampled, sampled
from tests.corpus import corpus_config, write_corpus


def test_figures() -> None:
    assert sampled(1_000, 1_000, 10_000) == Sampled(1_000, 1_000, 1)
    assert sampled(1_000, 1_000, 100) == Sampled(600, 100, 6)
    assert sampled(3_000, 1_000, 1_000) == Sampled(3_000, 1_500, 2)


@pytest.mark.parametrize("budget", [50_000, 3_000, 700])
def test_as_the_stage_samples(tmp_path: Path, budget: int) -> None:
    write_corpus(tmp_path)
    config = corpus_config(tmp_path / "run", sample={"bytes_per_corpus": budget})
    nmt_prep.run(config, base_dir=tmp_path, until="sample")
    texts = {side: (tmp_path / "run" / "sample" / f"{side}.txt").read_text("utf-8") for side in ("source", "target")}
    for side, text in texts.items():
        [path] = (tmp_path / "run" / "extracted").glob(f"*/*-x.{'en' if side == 'source' else 'zh'}")
        whole = path.read_text("utf-8")
        expected = sampled(len(whole.encode()), len(whole), budget).taken
        assert len(text.encode()) == pytest.approx(expected, rel=0.1)
