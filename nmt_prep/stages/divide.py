"""divide: moves pairs of train to other splits (``hold_out``), and caps corpora (``limit``), after cleaning.

A pair is drawn by a hash of seed, corpus and row, or of its document's name, so neither workers nor the division
into parts change the choice. The round ``draw`` finds the hashes up to which pairs are drawn, one corpus per task; the
round ``hold-out`` writes the pairs that are held out, and hashes of lines; the round ``keep`` writes which pairs of a
part stay. Parts that lose none stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import line_hashes

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.formats.plain import save_part
from nmt_prep.corpora.parts import KEPT, WORDS, KeptPart, PairFile, PartFile, name_of, schema_of
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Outputs, Result, Stage
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.drawing import GOES, LIMIT, STAYS, Draw, DrawTask, Every, Keys, draw, salt_of

HELD_OUT, DUPLICATE = "held_out", "held_out_duplicate"
_HELD = "held-out-"  # How the file names of held-out pairs begin


DRAW = Round("draw", draw, Draw, words="drawing pairs")


@dataclass(frozen=True)
class DivideTask:
    """A part of a corpus to divide."""

    key: str
    part: PairFile
    draw: Draw | None  # None for a corpus that only loses duplicates of pairs that are held out
    salt: int
    first: int  # pair count of the corpus before the part
    outputs: tuple[Path, ...]  # the file for each hold-out
    hashed: tuple[bool, ...]  # for each, True if its lines must not stay in train
    hashes: Path  # hashes of these
    pairs: Path  # for each pair what `_PAIRS` names, so that text is read once


_PAIRS = [("hashes", "<u8", len(SIDES)), ("bytes", "<i8", len(SIDES)), ("place", "<i8")]


def hold_out(task: DivideTask, tick: Tick) -> tuple[PairFile | None, ...]:
    """Writes the pairs of a part that are held out; returns a file for each hold-out with pairs. Ticks are pairs."""
    hashes, row = [np.empty((0, len(SIDES)), np.uint64)], task.first
    names = schema_of(task.part.path).names if task.outputs else (*SIDES, "row", DOCUMENT)
    files = [PartFile(path, task.part.corpus) for path in task.outputs]
    with ExitStack() as opened, atomic_write(task.pairs) as beside, beside.open("wb") as described:
        for file in files:
            opened.enter_context(file)
        for batch in iter_pairs(task.part.path, columns=[name for name in names if name not in WORDS.values()]):
            pairs = np.empty(len(batch), _PAIRS)
            pairs["place"] = STAYS if task.draw is None else task.draw.places(batch, task.salt, row)
            for number, side in enumerate(SIDES):
                column = TextColumn.from_arrow(batch.column(side))
                pairs["hashes"][:, number] = line_hashes(column.data, column.offsets)
                pairs["bytes"][:, number] = np.diff(column.offsets) + 1
            described.write(pairs.tobytes())
            for number, file in enumerate(files):
                if (chosen := pairs["place"] == number).any():
                    file.write(batch.filter(pa.array(chosen)))
                    hashes += [pairs["hashes"][chosen]] if task.hashed[number] else []
            row += len(batch)
            tick(len(batch))
    with atomic_write(task.hashes) as beside, writing(task.hashes):
        np.unique(np.concatenate(hashes)).astype("<u8").tofile(beside)
    return tuple(file.made() for file in files)


HOLD_OUT = Round(
    "hold-out",
    hold_out,
    tuple[PairFile | None, ...],
    words="holding pairs out",
    made=lambda task, files: [
        *(task.hashes, task.pairs),
        *(path for path, file in zip(task.outputs, files, strict=True) if file is not None),
    ],
)


@dataclass(frozen=True)
class KeepTask:
    """A part to keep without some of its pairs."""

    key: str
    part: PairFile
    beside: str  # path of the part, relative to the directory of the output
    pairs: Path  # the file of `hold_out` about its pairs
    hashes: tuple[Path, ...]  # hashes of the lines that are held out
    output: Path  # the file, without suffix


@dataclass(frozen=True)
class Kept:
    """The file with the pairs that stay; None if none does, or if all do, and stay where they are."""

    file: PairFile | None
    whole: bool  # True if all stay
    dropped: dict[str, int]  # number of other pairs by reason


def keep(task: KeepTask, tick: Tick) -> Kept:
    """Finds the pairs of a part that stay. Ticks are pairs."""
    groups, masks = row_groups(task.part.path), [np.empty(0, np.bool_)]
    dropped, sizes = np.zeros(3, np.int64), np.zeros(len(SIDES), np.int64)
    with writing(task.pairs), task.pairs.open("rb") as described:
        hashes = [np.fromfile(path, "<u8").astype(np.uint64, copy=False) for path in task.hashes]
        known = np.unique(np.concatenate([np.empty(0, np.uint64), *hashes]))
        for size in groups:
            pairs = np.fromfile(described, _PAIRS, size)
            stays = pairs["place"] == STAYS
            source, target = _among(known, pairs["hashes"]).T
            repeats = stays & (source | target)
            dropped += [np.count_nonzero(each) for each in (pairs["place"] >= 0, repeats, pairs["place"] == GOES)]
            masks.append(stays & ~repeats)
            sizes += [column[masks[-1]].sum() for column in pairs["bytes"].T]
            tick(size)
    counts = dict(zip((HELD_OUT, DUPLICATE, LIMIT), dropped.tolist(), strict=True))
    kept = np.concatenate(masks)
    left = int(kept.sum())
    if left in (0, len(kept)):
        return Kept(None, left > 0, counts)
    if 2 * left < len(kept):  # later stages would read mostly other pairs
        return Kept(_write_text(task, kept), False, counts)
    path = task.output.with_suffix(KEPT)
    digest, (source, target) = save_part(KeptPart.of(task.beside, groups, kept), path), sizes.tolist()
    return Kept(PairFile(name_of(path), left, task.part.corpus, None, source, target, digest), False, counts)


def _among(known: Keys, hashes: Keys) -> npt.NDArray[np.bool_]:
    starts = np.zeros(1 << 20, np.bool_)  # the first bits of known hashes, so that few others are looked up
    starts[known >> np.uint64(44)] = True
    found: npt.NDArray[np.bool_] = starts[hashes >> np.uint64(44)]
    likely = hashes[found]
    found[found] = known[np.minimum(np.searchsorted(known, likely), len(known) - 1)] == likely
    return found


def _write_text(task: KeepTask, kept: npt.NDArray[np.bool_]) -> PairFile | None:
    first = 0
    with PartFile(task.output.with_suffix(".parquet"), task.part.corpus) as file:
        for batch in iter_pairs(task.part.path):
            file.write(batch.filter(pa.array(kept[first : first + len(batch)])))
            first += len(batch)
    return file.made()


KEEP = Round(
    "keep",
    keep,
    Kept,
    words="dividing pairs",
    made=lambda task, result: [] if result.file is None else [task.output.with_suffix(result.file.path.suffix)],
)


@dataclass(frozen=True)
class DivideOutput:
    """The pairs of the splits that change."""

    # files by split, in order, relative to the directory of the stage; some are those of an earlier stage
    parts: dict[str, tuple[PairFile, ...]]
    draws: dict[str, Draw]  # by the key of the corpus in the config
    dropped: dict[str, dict[str, dict[str, int]]]  # number of pairs that go, by split, corpus and reason

    @property
    def held_out(self) -> dict[tuple[str, str], list[PairFile]]:
        """The files of the pairs that are held out, by split and corpus."""
        found: dict[tuple[str, str], list[PairFile]] = {}
        for split, listed in self.parts.items():
            for part in listed:
                if part.path.name.startswith(_HELD):
                    found.setdefault((split, part.corpus), []).append(part)
        return found


@dataclass(frozen=True)
class _Source:
    """A corpus of a split that changes."""

    split: str
    corpus: Corpus
    parts: tuple[PairFile, ...]  # relative to the directory of the stage

    @property
    def where(self) -> str:
        return f"splits.{self.split}.{self.corpus.name}"

    @property
    def pairs(self) -> int:
        return sum(part.pairs for part in self.parts)

    def draw_task(self, job: Job, others: Sequence[_Source]) -> DrawTask:
        """Returns the task that draws this corpus's pairs, given the earlier corpora of its split."""
        rows = job.read(Compile).corpora[self.split]
        before = {
            "corpus": 0,
            "split": sum(other.pairs for other in others),
            "lines": sum(rows[other.corpus.name].pairs_in for other in others),
        }
        wanted = [*enumerate(self.corpus.hold_out)]
        return DrawTask(
            key=f"draw-{self.where}",
            where=self.where,
            salt=salt_of(job.config, self.corpus),
            parts=tuple(part.below(job.directory_of(Divide)).path for part in self.parts),
            every=tuple(
                Every(number, each.every, before[each.positions], each.positions == "lines")
                for number, each in wanted
                if each.every is not None
            ),
            drawn=tuple((number, each.pairs) for number, each in wanted if each.pairs),
            limit=self.corpus.limit,
            documents=self.corpus.document is not None,
        )

    def tasks(self, job: Job, made: Draw | None) -> Iterator[DivideTask]:
        """Yields a task for each part."""
        first = 0
        for part in self.parts:
            name = part.path.stem
            yield DivideTask(
                key=f"{self.split}-{name}",
                part=part.below(job.directory_of(Divide)),
                draw=made,
                salt=salt_of(job.config, self.corpus),
                first=first,
                outputs=tuple(job.directory / each.split / f"{_HELD}{name}.parquet" for each in self.corpus.hold_out),
                hashed=tuple(each.duplicates == "drop" for each in self.corpus.hold_out),
                hashes=job.scratch / f"{self.split}-{name}.hashes",
                pairs=job.scratch / f"{self.split}-{name}.pairs",
            )
            first += part.pairs


