"""sample: selects the lines that vocabularies are trained on.

As Tensor2Tensor's ``generate_lines_for_vocab`` (``tensor2tensor/data_generators/generator_utils.py``), it takes every
n-th line from each side of each corpus, stripped, until a budget of characters is used up. The lines come from the
cleaned pairs if the config asks for that, else from the files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import LineSampler

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import joined_lines
from nmt_prep.base.digests import StepRange
from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, Corpus, ExistingVocab
from nmt_prep.config.schema import SampleSettings
from nmt_prep.config.section import Languages
from nmt_prep.config.vocab import steps_of_tokens
from nmt_prep.corpora import open_corpus, strip_lines
from nmt_prep.corpora.parts import WORDS, iter_pairs
from nmt_prep.corpora.reader import PairBatch, Reader, every, numbered
from nmt_prep.corpora.slices import whole_lines
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import cleaned_corpora
from nmt_prep.stages.compile import Compile, corpus_files, file_steps, reading_settings
from nmt_prep.stages.compile.compile_tasks import FAULTS
from nmt_prep.stages.compile.slices import CorpusFiles, whole_steps
from nmt_prep.stages.divide import divided_files, divided_stages
from nmt_prep.stages.sentences import documents_stages
from nmt_prep.text.chunks import UTF8_MARK, changed, raw_chunks

Unit: TypeAlias = Literal["characters", "bytes"]

Text: TypeAlias = "tuple[memoryview, int]"  # Lines of a sample in UTF-8, each followed by `\n`, and their number


@dataclass(frozen=True)
class RawLines:
    """All lines on one side of a corpus."""

    source: CorpusFiles
    languages: Languages
    side: Side
    bytes: int  # UTF-8 bytes of the side's lines, as compile counted them
    sound: bool  # true if compile found no fault with any pair
    steps: Mapping[str, StepRange]  # all steps of the files that are read in place, by the reader's names of the files
    held_out: tuple[int, ...] = ()  # divisors of the numbers of lines that are held out
    before: int = 0  # number of lines of the corpora before this one

    def sampled(self, budget: int, unit: Unit) -> Iterator[Text]:
        """Yields every n-th line until a budget is used up."""
        try:
            lines = whole_lines(self.steps) if self.steps else None
            reader = open_corpus(self.source.corpus, self.source.files, self.languages, lines)
            files = reader.text_files(self.side)
            size = self.bytes if files is None else sum(path.stat().st_size for path in files)
            stride = stride_of(size, budget)
            if files is not None and self.sound and unit == "characters" and not self.held_out:
                steps = {self.source.files[0][part]: each for part, each in self.steps.items()}
                yield from sampled_lines(files, stride, budget, steps)
            else:
                yield from affordable(every(self._left(reader), stride), budget, unit)
        except CorpusError as error:
            raise self.source.explained(error) from error

    def _left(self, reader: Reader) -> Iterator[pa.Array]:
        """Yields the lines that are not held out by their numbers."""
        if not self.held_out:
            yield from reader.lines(self.side)
            return
        for batch in map(PairBatch.sound, numbered(reader.pairs(), self.before + 1)):
            assert batch.rows is not None
            stays = np.all([batch.rows % divisor != 0 for divisor in self.held_out], axis=0)
            if stays.any():
                yield batch.side(self.side).filter(pa.array(stays))


@dataclass(frozen=True)
class CleanedLines:
    """The lines on one side of a cleaned corpus."""

    parts: tuple[Path, ...]  # the cleaned parts of the corpus, in order
    side: Side
    bytes: int  # UTF-8 bytes of the side's lines, with one byte for the end of each line
    words: bool = False  # true to take the words of all lines, which `limits.tokens` counted

    def sampled(self, budget: int, unit: Unit) -> Iterator[Text]:
        """Yields every n-th line until a budget is used up."""
        name = WORDS[self.side] if self.words else self.side
        lines = (batch.column(name) for path in self.parts for batch in iter_pairs(path, columns=[name]))
        if self.words:
            return ((joined_lines(batch), len(batch)) for batch in lines)
        taken = every(lines, stride_of(self.bytes, budget))
        return affordable((batch.cast(pa.large_string()) for batch in taken), budget, unit)


@dataclass(frozen=True)
class SampleTask:
    """One side of a corpus to sample from."""

    key: str
    lines: RawLines | CleanedLines  # the lines of the corpus
    budget: int  # size of the sample, in `unit`
    output: Path
    unit: Unit = "characters"  # unit of the budget. A text that has fewer bytes than its budget is repeated.

    def sampled(self) -> Iterator[Text]:
        budget = self.budget
        while self.unit == "bytes" and budget > self.lines.bytes > 0:
            yield from self.lines.sampled(self.lines.bytes, self.unit)
            budget -= self.lines.bytes
        if budget:
            yield from self.lines.sampled(budget, self.unit)


@dataclass(frozen=True)
class SampleSize:
    """Line and UTF-8 byte counts of a sample, with one byte for the end of each line."""

    lines: int
    bytes: int

    def __add__(self, other: SampleSize) -> SampleSize:
        return SampleSize(self.lines + other.lines, self.bytes + other.bytes)


def sample_corpus(task: SampleTask, tick: Tick) -> SampleSize:
    """Writes the sample for one side of a corpus. Ticks are lines."""
    lines = size = 0
    with atomic_write(task.output) as beside, beside.open("wb") as output:
        for text, count in task.sampled():
            output.write(text)
            size += len(text)
            lines += count
            tick(count)
    return SampleSize(lines, size)


SAMPLE = Round("sample", sample_corpus, SampleSize, unit="lines", words="sampling lines")


@dataclass(frozen=True)
class SampleOutput:
    """The sizes of the two files."""

    source: SampleSize
    target: SampleSize


Sampled: TypeAlias = "dict[Side, list[tuple[Path, SampleSize]]]"
"""All corpora's sample files by side, with their sizes."""


