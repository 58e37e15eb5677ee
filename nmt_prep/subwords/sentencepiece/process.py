"""Runs the training of a SentencePiece model in a child process.

The library holds Python's global lock while it trains, and cannot be interrupted. With a child process the caller can
show progress and react to Ctrl-C. The child is killed if the caller raises an exception, and ends if the caller's
process ends. The child is a new program, not a fork, because forks fail with threads and in Dask's daemonic workers.
"""

from __future__ import annotations

import json
import logging
import os
import re
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmt_prep.columns import TextColumn
from nmt_prep.errors import TrainingError
from nmt_prep.subwords.tokenizer import ProgressCallback

_log = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("worker.py")
_CHUNK = 1 << 16  # bytes to read or write at a time: the capacity of a pipe
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
    """The library refused to train; the message is that of the library."""


def train_in_process(columns: Iterator[TextColumn], settings: Mapping[str, Any], log: Callable[[str], None]) -> bytes:
    """Trains a model in a child process and returns the bytes of its file.

    Args:
        columns: lines to train from.
        settings: arguments of ``SentencePieceTrainer.train``.
        log: called with each line of the library's log. Errors of ``columns`` and ``log`` end the child, and reach the
            caller.

    Raises:
        LibraryError: the library refused to train.
        TrainingError: the child could not be started, or ended too early.
    """
    # -P: without it, the modules beside the program would hide installed modules with the same names.
    command = [sys.executable, "-P", str(_WORKER)]
    try:
        child = subprocess.Popen(  # noqa: S603  (a program of our own)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
    except OSError as error:
        raise TrainingError(f"cannot start the process that trains: {' '.join(command)}: {error}") from error
    last = deque[str](maxlen=_KEPT_LOG_LINES)

    def keep(line: str) -> None:
        last.append(line)
        log(line)

    with child:
        try:
            reply = _exchange(child, _input(columns, settings), keep)
            status = child.wait()
        except BaseException:
            child.kill()
            raise
    return _model(reply, status, list(last))


def _input(columns: Iterator[TextColumn], settings: Mapping[str, Any]) -> Iterator[bytes]:
    """Yields the input of the child; ``worker.py`` documents its format."""
    request = {"path": sys.path, "parent": os.getpid(), "settings": dict(settings)}
    data = json.dumps(request, default=str).encode()
    yield np.int64(len(data)).tobytes() + data
    for column in columns:
        if len(column):
            yield np.int64(len(column)).tobytes() + np.diff(column.offsets).astype(np.int64).tobytes()
            yield column.data[column.offsets[0] : column.offsets[-1]].tobytes()
    yield np.int64(0).tobytes()


class _Feed:
    """Writes blocks into a pipe as fast as its reader takes them."""

    def __init__(self, pipe: int, blocks: Iterator[bytes]) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._blocks = blocks
        self._left = memoryview(next(blocks))

    def write(self) -> bool:
        """Writes as many bytes as fit; returns False once all are written or the reader has closed the pipe."""
        try:
            self._left = self._left[os.write(self._pipe, self._left[:_CHUNK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        while not self._left and (block := next(self._blocks, None)) is not None:
            self._left = memoryview(block)
        return bool(self._left)


def _exchange(child: subprocess.Popen[bytes], blocks: Iterator[bytes], log: Callable[[str], None]) -> bytes:
    """Writes the input of the child and reads its log until both of its outputs are closed; returns its reply."""
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None  # noqa: PT018
    feed, reply, log_bytes = _Feed(child.stdin.fileno(), blocks), bytearray(), b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdin, selectors.EVENT_WRITE)
        selector.register(child.stdout, selectors.EVENT_READ)
        selector.register(child.stderr, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                if key.fileobj is child.stdin:
                    if not feed.write():
                        selector.unregister(child.stdin)
                    continue
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fileobj)
                if key.fileobj is child.stdout:
                    reply += data
                else:
                    *lines, log_bytes = (log_bytes + (data or b"\n")).split(b"\n")
                    for line in filter(None, lines):
                        log(line.decode("utf-8", "replace"))
    return bytes(reply)


def _model(reply: bytes, status: int, log: Sequence[str]) -> bytes:
    """Returns the model in a reply.

    Raises:
        LibraryError: the library refused to train.
        TrainingError: the child ended without a complete reply.
    """
    head, _, model = reply.partition(b"\n")
    if head and status == 0:
        outcome = json.loads(head)
        if not outcome["ok"]:
            raise LibraryError(outcome["error"])
        return model
    if status == -signal.SIGKILL:
        raise TrainingError(
            "the process that trains the SentencePiece model was killed, perhaps because memory ran out; use fewer "
            "lines (sample.bytes_per_corpus, or vocab.options.input_sentence_size), or a machine with more memory"
        )
    how = f"with status {status}" if status >= 0 else f"by signal {-status}"
    raise TrainingError(
        f"the process that trains the SentencePiece model ended {how}; its last log lines: {' / '.join(log) or 'none'}"
    )


class TrainingLog:
    """Turns lines of the log into calls of a progress callback.

    - ``("step", {"step": …})``: a step of the training started; the text names it.
    - ``("iteration", {"iteration": …, "size": …, "target": …})``: unigram models: number of finished iterations of
      expectation maximisation, and number of remaining candidate pieces.
    - ``("merges", {"size": …, "target": …})``: BPE models: current and final number of pieces.
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
