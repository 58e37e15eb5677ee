"""Constants in round numbers: 100 MB/s a core in every round, and a disk of 1 GB/s."""

from __future__ import annotations

from typing import Any

from nmt_prep.estimates.calibration import Calibration

ROUND = {"cpu_per_byte": 1e-8, "cpu_per_task": 0.0, "slowdown": 1.0, "memory": 10_000_000, "held": 0}
ROUNDS = ("extract", "decompress", "lines", "compile", "sample", "skip", "count", "encode", "shuffle")
STAGES = ("download", "extract", "compile", "sample", "vocab", "encode", "report")


def fixed_calibration(**changes: Any) -> Calibration:
    values: dict[str, Any] = {
        "made": "2026-01-31",
        "machine": "4 cores of a model",
        "cores": 4,
        "memory": 16_000_000_000,
        "busy": False,
        "text": {
            "origin": "a test",
            "pairs": 1_000,
            "source_bytes": 60_000,
            "target_bytes": 40_000,
            "source_characters": 60_000,
            "target_characters": 20_000,
        },
        "rounds": dict.fromkeys(ROUNDS, ROUND),
        "stages": {name: {"seconds": 1.0, "seconds_per_byte": 0.0} for name in STAGES},
        "sample_taken": 0.0,
        "gather_seconds": 0.001,
        "load_seconds": 0.5,
        "training": {
            side: {
                "sample_bytes": 1_000_000,
                "seconds": 2.0,
                "seconds_exponent": 1.0,
                "memory": 50_000_000,
                "memory_exponent": 0.5,
            }
            for side in ("source", "target")
        },
        "sizes": {"gzip": 0.25, "compiled": 0.5, "spill": 1.0, "records": 0.75},
        "disk": {"write_rate": 1e9, "read_rate": 1e9, "file_seconds": 0.0},
        "base_memory": 100_000_000,
    }
    return Calibration.model_validate({**values, **changes})
