"""Runs the training of a SentencePiece model in a child process.

The library holds Python's global lock while it trains, and cannot be interrupted. With a child process the caller can
show progress and react to Ctrl-C. The child is killed if the caller raises an exception, and ends if the caller's
process ends. The child is a new program, not a fork, because forks fail with threads and in Dask's daemonic workers.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import TrainingError
from nmt_prep.subwords.tokenizer import ProgressCallback

_log = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("worker.py")
_KEPT_LOG_LINES = 5

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


class LibraryError(Exception):
    """The library refused to train; the message is the library's."""


def train_in_process(columns: Iterator[TextColumn], settings: Mapping[str, Any], log: Callable[[str], None]) -> bytes:
    """Trains a model in a child process and returns its file's bytes.

    Args:
        log: called with each line of the library's log. Errors of ``columns`` and ``log`` end the child, and reach the
            caller.
    """
    # -P: without it, the modules beside the program would hide installed modules with the same names.
    command = [sys.executable, "-P", str(_WORKER)]
    last = deque[str](maxlen=_KEPT_LOG_LINES)
    with tempfile.TemporaryFile() as reply:
        try:
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=reply, stderr=subprocess.PIPE)  # noqa: S603
        except OSError as error:
            raise TrainingError(f"cannot start the process that trains: {' '.join(command)}: {error}") from error
        with child, ThreadPoolExecutor(1) as pool:
            try:
                fed = pool.submit(_feed, child, columns, settings)
                for line in child.stderr or ():
                    last.append(line.decode("utf-8", "replace").rstrip("\n"))
                    log(last[-1])
                fed.result()
            except BaseException:
                child.kill()
                raise
        reply.seek(0)
        return _model(reply, child.returncode, " / ".join(last) or "none")


def _feed(child: subprocess.Popen[bytes], columns: Iterator[TextColumn], settings: Mapping[str, Any]) -> None:
    """Writes the child's input, whose format ``worker.py`` documents; ends the child if the lines are invalid."""
    lists = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    assert child.stdin is not None
    try:
        with child.stdin as pipe:
            pickle.dump({"path": sys.path, "parent": os.getpid(), "settings": lists}, pipe)
            for column in filter(len, columns):
                pickle.dump(column.to_bytes(), pipe)
            pickle.dump([], pipe)
    except BrokenPipeError:
        return  # the child has ended; its status or its reply says why
    except BaseException:
        child.kill()
        raise


def _model(reply: BinaryIO, status: int, log: str) -> bytes:
    """Returns the model in a reply."""
    if status == 0 and os.fstat(reply.fileno()).st_size:
        error, model = pickle.load(reply)  # noqa: S301  (written by our own program)
        if error is not None:
            raise LibraryError(error)
        return bytes(model)
    if status == -signal.SIGKILL:
        raise TrainingError(
            "the process that trains the SentencePiece model was killed, perhaps because memory ran out; use fewer "
            "lines (sample.bytes_per_corpus, or vocab.options.input_sentence_size), or a machine with more memory"
        )
    how = f"with status {status}" if status >= 0 else f"by signal {-status}"
    raise TrainingError(f"the process that trains the SentencePiece model ended {how}; its last log lines: {log}")


class TrainingLog:
    """Turns log lines into calls of a progress callback.

    - ``("step", {"step": …})``: a step of the training started; the text names it.
    - ``("iteration", {"iteration": …, "size": …, "target": …})``: unigram models: how many expectation maximization
      iterations are finished, and how many candidate pieces remain.
    - ``("merges", {"size": …, "target": …})``: BPE models: current and final piece count.
    - ``("skipped", {"lines": …})``: number of skipped lines, which are too long for the library.
    """

    def __init__(self, size: int, progress: ProgressCallback | None) -> None:
        self._target = size
        self._progress = progress
        self._fixed_pieces = 0
        self._iterations = 0

    def line(self, line: str) -> None:
        """Handles one line of the log."""
        _log.debug("%s", line)
        if self._progress is None:
            return
        if _META_PIECE.search(line):
            self._fixed_pieces += 1
        elif alphabet := _ALPHABET.search(line):
            self._fixed_pieces += int(alphabet[1])
        elif match := _EXPECTATION.search(line):
            self._iterations += 1
            numbers = {"iteration": self._iterations, "size": int(match[1]), "target": self._target}
            self._progress("iteration", numbers)
        elif match := _MERGES.search(line):
            size = self._fixed_pieces + int(match[1] or match[2])
            self._progress("merges", {"size": min(size, self._target), "target": self._target})
        elif match := _SKIPPED.search(line):
            self._progress("skipped", {"lines": int(match[1])})
        else:
            for pattern, step in _STEPS:
                if pattern.search(line):
                    self._progress("step", {"step": step})
