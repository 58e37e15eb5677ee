"""Writes a stream's lines to a trainer or to standard output, and records the row to continue from."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from nmt_prep.base.artefacts import parse_json, write_json
from nmt_prep.base.columns import TextColumn, concatenated
from nmt_prep.base.digests import check_regular
from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cli.stream.opening import Opened
from nmt_prep.cli.streams import INTERRUPTED, READER_GONE, TERMINATED
from nmt_prep.cli.terminal import print_remark
from nmt_prep.training.batches.row_stream import StreamBlock
from nmt_prep.training.curriculum import MAX_ROWS
from nmt_prep.training.modifiers.block import Rows
from nmt_prep.training.outputs.vocabulary_files import pieces_of

_SECONDS_BETWEEN_NOTES = 1.0
_SECONDS_BETWEEN_RATES = 60.0
_SECONDS_BETWEEN_LOOKS = 0.1
_PIECE = 1 << 20
_PATIENCE = 10.0  # Seconds that a trainer has to end after Ctrl-C or SIGTERM


@dataclass(frozen=True)
class Reader:
    """One stream reader, and its share of the pairs."""

    opened: Opened
    columns: tuple[str, ...]  # columns of a line
    part: int  # index of the reader
    parts: int  # number of readers
    epochs: int | None  # number of epochs; None for no end by epochs

    def __post_init__(self) -> None:
        known = (*SIDES, *self.opened.stream.pairs.columns, "row")
        for name in self.columns:
            if name not in known:
                raise typer.BadParameter(f"--columns {name}: there is no such column; there are {', '.join(known)}")
        if self.epochs is not None and self.opened.stream.curriculum.rows is not None:
            raise typer.BadParameter("--epochs is for streams without an end, but the last stage ends (until)")

    @property
    def end(self) -> int | None:
        """Number of the row after the last one; None without an end."""
        curriculum = self.opened.stream.curriculum
        return curriculum.rows if self.epochs is None else self.epochs * sum(curriculum.sizes)

    def texts(self, row: int) -> Iterator[tuple[TextColumn, Rows, int]]:
        """Yields lines, the row of each, and the row after them, from a row on."""
        stream = self.opened.stream
        if self.end is not None and row >= self.end:
            return
        for block in stream.blocks(row, self.part, self.parts):
            places = stream.places(block, row, self.end, self.part, self.parts)
            whole = len(places) == len(block.pairs)
            columns = [self._column(block, name) for name in self.columns]
            columns = columns if whole else [column.take(pa.array(places)) for column in columns]
            pieces = [piece for column in columns for piece in (column, "\t")]
            lines = TextColumn.from_arrow(concatenated(*pieces[:-1], "\n"))
            row = block.end if self.end is None else min(block.end, self.end)
            yield lines, block.pairs.rows[places], row
            if row == self.end:
                return

    def _column(self, block: StreamBlock, name: str) -> pa.Array:
        column = block.column(name)
        if name not in SIDES:
            return _without_tabs(pc.fill_null(column.cast(pa.large_string()), ""))
        side: Side = "source" if name == "source" else "target"
        lines = _without_tabs(column)
        if self.opened.encoder is not None:
            encoder = self.opened.encoder
            tokenizer = encoder.vocabularies[side].load()
            lines = pieces_of(tokenizer).lines(encoder.ids(side, lines, block.plan.first, 0))
        tags = {corpus: tag[side] for corpus, tag in self.opened.tags.items() if side in tag}
        if not tags:
            return lines
        corpora = block.column("corpus")
        named = list(self.opened.tags)
        starts = pa.array([f"{tags[corpus]} " if corpus in tags else "" for corpus in named], pa.large_string())
        return concatenated(starts.take(pc.index_in(corpora, pa.array(named))), lines)


def _without_tabs(lines: pa.Array) -> pa.Array:
    data = lines.buffers()[2]
    if data is None or not (np.frombuffer(data, np.uint8) == ord("\t")).any():
        return lines
    return pc.replace_substring(lines, "\t", " ")


class State:
    """The file with the row to continue from; records nothing without a path."""

    def __init__(self, path: Path | None, reader: Reader) -> None:
        self._path, self._noted = path, 0.0
        columns, form = list(reader.columns), "text" if reader.opened.encoder is None else "pieces"
        self._facts = {
            "format": 1,
            "fingerprint": reader.opened.fingerprint,
            "part": f"{reader.part}/{reader.parts}",
            **({} if reader.parts == 1 else {"turn": reader.opened.stream.turn(reader.parts)}),
            "columns": columns,
            "as": form,
        }

    def row(self) -> int:
        """Returns the row in the file, 0 if there is no file."""
        if self._path is None or not self._path.exists():
            return 0
        try:
            check_regular(self._path)
            state = parse_json(self._path.read_bytes())
            row = state.pop("row")
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise ArgumentError(f"{self._path}: not a state of nmt-prep stream: {error}; remove it") from error
        different = next((name for name, value in self._facts.items() if state.get(name) != value), None)
        if different is not None or type(row) is not int or not 0 <= row <= MAX_ROWS:
            raise ArgumentError(
                f"{self._path}: the state of another stream ({different or 'row'} differs); stream with the same "
                "config, data and options, or begin elsewhere with --from"
            )
        return row

    def note(self, row: int, *, at_once: bool = False) -> None:
        """Writes the row, at most once a second."""
        if self._path is not None and (at_once or time.monotonic() - self._noted >= _SECONDS_BETWEEN_NOTES):
            self._noted = time.monotonic()
            write_json(self._path, {**self._facts, "row": row})


def feed(reader: Reader, command: Sequence[str], start: int, path: Path | None) -> int:
    """Writes a stream's lines to a trainer, or without a command to standard output; returns the exit status."""
    state = State(path, reader)
    row = state.row() if path is not None else start
    with _Stop() as stop:
        writer = _Writer(reader, state, row, stop)
        return _feed_trainer(writer, command) if command else _feed_output(writer, stop)


