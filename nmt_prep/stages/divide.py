"""divide: moves pairs of train to other splits (``hold_out``), and caps corpora (``limit``), after cleaning.

A pair is drawn by a hash of seed, corpus and row, or of its document's name, so neither workers nor the division
into parts change the choice. The round ``draw`` finds the hashes up to which pairs are drawn, one corpus per task; the
round ``hold-out`` writes the pairs that are held out, and hashes of lines; the round ``keep`` writes which pairs of a
part stay. Parts that lose none stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.formats.plain import save_part
from nmt_prep.corpora.parts import KEPT, BatchFile, KeptPart, PairFile
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Outputs, Result, Stage
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile.compile_tasks import CorpusCounts
from nmt_prep.stages.drawing import GOES, LIMIT, STAYS, Draw, DrawTask, Every, Keys, Places, draw, salt_of
from nmt_prep.text.blocks import text_bytes

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

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.RecordBatch, Places]]:
        """Yields the part's batches, and where each pair goes."""
        first = self.first
        for batch in iter_pairs(self.part.path, columns=columns):
            nowhere = np.full(len(batch), STAYS)
            yield batch, nowhere if self.draw is None else self.draw.places(batch, self.salt, first)
            first += len(batch)


@dataclass(frozen=True)
class HoldOutTask(DivideTask):
    """A part of which pairs are held out."""

    outputs: tuple[Path, ...]  # the file for each hold-out
    hashed: tuple[bool, ...]  # for each, True if its lines must not stay in train
    hashes: Path  # hashes of these
    lines: Path  # hashes and bytes of all lines, so that their text is read once


_LINES = [("hashes", "<u8", len(SIDES)), ("bytes", "<u4", len(SIDES))]  # a NumPy type, made where it is used


@dataclass(frozen=True)
class HeldOut:
    """The files that a task wrote: None for a hold-out without pairs in the part."""

    files: tuple[PairFile | None, ...]


def hold_out(task: HoldOutTask, tick: Tick) -> HeldOut:
    """Writes the pairs of a part that are held out. Ticks are pairs."""
    hashes = [np.empty((0, len(SIDES)), np.uint64)]
    writers = [PartFile(path, task.part.corpus) for path in task.outputs]
    with ExitStack() as files, atomic_write(task.lines) as beside, beside.open("wb") as lines:
        for writer in writers:
            files.enter_context(writer)
        for batch, places in task.batches():
            described = _described(batch)
            lines.write(described.tobytes())
            for number, writer in enumerate(writers):
                if (chosen := places == number).any():
                    writer.write(batch.filter(pa.array(chosen)))
                    hashes += [described["hashes"][chosen]] if task.hashed[number] else []
            tick(len(batch))
    with atomic_write(task.hashes) as beside, writing(task.hashes):
        np.unique(np.concatenate(hashes)).astype("<u8").tofile(beside)
    return HeldOut(tuple(writer.made() for writer in writers))


def _described(batch: pa.RecordBatch) -> npt.NDArray[np.void]:
    """Returns the hashes and bytes of each pair's lines."""
    described = np.empty(len(batch), _LINES)
    for number, side in enumerate(SIDES):
        column = TextColumn.from_arrow(batch.column(side))
        described["hashes"][:, number] = line_hashes(column.data, column.offsets)
        described["bytes"][:, number] = np.diff(column.offsets)
    return described


class PartFile(BatchFile):
    """A file of pairs that is a part."""

    def __init__(self, path: Path, corpus: str) -> None:
        super().__init__(path)
        self._corpus, self._bytes = corpus, [0, 0]

    def write(self, batch: pa.RecordBatch) -> None:
        super().write(batch)
        for number, side in enumerate(SIDES):
            self._bytes[number] += text_bytes(batch.column(side)) + len(batch)

    def made(self) -> PairFile | None:
        """Returns the file after it is closed; None if there were no pairs."""
        if not self.pairs:
            return None
        name = f"{self.path.parent.name}/{self.path.name}"
        return PairFile(name, self.pairs, self._corpus, None, self._bytes[0], self._bytes[1], sha256_of(self.path))


