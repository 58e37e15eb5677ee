"""The round that draws a sample of distinct pairs from parts (:mod:`nmt_prep.cleaning.pair_sample`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.pair_sample import KEY, Read, drawn, first_by, sample_limits
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import BatchFile, PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds


@dataclass(frozen=True)
class SelectTask:
    """A part to draw pairs from."""

    key: str  # name of the task
    part: Path
    limit: int  # pairs with smaller random numbers are in the sample
    seed: int  # seed of the random numbers
    output: Path  # file to write


@dataclass(frozen=True)
class DrawnFiles:
    """The files with the pairs that were drawn from the parts of a corpus. Several files may have the same pairs."""

    files: tuple[Path, ...]  # the files, with the columns `source`, `target`, `key` and `order`
    drawn: int  # number of pairs in the files
    pairs: int  # number of pairs of the corpus
    limit: int  # its pairs with smaller random numbers were drawn


def reader_of(corpora: Sequence[DrawnFiles]) -> Read:
    """Returns a function that yields the drawn pairs of corpora."""

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for corpus in corpora:
            for path in corpus.files:
                yield from iter_pairs(path, columns=columns)

    return read


def select_pairs(task: SelectTask, tick: Tick) -> int:
    """Writes the distinct pairs of a part that are in the sample; returns their number. It ticks for each pair."""
    chosen: list[pa.RecordBatch] = []
    for batch in iter_pairs(task.part, columns=SIDES):
        chosen.append(drawn(batch, task.limit, task.seed))
        tick(len(batch))
    with BatchFile(task.output) as output:
        if any(map(len, chosen)):
            output.write(first_by(KEY, chosen))
    return output.pairs


def _selected_file(task: SelectTask, pairs: int) -> list[Path]:
    return [task.output] if pairs else []


def select_round(prefix: str) -> Round[SelectTask, int]:
    """Returns the round of a stage or rule that draws samples."""
    return Round(f"{prefix}-select", select_pairs, int, made=_selected_file, words="choosing pairs to learn from")


def draw_samples(
    selecting: Round[SelectTask, int],
    texts: Mapping[str, Sequence[PairFile]],
    most: Mapping[str, int],
    seed: int,
    scratch: Path,
) -> Rounds[dict[str, dict[str, DrawnFiles]]]:
    """Yields the round; returns the drawn pairs of each corpus of each text, in the order of their parts."""
    pairs: dict[str, dict[str, int]] = {name: {} for name in texts}
    tasks: dict[str, list[SelectTask]] = {}
    for name, parts in texts.items():
        for part in parts:
            pairs[name][part.corpus] = pairs[name].get(part.corpus, 0) + part.pairs
        limits = sample_limits(pairs[name], most[name])
        keys = [f"{selecting.name}-{name}-{number:05d}" for number in range(len(parts))]
        tasks[name] = [
            SelectTask(key, part.path, limits[part.corpus], seed, scratch / f"{key}.parquet")
            for key, part in zip(keys, parts, strict=True)
        ]
    selected = yield from selecting.run_groups(tasks, sum(sum(sizes.values()) for sizes in pairs.values()))
    samples: dict[str, dict[str, DrawnFiles]] = {name: {} for name in texts}
    for name, parts in texts.items():
        for part, task, number in zip(parts, tasks[name], selected[name], strict=True):
            before = samples[name].get(part.corpus, DrawnFiles((), 0, pairs[name][part.corpus], task.limit))
            files = (*before.files, *_selected_file(task, number))
            samples[name][part.corpus] = DrawnFiles(files, before.drawn + number, before.pairs, before.limit)
    return samples
