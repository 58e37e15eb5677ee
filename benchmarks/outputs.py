"""Compares outputs with records of layout chunk: pairs per second from compiled text to the last byte.

    python -m benchmarks.outputs [--megabytes 200] [--workers 2] [--dialect sentencepiece] [--names marian ids …]

A generated corpus is compiled once, and its vocabulary is trained once. Each output is then made beside records of
layout chunk. Outputs of IDs convert the records, so the time of encode is added to theirs; outputs of text shuffle the
text and need no records. The peer is encode itself. Processor time is shown beside the clock, which other programs
disturb. The directory is temporary.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.generated import settings, write_generated
from nmt_prep.config import Config
from nmt_prep.runs import runner
from nmt_prep.runs.checks import check_config
from nmt_prep.training.outputs import kind_of

OUTPUTS: dict[str, dict[str, Any]] = {
    "marian": {"kind": "marian"},
    "pieces": {"kind": "marian", "pieces": True},
    "translation": {"kind": "huggingface", "rows": "translation"},
    "chat": {"kind": "huggingface", "rows": "chat"},
    "ids": {"kind": "huggingface", "rows": "ids"},
    "fairseq": {"kind": "fairseq"},
    "megatron": {"kind": "megatron"},
    "text": {"kind": "text"},
}


def config_of(root: Path, dialect: str, output: dict[str, Any] | None) -> Config:
    data = settings(root, dialect)
    data["vocab"] |= {"size": 8192, "shared": True}
    data["records"]["layout"] = "chunk"
    data["sample"] = {"bytes_per_corpus": 2_000_000}
    return check_config({**data, "outputs": [output] if output else []}, "benchmark")


def seconds_of(config: Config, stage: str, workers: int) -> tuple[float, float]:
    """Runs a stage again; returns its seconds by the clock and of processors."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    outcomes = runner.run(config, until=stage, force=[stage], workers=workers)
    after = resource.getrusage(resource.RUSAGE_SELF)
    [outcome] = [each for each in outcomes if each.stage == stage]
    return outcome.seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=200, help="text to generate")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dialect", default="sentencepiece", help="of the vocabulary")
    parser.add_argument("--names", nargs="+", choices=OUTPUTS, default=list(OUTPUTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        os.environ["NMT_PREP_CACHE"] = str(root / "cache")
        pairs, _ = write_generated(root, int(options.megabytes * 1e6))
        plain = config_of(root, options.dialect, None)
        runner.run(plain, until="encode", workers=options.workers)
        peer = seconds_of(plain, "encode", options.workers)
        print(f"{pairs:,} pairs, {options.dialect}, {options.workers} workers; pairs per second, and share of the peer")
        print(f"{'output':14}{'clock':>12}{'share':>8}{'processors':>14}{'share':>8}")
        print(f"{'chunk records':14}{pairs / peer[0]:12,.0f}{1:8.2f}{pairs / peer[1]:14,.0f}{1:8.2f}")
        for each in options.names:
            config = config_of(root, options.dialect, OUTPUTS[each])
            own = seconds_of(config, "outputs", options.workers)
            [output] = config.outputs
            encoded = peer if kind_of(output).form(output, config) == "ids" else (0.0, 0.0)
            clock, worked = (mine + theirs for mine, theirs in zip(own, encoded, strict=True))
            shares = peer[0] / clock, peer[1] / worked
            print(f"{each:14}{pairs / clock:12,.0f}{shares[0]:8.2f}{pairs / worked:14,.0f}{shares[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
