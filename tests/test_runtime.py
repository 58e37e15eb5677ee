"""Tests of nmt_prep.runtime."""

import subprocess
import sys

import pytest

KEPT = """
import resource
from nmt_prep.runtime import keep_freed_memory

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
