"""Step ``program``: a program of the user that reads lines and writes as many.

``program: "mecab -O wakati"`` starts the program once, in the config's directory, and keeps it running. It must
write a line for each line that it reads, in order, and flush its output after each line.
"""

from __future__ import annotations

import pyarrow as pa
from pydantic import Field

from nmt_prep.text.line_program import LineProgram
from nmt_prep.text.step import Step, StepContext, StepOptions


class ProgramOptions(StepOptions):
    """A program."""

    command: str = Field(min_length=1, pattern=r"^[^\x00]+$")
    """a text that is split as a shell does: the program and its arguments"""


class Program(Step[ProgramOptions]):
    """A program of the user."""

    options = ProgramOptions
    short = "command"
    runs_code = True

    def __init__(self, options: ProgramOptions, context: StepContext) -> None:
        self._program = LineProgram(options.command, context.base_dir)
        self.files = self._program.files

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        return self._program.apply(lines)
