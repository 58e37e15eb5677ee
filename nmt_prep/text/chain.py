"""Chains of steps, which are applied in the written order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import TextStep

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import TokenizerError
from nmt_prep.text.step import EXAMPLES, Step, StepContext, apply_native
from nmt_prep.text.steps import make_step


class Changed(NamedTuple):
    """Lines after a chain."""

    lines: pa.Array  # a `large_string` array with a string for each line
    altered: tuple[int, ...]  # for each step, the number of lines that it altered
    first: tuple[tuple[int, ...], ...]  # for each step, the indexes of the first lines that it altered


class Chain:
    """Steps in the order in which they are applied; consecutive native steps run in one call."""

    def __init__(self, steps: Sequence[Step[Any]]) -> None:
        self.steps = tuple(steps)
        seen = Counter[str]()
        self.labels = tuple(_numbered(step.label, seen) for step in steps)
        """The labels of the steps. From the second on, equal ones have a number."""

    @classmethod
    def of(cls, specs: Iterable[object], context: StepContext) -> Chain:
        """Makes the steps of a list such as ``[{punctuation: moses}, "moses", {truecase: model.en}]``.

        A step is its name, or a mapping from its name to its options, or to the only value that it needs.
        """
        steps, problems = list[Step[Any]](), list[str]()
        for spec in specs:
            try:
                steps.append(make_step(spec, context))
            except ValueError as error:
                problems.extend(str(error).splitlines())
        if problems:
            raise ValueError("\n".join(problems))
        return cls(steps)

    def apply(self, lines: pa.Array, threads: int = 1) -> Changed:
        """Changes lines; line i of the result is made from line i alone."""
        lines, altered, first = lines.cast(pa.large_string()), list[int](), list[list[int]]()
        for _, group in groupby(self.steps, lambda step: step.native is None):
            steps = [*group]
            if native := tuple(step.native for step in steps if step.native is not None):
                lines, counts, named = apply_native(native, lines, threads)
                altered += counts.tolist()
                first += named.tolist()
                continue
            for step in steps:
                changed = _applied(step, lines, threads)
                places = _different(changed, lines)
                altered.append(len(places))
                first.append(places[:EXAMPLES].tolist())
                lines = changed
        return Changed(lines, tuple(altered), tuple(tuple(i for i in each if i >= 0) for each in first))

    def trace(self, lines: pa.Array) -> Iterator[pa.Array]:
        """Yields the lines before all steps, and after each."""
        lines = lines.cast(pa.large_string())
        yield lines
        for step in self.steps:
            lines = step.apply(lines)
            yield lines

    def undo(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        """Undoes the steps from the last to the first, as far as they can be undone."""
        undone = (step.undo() for step in reversed(self.steps))
        steps: tuple[TextStep, ...] = tuple(step for step in undone if step is not None)
        return apply_native(steps, lines, threads).lines


def _applied(step: Step[Any], lines: pa.Array, threads: int) -> pa.Array:
    """Applies a step in Python, which may be of another package."""
    made = step.apply(lines, threads)
    if not isinstance(made, pa.LargeStringArray) or len(made) != len(lines) or made.null_count:
        raise TokenizerError(
            f"the step {step.label} returned no lines, or not as many as it got; it must return {len(lines)} lines as "
            "an Arrow array of the type large_string, without nulls"
        )
    column = TextColumn.from_arrow(made)
    if (column.data[column.offsets[0] : column.offsets[-1]] == ord("\n")).any():
        raise TokenizerError(f"the step {step.label} made two lines of one; its lines must have no line feeds")
    return made


def _numbered(label: str, seen: Counter[str]) -> str:
    seen[label] += 1
    return label if seen[label] == 1 else f"{label}-{seen[label]}"


def _different(changed: pa.Array, lines: pa.Array) -> npt.NDArray[np.int64]:
    if changed is lines:
        return np.zeros(0, np.int64)
    return np.flatnonzero(pc.not_equal(changed, lines).to_numpy(zero_copy_only=False))
