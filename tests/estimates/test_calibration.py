from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.errors import ConfigError
from nmt_prep.estimates.calibration import calibration_path, choose_calibration, options_key, save_calibration
from tests.corpus import corpus_config
from tests.estimates.fixed import fixed_calibration


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, "t2t/example"),
        ({"vocab": {"kind": "byte_bpe", "shared": True}}, "byte_bpe-shared/example"),
        ({"vocab": {"kind": "sentencepiece", "model_type": "bpe"}}, "sentencepiece-bpe/example"),
        ({"records": {"layout": "packed"}}, "t2t/packed"),
    ],
)
def test_which_options_matter(changes: dict[str, Any], key: str) -> None:
    assert options_key(corpus_config(Path("run"), **changes)) == key


def test_constants_are_kept_by_options() -> None:
    assert choose_calibration(corpus_config(Path("run"))).origin.startswith("built-in, measured on 20")
    path = save_calibration("t2t/example", fixed_calibration())
    save_calibration("t2t/chunk", fixed_calibration(base_memory=7))
    assert path == calibration_path()
    chosen = choose_calibration(corpus_config(Path("run")))
    assert chosen.calibration == fixed_calibration()
    assert chosen.origin == "calibrated here on 2026-01-31 (t2t/example, a test)"
    chunks = choose_calibration(corpus_config(Path("run"), records={"layout": "chunk"}))
    assert chunks.calibration.base_memory == 7


def test_the_nearest_built_in_constants_stand_in() -> None:
    config = corpus_config(Path("run"), vocab={"kind": "t2t", "shared": True}, records={"layout": "packed"})
    assert ", which stands in for t2t-shared/packed; nmt-prep calibrate measures" in choose_calibration(config).origin


def test_a_damaged_file_is_an_error() -> None:
    calibration_path().parent.mkdir(parents=True, exist_ok=True)
    calibration_path().write_text("{}")
    with pytest.raises(ConfigError, match="does not hold constants of this version of nmt_prep; delete it"):
        choose_calibration(corpus_config(Path("run")))
