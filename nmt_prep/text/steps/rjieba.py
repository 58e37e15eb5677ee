"""Step ``rjieba``: Chinese words, as ``jieba -d``: joined by a space, and spaces of the text are words."""

from __future__ import annotations

import pyarrow as pa

from nmt_prep.base.runtime import needed_extra
from nmt_prep.text.step import Step, StepContext, StepOptions


class RjiebaOptions(StepOptions):
    """How to find words."""

    hmm: bool = False
    """true or false: also words that are not in the dictionary, by a hidden Markov model; with it, some lines differ
    from jieba's"""


class Rjieba(Step[RjiebaOptions]):
    """Segments Chinese."""

    options = RjiebaOptions

    def __init__(self, options: RjiebaOptions, context: StepContext) -> None:
        del context
        self._cut = needed_extra("rjieba", "rjieba", "the step rjieba").cut
        self._hmm = options.hmm

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del threads
        return pa.array([" ".join(self._cut(line, self._hmm)) for line in lines.to_pylist()], pa.large_string())