class Sample(Stage[SampleOutput, Sampled]):
    """Writes ``sample/source.txt`` and ``sample/target.txt``.

    The sides are sampled independently, as upstream does: line i on one side is not the translation of line i on the
    other. Where the training corpora are not cleaned, or with ``sample.from: raw``, lines are taken before compile
    drops any.
    """

    name = "sample"
    directory = "sample"
    output = SampleOutput
    rounds = (SAMPLE,)

    def applies(self, config: Config) -> bool:
        return not isinstance(config.vocab, ExistingVocab)

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        if not _from_pairs(config):
            return (*documents_stages(config), Compile)
        return (*(documents_stages(config) if not config.cleans("train") else ()), *divided_stages(config))

    def settings(self, config: Config) -> dict[str, object]:
        corpora = config.splits["train"]
        settings: dict[str, object] = {
            "sample.bytes_per_corpus": config.sample.budget,
            "splits.train": [corpus.name for corpus in corpora],
        }
        made = {corpus.name: learned_sides(config, corpus) for corpus in corpora if corpus.translate is not None}
        settings |= {"sample.made": made} if made else {}
        if config.pairs is not None:
            settings["sample.temperature"] = config.sample.temperature
            settings["splits.train.pairs"] = sampled_sides(config)
        if config.sample.bytes_per_file is not None:
            settings["sample.bytes_per_file"] = True
        if _from_pairs(config):
            settings["sample.from"] = config.sample.origin
        elif held := {corpus.name: _divisors(corpus) for corpus in corpora if _divisors(corpus)}:
            settings["splits.train.hold_out.lines"] = held
        settings |= {f"sample.words.{side}": True for side in SIDES if has_words(config, side)}
        for corpus in corpora if not config.cleans("train") or not _from_pairs(config) else ():
            settings |= reading_settings(f"splits.train.{corpus.name}", corpus, config.languages)
        return settings

    def work(self, job: Job) -> Rounds[Sampled]:
        sampled = sampled_sides(job.config)
        sides: dict[Side, list[tuple[str, RawLines | CleanedLines]]] = {side: [] for side in SIDES}
        for index, corpus in enumerate(job.config.splits["train"]):
            for side, read, language in sampled[corpus.name]:
                sides[side] += ((language, lines) for lines in _lines(job, index, read))
        unit: Unit = "characters" if job.config.sample.temperature is None else "bytes"
        budgets = _budgets(job.config.sample, [each for side in SIDES for each in sides[side]])
        tasks = {
            side: [
                SampleTask(key := f"{side}-{number:03d}", text, next(budgets), job.scratch / key, unit)
                for number, (_, text) in enumerate(sides[side])
            ]
            for side in SIDES
        }
        sizes = yield from SAMPLE.run_groups(tasks)
        return {side: list(zip((task.output for task in tasks[side]), sizes[side], strict=True)) for side in SIDES}

    def finish(self, job: Job, made: Sampled) -> Result[SampleOutput]:
        sizes: dict[Side, SampleSize] = {}
        for side in SIDES:
            _join([path for path, _ in made[side]], job.directory / f"{side}.txt")
            sizes[side] = reduce(add, (size for _, size in made[side]), SampleSize(0, 0))
        numbers = {f"{side}_{name}": count for side in SIDES for name, count in vars(sizes[side]).items()}
        return Result(SampleOutput(**sizes), Counts(other=numbers), files=[f"{side}.txt" for side in SIDES])