Divided: TypeAlias = "tuple[dict[str, Draw], list[tuple[DivideTask, tuple[PairFile | None, ...]]], dict[str, Kept]]"
"""The draws, the files that are held out, and by the keys of tasks what stays."""


class Divide(Stage[DivideOutput, Divided]):
    """Writes ``divided/<split>/part-*``, each named after the part that its pairs come from, and ``held-out-*``."""

    name = "divide"
    version = 3
    directory = "divided"
    output = DivideOutput
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (DRAW, HOLD_OUT, KEEP)

    def applies(self, config: Config) -> bool:
        return config.divides

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return whole_stages(config)

    def settings(self, config: Config) -> dict[str, object]:
        divided = ((f"splits.{split}.{corpus.name}", corpus) for split, corpus in config.corpora if corpus.is_divided)
        keys = {where: corpus.model_dump(mode="json", include={"hold_out", "limit"}) for where, corpus in divided}
        return {"seed": config.seed, **keys}

    def work(self, job: Job) -> Rounds[Divided]:
        sources = _sources(job)
        drawing = {
            source.where: source.draw_task(job, [each for each in sources[:at] if each.split == source.split])
            for at, source in enumerate(sources)
            if source.corpus.is_divided
        }
        drawn = yield from DRAW.run(drawing.values(), sum(each.pairs for each in sources if each.where in drawing))
        draws = dict(zip(drawing, drawn, strict=True))
        drops = any(each.duplicates == "drop" for source in sources for each in source.corpus.hold_out)
        parts = [
            (part, source, task)
            for source in sources
            if source.where in draws or (drops and source.split == "train")
            for part, task in zip(source.parts, source.tasks(job, draws.get(source.where)), strict=True)
        ]
        dividing = [task for _, _, task in parts]
        pairs = sum(task.part.pairs for task in dividing)
        held = yield from HOLD_OUT.run(dividing, pairs)
        _check_positions(sources, held)
        hashes = tuple(task.hashes for task in dividing if any(task.hashed))
        keeping = [
            KeepTask(
                key=task.key,
                part=task.part,
                beside=f"../{part.file}",
                pairs=task.pairs,
                hashes=hashes if source.split == "train" else (),
                output=job.directory / source.split / part.path.stem,
            )
            for part, source, task in parts
        ]
        kept = yield from KEEP.run(keeping, pairs)
        keys = [task.key for task in dividing]
        return draws, [*zip(dividing, held, strict=True)], dict(zip(keys, kept, strict=True))

    def finish(self, job: Job, made: Divided) -> Result[DivideOutput]:
        draws, held, kept = made
        parts: dict[str, list[PairFile]] = {}
        dropped: dict[str, dict[str, dict[str, int]]] = {}
        for source in _sources(job):
            listed = parts.setdefault(source.split, [])
            counts = dict.fromkeys((HELD_OUT, DUPLICATE, LIMIT), 0)
            for part in source.parts:
                result = kept.get(f"{source.split}-{part.path.stem}", Kept(None, True, {}))
                file = part if result.whole else result.file
                listed += [] if file is None else [file]
                for reason, number in result.dropped.items():
                    counts[reason] += number
            dropped.setdefault(source.split, {})[source.corpus.name] = counts
        for task, files in held:
            for path, file in zip(task.outputs, files, strict=True):
                parts.setdefault(path.parent.name, []).extend([] if file is None else [file])
        digests = {file.file: file.sha256 for listed in parts.values() for file in listed if file.sha256 is not None}
        total = {
            reason: sum(counts[reason] for corpora in dropped.values() for counts in corpora.values())
            for reason in (DUPLICATE, LIMIT, HELD_OUT)
        }
        pairs, moved = sum(task.part.pairs for task, _ in held), total.pop(HELD_OUT)
        without = {split: tuple(replace(file, sha256=None) for file in listed) for split, listed in parts.items()}
        counted = Counts(pairs, pairs - sum(total.values()), total, {HELD_OUT: moved})
        return Result(DivideOutput(without, draws, dropped), counted, [*digests], digests)


