"""Two processes of torch.distributed train for three epochs, one of which is interrupted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

WORLD_SIZE, EPOCHS = 2, 3
PAIRS = [([100 + i, *[2] * (i * 7 % 20), 1], [100 + i, *[3] * (i * i % 19), 1]) for i in range(1201)]


def train(run: Path, directory: Path, repository: Path, kill_at: int) -> list[int]:
    """Runs all ranks; returns their exit statuses."""
    command = [sys.executable, "-m", "tests.training.torch.ddp_training", str(run), str(directory)]
    ranks = [
        subprocess.Popen([*command, str(rank), str(WORLD_SIZE), str(kill_at)], cwd=repository, stderr=subprocess.PIPE)
        for rank in range(WORLD_SIZE)
    ]
    try:
        for rank in ranks:
            rank.communicate(timeout=300)
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.wait() for rank in ranks]


def test_a_killed_training_gives_each_pair_once_an_epoch(
    encode_run: Callable[..., Path], tmp_path: Path, repository: Path
) -> None:
    run = encode_run({"a": PAIRS})
    first = train(run, tmp_path, repository, kill_at=77)
    assert first[1] == -9
    assert first[0] != 0
    lines = (tmp_path / "0.log").read_text().splitlines()
    assert len(lines) == 76
    assert json.loads(lines[-1])[0] == 1  # in the second epoch
    assert train(run, tmp_path, repository, kill_at=-1) == [0, 0]

    steps = [
        [json.loads(line) for line in (tmp_path / f"{rank}.log").read_text().splitlines()] for rank in range(WORLD_SIZE)
    ]
    orders = []
    for epoch in range(EPOCHS):
        own = [[ids for number, ids in rank if number == epoch] for rank in steps]
        assert len(own[0]) == len(own[1])
        assert sorted(pair for rank in own for ids in rank for pair in ids) == [100 + i for i in range(len(PAIRS))]
        orders.append(own[0])
    assert orders[0] != orders[1] != orders[2]
