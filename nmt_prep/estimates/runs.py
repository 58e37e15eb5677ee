"""Timed runs of the pipeline: what each stage and each task took, and the memory that it took it in.

Each run is in a process of its own, so that neither caches nor memory of the one before are in its figures.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmt_prep.pipeline.draft import drafts_of
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.progress import Fields, Listener, Meter, Progress

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # see proc(5)


@dataclass
class RoundTimes:
    """A round of tasks, or another piece of a stage's work that tells how far it is.

    Attributes:
        seconds: from its beginning to its end.
        cpu: seconds that all cores together worked for this process in that time.
        tasks: seconds that each took, by key.
        peak: bytes of memory that the process held at most; 0 where that cannot be told.
        scratch: bytes of the files that its tasks left for later ones.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    scratch: int = 0
    tasks: dict[str, float] = field(default_factory=dict)


@dataclass
class StageTimes:
    """A stage that ran.

    Attributes:
        seconds: from the end of the stage before to its own, with the check whether it is fresh.
        cpu: seconds that all cores together worked for this process in that time.
        rounds: its rounds by name.
        peak: bytes of memory that the process held at most; 0 where that cannot be told.
    """

    seconds: float
    cpu: float
    rounds: dict[str, RoundTimes]
    peak: int

    @property
    def alone(self) -> float:
        """Seconds of work outside the rounds, which only the coordinating process can do."""
        return max(self.cpu - sum(each.cpu for each in self.rounds.values() if each.tasks), 0.0)


@dataclass(frozen=True)
class RunTimes:
    """A run: the stages that ran by name, and what the process held in memory before the first."""

    stages: dict[str, StageTimes]
    base: int

    def round(self, name: str) -> RoundTimes:
        """A round by its name, whichever stage it belongs to.

        Raises:
            KeyError: no stage that ran has it.
        """
        return {name: times for stage in self.stages.values() for name, times in stage.rounds.items()}[name]


class Stopwatch(Listener):
    """Listens to a run, and times it."""

    def __init__(self, private: Path) -> None:
        """Begins.

        Args:
            private: the run's private directory.
        """
        self.stages: dict[str, StageTimes] = {}
        self.base = memory_peak()
        self._private = private
        self._peak = 0
        self._since, self._cpu = time.monotonic(), time.process_time()
        self._meters: dict[Meter, float] = {}
        self._rounds: dict[str, RoundTimes] = {}
        self._watch_memory_anew()

    def event(self, name: str, fields: Fields) -> None:
        if name == "task_finished":
            seconds: Any = fields["seconds"]
            self._rounds.setdefault(str(fields["round"]), RoundTimes()).tasks[str(fields["task"])] = float(seconds)
        elif name == "stage_finished":
            now, cpu = time.monotonic(), time.process_time()
            self._watch_memory_anew()
            name = str(fields["stage"])
            self.stages[name] = StageTimes(now - self._since, cpu - self._cpu, self._rounds, self._peak)
            self._since, self._cpu, self._rounds, self._peak = now, cpu, {}, 0

    def advanced(self, meter: Meter) -> None:
        if meter not in self._meters:
            self._meters[meter] = time.process_time()
            self._watch_memory_anew()
        if meter.ended:
            times = self._rounds.setdefault(meter.label, RoundTimes())
            times.seconds += time.monotonic() - meter.started_at
            times.cpu += time.process_time() - self._meters[meter]
            times.peak = self._watch_memory_anew()
            scratch = drafts_of(self._private, "").glob("*/*/scratch/*")
            times.scratch = sum(path.stat().st_size for path in scratch)

    def close(self) -> None:
        """There is nothing to close."""

    def _watch_memory_anew(self) -> int:
        """The peak since the last time."""
        peak = memory_peak()
        self._peak = max(self._peak, peak)
        reset_memory_peak()
        return peak

    @property
    def times(self) -> RunTimes:
        """What was measured so far."""
        return RunTimes(self.stages, self.base)


def timed_run(config: Mapping[str, Any], cache: Path, workers: int, until: str | None = None) -> RunTimes:
    """Runs a config in a process of its own, on threads of it.

    Args:
        config: as the YAML file would give it; its local paths are absolute.
        cache: the cache directory for it.
        workers: threads.
        until: the last stage to run; None is all of them.

    Raises:
        NmtPrepError: the run failed.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, config, cache, workers, until).result()


def timed_load(vocab: Path) -> float:
    """Seconds that a process of its own needs to load the vocabularies of a run.

    Raises:
        VocabularyError: they cannot be read.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_load, vocab).result()


def memory_peak() -> int:
    """Bytes that this process has held at most since the last reset; 0 where the system does not tell."""
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def reset_memory_peak() -> None:
    """Begins to watch the memory anew; where the system cannot do that, peaks are those since the start."""
    try:
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return


def _run(config: Mapping[str, Any], cache: Path, workers: int, until: str | None) -> RunTimes:
    os.environ["NMT_PREP_CACHE"] = str(cache)
    from nmt_prep.config.file import check_config  # noqa: PLC0415  (what it loads belongs to the base)
    from nmt_prep.pipeline.runner import run  # noqa: PLC0415

    checked = check_config(config, "calibration")
    watch = Stopwatch(Workspace(checked.run_dir).private)
    run(checked, workers=workers, until=until, progress=Progress(watch))
    return watch.times


def _load(vocab: Path) -> float:
    from nmt_prep.subwords import load_tokenizer  # noqa: PLC0415  (only what follows is to be timed)

    files = {facts["file"]: facts["id_layout"] for facts in json.loads((vocab / "vocab.json").read_bytes()).values()}
    started = time.process_time()
    for name, layout in files.items():
        load_tokenizer(vocab / name, id_layout=layout)
    return time.process_time() - started
