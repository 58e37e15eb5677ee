"""Rule ``program``: an external program.

``program: {command: [./judge.py, --fast]}`` runs a program in the directory of the config for each batch of pairs. The
program reads a line for each pair from standard input: source and target, separated by a tab, or only the text in a
corpus of one side. Tabs within the text are replaced by spaces. For each line, the program writes a line with 1 for a
pair that passes or 0 for one that does not. If the rule has ``min`` or ``max``, it writes a number instead.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from nmt_prep.base.columns import joined_lines
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.runtime import child
from nmt_prep.cleaning.rule import Context, OwnBounds, Pairs, Rule, Values

_SHOWN = 60


_BYTES_A_LINE = 256  # Limit of the output, for each pair
_ERROR_BYTES = 1 << 26  # Limit of the messages on standard error, for each batch of pairs
_SECONDS_BETWEEN_LOOKS = 0.05  # Seconds between checks of the sizes of the output and the messages


def _words(value: Any) -> Any:
    return tuple(shlex.split(value)) if isinstance(value, str) else value


class ProgramOptions(OwnBounds):
    """A program that judges pairs."""

    command: Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)]
    """a list of words, or a text that is split as a shell does: the program and its arguments"""


class ProgramRule(Rule[ProgramOptions]):
    """An external program."""

    columns = ("pair",)

    def __init__(self, options: ProgramOptions, context: Context) -> None:
        self._command, self._directory, self._sides = options.command, context.base_dir, context.sides
        self._shown = shlex.join(options.command)
        self._numbers = options.numbers
        self.bounds = (options.bounds(),)
        self.edges = options.edges()
        files = {word: context.base_dir / word for word in options.command}
        self.files = {f"program {word}": path for word, path in files.items() if path.is_file()}
        program = options.command[0]
        if shutil.which(program if "/" not in program else str((context.base_dir / program).absolute())) is None:
            where = f"in {context.base_dir}" if "/" in program else "on the PATH"
            raise ValueError(f"there is no program {program} {where}, or it may not be executed")

    def values(self, pairs: Pairs) -> Values:
        lines = self._run(self._input(pairs), len(pairs)).split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        if len(lines) != len(pairs):
            raise CleaningError(
                f"{self._shown} wrote {len(lines)} lines for {len(pairs)} pairs; it must write a line for each"
            )
        return np.array([[self._value(number, line) for number, line in enumerate(lines, 1)]], np.float64)

    def _input(self, pairs: Pairs) -> memoryview:
        columns = [pc.replace_substring(pairs.arrow(side), "\t", " ") for side in self._sides]
        return joined_lines(pc.binary_join_element_wise(*columns, pa.scalar("\t", pa.large_string())))

    def _run(self, text: memoryview, pairs: int) -> bytes:
        """Returns what the program writes to its standard output.

        Its streams are files: child processes may hold them open after the program ends, and it need not read its
        input.
        """
        limit = (pairs + 1) * _BYTES_A_LINE
        with self._streams(text) as (given, output, errors):
            try:
                with child(self._command, self._directory, given, output, errors) as process:
                    while process.poll() is None:
                        self._check_sizes(output, limit, errors, pairs)
                        with suppress(TimeoutExpired):
                            process.wait(_SECONDS_BETWEEN_LOOKS)
            except OSError as error:
                raise CleaningError(f"cannot run {self._shown}: {error.strerror}") from error
            self._check_sizes(output, limit, errors, pairs)
            if process.returncode:
                last = _end_of(errors).decode(errors="backslashreplace").strip().rpartition("\n")[2]
                raise CleaningError(f"{self._shown} ended with status {process.returncode}{': ' * bool(last)}{last}")
            return _end_of(output, limit)

    @contextmanager
    def _streams(self, text: memoryview) -> Iterator[tuple[IO[bytes], IO[bytes], IO[bytes]]]:
        """Yields temporary files for standard input, output and error; the first has the text."""
        try:
            with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
                given.write(text)
                given.seek(0)
                yield given, output, errors
        except OSError as error:
            raise CleaningError(
                f"cannot write the pairs for {self._shown} to a temporary file: {error.strerror}; free space in "
                f"{tempfile.tempdir or 'TMPDIR'}, or set TMPDIR to another directory"
            ) from error

    def _check_sizes(self, output: IO[bytes], limit: int, errors: IO[bytes], pairs: int) -> None:
        if (size := os.fstat(output.fileno()).st_size) > limit:
            raise CleaningError(
                f"{self._shown} wrote {size:,} bytes or more for {pairs} pairs; it must write a line for each"
            )
        if (size := os.fstat(errors.fileno()).st_size) > _ERROR_BYTES:
            raise CleaningError(
                f"{self._shown} wrote {size:,} bytes or more to standard error for {pairs} pairs; it may write "
                f"{_ERROR_BYTES:,}: let it write fewer messages"
            )

    def _value(self, number: int, line: bytes) -> float:
        try:
            value = float(line)
        except ValueError:
            value = math.nan
        if math.isnan(value) or not (self._numbers or value in (0, 1)):
            expected = "a number" if self._numbers else "0 or 1; for other numbers, give the rule min or max"
            shown = line[:_SHOWN].decode(errors="backslashreplace")
            raise CleaningError(f"{self._shown} wrote {shown!r} in line {number}; each line must be {expected}")
        return value


def _end_of(file: IO[bytes], most: int = 1 << 16) -> bytes:
    """Returns the last bytes of a file, ``most`` at the most."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), most, max(size - most, 0))