def learned_sides(config: Config, corpus: Corpus) -> tuple[Side, ...]:
    """Returns the sides of a corpus that the vocabularies learn from."""
    return corpus.pair_sides if config.sample.made else config.real_sides(corpus)


def sampled_sides(config: Config) -> dict[str, list[tuple[Side, Side, str]]]:
    """Returns which sides are sampled in each train corpus.

    Returns: By corpus name: the sample's side, the corpus's side, and the language if the config has language pairs.
        The other direction of a corpus is sampled too unless the sides share a vocabulary. A language of a multilingual
        corpus is sampled once for each side.
    """
    shared, seen = config.vocab.shared, set[tuple[str, ...]]()
    sampled: dict[str, list[tuple[Side, Side, str]]] = {}
    for corpus in config.splits["train"]:
        pair, chosen, learned = corpus.pair, sampled.setdefault(corpus.name, []), learned_sides(config, corpus)
        if corpus.pivot is not None:
            continue  # it repeats the lines of other corpora
        if pair is None:
            chosen.extend((side, side, "") for side in learned)
            continue
        base = corpus.name.removesuffix(f".{pair}")
        for side in SIDES:
            for read in SIDES if corpus.reverse is not None and not shared else (side,):
                if read not in learned:
                    continue
                language = pair.source if read == "source" else pair.target
                key = (base, language) if shared else (base, language, side)
                if key not in seen:
                    chosen.append((side, read, language))
                seen.add(key)
    return sampled


def _budgets(settings: SampleSettings, texts: Sequence[tuple[str, RawLines | CleanedLines]]) -> Iterator[int]:
    """Yields each text's budget, given its language: the maximum per corpus, or a share by temperature in bytes.

    The languages' shares add up to the size of all texts. A language has more than its text if its share is
    larger; its lines are then repeated.
    """
    if settings.temperature is None:
        yield from (settings.budget for _ in texts)
        return
    sizes = [min(settings.budget, text.bytes) for _, text in texts]
    total: dict[str, int] = {}
    for (language, _), size in zip(texts, sizes, strict=True):
        total[language] = total.get(language, 0) + size
    power = 0 if settings.temperature == "equal" else 1 / settings.temperature
    weights = {language: float(size) ** power for language, size in total.items() if size}
    whole = sum(sizes) / sum(weights.values())
    for (language, _), size in zip(texts, sizes, strict=True):
        # The last digits of powers depend on the processor.
        yield int(round(whole * weights[language] * size / total[language], 3)) if size else 0


def _from_pairs(config: Config) -> bool:
    """Returns true if the sample is taken from text that was cleaned or divided."""
    divided = any(corpus.is_divided for corpus in config.splits["train"])
    return (config.cleans("train") or divided) and not config.sample.raw


def has_words(config: Config, side: Side) -> bool:
    """Returns true if the sample has the words that ``limits.tokens`` counted, in place of text."""
    every = config.sample.bytes_per_corpus == "all" and config.sample.temperature is None and not config.sample.raw
    made = config.limits.tokens and steps_of_tokens(config.vocab.words.of(side))
    corpora = [corpus for corpus in cleaned_corpora(config) if corpus.split == "train"] if every and made else []
    return bool(corpora) and all(corpus.keeps_words(config) for corpus in corpora)


def _lines(job: Job, index: int, side: Side) -> Iterator[RawLines | CleanedLines]:
    corpus = job.config.splits["train"][index]
    if _from_pairs(job.config) and (corpus.role != "vocab" or job.config.cleans("train")):
        yield _left_lines(job, corpus, side)
        return
    whole = _raw_lines(job, index, side)
    if job.config.sample.bytes_per_file is None:
        yield whole
        return
    total = sum(map(whole.source.size, whole.source.files)) or 1
    for files in whole.source.files:
        yield replace(
            whole,
            source=replace(whole.source, files=[files]),
            bytes=whole.bytes * whole.source.size(files) // total,
        )


