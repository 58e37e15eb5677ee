from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import BaseContext

import pytest

TASKS = (
    "nmt_prep.stages.clean.first_rules",
    "nmt_prep.stages.compile.compile_tasks",
    "nmt_prep.stages.encode.encode_tasks",
)


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory) -> BaseContext:
    """Returns the context of processes that are forked from one that has imported what most tasks need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*TASKS, "pyarrow.parquet", "tests.pipeline.engines.numbers", "distributed"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NMT_PREP_CACHE", str(tmp_path_factory.mktemp("cache")))
        forkserver.ensure_running()
    return context
