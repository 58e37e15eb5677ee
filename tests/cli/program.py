"""Runs the command line within the test's process, which is much faster than starting one."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from nmt_prep.cli.app import run_app


class Ended(NamedTuple):
    """Exit status and output of a command."""

    returncode: int
    stdout: str
    stderr: str


def nmt_prep(*arguments: str | Path, stdin: bytes | Path = b"", append_to: Path | None = None) -> Ended:
    """Runs a command with the given standard input, and with its own standard streams and file descriptors 0 to 2.

    Standard input is a file if ``stdin`` is a path. With ``append_to``, standard output is appended to a file.
    """
    with ExitStack() as stack:
        inputs, outputs, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        if append_to is not None:
            outputs = stack.enter_context(append_to.open("a+b"))
        start = outputs.seek(0, os.SEEK_END)
        if isinstance(stdin, Path):
            inputs = stack.enter_context(stdin.open("rb"))
        else:
            inputs.write(stdin)
            inputs.seek(0)
        with _standard_streams(inputs.fileno(), outputs.fileno(), errors.fileno()):
            with mock.patch.object(sys, "argv", ["nmt-prep", *map(str, arguments)]):
                status = run_app()
            sys.stderr.flush()
        outputs.seek(start)
        errors.seek(0)
        return Ended(status, outputs.read().decode(), errors.read().decode())


@contextmanager
def _standard_streams(*files: int) -> Iterator[None]:
    """Makes open files the standard streams."""
    kept = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        os.dup2(file, number)
    streams = [os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")]
    try:
        with mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]):
            yield
    finally:
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)
