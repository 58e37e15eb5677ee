"""Draws a corpus's pairs by hashes of their rows, or of their documents' names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import line_hashes

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import CorpusError
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.pipeline.engines import Tick
from nmt_prep.training.modifiers.draws import scrambled

Keys: TypeAlias = "npt.NDArray[np.uint64]"
Places: TypeAlias = "npt.NDArray[np.int64]"

LIMIT = "limit"
STAYS, GOES = -1, -2  # Places of pairs that are not held out
_LARGEST = (1 << 64) - 1


def salt_of(config: Config, corpus: Corpus) -> int:
    """Returns a seed. A text's pairs in several languages have the same, so that their rows go together."""
    name = corpus.name if corpus.pair is None else corpus.name.removesuffix(f".{corpus.pair}")
    return seed_of(f"divide/{config.seed}/{name}")


@dataclass(frozen=True)
class Every:
    """A hold-out of the pairs at some positions."""

    number: int  # number of the hold-out
    divisor: int
    before: int  # number of positions before the corpus
    lines: bool  # True if positions are rows, with dropped ones

    def among(self, batch: pa.RecordBatch, first: int) -> npt.NDArray[np.bool_]:
        """Returns True for the pairs in a batch that are held out; ``first`` is the first pair's position."""
        positions = batch.column("row").to_numpy() if self.lines else np.arange(first, first + len(batch))
        return np.asarray((positions + (self.before + 1)) % self.divisor == 0)


@dataclass(frozen=True)
class Draw:
    """Decides for each pair of a corpus where it goes."""

    every: tuple[Every, ...]  # hold-outs by position
    drawn: tuple[int, ...]  # numbers of the other hold-outs
    lasts: tuple[int, ...]  # the last key of each of these, ascending, and of the pairs that stay
    pairs: int  # pair count of the corpus

    def places(self, batch: pa.RecordBatch, salt: int, first: int) -> Places:
        """Returns the number of the hold-out that each pair is in, or ``STAYS`` or ``GOES``.

        Args:
            first: the position of the first pair in the corpus, from 0.
        """
        ranges = np.searchsorted(np.array(self.lasts, np.uint64), keys_of(batch, salt), side="left")
        places = np.array([*self.drawn, STAYS, GOES])[ranges]
        for each in reversed(self.every):
            places[each.among(batch, first)] = each.number
        return places


@dataclass(frozen=True)
class DrawTask:
    """A corpus to draw from."""

    key: str
    where: str  # key of the corpus in the config
    salt: int
    parts: tuple[Path, ...]
    limit: int | None
    documents: bool
    every: tuple[Every, ...] = ()
    drawn: tuple[tuple[int, int], ...] = ()  # number of each other hold-out, and number of its pairs


def keys_of(batch: pa.RecordBatch, salt: int) -> Keys:
    """Returns the keys of pairs, from their rows, or from their documents' names."""
    units = batch.column("row").to_numpy().astype(np.uint64)
    if DOCUMENT in batch.schema.names:
        names = batch.column(DOCUMENT)
        texts = TextColumn.from_arrow(names.dictionary)
        hashes = np.append(line_hashes(texts.data, texts.offsets), np.uint64(0))
        codes = names.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        units = np.where(codes < 0, units, hashes[codes])
    return scrambled(units ^ np.uint64(salt))


def draw(task: DrawTask, tick: Tick) -> Draw:
    """Finds the keys up to which pairs are drawn. Ticks are pairs."""
    total = sum(sum(row_groups(part)) for part in task.parts)
    if not total:
        if task.every or task.drawn:
            raise CorpusError(f"{task.where}: cleaning leaves no pairs for hold_out; change the rules")
        return Draw((), (), (), 0)

    def drawn() -> Iterator[Keys]:
        first = 0
        for part in task.parts:
            for batch in iter_pairs(part, columns=["row", *([DOCUMENT] if task.documents else [])]):
                free = np.ones(len(batch), np.bool_)
                for every in task.every:
                    free &= ~every.among(batch, first)
                first += len(batch)
                yield keys_of(batch, task.salt)[free]

    find = _last_documents if task.documents else _last_rows
    lasts, left = find(drawn, [pairs for _, pairs in task.drawn], task.limit)
    tick(total)
    if left < 1:
        raise CorpusError(
            f"{task.where}: cleaning leaves {total:,} pairs, too few for hold_out and limit; hold out fewer, or raise "
            "limit if a document has more pairs"
        )
    return Draw(task.every, tuple(number for number, _ in task.drawn), tuple(lasts), total)


def _last_rows(drawn: Callable[[], Iterator[Keys]], numbers: list[int], limit: int | None) -> tuple[list[int], int]:
    """Returns the last key for each pair count and for the pairs that stay, and how many pairs are not held out."""
    counts = np.zeros(1 << 16, np.int64)
    for keys in drawn():
        counts += np.bincount((keys >> np.uint64(48)).astype(np.int64), minlength=len(counts))
    until = np.cumsum(counts)
    ranks = [*accumulate(numbers)]
    left = int(until[-1]) - sum(numbers)
    if limit is not None:
        ranks.append(sum(numbers) + min(limit, max(left, 0)))
    # Keys are counted by their first 16 bits; only those with the bits of a wanted rank are held and sorted.
    bins = np.searchsorted(until, ranks)
    held: dict[int, list[Keys]] = {int(place): [] for place in bins}
    for keys in drawn() if held and left > 0 else ():
        top = keys >> np.uint64(48)
        for place, found in held.items():
            found.append(keys[top == place])
    if left < 1:
        return [], left
    inside = {place: np.sort(np.concatenate(found)) for place, found in held.items()}
    before = np.append(0, until)[bins]
    lasts = [
        int(inside[place][rank - start - 1]) for place, rank, start in zip(bins.tolist(), ranks, before, strict=True)
    ]
    return lasts if limit is not None else [*lasts, _LARGEST], left


def _last_documents(
    drawn: Callable[[], Iterator[Keys]], numbers: list[int], limit: int | None
) -> tuple[list[int], int]:
    """Returns the same as :func:`_last_rows` for pairs with document keys; documents stay whole.

    A hold-out has the fewest documents with as many pairs as asked for; a limit keeps the most that do not exceed it.
    """
    counted = [np.unique(keys, return_counts=True) for keys in drawn()]
    keys, places = np.unique(np.concatenate([each for each, _ in counted]), return_inverse=True)
    sizes = np.bincount(places, np.concatenate([counts for _, counts in counted]))
    until = np.cumsum(sizes).astype(np.int64)
    lasts, held = list[int](), 0
    for number in numbers:
        last = int(np.searchsorted(until, held + number))
        if last >= len(keys) - 1:
            return [], 0
        lasts.append(int(keys[last]))
        held = int(until[last])
    if limit is None:
        return [*lasts, _LARGEST], int(until[-1]) - held
    stay = int(np.searchsorted(until, held + limit, side="right"))  # the documents up to the limit
    return [*lasts, int(keys[stay - 1]) if stay else 0], int(until[stay - 1]) - held if stay else 0
