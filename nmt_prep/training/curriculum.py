"""The stage plan: the corpus and the pair for each row of a stream, computed without the rows before it.

Each stage is divided into blocks of :data:`BLOCK_ROWS` rows. The weights give each corpus's exact pair count in the
blocks up to a given block; a keyed permutation mixes a block's pairs. A corpus's pairs are numbered through all
epochs and stages, so a stage goes on where the one before it ended.
"""

from __future__ import annotations

import shlex
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import ConfigError
from nmt_prep.config.file import read_file
from nmt_prep.config.problems import first_problem
from nmt_prep.config.training import ROWS, StageSettings, TrainingSettings
from nmt_prep.training.modifiers import Modifiers, read_modifiers
from nmt_prep.training.modifiers.draws import Keys, mixed
from nmt_prep.training.records.shuffle_plan import GlobalShuffle

BLOCK_ROWS = 16_384  # Row count of a block. Modifiers join pairs in one block only.
MAX_ROWS = 1 << 60  # Maximum row count of a stream


@dataclass(frozen=True)
class PlannedBlock:
    """A block's rows."""

    stage: int  # index of the stage
    first: int  # the block's first row in the stream
    corpora: npt.NDArray[np.int64]  # corpus index of each row: int64, shape `[rows]`
    epochs: npt.NDArray[np.int64]  # epoch of the row's corpus, from 0 on: int64, shape `[rows]`
    pairs: npt.NDArray[np.int64]  # rank of the pair in that epoch: int64, shape `[rows]`
    keys: Keys  # key of each row's draws: uint64, shape `[rows]`

    def __len__(self) -> int:
        return len(self.corpora)

    def head(self, rows: int) -> PlannedBlock:
        corpora, epochs, pairs = (column[:rows] for column in (self.corpora, self.epochs, self.pairs))
        return replace(self, corpora=corpora, epochs=epochs, pairs=pairs, keys=self.keys[:rows])


@dataclass(frozen=True)
class PlannedStage:
    """A stage."""

    name: str
    shares: tuple[Fraction, ...]  # each corpus's share among the stream's rows; the shares sum to 1
    before: tuple[int, ...]  # pairs of each corpus in the stages before it
    first: int  # its first row in the stream
    rows: int | None  # number of rows; None if it never ends
    modifiers: Modifiers
    # indexes of the corpora whose epochs end the stage; all corpora that it reads, if a number of rows ends it
    until: tuple[int, ...]
    key: str  # key of the permutations

    def pairs_in(self, rows: int) -> tuple[int, ...]:
        """Counts each corpus's pairs in the first rows of the stage, up to the end of a block."""
        # Each corpus takes its share of the rows that the corpora before it leave, so more rows never give a corpus
        # fewer.
        counts, left, share = list[int](), rows, Fraction(1)
        for wanted in self.shares:
            counts.append(int(left * wanted / share) if share else 0)
            left, share = left - counts[-1], share - wanted
        return tuple(counts)

    def corpora_of(self, block: int) -> npt.NDArray[np.int64]:
        """Returns the corpus index of each row in a complete block: int64."""
        begin, end = self.pairs_in(block * BLOCK_ROWS), self.pairs_in((block + 1) * BLOCK_ROWS)
        counts = np.subtract(end, begin)
        order = GlobalShuffle(BLOCK_ROWS, block, self.key).rows_at(np.arange(BLOCK_ROWS))
        return np.repeat(np.arange(len(counts)), counts)[order]

    def rows_until(self, pairs: int) -> int:
        """Returns the number of rows, at least 1, that contain ``pairs`` pairs from the corpora in ``until``."""

        def had(block: int) -> int:
            counts = self.pairs_in(block * BLOCK_ROWS)
            return sum(counts[corpus] for corpus in self.until)

        low, high = 0, 1  # too few blocks, and enough blocks
        while had(high) < pairs:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if had(middle) < pairs else (low, middle)
        places = np.flatnonzero(np.isin(self.corpora_of(low), self.until))
        return low * BLOCK_ROWS + int(places[pairs - had(low) - 1]) + 1

    def pairs_before(self, rows: int) -> tuple[int, ...]:
        """Returns each corpus's pair count in the stage's first rows."""
        block, rest = divmod(rows, BLOCK_ROWS)
        whole = np.array(self.pairs_in(block * BLOCK_ROWS), np.int64)
        if rest:
            whole += np.bincount(self.corpora_of(block)[:rest], minlength=len(whole))
        return tuple(whole.tolist())


