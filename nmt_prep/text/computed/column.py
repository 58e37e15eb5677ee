"""Computed values of texts: each distinct text is computed once, and its value is kept."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import line_keys, pair_keys

from nmt_prep.base.columns import TextColumn, concatenated
from nmt_prep.base.digests import DigestCache, cache_directory, digest_of
from nmt_prep.base.errors import ComputedError
from nmt_prep.base.runtime import kept, unstoppable
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Languages
from nmt_prep.config.computed import ComputedValue
from nmt_prep.text.computed.cache import IDENTITY, Cache, Keys
from nmt_prep.text.computed.programs import Programs, checked_texts, numbers_of
from nmt_prep.text.functions import described, load_function
from nmt_prep.text.line_program import TooManyLinesError

ENTRY_POINTS = "nmt_prep.rules"  # Entry point group for functions in installed packages

Text: TypeAlias = "Mapping[Side, pa.Array]"
Rows: TypeAlias = "npt.NDArray[np.int64]"
Tick: TypeAlias = "Callable[[int], None]"  # Takes a number of rows whose values are known
_SHOWN = 60
_ARGUMENTS = (*SIDES, "languages")
_FORMAT = 1  # To be increased if stored values can no longer be used


class Program(NamedTuple):
    """Where a value comes from."""

    name: str  # the program with its arguments, or the function
    version: str


class _Distinct(NamedTuple):
    """The distinct texts of a batch."""

    high: Keys  # ascending
    low: Keys
    rows: Rows  # the row of one text for each key
    inverse: Rows  # for each row, the index of its key


@dataclass
class _Shared:
    """What a process's threads share for a kind of value."""

    name: str
    cache: Cache
    programs: Programs | None
    certain: bool  # true if programs prove to which texts their answers belong
    pending: list[Keys] = field(default_factory=list)  # upper halves of the keys that threads look up or compute
    changed: threading.Condition = field(default_factory=threading.Condition)
    files: list[Path] = field(default_factory=list)  # files with values that are not certain yet
    withdrawals: int = 0  # how often values were removed

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Removes what was stored if a program writes too many lines, since its lines may have been shifted before."""
        try:
            yield
        except ComputedError as error:
            if isinstance(error.__cause__, TooManyLinesError) and not self.certain:
                self.cache.withdraw()
                with self.changed:
                    self.withdrawals += 1
                    while self.files:
                        self.files.pop().unlink(missing_ok=True)
            raise

    @contextmanager
    def held(self, high: Keys) -> Iterator[npt.NDArray[np.bool_]]:
        """Reserves the keys that no other thread holds, at least one, and yields which keys these are."""

        def free() -> npt.NDArray[np.bool_]:
            found = (held[np.searchsorted(held, high) % len(held)] == high for held in self.pending if len(held))
            return np.asarray(~np.any([np.zeros(len(high), np.bool_), *found], axis=0))

        with self.changed:
            while not (chosen := free()).any():
                self.changed.wait()
            held = high[chosen]
            self.pending.append(held)
        try:
            yield chosen
        finally:
            with self.changed:
                self.pending = [each for each in self.pending if each is not held]
                self.changed.notify_all()

    def close(self) -> None:
        """Ends the programs, and flushes what was stored."""
        with self.watched():
            if self.programs is not None:
                self.programs.close()
        self.files.clear()
        self.cache.close()


_shared: dict[tuple[int, Path], _Shared] = {}
_opening = threading.Lock()
_digests = kept(8)(DigestCache)


class Column:
    """A value for pairs, or for lines on one side, of texts in two languages. It is thread-safe."""

    def __init__(
        self, name: str, value: ComputedValue, languages: Languages, sides: Sequence[Side], base_dir: Path
    ) -> None:
        """Finds the program or function; starts nothing.

        Args:
            name: name of the value, for people.
            sides: the sides that the corpus has.
            base_dir: the directory that the program runs in, and that functions are searched in.

        Raises:
            ValueError: there is no such program or function, or it does not suit the value.
        """
        self.name, self.value, self._languages, self._base_dir = name, value, languages, base_dir
        self.program = Program(value.name, value.version)  # where the values come from
        self._function: Callable[..., Any] | None = None
        self.sides = sides_of(value, sides, base_dir)
        if value.python is not None:
            self._function, self._arguments, file = _function(value.python, base_dir)
            self.files = {} if file is None else {f"python {value.python}": file}
        else:
            source, target = languages.source, languages.target
            self._words = [w.replace("{source}", source).replace("{target}", target) for w in value.program or ()]
            files = Programs(self._words, base_dir, value.model_copy(update={"workers": 1})).files
            self.files = {f"program {word}": path for word, path in files.items()}

    @property
    def label(self) -> str:
        """What has the value: a side, or ``pair``."""
        return "pair" if len(self.sides) == 2 else self.sides[0]

    def numbers(self, text: Text, tick: Tick = lambda _: None) -> npt.NDArray[np.float64]:
        """Returns the value of each pair or line, given the sides: float64, shape ``[pairs]``."""
        values, places = self._values(text, tick)
        found: npt.NDArray[np.float64] = values.to_numpy(zero_copy_only=False)[places]
        return found

    def texts(self, text: Text, tick: Tick = lambda _: None) -> pa.Array:
        """Returns the text of each pair or line: ``large_string``, with tabs between candidates.

        An answer may have more or fewer candidates than promised.
        """
        values, places = self._values(text, tick)
        return values.take(pa.array(places))

    @contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Writes values to a file, which is removed if they turn out to be wrong until the columns are closed."""
        shared = self._share()
        before = shared.withdrawals
        yield
        with shared.changed:
            shared.files.append(path)
            if shared.withdrawals != before:
                path.unlink()
                raise ComputedError(f"the values of {self.value.name} were removed, since it wrote too many lines")

    def count(self, text: Text) -> tuple[Keys, Keys]:
        """Returns keys for the distinct texts and for texts with unknown values: uint64, shape ``[texts, 2]``."""
        distinct = self._distinct(text)
        keys, known = np.column_stack([distinct.high, distinct.low]), np.zeros(len(distinct.high), np.bool_)
        if self.directory.exists():  # else it would be made
            known = self._share().cache.find(distinct.high, distinct.low)[1] >= 0
        return keys, keys[~known]

    @property
    def stored(self) -> int:
        """Number of stored values, for these and other texts."""
        return len(self._share().cache) if self.directory.exists() else 0

    @property
    def directory(self) -> Path:
        """The directory of the stored values."""
        return caches_of(self.value, self._base_dir) / self._identity()[:IDENTITY]

    def _identity(self) -> str:
        digests, spoken = _digests(self._base_dir), [self._languages.source, self._languages.target]
        try:
            files = {name: digests.digest(path) for name, path in self.files.items()}
        except OSError as error:
            raise ComputedError(f"cannot read {error.filename} for the value {self.name}: {error.strerror}") from error
        digests.save()
        return digest_of([_FORMAT, self.value.definition, spoken, [*self.sides], files])

    def _share(self) -> _Shared:
        with _opening:
            key = os.getpid(), self.directory
            if key not in _shared:
                value, spoken = self.value, f"{self._languages.source}-{self._languages.target}"
                about = {"name": self.name, "languages": spoken, "sides": [*self.sides], **value.definition}
                cache = Cache(key[1], pa.float64() if value.output == "number" else pa.large_string(), about)
                programs = None if value.program is None else Programs(self._words, self._base_dir, value)
                _shared[key] = _Shared(self.name, cache, programs, value.end != "lines" or value.echo)
            return _shared[key]

    def _distinct(self, text: Text) -> _Distinct:
        columns = (TextColumn.from_arrow(text[side]) for side in self.sides)
        sides = [line_keys(column.data, column.offsets, False) for column in columns]
        keys = np.asarray(pair_keys(*sides) if len(sides) == 2 else sides[0])
        order = np.argsort(keys[:, 0])
        high, low = keys[order, 0], keys[order, 1]
        new = np.ones(len(order), np.bool_)
        new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.cumsum(new) - 1
        return _Distinct(high[new], low[new], order[new], inverse)

    def _values(self, text: Text, tick: Tick) -> tuple[pa.Array, Rows]:
        """Returns values, and the index of each row's value. Reports progress per row."""
        shared, distinct = self._share(), self._distinct(text)
        rows_left = len(distinct.inverse)
        left, high, low = np.arange(len(distinct.high)), distinct.high, distinct.low
        while len(left):
            with shared.held(high[left]) as free:
                mine, reads = left[free], shared.cache.reads
                values, places = shared.cache.find(high[mine], low[mine])
                made = self._compute_here(shared, text, distinct, mine[places < 0], reads, tick)
            computed = np.concatenate([left[:0], *(at for at, _ in made)])
            rows_left -= len(computed)
            if len(computed) + int((places >= 0).sum()) == len(high) and shared.cache.reads == reads:
                places[computed] = len(values) + np.arange(len(computed))
                tick(rows_left)
                return pa.concat_arrays([values, *(each for _, each in made)]), places[distinct.inverse]
            left = left[~free]
        values, places = shared.cache.find(high, low)
        if (places < 0).any():
            raise ComputedError(f"values in {shared.cache.directory} were removed while they were used; run again")
        tick(rows_left)
        return values, places[distinct.inverse]

    def _compute_here(
        self, shared: _Shared, text: Text, distinct: _Distinct, chosen: Rows, reads: int, tick: Tick
    ) -> list[tuple[Rows, pa.Array]]:
        """Computes and stores the values of some keys; returns them."""
        rows = distinct.rows[chosen]
        ranks = rows
        if self.value.by_length:
            ranks = np.sum([pc.binary_length(text[side].take(pa.array(rows))) for side in self.sides], axis=0)
        order = np.argsort(ranks, kind="stable")
        size = self.value.batch
        batches = [order[at : at + size] for at in range(0, len(order), size)]
        given = [{side: text[side].take(pa.array(rows[batch])) for side in self.sides} for batch in batches]

        def answers() -> Iterator[list[tuple[int, pa.Array]]]:
            if shared.programs is None:
                yield from ([(number, self._called(sides))] for number, sides in enumerate(given))
            else:
                yield from shared.programs.answers([self._lines(sides) for sides in given], self._checked)

        withdrawals, made = shared.withdrawals, list[tuple[Rows, pa.Array]]()
        with shared.watched():
            for some in answers():
                if some and shared.withdrawals == withdrawals:
                    at = chosen[np.concatenate([batches[number] for number, _ in some])]
                    made.append((at, pa.concat_arrays([values for _, values in some])))
                    shared.cache.add(distinct.high[at], distinct.low[at], made[-1][1], reads)
                    tick(len(at))
        return made

    def _lines(self, text: Text) -> pa.Array:
        """Returns texts as a program reads them."""
        columns = [text[side].cast(pa.large_string()) for side in self.sides]
        if len(columns) == 1:
            return columns[0]
        plain = (pc.replace_substring(column, "\t", " ") for column in columns)
        return concatenated(*plain, between="\t")

    def _checked(self, answers: pa.Array, texts: pa.Array) -> pa.Array:
        if self.value.output == "number":
            return numbers_of(answers, texts, self.value.name)
        return checked_texts(answers, texts, self.value)

    def _called(self, text: Text) -> pa.Array:
        assert self._function is not None
        given: dict[str, Any] = {**{str(side): text[side] for side in text}, "languages": self._languages}
        try:
            with unstoppable():
                result = self._function(**{name: given[name] for name in self._arguments if name in given})
        except (Exception, SystemExit) as error:
            raise ComputedError(f"{self.value.name} failed: {described(error)}") from error
        name, unit, lines = self.value.name, "pair" if self.label == "pair" else "line", self._lines(text)
        if isinstance(result, pa.Array | pa.ChunkedArray):
            if result.null_count:
                raise ComputedError(f"{name} returned {result.null_count} nulls; return a value for each {unit}")
            result = result.to_pylist() if self.value.output == "text" else np.asarray(result)
        try:
            if self.value.output == "text":
                result = ["\t".join([each] if isinstance(each, str) else each) for each in result]
            values = np.asarray(result)
        except (TypeError, ValueError) as error:
            raise ComputedError(f"{name} returned no array: {error}") from error
        if values.shape != (len(lines),):
            what = f"{len(values)} values" if values.ndim == 1 else f"an array of the shape {values.shape}"
            raise ComputedError(f"{name} returned {what} for {len(lines)} {unit}s; return one value for each {unit}")
        if self.value.output == "number":
            return self._as_numbers(values, lines)
        try:
            texts = pa.array(result, pa.large_string())
        except (ValueError, pa.ArrowException) as error:  # a surrogate, or no text
            raise ComputedError(f"{name} returned no text: {error}") from error
        return checked_texts(texts, lines, self.value)

    def _as_numbers(self, values: npt.NDArray[Any], lines: pa.Array) -> pa.Array:
        name = self.value.name
        if values.dtype.kind not in "biuf":
            raise ComputedError(f"{name} returned values of type {values.dtype}; return booleans or numbers")
        if np.isnan(values).any():
            shown = lines[int(np.isnan(values).argmax())].as_py()[:_SHOWN]
            raise ComputedError(f"{name} returned NaN for {shown!r}; return a number for each text")
        return pa.array(values.astype(np.float64))