HOLD_OUT = Round(
    "hold-out",
    hold_out,
    HeldOut,
    words="holding pairs out",
    made=lambda task, result: [
        *(task.hashes, task.lines),
        *(path for path, file in zip(task.outputs, result.files, strict=True) if file is not None),
    ],
)


@dataclass(frozen=True)
class KeepTask(DivideTask):
    """A part to keep without some of its pairs."""

    output: Path  # the file, without suffix
    beside: str  # path of the part, relative to the directory of the output
    hashes: tuple[Path, ...]  # hashes of the lines that are held out
    lines: Path | None  # file of `hold_out` with the hashes and bytes of the part's lines; None to read its text


@dataclass(frozen=True)
class Kept:
    """The file with the pairs that stay; None if none does, or if all do, and stay where they are."""

    file: PairFile | None
    whole: bool  # True if all stay
    dropped: dict[str, int]  # number of other pairs by reason


def keep(task: KeepTask, tick: Tick) -> Kept:
    """Finds the pairs of a part that stay. Ticks are pairs."""
    known = np.unique(np.concatenate([np.empty(0, np.uint64), *map(_read_hashes, task.hashes)]))
    dropped, sizes = np.zeros(3, np.int64), np.zeros(len(SIDES), np.int64)
    masks = [np.empty(0, np.bool_)]
    for places, lines in _lines_of(task):
        stays = places == STAYS
        repeats = _among(known, lines["hashes"]).any(axis=1)
        dropped += [np.count_nonzero(each) for each in (places >= 0, stays & repeats, places == GOES)]
        masks.append(stays & ~repeats)
        sizes += lines["bytes"][masks[-1]].sum(axis=0, dtype=np.int64)
        tick(len(lines))
    counts = dict(zip((HELD_OUT, DUPLICATE, LIMIT), dropped.tolist(), strict=True))
    kept = np.concatenate(masks)
    pairs = int(kept.sum())
    if pairs in (0, len(kept)):
        return Kept(None, pairs > 0, counts)
    few = 2 * pairs < len(kept)  # later stages would read mostly other pairs
    return Kept(_write_text(task, kept) if few else _write_kept(task, kept, sizes + pairs), False, counts)


def _among(known: Keys, hashes: Keys) -> npt.NDArray[np.bool_]:
    starts = np.zeros(1 << 20, np.bool_)  # the first bits of known hashes, so that few others are looked up
    starts[known >> np.uint64(44)] = True
    found: npt.NDArray[np.bool_] = starts[hashes >> np.uint64(44)]
    likely = hashes[found]
    found[found] = known[np.minimum(np.searchsorted(known, likely), len(known) - 1)] == likely
    return found


def _lines_of(task: KeepTask) -> Iterator[tuple[Places, npt.NDArray[np.void]]]:
    """Yields where the pairs of a batch go, with the hashes and bytes of their lines."""
    if task.lines is None:
        yield from ((places, _described(batch)) for batch, places in task.batches())
        return
    with writing(task.lines), task.lines.open("rb") as lines:
        for batch, places in task.batches(["row", DOCUMENT]):
            yield places, np.fromfile(lines, _LINES, len(batch))


def _read_hashes(path: Path) -> Keys:
    with writing(path):
        return np.fromfile(path, "<u8").astype(np.uint64, copy=False)


def _write_kept(task: KeepTask, kept: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64]) -> PairFile:
    """Writes which pairs stay, without their text."""
    path = task.output.with_suffix(KEPT)
    digest = save_part(KeptPart.of(task.beside, row_groups(task.part.path), kept), path)
    source, target = sizes.tolist()
    name = f"{path.parent.name}/{path.name}"
    return PairFile(name, int(kept.sum()), task.part.corpus, None, source, target, digest)


