"""Tests of nmt_prep.base.runtime."""

import subprocess
import sys
from pathlib import Path

import pytest

from nmt_prep.base.errors import MissingPackageError
from nmt_prep.base.runtime import kept, needed_extra

KEPT = """
import resource
from nmt_prep.base.runtime import keep_freed_memory

keep_freed_memory()
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    memory = bytearray(b"x") * (20 << 20)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    del memory
"""


def test_freed_memory_is_used_again_without_page_faults() -> None:
    asked = "import _nmt_prep_core as core; print(core.keep_freed_memory(2))"
    if subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True).stdout != b"True\n":
        pytest.skip("this C library, or a sanitizer's, cannot be told")
    shown = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, check=True).stdout
    first, second = map(int, shown.split())
    assert first > 1000
    assert second < 100


CHILD = """
import sys, threading
from pathlib import Path
from nmt_prep.base.runtime import child

def run():
    command = ["sh", "-c", "echo ready; sleep 3600; :"]
    with open("/dev/null", "rb") as given, child(command, Path(), given, sys.stdout, sys.stderr) as program:
        program.wait()

threading.Thread(target=run).start()
"""


def test_a_program_ends_if_this_process_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        parent.kill()
        assert parent.communicate(timeout=60)[0] == b""  # at the end of all processes that hold the pipe


def test_the_last_results_are_kept() -> None:
    computed = []

    @kept(2)
    def double(number: int) -> int:
        computed.append(number)
        return 2 * number

    assert [double(number) for number in (1, 2, 1, 3, 2, 1)] == [2, 4, 2, 6, 4, 2]
    assert computed == [1, 2, 3, 1]


def test_a_library_that_is_installed_but_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("from json import nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        MissingPackageError, match=r"^x needs broken_library, which cannot be loaded \(cannot import name"
    ):
        needed_extra("broken_library", "torch", "x")
