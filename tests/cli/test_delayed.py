"""Checks that commands do not load libraries they do not need; each test inspects the modules of a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.cli.app import COMMANDS
from nmt_prep.cli.delayed import LIBRARIES
from tests.corpus import write_config

HEAVY = {library for group in LIBRARIES for library in group}

_COMMAND = """\
import json, sys
from nmt_prep.__main__ import main
sys.argv = ["nmt-prep", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
loaded = [name for name, module in sys.modules.items() if type(module).__name__ != "StandIn"]
print("modules", json.dumps(loaded))
"""


def loaded_by(program: str, *arguments: str | Path) -> Any:
    """Returns what a program prints after "modules"."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(child, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("modules ")[2])


def test_a_run_loads_no_tensorflow_and_one_with_nothing_to_do_no_heavy_library(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    first = loaded_by(_COMMAND, "run", config)
    assert {"numpy", "pyarrow", "nmt_prep.batches.reader"} <= set(first)
    assert "tensorflow" not in first
    second = loaded_by(_COMMAND, "run", config)
    assert not {*HEAVY, "tensorflow", "charset_normalizer", "fsspec", "dask"} & set(second)


@pytest.mark.parametrize("command", ["plan", "tasks"])
def test_listing_loads_no_heavy_library(tmp_path: Path, command: str) -> None:
    assert not {*HEAVY, "tensorflow"} & set(loaded_by(_COMMAND, command, write_config(tmp_path)))


def test_help_texts_load_no_stage() -> None:
    assert not {*HEAVY, "nmt_prep.checks", "nmt_prep.stages", "nmt_prep.subwords"} & set(loaded_by(_COMMAND, "--help"))


def test_alignment_loads_numpy_and_no_other_heavy_library(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a house\tein Haus\n" * 3)
    program = f"import os\nos.dup2(os.open({str(text)!r}, os.O_RDONLY), 0)\n{_COMMAND}"
    loaded = set(loaded_by(program, "align", "--quiet"))
    assert {*HEAVY, "yaml"} & loaded == {"numpy"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("nmt_prep.")}
    assert not {"config", "corpora", "pipeline", "sources", "stages", "subwords"} & ours


@pytest.mark.parametrize("command", ["plan", "align", "encode"])
def test_a_command_does_not_load_the_others(command: str) -> None:
    loaded = set(loaded_by(_COMMAND, command, "--help"))
    modules = {module.__name__ for module in COMMANDS.values()}
    assert modules & loaded == {COMMANDS[command].__name__}


def test_stand_ins_become_the_libraries_when_they_are_used() -> None:
    program = """\
import json, sys, threading
from nmt_prep.cli.delayed import delay_libraries
delay_libraries()
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
before = type(np).__name__, type(sys.modules["pyarrow"]).__name__
results = []
work = lambda: results.append(pc.sum(pa.array(np.arange(4))).as_py())
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
import pyarrow
assert isinstance(pyarrow.array([1]), pa.Array)
assert npt.NDArray[np.int32] == __import__("numpy.typing").typing.NDArray[np.int32]
try:
    np.no_such_name
except AttributeError as error:
    missing = str(error)
print("modules", json.dumps([before, results, type(pyarrow).__name__, missing]))
"""
    message = "module 'numpy' has no attribute 'no_such_name'"
    assert loaded_by(program) == [["StandIn", "StandIn"], [6] * 8, "module", message]


def test_delayed_imports_give_stand_ins_of_modules() -> None:
    program = """\
import json, sys
from nmt_prep.cli.delayed import delayed_imports
with delayed_imports():
    import collections
    from nmt_prep import digests, sides as names
before = "nmt_prep.sides" in sys.modules, type(names).__name__, type(collections).__name__
print("modules", json.dumps([before, names.SIDES, "nmt_prep.sides" in sys.modules, "nmt_prep.digests" in sys.modules]))
"""
    assert loaded_by(program) == [[False, "StandIn", "module"], ["source", "target"], True, False]
