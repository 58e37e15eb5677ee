"""Programs that read lines and write as many, kept running between calls."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from nmt_prep.base.columns import TextColumn, check_utf8, joined_lines
from nmt_prep.base.errors import TokenizerError
from nmt_prep.base.runtime import child

SILENT_SECONDS = 120.0  # Seconds that a program may take for a line

_PIECE = 1 << 16
_GROWTH, _ROOM = 64, 1 << 24  # The output for a column may have that many times its bytes, and bytes more


class LineProgram:
    """A program that writes a line for each line that it reads. It is thread-safe, and starts with the first lines.

    It ends with the object, or with this process.
    """

    def __init__(self, command: str, directory: Path) -> None:
        self._lock, self._stack = threading.Lock(), ExitStack()
        self._process: Popen[bytes] | None = None
        self._owner = os.getpid()  # a process that was forked starts a program of its own
        self._words, self._directory, self._shown = shlex.split(command), directory, command
        program = self._words[0] if self._words else ""
        if shutil.which(program if "/" not in program else str((directory / program).absolute())) is None:
            where = f"in {directory}" if "/" in program else "on the PATH"
            raise ValueError(f"there is no program {program!r} {where}, or it may not be executed")
        paths = {word: directory / word for word in self._words}
        self.files = {word: path for word, path in paths.items() if path.is_file()}

    def apply(self, lines: pa.Array) -> pa.Array:
        """Returns what the program writes for lines."""
        with self._lock:
            try:
                return self._answers(lines)
            except BaseException:
                self._stack.close()  # lines that are left would be taken for answers to the next ones
                self._process = None
                raise

    def _answers(self, lines: pa.Array) -> pa.Array:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        text = joined_lines(lines.cast(pa.large_string()))
        given, output = process.stdin.fileno(), process.stdout.fileno()
        found, ends, limit = bytearray(), 0, len(text) * _GROWTH + _ROOM
        heard = time.monotonic()
        while ends < len(lines):
            readable, writable, _ = select.select([output], [given] if text else [], [], 1.0)
            if writable:
                text = text[self._written(given, text) :]
            if readable:
                piece = os.read(output, _PIECE)
                if not piece:
                    raise TokenizerError(
                        f"{self._shown} ended after {ends} of {len(lines)} lines, at the line "
                        f"{lines[ends].as_py()[:60]!r}{self._last_words()}"
                    )
                found += piece
                ends += piece.count(b"\n")
            if readable or writable:
                heard = time.monotonic()
            elif time.monotonic() - heard > SILENT_SECONDS:
                raise TokenizerError(
                    f"{self._shown} wrote {ends} of {len(lines)} lines, and nothing for {SILENT_SECONDS:g} s at the "
                    f"line {lines[ends].as_py()[:60]!r}; it must flush its output after each line, as programs under "
                    "stdbuf -oL and python -u do"
                )
            if len(found) > limit:
                raise TokenizerError(f"{self._shown} wrote more than {limit:,} bytes for {len(lines)} lines")
        if ends > len(lines) or not found.endswith(b"\n" * bool(ends)) or select.select([output], [], [], 0)[0]:
            raise TokenizerError(f"{self._shown} wrote more than {len(lines)} lines for as many lines, or ended")
        return self._column(bytes(found))

    def _column(self, text: bytes) -> pa.Array:
        data = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        column = TextColumn(np.delete(data, ends), np.concatenate([[0], ends - np.arange(len(ends))]))
        check_utf8(column, 1)
        return column.to_arrow()

    def _started(self) -> Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._owner, self._inherited, self._stack = os.getpid(), self._stack, ExitStack()
            self._errors = self._stack.enter_context(TemporaryFile())  # noqa: SIM115  (the stack closes it)
            pipe = cast("IO[Any]", PIPE)
            try:
                self._process = self._stack.enter_context(child(self._words, self._directory, pipe, pipe, self._errors))
            except OSError as error:
                raise TokenizerError(f"cannot run {self._shown}: {error.strerror}") from error
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _written(self, given: int, text: memoryview) -> int:
        try:
            return os.write(given, text[:_PIECE])
        except BrokenPipeError:
            return len(text)  # it reads no more, but may have more to write
        except BlockingIOError:
            return 0

    def _last_words(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        last = os.pread(self._errors.fileno(), _PIECE, max(0, size - _PIECE))
        shown = last.decode(errors="backslashreplace").strip().rpartition("\n")[2]
        return f": {shown}" if shown else ""

    def __del__(self, current: Callable[[], int] = os.getpid) -> None:  # at the end of Python, `os` is gone
        if self._owner == current():
            self._stack.close()
