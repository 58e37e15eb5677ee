"""Runs whose reports are tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nmt_prep
from nmt_prep.runs.checks import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


def run_toy(directory: Path, name: str = "toy-clean", **changes: Any) -> Path:
    """Runs a config of the toy corpus; returns the directory of the run."""
    config = load_config(
        CONFIGS / f"{name}.yaml", [f"output_dir={directory}", *(f"{k}={v}" for k, v in changes.items())]
    )
    nmt_prep.run(config, workers=2)
    return config.run_dir


def summary_of(run: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((run / "report" / "summary.json").read_bytes())
    return summary
