"""Makes the main job's writes fail at chosen points, runs it again, and compares with an undisturbed run.

A separate program because it forks; start it with ``fault_shim.c`` preloaded:
``python -m tests.fault_harness DIRECTORY VARIANT FIRST STEP TURN``. The points are the calls that change the file
system, by nmt_prep or a library: the N-th call fails, for N = FIRST, FIRST + STEP, and so on until a run has fewer
calls. The kinds of faults take turns, beginning with fault TURN. Prints a JSON object: the number of points tried, how
runs ended, and which of them ended neither with an NmtPrepError nor with the right bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt_prep.base import digests
from nmt_prep.base.errors import NmtPrepError
from nmt_prep.config import Config
from nmt_prep.corpora import parts, slices
from nmt_prep.runs.runner import run
from tests.corpus import corpus_config, tree, write_corpus, write_plain_corpus

VARIANTS: dict[str, dict[str, Any]] = {
    "example": {},
    "chunk": {
        "vocab": {"kind": "byte_bpe", "size": 300, "shared": True},
        "records": {"shards": {"train": 2}, "layout": "chunk"},
    },
    "packed": {
        "vocab": {"kind": "sentencepiece", "size": 80, "model_type": "bpe"},
        "records": {"shards": {"train": 2}, "layout": "packed"},
        "outputs": [{"kind": "text"}],
    },
    "in-place": {
        "splits": {"train": [{"name": "x", "format": "plain", "url": {"source": "x.en", "target": "x.zh"}}]},
    },
}

ONCE, FOR_EVER, SHORT, SHORT_THEN_FOR_EVER = range(4)
FAULTS = [
    (errno.ENOSPC, FOR_EVER),
    (errno.EIO, ONCE),
    (errno.ENOSPC, ONCE),
    (errno.ENOSPC, SHORT_THEN_FOR_EVER),
    (errno.EIO, FOR_EVER),
    (errno.EIO, SHORT),
]

# Several slices and parts, so that a stage has several tasks.
slices.SLICE_BYTES, slices.COUNT_BYTES, digests.STEP_BYTES = 4096, 6144, 1024
parts.PART_BYTES, parts.ROW_GROUP_BYTES = 4000, 1000


class Ground:
    """A directory with a corpus; writes of the run and the cache fail below its directory ``frail``."""

    def __init__(self, place: Path, variant: str) -> None:
        self.place = place
        self.frail = place / "frail"
        self.output = self.frail / "run"
        self.variant = VARIANTS[variant]
        self.shim = ctypes.CDLL(None)
        self.shim.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self.shim.fault_faults.restype = ctypes.c_long
        os.environ["NMT_PREP_CACHE"] = str(self.frail / "cache")
        write_corpus(place, pairs=120, dev=5)
        write_plain_corpus(place, pairs=300)

    def run(self, at: int = 0, error: int = 0, mode: int = ONCE) -> dict[str, Any]:
        """Runs in a forked process, where the write with number ``at`` fails (0: none), and returns how it ended."""
        config = self.config()  # checking it loads the readers' modules once for all forks
        here, there = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(here)
            if at:
                self.shim.fault_arm(os.fsencode(self.frail), at, error, mode)
            ended = _outcome(lambda: run(config, workers=2))
            os.write(there, json.dumps({**ended, "faults": self.shim.fault_faults()}).encode())
            os._exit(0)
        os.close(there)
        with os.fdopen(here, "rb") as told:
            text = told.read()
        status = os.waitpid(child, 0)[1]
        return json.loads(text) if text else {"ended": "crash", "message": f"status {status}", "faults": 1}

    def config(self) -> Config:
        return corpus_config(self.output, **self.variant).within(self.place)

    def clear(self) -> None:
        shutil.rmtree(self.frail, ignore_errors=True)
        self.frail.mkdir()


def _outcome(work: Callable[[], object]) -> dict[str, Any]:
    try:
        work()
    except NmtPrepError as error:
        return {"ended": type(error).__name__, "message": str(error)}
    except BaseException as error:  # noqa: BLE001 - the child must not run on as its parent
        return {"ended": f"bare {type(error).__name__}", "message": str(error)}
    return {"ended": "success", "message": ""}


def fault_of(ended: dict[str, Any], found: dict[str, str], expected: dict[str, str]) -> str:
    """Returns the problems in how a disturbed run ended; empty if there are none."""
    if ended["ended"] == "success":
        found.pop(".nmt_prep/lock.holder", None)  # which could not be removed, and has no meaning without a lock
        found = {name: digest for name, digest in found.items() if "/.run.json." not in name}  # nor could this
        return "" if found == expected else "success, but " + differing(found, expected)
    if ended["ended"] != "OutputError":
        return "no OutputError"
    message = ended["message"]
    where = "frail/" in message
    what_to_do = "run again" in message or "set output_dir" in message
    return "" if where and what_to_do else "the message does not say where, or what to do"


def differing(found: dict[str, str], expected: dict[str, str]) -> str:
    names = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    return f"other bytes in {names}"


def main() -> None:
    place, variant = Path(sys.argv[1]), sys.argv[2]
    first, step, turn = map(int, sys.argv[3:])
    ground = Ground(place, variant)
    ground.clear()
    run(ground.config(), workers=2)  # in this process, so that it loads once what all forks use
    expected = tree(ground.output)
    points, wrong, endings = 0, [], Counter[str]()
    for number in range(first, 100_000, step):
        error, mode = FAULTS[(number // step + turn) % len(FAULTS)]
        ground.clear()
        ended = ground.run(number, error, mode)
        if not ended["faults"]:
            break
        points += 1
        endings[ended["ended"]] += 1
        fault = fault_of(ended, tree(ground.output), expected)
        if points % 3 == 0:  # makes the rerun fail too
            again = ground.run(1 + number // 2, error, mode)
            fault = fault or fault_of(again, tree(ground.output), expected)
        last = ground.run()
        if not fault and (last["ended"] != "success" or (found := tree(ground.output)) != expected):
            fault = last["message"] or f"the rerun has {differing(found, expected)}"
        if fault:
            wrong.append([number, errno.errorcode[error], mode, fault, ended["ended"], ended["message"]])
    with contextlib.suppress(OSError):
        ground.clear()
    print(json.dumps({"points": points, "endings": endings, "wrong": wrong}))


if __name__ == "__main__":
    main()
