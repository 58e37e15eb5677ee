from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

pytestmark = pytest.mark.torch  # the same environment

PAIRS = [([100 + i, *[2] * (i % 9), 1], [100 + i, *[3] * (i * i % 19), 1]) for i in range(1000)]


def test_the_source_for_jax(encode_run: Callable[..., Path], repository: Path) -> None:
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
