"""The last two rounds of compile, which look for faults in the data.

The tasks of the round ``compile`` count pairs as they compile them. The counts show which lines may be frequent; the
round ``recount`` counts only these lines, in the compiled parts. The ``in_train`` round compares the keys of pairs
outside of train, which are held in memory, with the keys of train.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import line_hashes

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.progress import Meter
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.health_warnings import CHINESE, FrequentLine, leak_warning, pair_warnings
from nmt_prep.cleaning.pair_observer import FREQUENT_SHARE, PairFacts, PairObserver
from nmt_prep.cleaning.presets import cleaning_of, steps_of
from nmt_prep.config import CleanSettings, Config, Languages
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.corpora import PairBatch, iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning

_KEPT_CHARACTERS = 200
_KEYS_AT_A_TIME = 1 << 20
_MOST_KEYS = 1 << 24
_FILTER_BITS = 22


@dataclass(frozen=True)
class CompileObserved:
    """What the `compile` stage observed."""

    warnings: tuple[HealthWarning, ...] = ()  # warnings about the corpora
    pairs: dict[str, dict[str, PairFacts]] = field(default_factory=dict)  # counts of pairs by split and corpus


@contextmanager
def key_file(path: Path | None) -> Iterator[BinaryIO | None]:
    """Opens a file for keys of pairs, which appears under its name when it is complete; yields None for no path."""
    if path is None:
        yield None
        return
    with atomic_write(path) as beside, beside.open("wb") as file:
        yield file


def observe(batches: Iterator[PairBatch], observer: PairObserver, keys: BinaryIO | None) -> Iterator[PairBatch]:
    """Yields batches of pairs and counts them; writes the pairs' keys to a file, if given, as uint64."""
    for batch in batches:
        hashes = observer.add({"source": batch.source, "target": batch.target}, keys=keys is not None)
        if keys is not None and hashes is not None:
            keys.write(hashes.astype("<u8", copy=False).data)
        yield batch


@dataclass(frozen=True)
class RecountTask:
    """A compiled part in which some lines are counted."""

    key: str
    part: Path
    wanted: dict[Side, tuple[int, ...]]  # the line hashes on each side


LineCounts: TypeAlias = dict[Side, dict[int, FrequentLine]]  # The counted lines of each side by their hashes


def recount(task: RecountTask, tick: Tick) -> LineCounts:
    """Counts some lines of a part. Ticks are pairs."""
    counted: LineCounts = {side: {} for side in task.wanted}
    for batch in iter_pairs(task.part, columns=list(task.wanted)):
        for side, wanted in task.wanted.items():
            _count(batch.column(side), wanted, counted[side])
        tick(len(batch))
    return counted


def _count(lines: pa.Array, wanted: Sequence[int], counted: dict[int, FrequentLine]) -> None:
    column = TextColumn.from_arrow(lines)
    hashes = line_hashes(column.data, column.offsets)
    found = np.flatnonzero(np.isin(hashes, np.array(wanted, np.uint64)))
    values, firsts, numbers = np.unique(hashes[found], return_index=True, return_counts=True)
    for value, first, number in zip(values.tolist(), firsts.tolist(), numbers.tolist(), strict=True):
        text = lines[int(found[first])].as_py().strip()[:_KEPT_CHARACTERS]
        _add(counted, value, FrequentLine(text, number))


def _add(counted: dict[int, FrequentLine], value: int, line: FrequentLine) -> None:
    """Adds a line's count to the line's count with the same hash, which keeps its text."""
    before = counted.get(value, FrequentLine(line.text, 0))
    counted[value] = replace(before, count=before.count + line.count)


RECOUNT = Round("recount", recount, LineCounts, words="counting frequent lines")


@dataclass(frozen=True)
class InTrainTask:
    """A corpus outside of train, whose pairs are looked for in train."""

    key: str
    held_out: tuple[Path, ...]  # files with the keys of the pairs
    train: dict[str, tuple[Path, ...]]  # for each train corpus, the files with the keys of its pairs


@dataclass(frozen=True)
class InTrain:
    """How many pairs are also in train: in total, and by train corpus."""

    found: int
    by_corpus: dict[str, int]


def look_in_train(task: InTrainTask, meter: Meter | None) -> InTrain:
    """Counts the pairs of a corpus that are in train, among its first 16 million different pairs by key."""
    del meter
    every = np.concatenate([np.empty(0, np.uint64), *(keys for path in task.held_out for keys in _keys(path))])
    keys, numbers = np.unique(every, return_counts=True)
    keys, numbers = keys[:_MOST_KEYS], numbers[:_MOST_KEYS]
    seen = np.zeros(len(keys), np.bool_)
    by_corpus: dict[str, int] = {}
    possible = np.zeros(1 << _FILTER_BITS, np.bool_)  # most keys are absent, which this test shows quickly
    low = np.uint64(len(possible) - 1)
    possible[keys & low] = True
    for corpus, files in task.train.items() if len(keys) else ():
        here = np.zeros(len(keys), np.bool_)
        for read in (read for path in files for read in _keys(path)):
            others = read[possible[read & low]]
            places = np.minimum(np.searchsorted(keys, others), len(keys) - 1)
            here[places[keys[places] == others]] = True
        by_corpus[corpus] = int(numbers[here].sum())
        seen |= here
    return InTrain(int(numbers[seen].sum()), by_corpus)