def _check_positions(sources: Sequence[_Source], held: Sequence[Sequence[PairFile | None]]) -> None:
    """Checks that hold-outs by position find a pair in at least one corpus."""
    found = {file.path.parent.name for files in held for file in files if file is not None}
    for source in sources:
        for each in source.corpus.hold_out:
            if each.every is not None and each.split not in found:
                raise CorpusError(
                    f"{source.where}.hold_out.every is {each.every}, but cleaning leaves {source.pairs:,} pairs; "
                    "lower it"
                )


def _sources(job: Job) -> list[_Source]:
    """Returns the corpora of the splits that change, in order."""
    splits = job.config.splits.items()
    changed = {
        split: corpora for split, corpora in splits if any(each.is_divided or each.is_held_out for each in corpora)
    }
    parts = whole_parts(job)
    return [
        _Source(split, corpus, tuple(part for part in parts[split] if part.corpus == corpus.name))
        for split, corpora in changed.items()
        for corpus in corpora
        if not corpus.is_held_out
    ]


def whole_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output :func:`whole_parts` reads."""
    return (Compile,) if config.clean is None else (Compile, Clean)


def whole_parts(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the cleaned or compiled files by split, before any is divided, relative to a stage's directory."""
    found = {
        split: [part.below(Path("..", Compile.directory)) for part in files]
        for split, files in job.read(Compile).parts.items()
    }
    for split, files in job.read(Clean).parts.items() if job.config.clean is not None else ():
        vocab = {corpus.name for corpus in job.config.splits[split] if corpus.role == "vocab"}
        found[split] = [part.below(Path("..", Clean.directory)) for part in files if part.corpus not in vocab]
    return found