@dataclass(frozen=True)
class Curriculum:
    """The rows of all stages: a stream that can be read from any row on."""

    corpora: tuple[str, ...]  # corpus names
    sizes: tuple[int, ...]  # the corpora's pair counts
    seed: int  # decides the order and the draws of modifiers
    stages: tuple[PlannedStage, ...]  # the stages, at least one

    @property
    def rows(self) -> int | None:
        """Row count of the stream, or None if it never ends."""
        last = self.stages[-1]
        return None if last.rows is None else last.first + last.rows

    def stage_at(self, row: int) -> int:
        return bisect_right([stage.first for stage in self.stages], row) - 1

    def blocks(self, row: int = 0, step: int = 1) -> Iterator[PlannedBlock]:
        """Yields every ``step``-th block as a whole, from the block with a row on.

        Readers that share a stream begin at different blocks, and their step is the number of readers.
        """
        waiting = 0
        while self.rows is None or row < self.rows:
            if not waiting:
                yield self.block_at(row)
            waiting = (waiting + 1) % step
            row = self.end_of_block(row)

    def end_of_block(self, row: int) -> int:
        stage = self.stages[self.stage_at(row)]
        end = stage.first + ((row - stage.first) // BLOCK_ROWS + 1) * BLOCK_ROWS
        return end if stage.rows is None else min(end, stage.first + stage.rows)

    def block_at(self, row: int) -> PlannedBlock:
        """Returns the whole block that has a row."""
        number = self.stage_at(row)
        stage = self.stages[number]
        block = (row - stage.first) // BLOCK_ROWS
        first = stage.first + block * BLOCK_ROWS
        corpora = stage.corpora_of(block)
        order = np.argsort(corpora, kind="stable")
        rank = np.empty(BLOCK_ROWS, np.int64)
        rank[order] = np.arange(BLOCK_ROWS)
        counts = np.bincount(corpora, minlength=len(self.sizes))
        begin = np.add(stage.before, stage.pairs_in(block * BLOCK_ROWS)) - (np.cumsum(counts) - counts)
        rows = self.end_of_block(row) - first
        corpora, drawn = corpora[:rows], (rank + begin[corpora])[:rows]
        epochs, pairs = np.divmod(drawn, np.array(self.sizes, np.int64)[corpora])
        keys = mixed(mixed(self._keys[corpora], epochs), pairs)
        return PlannedBlock(number, first, corpora, epochs, pairs, mixed(keys, number))

    @cached_property
    def _keys(self) -> Keys:
        return np.array([seed_of(f"{self.seed}\nmodifiers of {name}") for name in self.corpora], np.uint64)

    def described(self) -> list[dict[str, Any]]:
        """Describes each stage: name, rows (None without an end), mix, epochs per corpus, modifier names."""
        return [
            {
                "name": stage.name,
                "rows": stage.rows,
                "mix": {name: float(share) for name, share in zip(self.corpora, stage.shares, strict=True) if share},
                "epochs": {} if stage.rows is None else self.epochs_of(number),
                "modifiers": list(stage.modifiers.names),
            }
            for number, stage in enumerate(self.stages)
        ]

    def epochs_of(self, number: int) -> dict[str, float]:
        """Returns each corpus's epoch count in a stage that ends."""
        stage = self.stages[number]
        pairs = stage.pairs_before(stage.rows or 0)
        return {name: count / size for name, size, count in zip(self.corpora, self.sizes, pairs, strict=True) if count}


def plan_stages(
    training: TrainingSettings, sizes: Mapping[str, int], seed: int, base_dir: Path, key: str = "training"
) -> Curriculum:
    """Returns a config's stage plan; without stages, one stage reads all corpora by their sizes."""
    if problem := training.problem(set(sizes)):
        raise ConfigError(f"{key}.{problem}")
    settings = training.stages or (StageSettings(name="all", mix={name: float(size) for name, size in sizes.items()}),)
    names = tuple(sizes)
    stages = list[PlannedStage]()
    before, first = (0,) * len(names), 0
    shared = read_modifiers(training.modifiers, f"{key}.modifiers", base_dir)
    for number, stage in enumerate(settings):
        place = f"{key}.stages.{number}"
        modifiers = (
            shared if stage.modifiers is None else read_modifiers(stage.modifiers, f"{place}.modifiers", base_dir)
        )
        until = next(iter(stage.until), None)
        ending = [name for name in stage.mix if stage.mix[name]] if until in (None, ROWS) else [until or ""]
        members = tuple(names.index(member) for name in ending for member in training.members(name) if sizes[member])
        shares = _shares(stage, training, sizes, place)
        planned = PlannedStage(stage.name, shares, before, first, None, modifiers, members, f"stage {number} of {seed}")
        if not stage.endless:
            amount = Fraction(stage.until[until or ""])
            pairs = sum(sizes[names[member]] for member in members)
            wanted = max(int(amount * (1 if until == ROWS else pairs)), 1)
            if first + wanted / sum(shares[member] for member in members) > MAX_ROWS:
                raise ConfigError(f"{place}.until: the stage has more than 2**60 rows; lower it")
            rows = wanted if until == ROWS else planned.rows_until(wanted)
            planned = replace(planned, rows=rows)
            before = tuple(np.add(before, planned.pairs_before(rows)).tolist())
            first += rows
        stages.append(planned)
    return Curriculum(names, tuple(sizes.values()), seed, tuple(stages))


def _shares(
    stage: StageSettings, training: TrainingSettings, sizes: Mapping[str, int], place: str
) -> tuple[Fraction, ...]:
    """Returns each corpus's share; a group's share is divided by its corpora's sizes."""
    weights = dict.fromkeys(sizes, Fraction(0))
    for name, weight in stage.mix.items():
        members = training.members(name)
        pairs = sum(sizes[member] for member in members)
        if weight and not pairs:
            raise ConfigError(f"{place}.mix.{name} has no pairs; remove it, or look at what cleaning drops")
        for member in members:
            weights[member] += Fraction(str(weight)) * sizes[member] / max(pairs, 1)
    total = sum(weights.values())
    if not total:
        raise ConfigError(f"{place}.mix: the weights sum to 0; raise them")
    return tuple(weight / total for weight in weights.values())


@dataclass(frozen=True)
class OpusTrainerFile:
    """The content of an OpusTrainer file."""

    datasets: dict[str, str]  # paths of TSV files, or corpus names, by name
    training: TrainingSettings  # stages and modifiers
    seed: int
    fields: int | None  # number of columns that lines are cut to; shorter lines are skipped. None without such a rule.
    trainer: tuple[str, ...]  # the command that reads the stream, with its arguments; empty if the file has none


def read_opustrainer(path: Path) -> OpusTrainerFile:
    """Reads a file of OpusTrainer."""
    data, _ = read_file(path)

    def wrong(key: str, problem: str) -> ConfigError:
        return ConfigError(f"{path}: {key}: {problem}")

    for key in ("datasets", "stages", "seed"):
        if key not in data:
            raise wrong(key, "it is missing")
    if str(data.get("version", 1)) != "1":
        raise wrong("version", f"{data['version']!r} is unknown; it must be 1")
    datasets, names = data["datasets"], data["stages"]
    if not isinstance(datasets, dict) or not all(isinstance(place, str) for place in datasets.values()):
        raise wrong("datasets", "it must be a mapping from names to paths")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise wrong("stages", "it must be a list of names of stages")
    stages = []
    for name in names:
        stage = data.get(name)
        lines = stage.get("mix") if isinstance(stage, dict) else stage
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise wrong(name, "it must be a list such as [clean 0.8, until clean 2], or have such a list as mix")
        try:
            mix, until = _mixture(lines, datasets)
            own = None if not isinstance(stage, dict) or "modifiers" not in stage else tuple(_flat(stage["modifiers"]))
            stages.append(StageSettings(name=name, mix=mix, until=until, modifiers=own))
        except ValidationError as error:
            raise wrong(name, first_problem(error)) from None
        except ValueError as error:
            raise wrong(name, str(error)) from None
    try:
        training = TrainingSettings(stages=tuple(stages), modifiers=tuple(_flat(data.get("modifiers", []))))
        seed, fields = int(data["seed"]), data.get("num_fields") and int(data["num_fields"])
    except ValidationError as error:
        raise ConfigError(f"{path}: {first_problem(error)}") from None
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: seed and num_fields must be whole numbers, modifiers a list: {error}") from None
    try:
        command = _command(fields, data.get("trainer"))
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    return OpusTrainerFile(datasets, training, seed, fields, command)


def _command(fields: int | None, trainer: object) -> tuple[str, ...]:
    if fields is not None and fields < 2:
        raise ValueError(f"num_fields: it is {fields}; a line has a source and a target at least")
    if not isinstance(trainer, str | None):
        raise ValueError(f"trainer: it is {trainer!r}, not a command")  # noqa: TRY004 - a value of a config
    try:
        return tuple(shlex.split(trainer or ""))
    except ValueError as error:
        raise ValueError(f"trainer: it is no command: {error}") from error


def _mixture(lines: list[str], datasets: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Returns the weights and the end in lines such as ``clean 0.8`` and ``until clean 2``."""
    if not lines or not lines[-1].startswith("until "):
        raise ValueError("its last line must be until DATASET EPOCHS")
    mix = dict[str, float]()
    for line in lines[:-1]:
        name, _, weight = line.partition(" ")
        if name not in datasets:
            raise ValueError(f"{line!r} names no data set; they are {', '.join(datasets)}")
        try:
            mix[name] = mix.get(name, 0) + float(weight)
        except ValueError:
            raise ValueError(f"{line!r} is not DATASET WEIGHT") from None
    words = lines[-1].split()
    if len(words) != 3 or not (words[2] == "inf" or words[2].isdecimal()):
        raise ValueError(f"{lines[-1]!r} is not until DATASET EPOCHS")
    return mix, {words[1]: words[2] if words[2] == "inf" else int(words[2])}


def _flat(entries: object) -> Iterator[dict[str, Any]]:
    """Yields the modifiers in nested lists."""
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, list):
            yield from _flat(entry)
        elif isinstance(entry, dict):
            yield entry
        else:
            raise ValueError(  # noqa: TRY004 - a value of a config
                f"{entry!r} is not a modifier such as {{UpperCase: 0.1}}"
            )
