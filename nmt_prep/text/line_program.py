"""Programs that read lines and write as many, kept running between calls."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, Any, Literal, cast

import numpy as np
import pyarrow as pa
from _nmt_prep_core import find_invalid_utf8

from nmt_prep.base.columns import TextColumn, joined_lines
from nmt_prep.base.errors import TokenizerError
from nmt_prep.base.runtime import child, stops

SILENT_SECONDS = 120.0  # Seconds that a program may take for a line

_PIECE = 1 << 16
_MOST_MESSAGES = 1 << 26  # Bytes of messages on standard error that are kept at a time
_SECONDS_BETWEEN_LOOKS = 0.1
_GRACE = 0.02  # Seconds in which a program that has just been started would write more lines than it read
_SHOWN = 60
_GROWTH, _ROOM = 64, 1 << 24  # The output for a column may have that many times its bytes, and bytes more


class ProgramEndedError(TokenizerError):
    """A program ended by itself before it had written a line for each line."""


class TooManyLinesError(TokenizerError):
    """A program wrote more lines than it had read, so its output cannot be assigned to its input."""


class LineProgram:
    """A program that writes a line for each line that it reads. It is thread-safe, and starts with the first lines.

    It ends with the object, or with this process.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        directory: Path,
        *,
        seconds: float | None = None,
        end: Literal["lines", "mark", "exit"] = "lines",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Finds the program.

        Args:
            seconds: how long the program may write nothing; None for :data:`SILENT_SECONDS`.
            end: what ends the answers to the lines of a call: as many lines, an empty line as answer to an empty line,
                or the end of the program, whose input then ends too, so that it starts again with the next call.
            environment: variables to add to the environment.
        """
        self._lock, self._stack = threading.Lock(), ExitStack()
        self._process: Popen[bytes] | None = None
        self._owner = os.getpid()  # a process that was forked starts a program of its own
        self._words = shlex.split(command) if isinstance(command, str) else [*command]
        self._directory, self._shown = directory, command if isinstance(command, str) else shlex.join(command)
        self._seconds, self._end, self._environment = seconds, end, environment
        program = self._words[0] if self._words else ""
        if shutil.which(program if "/" not in program else str((directory / program).absolute())) is None:
            where = f"in {directory}" if "/" in program else "on the PATH"
            raise ValueError(f"there is no program {program!r} {where}, or it may not be executed")
        paths = {word: directory / word for word in self._words}
        self.files = {word: path for word, path in paths.items() if os.path.isfile(path)}  # noqa: PTH113  (any text)

    def apply(self, lines: pa.Array) -> pa.Array:
        """Returns what the program writes for lines."""
        with self._lock:
            try:
                lines = lines.cast(pa.large_string())
                found = self._answers(lines)
                if self._end == "exit":
                    self.close()
                return self._column(found, lines)
            except BaseException:
                self.close()  # lines that are left would be taken for answers to the next ones
                raise

    def end_input(self) -> None:
        """Ends the program's input, so that it ends."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def check_silent(self, seconds: float = 0.0) -> None:
        """Checks that the program has written nothing since its last answer, and writes nothing for some seconds."""
        if self._process is not None and self._process.stdout is not None:
            output = self._process.stdout.fileno()
            if select.select([output], [], [], seconds)[0] and os.read(output, 1):
                what = f"wrote more than it had lines to answer, after the line {self._last[:_SHOWN]!r}"
                raise TooManyLinesError(f"{self._shown} {what}")

    def close(self) -> None:
        """Ends the program; the next lines start it again."""
        self._stack.close()
        self._process = None

    def _answers(self, lines: pa.Array) -> bytes:
        was_running = self._process is not None
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        given, output = process.stdin, process.stdout.fileno()
        if was_running:
            self.check_silent()
        mark = self._end == "mark"
        text = joined_lines(pa.concat_arrays([lines, pa.array([""], lines.type)]) if mark else lines)
        self._last = lines[-1].as_py() if len(lines) else ""
        wanted, limit = len(lines) + mark, len(text) * _GROWTH + _ROOM
        found, ends = bytearray(), 0
        heard, seconds = time.monotonic(), SILENT_SECONDS if self._seconds is None else self._seconds
        while ends < wanted or self._end == "exit":
            if self._end == "exit" and not text:
                given.close()
            has_ended = process.poll() is not None
            readable, writable, _ = select.select([output], [given] if text else [], [], _SECONDS_BETWEEN_LOOKS)
            if writable:
                text = text[self._written(given.fileno(), text) :]
            if readable:
                piece = os.read(output, _PIECE)
                found += piece
                ends += piece.count(b"\n")
            if readable or writable:
                heard = time.monotonic()
            if self._end == "exit" and (not piece if readable else has_ended):
                return self._at_exit(process, bytes(found), lines, seconds)  # its children may hold its output open
            if readable and not piece:
                what = self._near(f"ended after {ends} of {len(lines)} lines", lines, ends)
                raise self._ended(what + self._last_words())
            if time.monotonic() - heard > seconds:
                raise TokenizerError(self._silent(lines, ends, seconds))
            self._check_sizes(found, ends, wanted, limit, lines)
        if len(text) or ends > wanted or not found.endswith(b"\n" * (2 if mark and lines else bool(ends))):
            raise self._too_many(found, len(lines))
        if select.select([output], [], [], 0 if was_running or mark else _GRACE)[0]:
            raise self._too_many(found, len(lines))
        if os.fstat(self._errors.fileno()).st_size:
            self._errors.truncate(0)
        return bytes(found[: -1 if mark else None])

    def _at_exit(self, process: Popen[bytes], found: bytes, lines: pa.Array, seconds: float) -> bytes:
        """Checks the answers of a program that has ended, or ended its output."""
        try:
            status = process.wait(seconds)
        except TimeoutExpired as error:
            raise TokenizerError(self._silent(lines, found.count(b"\n"), seconds)) from error
        if status:
            raise self._ended(f"{self._shown} ended with status {status}{self._last_words()}")
        found += b"\n" * (not found.endswith(b"\n") and len(found) > 0)
        if (ends := found.count(b"\n")) != len(lines):
            what = self._near(f"wrote {ends} lines for {len(lines)} lines", lines, ends)
            raise TokenizerError(f"{what}; it must write a line for each{self._last_words()}")
        return found

    def _ended(self, what: str) -> TokenizerError:
        return TokenizerError(what) if stops() != self._stops else ProgramEndedError(what)

    def _check_sizes(self, found: bytearray, ends: int, wanted: int, limit: int, lines: pa.Array) -> None:
        if len(found) > limit or (ends > wanted and self._end == "exit"):
            what = self._near(f"wrote {len(found):,} bytes or more for {len(lines)} lines", lines, ends)
            raise TokenizerError(f"{what}; it must write a line for each")
        if (size := os.fstat(self._errors.fileno()).st_size) > _MOST_MESSAGES:
            what = f"wrote {size:,} bytes or more to standard error for {len(lines)} lines"
            raise TokenizerError(f"{self._shown} {what}; it may write {_MOST_MESSAGES:,}: let it write fewer messages")

    def _near(self, what: str, lines: pa.Array, ends: int) -> str:
        """Returns an error's text, with the first line that has no answer."""
        near = f", at the line {lines[ends].as_py()[:_SHOWN]!r}" if ends < len(lines) else ""
        return f"{self._shown} {what}{near}"

    def _silent(self, lines: pa.Array, ends: int, seconds: float) -> str:
        how = {
            "lines": "it must flush its output after each line, as programs under stdbuf -oL and python -u do",
            "mark": "it must write a line for each line, then an empty line for the empty line, and flush its output",
            "exit": "it must end when its input ends",
        }[self._end]
        what = f"wrote {ends} of {len(lines)} lines, and nothing for {seconds:g} s"
        return f"{self._near(what, lines, ends)}; {how}"

    def _too_many(self, found: bytearray, count: int) -> TooManyLinesError:
        rest = bytes(found).split(b"\n", count)[-1][:_SHOWN].decode(errors="backslashreplace").strip()
        what = f"more than {count} lines for as many lines{f' (then {rest!r})' * bool(rest)}"
        return TooManyLinesError(f"{self._shown} wrote {what}, or ended, after the line {self._last[:_SHOWN]!r}")

    def _column(self, text: bytes, lines: pa.Array) -> pa.Array:
        data = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        column = TextColumn(np.delete(data, ends), np.concatenate([[0], ends - np.arange(len(ends))]))
        if (invalid := find_invalid_utf8(column.data)) != len(column.data):
            row = int(np.searchsorted(column.offsets, invalid, side="right")) - 1
            shown = lines[row].as_py()[:_SHOWN]
            raise TokenizerError(f"{self._shown} wrote no text: line {row + 1} is not UTF-8, its answer to {shown!r}")
        return column.to_arrow()

    def _started(self) -> Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._owner, self._inherited, self._stack, self._stops = os.getpid(), self._stack, ExitStack(), stops()
            pipe = cast("IO[Any]", PIPE)
            try:
                self._errors = self._stack.enter_context(TemporaryFile("a+b"))  # noqa: SIM115  (the stack closes it)
                self._process = self._stack.enter_context(
                    child(self._words, self._directory, pipe, pipe, self._errors, self._environment)
                )
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
