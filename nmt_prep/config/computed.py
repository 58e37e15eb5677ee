"""The config's schema for computed values: numbers and texts that a program or a function makes from texts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nmt_prep.config.section import Count, Location, Section

_MOST_CANDIDATES = 1000


def _words(value: Any) -> Any:
    return tuple(shlex.split(value)) if isinstance(value, str) else value


_Argument = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Command = Annotated[tuple[_Argument, ...], BeforeValidator(_words), Field(min_length=1)]


def _text(value: object) -> object:
    return str(value) if isinstance(value, int | float) else value


Version = Annotated[str, BeforeValidator(_text)]


class ComputedValue(Section):
    """A value that a program or a function computes, once for each distinct text."""

    program: Command | None = None
    """a list of words, or a text that is split as a shell does: a program that writes a line for each line it reads;
    {source} and {target} stand for the languages"""
    python: str | None = Field(None, min_length=1)
    """module:function, or an entry point's name in the group nmt_prep.rules: a function to call instead of a program"""
    input: Literal["pair", "source", "target", "any"] | None = None
    """pair, source, target, any, or null for pair or what the function takes: the text to compute the value from; any
    also takes the only side of a corpus"""
    output: Literal["number", "text"] = "number"
    """number or text: the kind of value"""
    candidates: Count = Field(1, ge=1, le=_MOST_CANDIDATES)
    """an integer from 1 to 1000: texts per input, separated by tabs"""
    version: Version = ""
    """a text or number: what the command does not show, such as a model; a new version recomputes all values"""
    batch: Count = Field(1024, ge=1, le=65_536)
    """an integer from 1 to 65536: inputs per call"""
    by_length: bool = False
    """true or false: sort inputs by length first"""
    workers: Count = Field(1, ge=1, le=256)
    """an integer from 1 to 256: processes per program"""
    end: Literal["lines", "mark", "exit"] = "lines"
    """lines, mark or exit: what ends a batch's answers: the last line, an empty line, or the program's exit"""
    echo: bool = False
    """true or false: each answer ends in a tab and its input"""
    seconds: float = Field(600.0, gt=0, strict=False)
    """a number > 0: the maximum silence before a program counts as stuck"""
    restarts: Count = Field(2, ge=0, le=100)
    """an integer from 0 to 100: restarts per batch after a program ends early"""
    cache: Location | None = None
    """a path, or null for the cache directory: where values are stored; machines can share it"""

    def _problems(self) -> Iterator[str]:
        if (self.program is None) == (self.python is None):
            yield "give either program or python"
        if self.output == "number" and self.candidates > 1:
            yield "candidates are texts; set output to text"
        for key in ("end", "echo", "workers") if self.python is not None else ():
            if getattr(self, key) != type(self).model_fields[key].default:
                yield f"{key} is for programs; remove it"

    @property
    def name(self) -> str:
        """The program and its arguments, or the function."""
        return self.python or shlex.join(self.program or ())

    @property
    def definition(self) -> dict[str, Any]:
        """The keys that the values depend on, besides files."""
        keys = {"version", "program", "python", "input", "output", "candidates"}
        return self.model_dump(mode="json", include=keys)
