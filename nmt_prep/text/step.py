"""The interface for steps: a step turns text lines into as many lines.

Every step is a module in :mod:`nmt_prep.text.steps`, with its options as a :class:`~nmt_prep.config.Section`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import TextStep, apply_steps, simple_step

from nmt_prep.base.columns import TextColumn
from nmt_prep.config import Section
from nmt_prep.config.section import Name

WHITE_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # a class of Perl's \s, for patterns

EXAMPLES = 3  # Number of altered lines that are named for each step

O = TypeVar("O", bound=Section)  # noqa: E741  (O for options)


@dataclass(frozen=True)
class StepContext:
    """The text that a step is for."""

    language: str  # language tag of the lines
    base_dir: Path  # the directory that paths in options are relative to
    trusted: bool = True  # False for steps from elsewhere, whose programs and modules are not run
    copies: frozenset[str] | None = None  # the only files that may be read; None for any

    def file(self, path: str) -> Path:
        """Returns the file that an option names."""
        if self.copies is not None and path not in self.copies:
            raise ValueError(f"names the file {path}, which is not beside the vocabulary")
        return self.base_dir / path

    @property
    def base_language(self) -> str:
        """The language without region and script, in lower case."""
        return self.language.replace("_", "-").partition("-")[0].lower()


class StepOptions(Section):
    """The options that every step of this package has."""

    label: Name | None = None
    """a name, or null for the step's own: what counts and reports call the step"""


class Step(ABC, Generic[O]):
    """One change of lines. It is thread-safe."""

    options: ClassVar[type[Section]]
    """Type of the options. A value that is no mapping is short for the ``short`` option."""

    short: ClassVar[str | None] = None
    """The option that a single value stands for, or None if the step takes none."""

    native: TextStep | None = None
    """The step in the core; None if the step is in Python."""

    files: Mapping[str, Path] = MappingProxyType({})
    """The files whose content decides the result: by the names of the options that give their paths, or of code."""

    runs_code: ClassVar[bool] = False
    """True if the options name code to run."""

    spec: tuple[str, Section]
    """The step's name, and its options."""

    @property
    def label(self) -> str:
        """What counts and reports call the step."""
        return getattr(self.spec[1], "label", None) or self.spec[0]

    @abstractmethod
    def __init__(self, options: O, context: StepContext) -> None:
        """Makes the step.

        Raises:
            ValueError: the options or their files do not suit the step or the language.
        """

    @abstractmethod
    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        """Returns the changed lines as a ``large_string`` array."""

    def contents(self) -> dict[str, bytes]:
        """Returns the contents of files that a vocabulary must copy, by the options that name the files."""
        fields = type(self.spec[1]).model_fields
        return {name: path.read_bytes() for name, path in self.files.items() if name in fields}

    def undo(self) -> TextStep | None:
        """Returns the step that undoes this step as far as possible, or None if no step can."""
        return None


class NativeStep(Step[O]):
    """A step in the core."""

    native: TextStep

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        return apply_native((self.native,), lines, threads).lines


class NamedStep(NativeStep[O]):
    """A step in the core that needs no more than its name, which is also its module's name."""

    options: ClassVar[type[Section]] = StepOptions

    def __init__(self, options: O, context: StepContext) -> None:
        del options
        self.native = named_step(type(self).__module__.rpartition(".")[2], context.base_language)


@lru_cache(256)
def named_step(name: str, language: str) -> TextStep:
    """Returns a step of the core, which all chains share, because some take long to make."""
    return simple_step(name, language)


class Altered(NamedTuple):
    """Lines after steps of the core."""

    lines: pa.Array  # a `large_string` array; the given one if no line was altered
    counts: npt.NDArray[np.int64]  # for each step, the number of lines that it altered
    first: npt.NDArray[np.int64]  # for each step, the indexes of the first lines that it altered, then -1


def apply_native(steps: tuple[TextStep, ...], lines: pa.Array, threads: int) -> Altered:
    """Applies steps of the core."""
    column = TextColumn.from_arrow(lines)
    data, offsets, counts, first = apply_steps(steps, column.data, column.offsets, threads)
    made = TextColumn(data, offsets).to_arrow() if len(offsets) else lines.cast(pa.large_string())
    return Altered(made, counts, first.reshape(len(steps), EXAMPLES))
