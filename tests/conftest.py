from __future__ import annotations

import ctypes
import functools
import gc
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings

from tests import hub
from tests.hub import TOKEN, Hub
from tests.server import WebServer, web_server

# The time that an example takes depends on the machine. Continuous integration takes the same examples each time, so
# that a change is judged by what it changes; other runs look for new ones. scripts/check --full takes more of them.
settings.register_profile("full", deadline=None, derandomize="CI" in os.environ, max_examples=100)
settings.register_profile("suite", settings.get_profile("full"), max_examples=20)
settings.load_profile("suite")

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"

HAS_TENSORFLOW = find_spec("tensorflow") is not None
collect_ignore = [] if HAS_TENSORFLOW else ["input"]


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names bytes by their argument, since archives contain the time when they were made, and workers must agree."""
    return argname if isinstance(val, bytes) else None


def examples(number: int) -> int:
    """Returns the number of examples of a test that takes ``number`` with the profile "full"."""
    return max(min(number, 5), number * settings().max_examples // 100)


def pytest_configure() -> None:
    """Keeps the files of tests in memory if programs can run there and there is room: flushing then costs nothing."""
    memory = Path("/dev/shm")
    usable = os.access(memory, os.W_OK) and not os.statvfs(memory).f_flag & os.ST_NOEXEC
    if usable and shutil.disk_usage(memory).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the longest tests, so that all workers end at the same time; skips those without TensorFlow."""
    if not HAS_TENSORFLOW:
        for item in items:
            if "tensorflow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="TensorFlow is not installed"))
    items.sort(key=lambda item: item.path.name not in {"test_kill.py", "test_faults.py"})


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects tests without garbage collection, which would take a quarter of the time and find nearly nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spares the garbage collector the modules and tests, which live to the end and are most of all objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def new_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Returns a function that makes an empty directory at each call, for a test with many examples.

    ``tmp_path_factory.mktemp`` lists all earlier directories for each new one.
    """
    parent, numbers = tmp_path_factory.mktemp("directories"), itertools.count()

    def make() -> Path:
        path = parent / str(next(numbers))
        path.mkdir()
        return path

    return make


@pytest.fixture(autouse=True)
def own_cache(new_directory: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tests away from the user's cache, and from each other's."""
    monkeypatch.setenv("NMT_PREP_CACHE", str(new_directory()))


@pytest.fixture(autouse=True, scope="module")
def memory_is_returned(request: pytest.FixtureRequest) -> Iterator[None]:
    """Clears the caches of a test module at its end, and returns freed memory to the system.

    glibc keeps the freed memory of each thread for itself; over thousands of tests that adds up to a gigabyte.
    """
    yield
    for value in vars(request.module).values():
        if isinstance(value, functools._lru_cache_wrapper):
            value.cache_clear()
    if sys.platform == "linux":
        with suppress(AttributeError):  # other C libraries
            ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A web server of this machine."""
    monkeypatch.setenv("no_proxy", "*")
    with web_server() as running:
        yield running


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Returns the directory of real corpora and golden files beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"the real corpora are not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with a finished run of the small corpus, ``run``, to be copied."""
    from nmt_prep.runs.runner import run  # not above, since the process that hands out the tests does not need it
    from tests.corpus import corpus_config, write_corpus

    place = tmp_path_factory.mktemp("finished")
    write_corpus(place, pairs=60, dev=5)
    run(corpus_config(place / "run"))
    return place


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of a finished run of configs/toy-clean.yaml, which tests leave as it is."""
    from tests.reporting.runs import run_toy

    return run_toy(tmp_path_factory.mktemp("toy") / "run")


@pytest.fixture
def running_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Runs a hub without repositories, to which all requests go with its token."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with hub.running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running
