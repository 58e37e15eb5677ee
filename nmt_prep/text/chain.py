"""Chains of steps, which are applied in the written order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import TextStep

from nmt_prep.text.step import Step, StepContext, apply_native
from nmt_prep.text.steps import make_step


class Changed(NamedTuple):
    """Lines after a chain."""

    lines: pa.Array  # a `large_string` array with a string for each line
    altered: tuple[int, ...]  # for each step, the number of lines that it altered


class Chain:
    """Steps in the order in which they are applied; neighbors in the core take one call."""

    def __init__(self, steps: Sequence[Step[Any]]) -> None:
        self.steps = tuple(steps)

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
        lines, altered = lines.cast(pa.large_string()), list[int]()
        for _, group in groupby(self.steps, lambda step: step.native is None):
            steps = [*group]
            if native := tuple(step.native for step in steps if step.native is not None):
                lines, counts = apply_native(native, lines, threads)
                altered += counts
                continue
            for step in steps:
                changed = step.apply(lines, threads)
                altered.append(pc.sum(pc.not_equal(changed, lines)).as_py() or 0)
                lines = changed
        return Changed(lines, tuple(altered))

    def undo(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        """Undoes the steps from the last to the first, as far as they can be undone."""
        undone = (step.undo() for step in reversed(self.steps))
        steps: tuple[TextStep, ...] = tuple(step for step in undone if step is not None)
        return apply_native(steps, lines, threads)[0]
