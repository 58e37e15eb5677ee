"""The programs of a computed value, several at once, and what they answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import contains
from nmt_prep.base.errors import ComputedError, TokenizerError
from nmt_prep.config.computed import ComputedValue
from nmt_prep.text.line_program import LineProgram, ProgramEndedError

_SHOWN = 60
_FEW = 9  # Answers that may all have another number of texts than promised
_MOMENT = 0.05  # Seconds in which answers are gathered, since storing many at once takes as long as storing a few
_LAST_SECONDS = 10.0  # Seconds that a program has to end when its input ends, before it is stopped


class Programs:
    """Processes that run one program; each gets a batch at a time. They start with their first batch."""

    def __init__(self, words: Sequence[str], directory: Path, value: ComputedValue) -> None:
        self._value = value
        self._idle: SimpleQueue[LineProgram] = SimpleQueue()
        devices = [device for device in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if device.strip()]
        for number in range(value.workers):
            environment = {"PYTHONUNBUFFERED": "1"}  # a Python program need not flush its output
            if devices:
                environment["CUDA_VISIBLE_DEVICES"] = devices[number % len(devices)]
            seconds = value.seconds
            program = LineProgram(words, directory, seconds=seconds, end=value.end, environment=environment)
            self.files = program.files
            self._idle.put(program)
        self._pool = ThreadPoolExecutor(value.workers, thread_name_prefix="computed")

    def answers(
        self, batches: Sequence[pa.Array], checked: Callable[[pa.Array, pa.Array], pa.Array]
    ) -> Iterator[list[tuple[int, pa.Array]]]:
        """Yields batch numbers and checked answers, in any order; batches that finish together come together."""

        def work(batch: pa.Array) -> pa.Array:
            if batch is batches[-1]:
                pa.default_memory_pool().release_unused()  # which other threads of Arrow's allocator cannot use
            return checked(self._answers(batch), batch)

        running = {self._pool.submit(work, batch): number for number, batch in enumerate(batches)}
        ended, failed, left = SimpleQueue[Future[pa.Array]](), list[Future[pa.Array]](), len(running)
        try:
            for future in running:
                future.add_done_callback(ended.put)
            while left:
                some, end = [ended.get()], time.monotonic() + _MOMENT
                while len(some) < left and (rest := end - time.monotonic()) > 0:
                    with suppress(Empty):
                        some.append(ended.get(timeout=rest))
                left -= len(some)
                failed += [future for future in some if not future.cancelled() and future.exception() is not None]
                yield [(running[each], each.result()) for each in some if not each.cancelled() and each not in failed]
                for future in running if failed else ():
                    future.cancel()
            for future in failed:
                future.result()
        finally:
            for future in running:
                future.cancel()
            wait(running)

    def _answers(self, texts: pa.Array) -> pa.Array:
        program, value = self._idle.get(), self._value
        try:
            answers = self._restarted(program, texts)
            return without_echo(answers, texts, value.name) if value.echo else answers
        except ComputedError:
            program.close()
            raise
        except TokenizerError as error:
            raise ComputedError(str(error)) from error
        finally:
            self._idle.put(program)

    def _restarted(self, program: LineProgram, texts: pa.Array) -> pa.Array:
        """Returns the answers to a batch; starts the program again if it ends before."""
        for _ in range(self._value.restarts):
            with suppress(ProgramEndedError):
                return program.apply(texts)
        return program.apply(texts)

    def close(self) -> None:
        """Ends the programs; the next batch starts them again."""
        programs = [self._idle.get() for _ in range(self._value.workers)]
        try:
            for program in programs:
                program.end_input()
            end = time.monotonic() + _LAST_SECONDS
            for program in programs:
                program.check_silent(max(0.0, end - time.monotonic()))
        except TokenizerError as error:
            raise ComputedError(str(error)) from error
        finally:
            for program in programs:
                program.close()
                self._idle.put(program)


def without_echo(answers: pa.Array, texts: pa.Array, name: str) -> pa.Array:
    """Returns answers without the texts at their ends, which show that each answer belongs to its text."""
    pairs = [*zip(answers.to_pylist(), texts.to_pylist(), strict=True)]
    wrong = np.array([not answer.endswith(f"\t{text}") for answer, text in pairs], np.bool_)
    _check(wrong, answers, texts, name, "followed by a tab and its text, since echo is true")
    return pa.array([answer[: -len(text) - 1] for answer, text in pairs], pa.large_string())


def numbers_of(answers: pa.Array, texts: pa.Array, name: str) -> pa.Array:
    """Returns answers as numbers."""
    try:
        numbers = answers.cast(pa.float64())
        wrong = np.isnan(numbers.to_numpy())
    except pa.ArrowInvalid:  # it does not say which one, and refuses white space around numbers
        numbers = pa.array([_number(answer) for answer in answers.to_pylist()], pa.float64())
        wrong = np.isnan(numbers.to_numpy())
    _check(wrong, answers, texts, name, "a number")
    return numbers


def _number(answer: str) -> float:
    try:
        return float("nan" if "_" in answer else answer)  # which Python takes for digits' separators
    except ValueError:
        return float("nan")


def checked_texts(answers: pa.Array, texts: pa.Array, value: ComputedValue) -> pa.Array:
    """Returns answers after checking that not all of them have another number of texts than promised."""
    if contains(answers, "\n"):
        ends = pc.match_substring(answers, "\n").to_numpy(zero_copy_only=False)
        _check(ends, answers, texts, value.name, "on one line")
    if value.candidates == 1 and not contains(answers, "\t"):
        return answers
    wrong = pc.not_equal(pc.count_substring(answers, "\t"), value.candidates - 1).to_numpy(zero_copy_only=False)
    expected = f"{value.candidates} texts separated by tabs" if value.candidates > 1 else "a text without tabs"
    _check(wrong & (wrong.all() and len(wrong) > _FEW), answers, texts, value.name, expected)
    return answers


def _check(wrong: npt.NDArray[np.bool_], answers: pa.Array, texts: pa.Array, name: str, expected: str) -> None:
    if wrong.any():
        first = int(wrong.argmax())
        answer, text = (column[first].as_py()[:_SHOWN] for column in (answers, texts))
        raise ComputedError(f"{name} wrote {answer!r} for {text!r}; each answer must be {expected}")