def divided_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output :func:`divided_files` reads."""
    return (*whole_stages(config), *((Divide,) if config.divides else ()))


def divided_files(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the files of the pairs that stay in their split or are held out for it, by split, in order."""
    found = {**whole_parts(job), **(job.read(Divide).parts if job.config.divides else {})}
    return {split: [part.below(job.directory_of(Divide)) for part in parts] for split, parts in found.items()}


def directed(corpora: Sequence[Corpus], parts: Sequence[PairFile]) -> Iterator[PairFile]:
    """Yields each corpus's files, and again for its other direction."""
    by_name = {corpus.name: corpus for corpus in corpora}
    for name, listed in groupby(parts, lambda part: part.corpus):
        files, reverse = [*listed], by_name[name].reverse
        yield from files
        if reverse is not None:
            yield from (file.reverse(reverse.name) for file in files)


def reason_for(job: Outputs, split: str, corpus: Corpus, row: int) -> str:
    """Returns why a pair is not in its split although it was cleaned; empty if it was not."""
    if not (job.config.divides and any(corpus.name == each.name for each in job.config.splits[split])):
        return ""
    made = job.read(Divide).draws.get(f"splits.{split}.{corpus.name}")
    first = 0
    for part in (each for each in whole_parts(job)[split] if each.corpus == corpus.name):
        for batch in iter_pairs(part.below(job.directory_of(Divide)).path, columns=["row", DOCUMENT]):
            for found in np.flatnonzero(batch.column("row").to_numpy() == row) if "row" in batch.schema.names else ():
                if made is None:
                    return DUPLICATE
                place = int(made.places(batch, salt_of(job.config, corpus), first)[found])
                held = f"{HELD_OUT} for {corpus.hold_out[place].split}" if place >= 0 else ""
                return held or (DUPLICATE if place == STAYS else f"{LIMIT}, {corpus.limit:,} pairs")
            first += len(batch)
    return ""
