"""Members of a job array that are killed while they work."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from nmt_prep.base.progress import Fields, Listener, Meter, Progress
from nmt_prep.config import Config
from nmt_prep.corpora import parts
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs.runner import run_share


class Dies(Listener):
    """Kills this process after a number of tasks, or at the first advance."""

    def __init__(self, tasks: int) -> None:
        self._left = tasks

    def event(self, name: str, fields: Fields) -> None:
        self._left -= name == "task_finished"

    def advanced(self, meter: Meter) -> None:
        if self._left <= 0 and meter.done:
            os.kill(os.getpid(), signal.SIGKILL)


def do_share_and_die(config: Config, share: Share, place: Path, dies_after: int | None) -> None:
    """Runs a share of a config; dies in the middle unless ``dies_after`` is None."""
    parts.PART_BYTES, parts.ROW_GROUP_BYTES = 4000, 1000
    progress = Progress() if dies_after is None else Progress(Dies(dies_after))
    run_share(config, share, workers=1, progress=progress)