def _raw_lines(job: Job, index: int, side: Side) -> RawLines:
    corpus = job.config.splits["train"][index]
    counts = job.read(Compile).corpora["train"][corpus.name]
    source = corpus_files(job, "train", index, corpus)
    earlier = job.config.splits["train"][:index]
    return RawLines(
        source=source,
        languages=job.config.languages,
        side=side,
        bytes=counts.source_bytes if side == "source" else counts.target_bytes,
        sound=not any(counts.dropped[reason] for reason in FAULTS),
        steps=whole_steps(source.files[0], file_steps(job, "train", corpus)),
        held_out=_divisors(corpus),
        before=sum(job.read(Compile).corpora["train"][other.name].pairs_in for other in earlier),
    )


def _divisors(corpus: Corpus) -> tuple[int, ...]:
    """Returns the divisors of the numbers of lines that are held out."""
    return tuple(each.every for each in corpus.hold_out if each.every is not None and each.positions == "lines")


def _left_lines(job: Job, corpus: Corpus, side: Side) -> CleanedLines:
    """Returns the lines that cleaning and hold-outs leave."""
    cleaned = corpus.role == "vocab"  # such lines are not among the pairs
    files = [part.below(job.directory_of(Clean)) for part in job.read(Clean).parts["train"]] if cleaned else None
    parts = [part for part in files or divided_files(job)["train"] if part.corpus == corpus.name]
    sizes = [part.source_bytes if side == "source" else part.target_bytes for part in parts]
    counts = job.read(Compile).corpora["train"][corpus.name]
    whole = counts.source_bytes if side == "source" else counts.target_bytes
    # Compiled parts know only the size of both sides, so their share of the side is estimated by their pairs.
    known = [
        whole * part.pairs // counts.pairs_in if size is None else size for part, size in zip(parts, sizes, strict=True)
    ]
    return CleanedLines(tuple(part.path for part in parts), side, sum(known), has_words(job.config, side))


def stride_of(size_in_bytes: int, budget: int) -> int:
    """Returns n for "every n-th line", as Tensor2Tensor: int(size / budget / 2) lines are skipped between two."""
    return int(size_in_bytes / budget / 2) + 1


def affordable(batches: Iterator[pa.Array], budget: int, unit: Unit = "characters") -> Iterator[Text]:
    """Yields stripped lines until they use up the budget. Reads no more of ``batches`` than needed.

    Args:
        batches: non-empty Arrow string arrays.
        budget: how many characters, which upstream calls bytes; or how many bytes, line ends included.
    """
    for batch in batches:
        lines = strip_lines(batch)
        sizes = pc.utf8_length(lines) if unit == "characters" else pc.add(pc.binary_length(lines), 1)
        ends = np.cumsum(sizes.to_numpy(zero_copy_only=False), dtype=np.int64)
        taken = lines[: int(np.searchsorted(ends, budget)) + 1]  # includes the line that uses up the budget
        yield joined_lines(taken), len(taken)
        budget -= int(ends[-1])
        if budget <= 0:
            return


def sampled_lines(
    files: Sequence[Path], stride: int, budget: int, steps: Mapping[Path, StepRange] = MappingProxyType({})
) -> Iterator[Text]:
    """Yields every n-th line of UTF-8 files, stripped, until the lines use up a budget of characters.

    Takes the lines ``stride``, ``2 * stride`` and so on, counted from 1 through all files. Byte order marks are
    removed. Lines that are not taken are not checked. The next step overwrites the bytes of the lines.

    Args:
        steps: all steps of a file, for files whose bytes are to be checked.
    """
    sampler = LineSampler(stride, budget)
    lines = 0
    for path in files:
        for block, last in _text_blocks(path, steps.get(path)):
            try:
                taken = sampler.feed(block, last)
            except InvalidTextError as error:
                raise changed(path) from error
            yield taken.data, sampler.lines - lines
            lines = sampler.lines
            if sampler.done:
                return


def _text_blocks(path: Path, steps: StepRange | None) -> Iterator[tuple[memoryview, bool]]:
    """Yields blocks of a file after its byte order mark with False, then no bytes with True. Reuses the buffer."""
    first = True
    for block in raw_chunks(path, steps=steps):
        yield block[len(UTF8_MARK) if first and block[: len(UTF8_MARK)] == UTF8_MARK else 0 :], False
        first = False
    yield memoryview(b""), True


def _join(parts: Sequence[Path], output: Path) -> None:
    with atomic_write(output) as beside:
        if len(parts) == 1:
            parts[0].replace(beside)  # a link would change the times of the file when the other name is deleted
            return
        with beside.open("wb") as file:
            for path in parts:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)
