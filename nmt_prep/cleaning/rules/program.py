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
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from subprocess import Popen
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from nmt_prep.children import child
from nmt_prep.cleaning.rule import Context, OwnBounds, Pairs, Rule, Values
from nmt_prep.columns import joined_lines
from nmt_prep.errors import CleaningError

_SHOWN = 60


_BLOCK = 1 << 16
"""Number of bytes that are read at once, and that are kept of the messages of a program."""

_BYTES_A_LINE = 256
"""Limit of the output, for each pair."""

_SECONDS_BETWEEN_LOOKS = 0.05
"""Time between two looks whether a silent program has ended."""


def _words(value: Any) -> Any:
    return tuple(shlex.split(value)) if isinstance(value, str) else value


class ProgramOptions(OwnBounds):
    """A program that judges pairs."""

    command: Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)] = Field(
        description="a list of words, or a text that is split as a shell does: the program and its arguments"
    )


class ProgramRule(Rule[ProgramOptions]):
    """An external program."""

    name = "program"
    options = ProgramOptions
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
        try:
            with child(self._command, self._directory) as process:
                output, errors = self._exchanged(process, text, pairs)
                status = process.wait()
        except OSError as error:
            raise CleaningError(f"cannot run {self._shown}: {error.strerror}") from error
        if status:
            last = errors.decode(errors="backslashreplace").strip().rpartition("\n")[2]
            raise CleaningError(f"{self._shown} ended with status {status}{': ' * bool(last)}{last}")
        return output

    def _exchanged(self, process: Popen[bytes], text: memoryview, pairs: int) -> tuple[bytes, bytes]:
        """Writes to a program, and returns its output and the end of its messages.

        When the program has ended, nothing more is awaited, even if its children hold its standard streams open.

        Raises:
            CleaningError: it writes much more than a line for each pair.
        """
        output, errors = bytearray(), bytearray()
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018  (they are pipes)
        os.set_blocking(process.stdin.fileno(), False)
        with DefaultSelector() as selector:
            selector.register(process.stdin, EVENT_WRITE)
            selector.register(process.stdout, EVENT_READ, output)
            selector.register(process.stderr, EVENT_READ, errors)
            while selector.get_map():
                ended = process.poll() is not None
                ready = [key for key, _ in selector.select(0 if ended else _SECONDS_BETWEEN_LOOKS)]
                if ended and all(key.data is not output for key in ready):
                    break
                for key in ready:
                    if key.data is None:
                        text = rest = _written(key.fd, text)
                    else:
                        key.data.extend(rest := memoryview(os.read(key.fd, _BLOCK)))
                    if not rest:  # all is written, or the program has closed its end
                        selector.unregister(key.fileobj)
                        if key.data is None:
                            process.stdin.close()
                del errors[:-_BLOCK]
                if len(output) > (pairs + 1) * _BYTES_A_LINE:
                    raise CleaningError(
                        f"{self._shown} wrote {len(output):,} bytes or more for {pairs} pairs; it must write a line "
                        "for each"
                    )
        return bytes(output), bytes(errors)

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


def _written(descriptor: int, text: memoryview) -> memoryview:
    """Writes the beginning of a text to a pipe, as far as it can take it, and returns the rest."""
    try:
        return text[os.write(descriptor, text[:_BLOCK]) :]
    except BrokenPipeError:
        return text[:0]  # the program need not read all
