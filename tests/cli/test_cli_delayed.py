"""Checks that commands do not load libraries they do not need; each test inspects the modules of a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from nmt_prep.cli import LIBRARIES
from nmt_prep.cli.app import COMMANDS
from tests.corpus import write_config

HEAVY = {library for group in LIBRARIES for library in group}

_COMMANDS = """\
import json, sys
from nmt_prep.__main__ import main
loaded = []
for arguments in json.loads(sys.argv.pop()):
    sys.argv = ["nmt-prep", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
    loaded.append([name for name, module in sys.modules.items() if type(module).__name__ != "StandIn"])
print("modules", json.dumps(loaded))
"""


def printed_by(program: str, *arguments: str) -> Any:
    """Returns what a program prints after "modules"."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(child, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rpartition("modules ")[2])


def loaded_by(*commands: list[str], before: str = "") -> list[set[str]]:
    """Returns the modules that are loaded after each of several commands of one process."""
    return [set(modules) for modules in printed_by(before + _COMMANDS, json.dumps(commands))]


def test_a_run_loads_no_tensorflow_and_listing_and_a_run_with_nothing_to_do_no_heavy_library(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    plan, tasks, run = loaded_by(["plan", config], ["tasks", config], ["run", config])
    assert not {*HEAVY, "tensorflow"} & (plan | tasks)
    assert {"numpy", "pyarrow", "nmt_prep.training.batches.batch_reader"} <= run
    assert "tensorflow" not in run
    (second,) = loaded_by(["run", config])
    assert not {*HEAVY, "tensorflow", "charset_normalizer", "fsspec", "dask"} & second


def test_a_command_loads_no_other_and_help_texts_no_stage() -> None:
    names = ["plan", "align", "encode"]
    *each, all_commands = loaded_by(*([name, "--help"] for name in names), ["--help"])
    modules = {module.__name__ for module in COMMANDS.values()}
    for place, loaded in enumerate(each, 1):
        assert modules & loaded == {COMMANDS[name].__name__ for name in names[:place]}
    assert modules <= all_commands
    assert not {*HEAVY, "nmt_prep.runs.checks", "nmt_prep.stages", "nmt_prep.subwords"} & all_commands


def test_alignment_loads_numpy_and_no_other_heavy_library(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a house\tein Haus\n" * 3)
    (loaded,) = loaded_by(["align", "--quiet"], before=f"import os\nos.dup2(os.open({str(text)!r}, os.O_RDONLY), 0)\n")
    assert {*HEAVY, "yaml"} & loaded == {"numpy"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("nmt_prep.")}
    assert not {"config", "corpora", "pipeline", "sources", "stages", "subwords"} & ours


def test_stand_ins_become_the_libraries_when_they_are_used() -> None:
    program = """\
import json, sys, threading
from nmt_prep.cli import delay_libraries
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
    assert printed_by(program) == [["StandIn", "StandIn"], [6] * 8, "module", message]


def test_delayed_imports_give_stand_ins_of_modules() -> None:
    program = """\
import json, sys
from nmt_prep.cli import delayed_imports
with delayed_imports():
    import collections
    from nmt_prep.base import digests, sides as names
before = "nmt_prep.base.sides" in sys.modules, type(names).__name__, type(collections).__name__
sides = names.SIDES
loaded = ["nmt_prep.base.sides" in sys.modules, "nmt_prep.base.digests" in sys.modules]
print("modules", json.dumps([before, sides, *loaded]))
"""
    assert printed_by(program) == [[False, "StandIn", "module"], ["source", "target"], True, False]
