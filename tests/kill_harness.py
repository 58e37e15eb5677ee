"""Kills the main job with SIGKILL at chosen points, runs it again, and compares with an undisturbed run.

A separate program because it forks: ``python -m tests.kill_harness RUN DIRECTORY FIRST STEP RANDOM``. RUN is a key of
``RUNS``. The points are the calls by which a run changes the file system: a child is killed just before the N-th call,
for N = FIRST, FIRST + STEP and so on, until a child survives. RANDOM more children are killed after a random time.
Prints a JSON object: the number of points tried, and the points after which the rerun differed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt_prep.base import digests
from nmt_prep.cleaning.adequacy import classifier_training as classifiers
from nmt_prep.corpora import parts, slices
from nmt_prep.runs.runner import run
from nmt_prep.stages.clean import learned as learned_rules
from tests.corpus import corpus_config, tree, write_corpus, write_plain_corpus

MEMBERS = {"url": "train.tgz", "source": "t/x.en", "target": "t/x.zh"}
EVERY_STAGE = {
    "splits": {
        "train": [{"name": "x", **MEMBERS}, {"name": "x-again", **MEMBERS}],
        "dev": [{"name": "d", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm"}],
    },
    "records": {"shards": {"train": 3}},
    "clean": {
        "preset": "none",
        "rules": {"length": {"max": 7}},
        "fix": ["whitespace"],
        "dedup": {"pair": "near", "max_sources_per_target": 2, "near": {"similarity": 0.6}},
    },
}
# The compiled parts name lines of these files, which are read in place.
PLAIN = {"name": "x", "format": "plain", "url": {"source": "x.en", "target": "x.zh"}}
IN_PLACE = {**EVERY_STAGE, "splits": {**EVERY_STAGE["splits"], "train": [PLAIN]}}
ALIGNMENT = {"clean": {"preset": "none", "rules": {"translation": {}, "adequacy": {}}}, "align": {}}
DOCUMENTS = {
    "splits": {"dev": EVERY_STAGE["splits"]["dev"], "train": [{"name": "x", **MEMBERS, "document": {"url": "x.docs"}}]},
    "vocab": {"kind": "byte_bpe", "size": 300, "shared": True, "reserved": ["<sep>"]},
    "documents": {"separator": "<sep>", "max_tokens": 100},
    "records": {"shards": {"train": 3}, "layout": "chunk"},
    "outputs": [{"kind": "text", "pieces": False, "vocab": []}],
}
RUNS: dict[str, tuple[dict[str, Any], str | None]] = {
    "every-stage": (EVERY_STAGE, None),
    "in-place": (IN_PLACE, None),
    "alignment": (ALIGNMENT, "align"),
    "documents": (DOCUMENTS, "outputs"),
}

# Several slices and parts, so that a stage has several tasks.
slices.SLICE_BYTES, slices.COUNT_BYTES, digests.STEP_BYTES = 4096, 6144, 1024
parts.PART_BYTES, parts.ROW_GROUP_BYTES = 4000, 1000
learned_rules.LEAST_PAIRS = 50
classifiers.LEAST_PAIRS = 10


def preparation(name: str, output: Path, place: Path) -> Callable[[], None]:
    """Returns a function that runs the stages; checking the config here loads the readers once for all forks."""
    changes, until = RUNS[name]
    config = corpus_config(output, **changes)

    def prepare() -> None:
        run(config, workers=2, until=until)

    return prepare


def in_child(work: Callable[[], None], seconds: float | None = None) -> int:
    """Runs work in a fork, which is killed after a number of seconds; returns its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the child must not run on as its parent
            print(f"child: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def die_at(number: int) -> None:
    """Arranges for this process to be killed when it changes the file system for the ``number``-th time."""
    count = 0

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return counting

    for name in ("fsync", "rename", "replace", "unlink", "mkdir", "rmdir"):
        setattr(os, name, wrap(getattr(os, name)))


def check(prepare: Callable[[], None], expected: dict[str, str], output: Path) -> bool:
    """Returns True if a rerun in the same directory gives the same as an undisturbed run."""
    status = in_child(prepare)
    found = tree(output)
    same = status == 0 and found == expected
    if not same:
        differing = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        print(f"status {status}, differing: {differing}", file=sys.stderr)
    shutil.rmtree(output, ignore_errors=True)
    return same


def main() -> None:
    name, place, first, step = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    write_corpus(place, pairs=100, dev=5)
    write_plain_corpus(place, pairs=300)
    (place / "x.docs").write_text("".join(f"{row // 7}\n" for row in range(101)))
    undisturbed, output = place / "undisturbed", place / "run"
    prepare = preparation(name, output, place)
    preparation(name, undisturbed, place)()  # in this process, so that it loads once what all forks use
    expected, began = tree(undisturbed), time.monotonic()
    assert any(file.startswith("compiled/inputs/") for file in expected) == (name == "in-place")
    assert check(prepare, expected, output)
    seconds = time.monotonic() - began
    points, wrong = 0, []

    for number in range(first, 100_000, step):

        def killed(number: int = number) -> None:
            die_at(number)
            prepare()

        status = in_child(killed)
        points += 1
        if not check(prepare, expected, output):
            wrong.append(number)
        if not os.WIFSIGNALED(status):
            break

    draw = random.Random(1)
    for _ in range(int(sys.argv[5])):
        delay = draw.random() * seconds
        in_child(prepare, delay)
        points += 1
        if not check(prepare, expected, output):
            wrong.append(-int(delay * 1e6))
    print(json.dumps({"points": points, "wrong": wrong}))


if __name__ == "__main__":
    main()
