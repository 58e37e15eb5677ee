"""Fetches a file from a server that sends it slowly, and kills the fetch at random times or once bytes have arrived.

A separate program because it forks: ``python -m tests.sources.kill_harness DIRECTORY KILLS SEED``. Prints a JSON
object: the number of kills during a fetch, how often a fetch resumed an earlier one, and the faults found at the final
path.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.digests import sha256_of
from nmt_prep.engines import LocalEngine
from nmt_prep.pipeline.pipeline import Pipeline
from nmt_prep.progress import Progress
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.download import Download
from tests.server import Answer, web_server
from tests.stages.runs import config_of

CONTENT = random.Random(7).randbytes(200_000)


def download(config: Config, lock: Path) -> None:
    pipeline = Pipeline((Download(),), config, Progress(), LockFile(lock))
    pipeline.run(LocalEngine(1))


def wrong_files(root: Path) -> list[str]:
    """Returns the stored files whose digest differs from the name of their directory."""
    found = [path for path in root.glob("downloads/[0-9a-f]*/*") if not path.name.endswith(".partial")]
    return [str(path) for path in found if sha256_of(path) != path.parent.name]


def received(root: Path) -> int:
    """Returns the number of bytes in the partial files of a run."""
    return sum(path.stat().st_size for path in root.glob("downloads/.incoming/*") if path.suffix != ".json")


def is_running(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def main() -> None:
    place, kills, draw = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    hit, resumed, wrong = 0, 0, []
    with web_server() as server:
        drops = Answer(CONTENT, headers={"ETag": '"one"'}, ranges=True, piece=4_000, slow=0.002)
        url = server.give("/a.tgz", drops)
        config = config_of(place, {"name": "c", "url": url, "source": "a", "target": "b"}, download={"cache": False})
        lock = place / "t.lock"
        for number in range(kills):
            before = received(config.run_dir)
            child = os.fork()
            if child == 0:
                download(config, lock)
                os._exit(0)
            if number % 2:
                time.sleep(draw.random() * 0.12)
            while number % 2 == 0 and is_running(child):
                with suppress(FileNotFoundError):
                    if received(config.run_dir) > before:
                        break
                time.sleep(0.001)
            os.kill(child, signal.SIGKILL)
            hit += os.WIFSIGNALED(os.waitpid(child, 0)[1])
            wrong += wrong_files(config.run_dir)
            if draw.random() < 0.1 and (config.run_dir / ".nmt_prep").exists():
                for path in sorted(config.run_dir.rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
                lock.unlink(missing_ok=True)
        download(config, lock)
        wrong += wrong_files(config.run_dir)
        resumed = sum("Range" in headers for headers in server.headers)
        [published] = config.run_dir.glob("downloads/*/a.tgz")
        if published.read_bytes() != CONTENT or (config.run_dir / "downloads" / ".incoming").exists():
            wrong.append("the last")
    print(json.dumps({"hit": hit, "resumed": resumed, "wrong": wrong}))


if __name__ == "__main__":
    main()
