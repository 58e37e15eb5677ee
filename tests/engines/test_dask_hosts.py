"""A scheduler and two workers on three hosts, of which one loses its link for a while; hosts are network namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

import nmt_prep
from nmt_prep.checks import check_config
from tests.corpus import tree
from tests.engines.test_same_bytes import wmt22

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

NAMES = ("scheduler", "one", "two")
BRIDGE = "nmtbridge"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def host(name: str) -> str:
    return f"nmt-{name}"


@pytest.fixture
def hosts() -> Iterator[dict[str, str]]:
    """Creates three network namespaces that share a bridge and the file system; returns their addresses."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces take root and iproute2")
    if subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=False).returncode:
        pytest.skip("no bridge can be made here")
    with ExitStack() as undo:
        undo.callback(ip, "link", "delete", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, name in enumerate(NAMES, 1):
            ip("netns", "add", host(name))
            undo.callback(ip, "netns", "delete", host(name))
            ip("link", "add", f"nmt{number}", "type", "veth", "peer", "name", "eth0", "netns", host(name))
            # The system would remove it some time after the namespace, but the next test needs the name at once.
            undo.callback(ip, "link", "delete", f"nmt{number}")
            ip("link", "set", f"nmt{number}", "master", BRIDGE, "up")
            ip("-n", host(name), "address", "add", f"10.77.0.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", host(name), "link", "set", device, "up")
        yield {name: f"10.77.0.{number}" for number, name in enumerate(NAMES, 1)}


@contextmanager
def started(name: str, log: Path, *module: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a Python module on a host."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    command = ["ip", "netns", "exec", host(name), sys.executable, "-m", *module]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("seconds", [2, 40], ids=["so short that nobody notices", "so long that its tasks move"])
def test_a_temporarily_broken_link_changes_no_byte(
    hosts: dict[str, str], shared: Path, tmp_path: Path, seconds: float
) -> None:
    data = wmt22(shared / "corpora", tmp_path / "hosts")
    nmt_prep.run(check_config({**data, "output_dir": str(tmp_path / "local")}, "wmt22"))
    address = f"tcp://{hosts['scheduler']}:8786"
    config, log = tmp_path / "config.yaml", tmp_path / "log.json"
    config.write_text(
        yaml.safe_dump({**data, "engine": {"kind": "dask", "scheduler": address}}, sort_keys=False), encoding="utf-8"
    )

    def seen(text: str, file: Path = log) -> bool:
        return file.exists() and text in file.read_text("utf-8")

    with ExitStack() as stack:
        scheduler = ("distributed.cli.dask_scheduler", "--host", hosts["scheduler"], "--no-dashboard")
        ttl = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s"}
        stack.enter_context(started("scheduler", tmp_path / "scheduler.log", *scheduler, **ttl))
        for name in ("one", "two"):
            worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--memory-limit", "0")
            place = ("--local-directory", str(tmp_path / name), "--no-dashboard")
            stack.enter_context(started(name, tmp_path / f"{name}.log", *worker, *place))
        main = ("nmt_prep", "run", str(config), "--quiet", "--no-preview", "--log-json", str(log))
        run = stack.enter_context(started("scheduler", tmp_path / "run.log", *main))
        wait_until(lambda: seen('"round": "compile", "task"') or run.poll() is not None, 120)
        assert run.poll() is None, (tmp_path / "run.log").read_text("utf-8")
        ip("-n", host("two"), "link", "set", "eth0", "down")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and run.poll() is None:
            time.sleep(0.1)
        ip("-n", host("two"), "link", "set", "eth0", "up")
        assert run.wait(240) == 0, (tmp_path / "run.log").read_text("utf-8")
    assert tree(tmp_path / "hosts") == tree(tmp_path / "local")
