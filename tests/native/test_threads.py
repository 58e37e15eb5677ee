"""Threads of the native core."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from _nmt_prep_core import T2TTokenCounter

text = np.frombuffer(b"a b " * 400_000, np.uint8)
offsets = np.arange(0, len(text) + 1, 4, dtype=np.int64)
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (200 << 20),) * 2)
counter = T2TTokenCounter()
counter.add(text, offsets, 16)
print(sorted(counter.items()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set as Linux does it")
def test_work_goes_on_if_threads_cannot_be_started() -> None:
    larger_stacks = 'ulimit -s 1000000 && exec "$0" -c "$1"'  # than there is memory for
    done = subprocess.run(
        ["/bin/sh", "-c", larger_stacks, sys.executable, PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    counts = "[(' ', 400000), ('a', 400000), ('b', 400000)]\n"
    assert (done.returncode, done.stdout) == (0, counts), done.stderr