def _feed_output(writer: _Writer, stop: _Stop) -> int:
    # Standard output stays blocking, because other processes may share it. A pipe that select calls writable takes
    # PIPE_BUF bytes without blocking, so that a slow reader never hides a signal.
    try:
        ended = writer.write(1, select.PIPE_BUF)
    except KeyboardInterrupt:
        writer.report("interrupted")
        return TERMINATED if stop.number == signal.SIGTERM else INTERRUPTED
    writer.report("the stream is complete" if ended else "the reader has ended")
    return 0 if ended else READER_GONE


def _feed_trainer(writer: _Writer, command: Sequence[str]) -> int:
    name = command[0]
    try:
        trainer = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603
    except OSError as error:
        raise ArgumentError(f"{name}: cannot be started: {error.strerror}") from error
    assert trainer.stdin is not None
    why = "the stream is complete"
    pipe = trainer.stdin.fileno()
    os.set_blocking(pipe, False)  # a full pipe takes only some of the lines
    try:
        if not writer.write(pipe, _PIECE):
            why = f"{name} has stopped reading"
    except KeyboardInterrupt:
        why = "interrupted"
    except BaseException:
        trainer.terminate()
        raise
    trainer.stdin.close()
    status = _ended(trainer, None if why != "interrupted" else _PATIENCE)
    code = status if status >= 0 else 128 - status
    writer.report(f"{why}; {name} ended with status {code}")
    return code


def _ended(trainer: subprocess.Popen[bytes], patience: float | None) -> int:
    """Waits for a trainer, ends it after some time or at Ctrl-C, and returns its status."""
    for end in (trainer.terminate, trainer.kill):  # a trainer at a terminal gets Ctrl-C itself, and may save first
        try:
            return trainer.wait(patience)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            end()
            patience = _PATIENCE
    return trainer.wait()


class _Stop:
    """The handler of Ctrl-C and SIGTERM: raises ``KeyboardInterrupt``, but not while lines are written and counted."""

    def __init__(self) -> None:
        self.number: int | None = None  # the signal that came
        self.again = False  # true if a second signal came
        self._held = False

    def __enter__(self) -> Self:
        numbers = (signal.SIGINT, signal.SIGTERM)
        self._before = [(number, signal.signal(number, self)) for number in numbers]
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.again = self.number is not None
        self.number = number
        if not self._held:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises ``KeyboardInterrupt`` after the work inside if a signal has come."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self.number is not None:
            raise KeyboardInterrupt


class _Writer:
    """Writes lines, and keeps track of the row after the last complete line."""

    def __init__(self, reader: Reader, state: State, row: int, stop: _Stop) -> None:
        self._reader, self._state, self.row, self._stop = reader, state, row, stop
        self._lines, self._waited, self._begun = 0, 0.0, time.monotonic()

    def write(self, output: int, piece: int) -> bool:
        """Writes to a descriptor until the stream ends; returns False if its reader ends first.

        Args:
            piece: byte count to write at once, which must not block a writable descriptor.
        """
        asked = told = time.monotonic()
        for lines, rows, after in self._reader.texts(self.row):
            now = time.monotonic()
            self._waited += now - asked
            if now - told > _SECONDS_BETWEEN_RATES:
                told = now
                self.report("")
            # A signal between the first byte and the recorded row would lose the count of lines that the reader has.
            # Only whole lines count: a reader that ends within a line gets that line again.
            with self._stop.held():
                written, gone = self._taken(output, lines, rows, piece)
                whole = int(np.searchsorted(lines.offsets, written, "right")) - 1
                self._lines += whole
                self.row = after if whole == len(rows) else int(rows[whole])
                self._state.note(self.row)
            if gone:
                return False
            asked = time.monotonic()
        return True

    def _taken(self, output: int, lines: TextColumn, rows: Rows, piece: int) -> tuple[int, bool]:
        """Writes until the end, a signal or the reader's loss; returns the bytes, and true for a lost reader.

        After a signal, the row that was begun is finished, unless the reader takes nothing for some time.
        """
        written, end, deadline = 0, int(lines.offsets[-1]), None
        text = lines.data.data
        # The state holds a row, and a row can have several lines. To continue without a repeated or a missing line, the
        # output must end with the last line of a row: a signal moves `end` there and does not leave the loop. Each look
        # is short, because a signal may come while no byte can be written.
        try:
            while written < end:
                if select.select([], [output], [], _SECONDS_BETWEEN_LOOKS)[1]:
                    written += os.write(output, text[written : min(written + piece, end)])
                elif deadline is not None and (self._stop.again or time.monotonic() > deadline):
                    break
                if self._stop.number is not None and deadline is None:
                    deadline = time.monotonic() + _PATIENCE
                    line = int(np.searchsorted(lines.offsets, written))
                    while 0 < line < len(rows) and rows[line] == rows[line - 1]:
                        line += 1
                    end = int(lines.offsets[line])
        except BrokenPipeError:
            return written, True
        except OSError as error:
            raise OutputError(f"cannot write the lines: {error.strerror}") from error
        return written, False

    def report(self, why: str) -> None:
        """Records the row, and prints the rate; with a reason, also the row to continue from."""
        if why:
            self._state.note(self.row, at_once=True)
        seconds = max(time.monotonic() - self._begun, 1e-9)
        rate = f"{self._lines:,} lines, {self._lines / seconds:,.0f} a second; waited {self._waited:.1f} s for pairs"
        print_remark(f"{rate}; {why}; go on with --from {self.row}" if why else rate)