def close_columns() -> None:
    """Ends this process's programs, and flushes what it stored."""
    for (process, _), shared in [*_shared.items()]:
        if process == os.getpid():
            try:
                shared.close()
            except ComputedError as error:
                raise ComputedError(f"the value {shared.name}: {error}") from error


def caches_of(value: ComputedValue | None, base_dir: Path) -> Path:
    """Returns the directory that contains the directories of stored values."""
    own = None if value is None else value.cache
    return cache_directory() / "computed" if own is None else base_dir / Path(own).expanduser()


def sides_of(value: ComputedValue, sides: Sequence[Side], base_dir: Path) -> tuple[Side, ...]:
    """Returns the sides that a value is computed from, given a corpus's sides, or nothing if the corpus lacks one.

    Raises:
        ValueError: there is no such function, or it does not take these sides.
    """
    chosen = {None: SIDES, "any": sides, "pair": SIDES}.get(value.input, (value.input,))
    wanted = tuple(side for side in SIDES if side in chosen)
    if value.python is not None:
        _, arguments, _ = _function(value.python, base_dir)
        taken = tuple(side for side in SIDES if side in arguments)
        if value.input is not None and taken != wanted:
            raise ValueError(f"{value.python} takes {' and '.join(taken)}, but input is {value.input}")
        wanted = taken
    return wanted if {*wanted} <= {*sides} else ()


def _function(name: str, base_dir: Path) -> tuple[Callable[..., Any], set[str], Path | None]:
    """Returns a function, the names of the arguments that it takes, among those that it can be given, and its file."""
    function, file = load_function(name, base_dir, ENTRY_POINTS)
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function, {*_ARGUMENTS}, file
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    if not named & {*SIDES} or not needed <= {*_ARGUMENTS} or any(p.kind is p.POSITIONAL_ONLY for p in parameters):
        raise ValueError(f"{name} must take arguments named source and target, or one of them, and may take languages")
    return function, named & {*_ARGUMENTS}, file