def _keys(path: Path) -> Iterator[npt.NDArray[np.uint64]]:
    try:
        with path.open("rb") as file:
            while data := file.read(8 * _KEYS_AT_A_TIME):
                yield np.frombuffer(data, "<u8").astype(np.uint64, copy=False)
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read: {error.strerror or error}; run again with --force compile"
        ) from error


IN_TRAIN = Round(
    "in_train", look_in_train, InTrain, unit="corpora", here=True, words="looking for pairs of other splits in train"
)


@dataclass(frozen=True)
class ObservedCorpus:
    """A compiled corpus."""

    split: str
    name: str
    languages: Languages
    facts: PairFacts
    parts: tuple[Path, ...]  # the compiled files
    keys: tuple[Path, ...]  # the files with the keys of the pairs; empty if other splits have no pairs
    same_as: str | None = None  # the config key of a train corpus with the same files, or None
    pair: LanguagePair | None = None  # the languages of the corpus in a config with several pairs; None in others

    @property
    def candidates(self) -> dict[Side, tuple[int, ...]]:
        """The hashes of lines that may be frequent, for the sides that have any."""
        return {side: tuple(facts.frequent) for side, facts in self.facts.sides.items() if facts.frequent}


def is_judged_cleaned(config: Config, warning: HealthWarning) -> bool:
    """Returns true if the `clean` stage repeats the check that gave a warning in `compile`."""
    if config.clean is None or warning.code == "most_dropped":
        return False
    if warning.code == CHINESE and not _converts_chinese(config, config.clean, warning):
        return False  # rules drop the lines, which may be most of the corpus
    return config.cleans(warning.split or "") or (warning.code == "eval_in_train" and config.cleans("train"))


def _converts_chinese(config: Config, clean: CleanSettings, warning: HealthWarning) -> bool:
    """Returns true if the fixes on the side that a warning is about convert between the Chinese scripts."""
    (corpus,) = (each for each in config.own_splits[warning.split or ""] if each.name == warning.corpus)
    fix = cleaning_of(clean, config.languages_of(corpus), corpus.name).fix
    steps = steps_of(fix, warning.side or "source")
    return any(step == "han" or (isinstance(step, dict) and "han" in step) for step in steps)


def look_at(
    corpora: Sequence[ObservedCorpus],
    recount_round: Round[RecountTask, LineCounts] = RECOUNT,
    in_train_round: Round[InTrainTask, InTrain] = IN_TRAIN,
) -> Rounds[CompileObserved]:
    """Yields the two rounds that look at corpora; returns what they find."""
    tasks = {
        number: [RecountTask(f"recount-{corpus.split}-{part.stem}", part, corpus.candidates) for part in corpus.parts]
        for number, corpus in enumerate(corpora)
        if corpus.candidates
    }
    counted = yield from recount_round.run_groups(tasks)
    train: dict[LanguagePair | None, dict[str, tuple[Path, ...]]] = {}  # by language pair
    for corpus in corpora:
        if corpus.split == "train" and corpus.keys:
            train.setdefault(corpus.pair, {})[corpus.name] = corpus.keys
    looks = {
        number: [InTrainTask(f"in_train-{corpus.split}-{corpus.name}", corpus.keys, train[corpus.pair])]
        for number, corpus in enumerate(corpora)
        if corpus.split != "train" and corpus.keys and corpus.pair in train and corpus.same_as is None
    }
    found = yield from in_train_round.run_groups(looks, len(looks))
    warnings: list[HealthWarning] = []
    pairs: dict[str, dict[str, PairFacts]] = {}
    for number, corpus in enumerate(corpora):
        lines = _frequent(corpus, counted.get(number, ()))
        warnings += pair_warnings(corpus.split, corpus.name, corpus.languages, corpus.facts, lines)
        warnings += _shared(corpus, *found.get(number, (None,)))
        pairs.setdefault(corpus.split, {})[corpus.name] = corpus.facts
    return CompileObserved(tuple(warnings), pairs)


def _frequent(corpus: ObservedCorpus, counted: Sequence[LineCounts]) -> Mapping[Side, list[FrequentLine]]:
    """Returns the frequent lines of each side, the most frequent first."""
    found: dict[Side, list[FrequentLine]] = {}
    for side in corpus.candidates:
        lines: dict[int, FrequentLine] = {}
        for value, line in (item for part in counted for item in part[side].items()):
            _add(lines, value, line)
        least = corpus.facts.sides[side].lines // FREQUENT_SHARE
        frequent = [line for line in lines.values() if line.count > least]
        found[side] = sorted(frequent, key=lambda line: (-line.count, line.text))
    return found


def _shared(corpus: ObservedCorpus, found: InTrain | None) -> Iterator[HealthWarning]:
    if corpus.same_as is not None:
        text = f"it reads the same files as {corpus.same_as}; scores on it will be meaningless"
        yield HealthWarning("eval_in_train", text, corpus.name, corpus.split, None, corpus.facts.pairs, 1.0)
    elif found is not None:
        warning = leak_warning(corpus.split, corpus.name, corpus.facts.pairs, found.found, found.by_corpus)
        if warning is not None:
            yield warning
