"""Step ``python``: a function of the user, called for each line.

``python: my_words:segmented`` names a function of a module that is beside the config or installed. It takes a line and
returns the changed line, or a list of words, which are joined by a space.
"""

from __future__ import annotations

import pyarrow as pa
from pydantic import Field

from nmt_prep.base.errors import TokenizerError
from nmt_prep.base.runtime import unstoppable
from nmt_prep.text.functions import described, load_function
from nmt_prep.text.step import Step, StepContext, StepOptions

GROUP = "nmt_prep.line_functions"  # Entry point group for functions in installed packages


class PythonOptions(StepOptions):
    """A function of lines."""

    function: str = Field(min_length=1)
    """module:function, beside the config or installed, or an entry point's name in the group nmt_prep.line_functions:
    the function to call"""


class Python(Step[PythonOptions]):
    """A function of the user."""

    options = PythonOptions
    short = "function"
    runs_code = True

    def __init__(self, options: PythonOptions, context: StepContext) -> None:
        self._name = options.function
        self._function, file = load_function(options.function, context.base_dir, GROUP)
        self.files = {} if file is None else {options.function: file}

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        return pa.array([self._changed(line) for line in lines.to_pylist()], pa.large_string())

    def _changed(self, line: str) -> str:
        try:
            with unstoppable():
                made = self._function(line)
                made = made if isinstance(made, str) else " ".join(made)
        except (Exception, SystemExit) as error:
            raise TokenizerError(f"{self._name} failed on the line {line[:60]!r}: {described(error)}") from error
        return one_line(made, self._name, line)


def one_line(made: str, name: str, line: str) -> str:
    """Returns a line that was made from another; raises an error if it is more than one line, or not text."""
    if "\n" in made or any("\ud800" <= character <= "\udfff" for character in made):
        raise TokenizerError(
            f"{name} made {made[:60]!r} of the line {line[:60]!r}; it must return one line of text, without line feeds "
            "and surrogates"
        )
    return made
