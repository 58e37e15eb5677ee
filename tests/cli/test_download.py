from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.program import nmt_prep
from tests.corpora.sources.stalling import stalling
from tests.guard import PATIENCE
from tests.interrupting import interruptible
from tests.server import Answer, WebServer
from tests.stages.runs import settings_of

ABC = hashlib.sha256(b"abc").hexdigest()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def write_config(place: Path, name: str, url: str, **more: Any) -> Path:
    corpus = {"name": "c", "url": url, "source": "a", "target": "b"}
    data = settings_of(place, corpus, name=name, output_dir=str(place / "runs" / name), **more)
    path = place / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def locked(place: Path, name: str) -> dict[str, str]:
    files = json.loads((place / f"{name}.lock").read_text())["files"]
    return {url: facts["sha256"] for url, facts in files.items()}


def test_all_files_of_several_configs_are_fetched(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"abc")
    configs = [write_config(tmp_path, name, url) for name in ("one", "two")]
    result = nmt_prep("download", "--all", *configs)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == "download: starting (never run here)"
    assert locked(tmp_path, "one") == locked(tmp_path, "two") == {url: ABC}
    assert nmt_prep("download", *configs, "--quiet").stdout == ""
    assert server.asked == ["/a", "/a"]


def test_a_config_whose_files_cannot_be_fetched(server: WebServer, tmp_path: Path) -> None:
    missing = write_config(tmp_path, "one", f"{server.url}/missing")
    url = server.give("/a", b"abc")
    right = write_config(tmp_path, "two", url)
    first = nmt_prep("download", missing, right)
    assert first.returncode == 1
    assert first.stderr.startswith(f"nmt-prep: error: {server.url}/missing: status 404 Not Found")
    assert not (tmp_path / "two.lock").exists()
    wrong = write_config(tmp_path, "three", url, extract={"max_member_bytes": 0})
    result = nmt_prep("download", "--all", missing, wrong, right)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "nmt-prep: error: 2 of 3 configs could not be fetched:"
    assert lines[1].startswith(f"{missing}: {server.url}/missing: status 404 Not Found")
    assert lines[2] == f"{wrong}: 1 problem"
    assert locked(tmp_path, "two") == {url: ABC}