def _write_text(task: KeepTask, kept: npt.NDArray[np.bool_]) -> PairFile | None:
    """Writes the pairs that stay."""
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

    def salt(self, config: Config) -> int:
        """Returns a seed. A text's pairs in several languages have the same, so that their rows go together."""
        return salt_of(config, self.corpus)

    def every(self, others: Sequence[_Source], rows: Mapping[str, int]) -> Iterator[Every]:
        """Yields the hold-outs by position, given the split's corpora before this one, and the rows of corpora."""
        for number, each in enumerate(self.corpus.hold_out):
            if each.every is not None:
                counts = {
                    "corpus": 0,
                    "split": sum(part.pairs for other in others for part in other.parts),
                    "lines": sum(rows[other.corpus.name] for other in others),
                }
                yield Every(number, each.every, counts[each.positions], each.positions == "lines")

    def tasks(self, job: Job, made: Draw | None) -> Iterator[DivideTask]:
        """Yields a task for each part."""
        first = 0
        for part in self.parts:
            path = part.below(job.directory_of(Divide))
            yield DivideTask(f"{self.split}-{part.path.stem}", path, made, self.salt(job.config), first)
            first += part.pairs


Divided: TypeAlias = "tuple[dict[str, Draw], list[tuple[HoldOutTask, HeldOut]], list[tuple[KeepTask, Kept]]]"


class Divide(Stage[DivideOutput, Divided]):
    """Writes ``divided/<split>/part-*``, each named after the part that its pairs come from, and ``held-out-*``."""

    name = "divide"
    version = 2
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
        chosen = {source.where: source for source in sources if source.corpus.is_divided}
        before = {
            source.where: [other for other in sources[:number] if other.split == source.split]
            for number, source in enumerate(sources)
        }
        rows = {name: counts.pairs_in for name, counts in job.read(Compile).corpora["train"].items()}
        drawing = [
            DrawTask(
                f"draw-{where}",
                where,
                source.salt(job.config),
                tuple(part.below(job.directory_of(Divide)).path for part in source.parts),
                tuple(source.every(before[where], rows)),
                tuple((number, each.pairs) for number, each in enumerate(source.corpus.hold_out) if each.pairs),
                source.corpus.limit,
                source.corpus.document is not None,
            )
            for where, source in chosen.items()
        ]
        drawn = yield from DRAW.run(drawing, sum(part.pairs for source in chosen.values() for part in source.parts))
        draws = dict(zip(chosen, drawn, strict=True))
        holding = [
            HoldOutTask(
                **vars(task),
                outputs=tuple(
                    job.directory / each.split / f"{_HELD}{task.part.path.stem}.parquet"
                    for each in source.corpus.hold_out
                ),
                hashed=tuple(each.duplicates == "drop" for each in source.corpus.hold_out),
                hashes=job.scratch / f"{task.key}.hashes",
                lines=job.scratch / f"{task.key}.lines",
            )
            for where, source in chosen.items()
            for task in source.tasks(job, draws[where])
            if source.corpus.hold_out
        ]
        held = yield from HOLD_OUT.run(holding, sum(task.part.pairs for task in holding))
        _check_positions(sources, held)
        hashes = tuple(task.hashes for task in holding if any(task.hashed))
        lines = {task.key: task.lines for task in holding}
        keeping = [
            KeepTask(
                **vars(task),
                output=job.directory / source.split / task.part.path.stem,
                beside=f"../{part.file}",
                hashes=known,
                lines=lines.get(task.key),
            )
            for source in sources
            for known in [hashes if source.split == "train" else ()]
            for part, task in zip(source.parts, source.tasks(job, draws.get(source.where)), strict=True)
            if task.draw is not None or known
        ]
        kept = yield from KEEP.run(keeping, sum(task.part.pairs for task in keeping))
        return draws, [*zip(holding, held, strict=True)], [*zip(keeping, kept, strict=True)]

    def finish(self, job: Job, made: Divided) -> Result[DivideOutput]:
        draws, held, kept = made
        stayed = {task.key: result for task, result in kept}
        parts: dict[str, list[PairFile]] = {}
        dropped: dict[str, dict[str, dict[str, int]]] = {}
        for source in _sources(job):
            listed = parts.setdefault(source.split, [])
            counts = dict.fromkeys((HELD_OUT, DUPLICATE, LIMIT), 0)
            for part in source.parts:
                result = stayed.get(f"{source.split}-{part.path.stem}", Kept(None, True, {}))
                file = part if result.whole else result.file
                listed += [] if file is None else [file]
                for reason, number in result.dropped.items():
                    counts[reason] += number
            dropped.setdefault(source.split, {})[source.corpus.name] = counts
        for holding, out in held:
            for path, file in zip(holding.outputs, out.files, strict=True):
                parts.setdefault(path.parent.name, []).extend([] if file is None else [file])
        digests = {file.file: file.sha256 for listed in parts.values() for file in listed if file.sha256 is not None}
        total = {
            reason: sum(counts[reason] for corpora in dropped.values() for counts in corpora.values())
            for reason in (DUPLICATE, LIMIT, HELD_OUT)
        }
        pairs, moved = sum(task.part.pairs for task, _ in kept), total.pop(HELD_OUT)
        without = {split: tuple(replace(file, sha256=None) for file in listed) for split, listed in parts.items()}
        counted = Counts(pairs, pairs - sum(total.values()), total, {HELD_OUT: moved})
        return Result(DivideOutput(without, draws, dropped), counted, [*digests], digests)


