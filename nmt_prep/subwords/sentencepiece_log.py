"""The log of the ``sentencepiece`` library while it trains, read as steps of the training."""

from __future__ import annotations

import logging
import re

from nmt_prep.subwords.tokenizer import ProgressCallback

_log = logging.getLogger(__name__)

_STEPS = (
    (re.compile(r"Normalizing sentences"), "normalizing lines"),
    (re.compile(r"Extracting seed sentencepieces|Making suffix array"), "making the suffix array"),
    (re.compile(r"\[Chunk #\d+\] Start processing"), "collecting candidate pieces"),
    (re.compile(r"Tokenizing input sentences with whitespace"), "splitting lines into words"),
)
_META_PIECE = re.compile(r"Adding meta_piece: ")
_ALPHABET = re.compile(r"Alphabet size=(\d+)")
_EXPECTATION = re.compile(r"EM sub_iter=\d+ size=(\d+)")
_MERGES = re.compile(r"merges=(\d+) piece=|Completed (\d+) merge steps")
_SKIPPED = re.compile(r"Skipped (\d+) too long sentences")


class TrainingLog:
    """Turns lines of the log into calls of a progress callback.

    - ``("step", {"step": …})``: a step of the training began; the text names it.
    - ``("iteration", {"iteration": …, "size": …, "target": …})``: unigram models: how many iterations of expectation
      maximization are done, and how many candidates are left of which pieces are chosen.
    - ``("merges", {"size": …, "target": …})``: BPE models: how many pieces there are, and are to be.
    - ``("skipped", {"lines": …})``: so many lines are not trained from, for they are longer than the library takes.
    """

    def __init__(self, size: int, progress: ProgressCallback | None) -> None:
        self._target = size
        self._progress = progress
        self._fixed_pieces = 0
        self._iterations = 0

    def line(self, line: str) -> None:
        """Takes a line of the log."""
        _log.debug("%s", line)
        if self._progress is None:
            return
        if _META_PIECE.search(line):
            self._fixed_pieces += 1
        elif alphabet := _ALPHABET.search(line):
            self._fixed_pieces += int(alphabet[1])
        elif found := _EXPECTATION.search(line):
            self._iterations += 1
            numbers = {"iteration": self._iterations, "size": int(found[1]), "target": self._target}
            self._progress("iteration", numbers)
        elif found := _MERGES.search(line):
            size = self._fixed_pieces + int(found[1] or found[2])
            self._progress("merges", {"size": min(size, self._target), "target": self._target})
        elif found := _SKIPPED.search(line):
            self._progress("skipped", {"lines": int(found[1])})
        else:
            for pattern, step in _STEPS:
                if pattern.search(line):
                    self._progress("step", {"step": step})
