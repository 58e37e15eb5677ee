"""Runs of a config for the benchmark of engines: measured from outside, with optional fault injection."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

_SECONDS_BETWEEN_LOOKS = 0.1
_ROUNDS = {
    "extract": "download",
    "lines": "extract",
    "compile": "extract",
    "sample": "compile",
    "count": "sample",
    "encode": "vocab",
    "shuffle": "vocab",
}
"""Rounds that members of a job array share, and the stage that must be complete before."""


class Watched:
    """A run of a config, in one or several successive processes of ``nmt-prep``, and its measurements.

    Attributes:
        seconds: wall-clock time.
        peaks: peak memory in bytes of each process, by whether it is a worker, and its ID.
        harmed: processes that were killed or frozen.
    """

    def __init__(self, config: Path, cache: Path) -> None:
        """Stores the arguments.

        Args:
            config: the YAML file.
            cache: the cache directory for it.
        """
        self._config = config
        self._environment = {**os.environ, "NMT_PREP_CACHE": str(cache)}
        self._log = config.with_suffix(".log")
        self._cpu: dict[int, float] = {}
        self._samples: list[tuple[float, float]] = []
        self.seconds = 0.0
        self.peaks: dict[tuple[bool, int], int] = {}
        self.harmed = 0

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes."""
        return sum(self._cpu.values())

    def run(self, *options: str, harm: Callable[[psutil.Process], None] | None = None) -> None:
        """Runs ``nmt-prep run`` to its end; raises SystemExit if it failed without being killed."""
        command = [sys.executable, "-m", "nmt_prep", "run", str(self._config), "--quiet", "--log-json", str(self._log)]
        started = time.monotonic()
        with subprocess.Popen([*command, *options], env=self._environment) as process:
            root = psutil.Process(process.pid)
            while process.poll() is None:
                self._look(root)
                if harm is not None:
                    harm(root)
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        self.seconds += time.monotonic() - started
        if process.returncode not in (0, -signal.SIGKILL):
            raise SystemExit(f"{' '.join(command + list(options))} ended with {process.returncode}")

    def run_harmed(self, seconds: float) -> None:
        """Runs with Dask; kills a worker at regular intervals, and freezes one once."""
        draw = random.Random(1)
        last = time.monotonic()

        def harm(root: psutil.Process) -> None:
            nonlocal last
            if not self._log.exists() or '"workers_changed"' not in self._log.read_text(encoding="utf-8"):
                return  # the cluster is not complete
            now = time.time()
            workers = [child for child in root.children() if _is_worker(child) and now - child.create_time() > seconds]
            if time.monotonic() - last >= seconds and workers:
                worker = draw.choice(workers)
                if self.harmed == 1:
                    worker.suspend()
                else:
                    worker.kill()
                self.harmed += 1
                last = time.monotonic()

        self.run(harm=harm)

    def run_array(self, members: int) -> None:
        """Runs a job array for each round, in random order; kills and repeats two members."""
        draw = random.Random(1)
        for name, above in _ROUNDS.items():
            self.run("--until", above)
            order = draw.sample(range(members), members)
            share = ("--round", name, "--num-tasks", str(members), "--task-id")
            killed = draw.sample(order, min(2, members))
            for number in order:
                self.run(*share, str(number), harm=self._killer(draw.uniform(0.3, 1.5)) if number in killed else None)
            for number in killed:
                self.run(*share, str(number))
        self.run()

    def _killer(self, seconds: float) -> Callable[[psutil.Process], None]:
        end = time.monotonic() + seconds

        def harm(root: psutil.Process) -> None:
            if time.monotonic() >= end:
                root.kill()
                root.wait()
                self.harmed += 1

        return harm

    def stages(self) -> dict[str, tuple[float, float]]:
        """Returns the wall-clock and CPU seconds of each stage."""
        found: dict[str, tuple[float, float]] = {}
        began = 0.0
        for line in self._log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["event"] == "stage_started":
                began = event["time"]
            elif event["event"] == "stage_finished":
                times, worked = zip(*self._samples, strict=True)
                before, after = np.interp([began, event["time"]], times, worked).tolist()
                found[event["stage"]] = event["time"] - began, after - before
        return found

    def _look(self, root: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            for process in (root, *root.children(recursive=True)):
                # It may end at any moment.
                with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                    self._look_at(process, process != root)
        self._samples.append((time.time(), self.cpu))

    def _look_at(self, process: psutil.Process, below: bool) -> None:
        if below and not _is_worker(process):
            return
        times = process.cpu_times()
        self._cpu[process.pid] = times.user + times.system
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        if "VmHWM:" in status:
            peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
            self.peaks[below, process.pid] = max(peak, self.peaks.get((below, process.pid), 0))


def _is_worker(process: psutil.Process) -> bool:
    """Returns True if a process is a worker, not Python's resource tracker."""
    try:
        return any("spawn_main" in argument for argument in process.cmdline())
    except psutil.NoSuchProcess:
        return False