def _check_positions(sources: Sequence[_Source], held: Sequence[HeldOut]) -> None:
    """Checks that hold-outs by position find a pair in at least one corpus."""
    found = {file.file.partition("/")[0] for out in held for file in out.files if file is not None}
    for source in sources:
        for each in source.corpus.hold_out:
            if each.every is not None and each.split not in found:
                total = sum(part.pairs for part in source.parts)
                raise CorpusError(
                    f"{source.where}.hold_out.every is {each.every}, but cleaning leaves {total:,} pairs; lower it"
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


def counts_of(job: Outputs) -> dict[str, dict[str, CorpusCounts]]:
    """Returns the counts of all corpora as they were read; corpora that are held out of others were read there."""
    counts = {split: {**corpora} for split, corpora in job.read(Compile).corpora.items()}
    for (split, corpus), files in job.read(Divide).held_out.items() if job.config.divides else ():
        pairs = sum(file.pairs for file in files)
        source, target = (sum(getattr(file, f"{side}_bytes") or 0 for file in files) for side in SIDES)
        counts.setdefault(split, {})[corpus] = CorpusCounts(pairs, pairs, {}, {}, source, target)
    return counts


def reason_for(job: Outputs, split: str, corpus: Corpus, row: int) -> str:
    """Returns why a pair is not in its split although it was cleaned; empty if it was not."""
    if not (job.config.divides and any(corpus.name == each.name for each in job.config.splits[split])):
        return ""
    made = job.read(Divide).draws.get(f"splits.{split}.{corpus.name}")
    source = _Source(split, corpus, tuple(part for part in whole_parts(job)[split] if part.corpus == corpus.name))
    first = 0
    for part in source.parts:
        for batch in iter_pairs(part.below(job.directory_of(Divide)).path):
            for found in np.flatnonzero(batch.column("row").to_numpy() == row) if "row" in batch.schema.names else ():
                if made is None:
                    return DUPLICATE
                place = int(made.places(batch, source.salt(job.config), first)[found])
                held = f"{HELD_OUT} for {corpus.hold_out[place].split}" if place >= 0 else ""
                return held or (DUPLICATE if place == STAYS else f"{LIMIT}, {corpus.limit:,} pairs")
            first += len(batch)
    return ""