def test_the_lock_is_created_kept_and_updated(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", b"abc", Answer(b"abd"))
    config = write_config(tmp_path, "one", url, download={"cache": False})
    assert nmt_prep("lock", config).returncode == 0
    assert locked(tmp_path, "one") == {url: ABC}
    shutil.rmtree(tmp_path / "runs")
    for command in ("lock", "download"):
        result = nmt_prep(command, config)
        assert result.returncode == 1
        assert f"{url}: expected SHA-256 {ABC}, found " in result.stderr
        assert "renew the lock with `nmt-prep lock CONFIG --update c`" in result.stderr
    assert nmt_prep("lock", "--update", config).returncode == 0
    assert locked(tmp_path, "one") == {url: hashlib.sha256(b"abd").hexdigest()}
    plan = nmt_prep("plan", config)
    assert plan.stdout.splitlines()[1].split() == ["download", "up", "to", "date", "nothing", "changed"]


def test_the_lock_is_updated_for_some_corpora(server: WebServer, tmp_path: Path) -> None:
    one, two = server.give("/1", b"abc", b"abd"), server.give("/2", b"abc", b"abd")
    corpora = [{"name": name, "url": url, "source": "a", "target": "b"} for name, url in (("c1", one), ("c2", two))]
    config = write_config(tmp_path, "one", one, splits={"train": corpora})
    assert nmt_prep("lock", config).returncode == 0
    assert nmt_prep("lock", config, "--update", "c2").returncode == 0
    assert locked(tmp_path, "one") == {one: ABC, two: hashlib.sha256(b"abd").hexdigest()}
    assert server.asked.count("/1") == 1
    unknown = nmt_prep("lock", config, "--update", "c3")
    message = "nmt-prep: error: the config has no corpus 'c3'; it has 'c1', 'c2'\n"
    assert (unknown.returncode, unknown.stderr) == (1, message)
    without = nmt_prep("lock", config, "c2")
    assert without.returncode == 2
    assert "names of corpora need --update" in without.stderr


def interrupted(config: Path, reached: Callable[[], object], start: str = "") -> None:
    """Sends SIGINT to a download at a chosen point, and checks that it ends by itself with a message.

    Args:
        config: the config whose corpora are downloaded.
        reached: a function that returns once the download is at that point.
        start: Python code that the program executes first.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = f"{start}\nfrom nmt_prep.__main__ import main\nmain()"
    with interruptible([sys.executable, "-c", program, "download", str(config), "--quiet"], environment) as process:
        try:
            reached()
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, error) == (130, "interrupted; run the same command again to resume\n")


def test_ctrl_c_keeps_partial_files(server: WebServer, tmp_path: Path) -> None:
    url = server.give("/a", Answer(b"x" * 300_000, length=900_000, headers={"ETag": '"one"'}, stall=3600))
    config = write_config(tmp_path, "one", url)
    incoming = tmp_path / "runs" / "one" / "downloads" / ".incoming"
    bytes_only = "?" * 32  # not the notes beside them, which are written earlier

    def reached() -> None:
        while not any(path.stat().st_size for path in incoming.glob(bytes_only)):
            time.sleep(0.01)

    interrupted(config, reached)
    [partial] = incoming.glob(bytes_only)
    assert 0 < partial.stat().st_size <= 300_000


@pytest.mark.parametrize(
    "point",
    ["handshake", "retry", *(pytest.param(each, marks=pytest.mark.slow) for each in ["head", "page", "body"])],
)
def test_ctrl_c_does_not_wait_for_a_server(tmp_path: Path, point: str) -> None:
    with stalling(point) as server:
        scheme = "https" if point == "handshake" else "http"
        address = f"{scheme}://127.0.0.1:{server.port}"
        corpora = [{"name": f"c{n}", "url": f"{address}/{n}", "source": "a", "target": "b"} for n in range(4)]
        config = write_config(tmp_path, "one", address, splits={"train": corpora}, download={"parallel": 4})
        interrupted(config, lambda: [server.reached.acquire() for _ in corpora])


def test_ctrl_c_does_not_wait_for_a_connection(tmp_path: Path) -> None:
    with stalling("connect") as server:
        config = write_config(tmp_path, "one", f"http://127.0.0.1:{server.port}/a")
        asked = re.compile(rf"^ *\d+: \w+:\w+ \w+:{server.port:04X} 02 ", re.MULTILINE)  # SYN_SENT

        def reached() -> None:
            while not asked.search(Path("/proc/net/tcp").read_text()):
                time.sleep(0.05)

        interrupted(config, reached)


def test_ctrl_c_does_not_wait_for_name_resolution(tmp_path: Path) -> None:
    """Name resolution cannot be interrupted, so the program must exit without waiting for the thread that does it."""
    came = tmp_path / "came"
    start = (
        "import pathlib, socket, threading\n"
        f"def resolve(*_, **__):\n    pathlib.Path({str(came)!r}).touch()\n    threading.Event().wait()\n"
        "socket.getaddrinfo = resolve\n"
    )

    def reached() -> None:
        while not came.exists():
            time.sleep(0.01)

    interrupted(write_config(tmp_path, "one", "http://host.invalid/a"), reached, start)


def test_a_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sacrebleu.py").write_text("raise ModuleNotFoundError('gone', name='sacrebleu')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sacrebleu"]:
        monkeypatch.delitem(sys.modules, name)
    result = nmt_prep("download", write_config(tmp_path, "one", "sacrebleu:wmt18/en-zh"))
    assert result.returncode == 1
    assert result.stderr.splitlines()[0].startswith("nmt-prep: error: ")
    assert result.stderr.endswith(
        "sacrebleu:wmt18/en-zh needs sacrebleu: pip install '.[sacrebleu]' in a checkout of nmt_prep\n"
    )
