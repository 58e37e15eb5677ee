"""From constants and a workload to what each stage of a run will take: time, memory and disk.

A round of tasks takes as long as its workers do who take one task after the other, and no less than the disk needs for
its bytes, nor than the coordinating process needs to note its tasks. What a stage does outside its rounds, and building
the vocabularies, is done by one process, however many workers there are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import cached_property

from nmt_prep.config import Config
from nmt_prep.corpora.parts import PART_BYTES
from nmt_prep.corpora.slices import COUNT_BYTES, SLICE_BYTES
from nmt_prep.corpora.strides import WORTH_SKIPPING
from nmt_prep.estimates.calibration import Calibration, RoundCost, Training
from nmt_prep.estimates.memory import round_buffer
from nmt_prep.estimates.outcome import Estimate, Machines, StageEstimate
from nmt_prep.estimates.sampling import Sampled, sampled
from nmt_prep.estimates.workload import CorpusSize, total
from nmt_prep.records import ShardPlan
from nmt_prep.stages.encode import shard_plan
from nmt_prep.stages.vocab_counts import SLICE_BYTES as COUNTED_BYTES

_GROUP_ENTRY_BYTES = 16
"""In the index of a spill file, for each group; half as much again goes to the start of its bucket."""


def estimate(config: Config, corpora: Sequence[CorpusSize], calibration: Calibration, machines: Machines) -> Estimate:
    """What a run will take that makes everything, from corpora that nothing was made of yet.

    The network is not in it: files that come from elsewhere are taken to be in the cache, and nothing is published.
    """
    return _Estimator(config, corpora, calibration, machines).estimate()


def makespan(tasks: Sequence[float], workers: int) -> float:
    """Seconds until all tasks have ended, where workers take them in order as they become free."""
    free = [0.0] * min(workers, max(len(tasks), 1))
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


class _Estimator:
    """Goes through the stages in order."""

    def __init__(
        self, config: Config, corpora: Sequence[CorpusSize], calibration: Calibration, machines: Machines
    ) -> None:
        self._config = config
        self._corpora = corpora
        self._constants = calibration
        self._machines = machines
        self._text = total(corpora)

    def estimate(self) -> Estimate:
        stages = [
            *(self._download(), self._extract(), self._compile(), self._sample(), self._vocab(), self._encode()),
            self._stage("report", 0.0),
        ]
        groups = [self._spill(split) / (self.parts[split] * plan.buckets) for split, plan in self.plans.items()]
        return Estimate(
            stages=stages,
            training_memory=self._constants.base_memory + self._training_memory,
            plans=self.plans,
            parts=self.parts,
            groups=min(groups),
        )

    @cached_property
    def slices(self) -> dict[str, list[float]]:
        """By split, bytes of text of each slice of its corpora."""
        found: dict[str, list[float]] = {}
        for corpus in self._corpora:
            largest = max(corpus.source_bytes, corpus.target_bytes)
            cut = max(largest / SLICE_BYTES, 1.0) if corpus.lines_apart else 1.0
            found.setdefault(corpus.split, []).extend(_equal(corpus.bytes, corpus.bytes / cut))
        return found

    @cached_property
    def part_sizes(self) -> dict[str, list[float]]:
        """By split, bytes of text of each compiled part."""
        return {
            split: [part for size in sizes for part in _equal(size, PART_BYTES)] for split, sizes in self.slices.items()
        }

    @cached_property
    def parts(self) -> dict[str, int]:
        """By split, how many compiled parts it has."""
        return {split: len(sizes) for split, sizes in self.part_sizes.items()}

    @cached_property
    def plans(self) -> dict[str, ShardPlan]:
        """By split, how its shards are cut."""
        return {
            split: shard_plan(
                self._config,
                split,
                max(int(sum(corpus.pairs for corpus in self._corpora if corpus.split == split)), 1),
                int(total(self._corpora, split)),
                self._machines.share,
            )
            for split in self.slices
        }

    @cached_property
    def samples(self) -> dict[str, list[Sampled]]:
        """By side, what is read and taken of each corpus."""
        text, budget = self._constants.text, self._config.sample.bytes_per_corpus
        seen = [corpus for corpus in self._corpora if corpus.sampled]
        source, target = text.source_characters / text.source_bytes, text.target_characters / text.target_bytes
        return {
            "source": [sampled(each.source_bytes, each.source_bytes * source, budget) for each in seen],
            "target": [sampled(each.target_bytes, each.target_bytes * target, budget) for each in seen],
        }

    def _download(self) -> StageEstimate:
        stage = self._stage("download", self._text)
        stage.published = sum(corpus.fetched_bytes for corpus in self._corpora)
        return stage

    def _extract(self) -> StageEstimate:
        stage = self._stage("extract", self._text)
        for name, packed in (("extract", False), ("decompress", True)):
            amounts = [
                size
                for each in self._corpora
                if each.compressed == packed
                for size in (each.source_bytes, each.target_bytes)
            ]
            self._round(stage, name, amounts, written=1.0)
        stage.published = self._text
        return stage

    def _compile(self) -> StageEstimate:
        stage = self._stage("compile", self._text)
        counted = [
            each
            for each in self._corpora
            if each.lines_apart and max(each.source_bytes, each.target_bytes) > SLICE_BYTES
        ]
        ranges = [
            part
            for each in counted
            for side in (each.source_bytes, each.target_bytes)
            for part in _equal(side, COUNT_BYTES)
        ]
        self._round(stage, "lines", ranges)
        compiled = self._constants.sizes.compiled
        self._round(stage, "compile", [size for sizes in self.slices.values() for size in sizes], written=compiled)
        stage.published = self._text * compiled
        return stage

    def _sample(self) -> StageEstimate:
        every = [each for side in self.samples.values() for each in side]
        taken = sum(each.taken for each in every)
        stage = self._stage("sample", taken, written=taken)
        per_taken, cost = self._constants.sample_taken, self._constants.rounds["sample"]
        for name, tasks in (
            ("sample", [each for each in every if each.stride < WORTH_SKIPPING]),
            ("skip", [each for each in every if each.stride >= WORTH_SKIPPING]),
        ):
            extra = [each.taken * per_taken * self._slowdown(cost, len(tasks)) for each in tasks]
            read = [each.read for each in tasks]
            self._round(stage, name, read, written=sum(each.taken for each in tasks) / max(sum(read), 1.0), extra=extra)
        stage.scratch = stage.published = taken
        return stage

    def _vocab(self) -> StageEstimate:
        stage = self._stage("vocab", 0.0)
        for size, training in self._trainings():
            slices = _equal(size, COUNTED_BYTES) if self._config.vocab.kind != "sentencepiece" else [size]
            self._round(stage, "count", list(slices))
            seconds = training.seconds_for(size)
            stage.seconds += seconds
            stage.alone += seconds
        stage.memory = max(stage.memory, self._constants.base_memory + self._training_memory)
        return stage

    def _encode(self) -> StageEstimate:
        constants, stage = self._constants, self._stage("encode", self._text)
        sizes = constants.sizes
        amounts = [size for each in self.part_sizes.values() for size in each]
        load = [constants.load_seconds] * (self._machines.workers if self._machines.dask else self._machines.machines)
        self._round(stage, "encode", amounts, written=sizes.spill, extra=load)
        shards: list[float] = []
        gather: list[float] = []
        for split, plan in self.plans.items():
            shards += [total(self._corpora, split) / plan.shards] * plan.shards
            gather += [constants.gather_seconds * self.parts[split] * plan.buckets_per_shard] * plan.shards
        self._round(stage, "shuffle", shards, written=sizes.records, extra=gather)
        index = sum(self.parts[split] * plan.buckets * 1.5 for split, plan in self.plans.items()) * _GROUP_ENTRY_BYTES
        stage.scratch = self._text * sizes.spill + index
        stage.published = self._text * sizes.records
        return stage

    def _stage(self, name: str, size: float, written: float = 0.0) -> StageEstimate:
        """A stage with what it does outside its rounds."""
        cost = self._constants.stages[name]
        seconds = cost.seconds + cost.seconds_per_byte * size + written / self._rate(self._constants.disk.write_rate)
        return StageEstimate(name, seconds, seconds, memory=self._constants.base_memory)

    def _round(
        self,
        stage: StageEstimate,
        name: str,
        amounts: Sequence[float],
        written: float = 0.0,
        extra: Sequence[float] = (),
    ) -> None:
        """Adds a round to a stage.

        Args:
            stage: to add to.
            name: of the round.
            amounts: bytes of text of each task.
            written: bytes that it writes for each of these.
            extra: seconds that the first tasks take besides.
        """
        if not amounts:
            return
        cost, disk, machines = self._constants.rounds[name], self._constants.disk, self._machines
        slowdown = self._slowdown(cost, len(amounts))
        cold = self._text > self._constants.memory * machines.machines
        waiting = written / self._rate(disk.write_rate) + (1.0 / self._rate(disk.read_rate) if cold else 0.0)
        per_byte = cost.cpu_per_byte * slowdown + waiting
        fixed = cost.cpu_per_task * slowdown + disk.file_seconds
        more = [*extra, *[0.0] * (len(amounts) - len(extra))]
        tasks = [size * per_byte + fixed + added for size, added in zip(amounts, more, strict=False)]
        seconds = max(makespan(tasks, machines.workers), sum(amounts) * waiting, len(tasks) * disk.file_seconds)
        stage.rounds[name] = seconds
        stage.seconds += seconds
        stage.tasks += len(tasks)
        stage.memory = max(stage.memory, self._memory(name, cost, len(amounts)))

    def _memory(self, name: str, cost: RoundCost, tasks: int) -> int:
        """Bytes that the processes of a machine hold in a round."""
        share = self._machines.share
        buffer = max(
            round_buffer(name, plan, self._spill(split), self.parts[split], share) for split, plan in self.plans.items()
        )
        workers = self._busy(tasks)
        processes = workers if self._machines.dask else 1
        return processes * (self._constants.base_memory + cost.held) + workers * (cost.memory + buffer)

    def _spill(self, split: str) -> float:
        return total(self._corpora, split) * self._constants.sizes.spill

    def _trainings(self) -> Iterator[tuple[float, Training]]:
        """The size of the sample of each vocabulary, and what its training takes."""
        taken = {side: sum(each.taken for each in every) for side, every in self.samples.items()}
        for name, training in self._constants.training.items():
            yield taken.get(name, sum(taken.values())), training

    @property
    def _training_memory(self) -> int:
        return max(training.memory_for(size) for size, training in self._trainings())

    def _busy(self, tasks: int) -> int:
        """Workers of a machine that have a task."""
        return min(self._machines.each, -(-tasks // self._machines.machines))

    def _slowdown(self, cost: RoundCost, tasks: int) -> float:
        """How much longer a task takes beside those of the other workers of its machine."""
        others, measured = self._busy(tasks) - 1, self._constants.cores - 1
        return 1.0 + (cost.slowdown - 1.0) * min(others / measured, 1.0) if measured else 1.0

    def _rate(self, calibrated: float) -> float:
        return self._machines.disk_rate or calibrated


def _equal(size: float, most: float) -> Iterator[float]:
    """Cuts bytes into pieces of a size; the last may be smaller."""
    whole, rest = divmod(size, most)
    yield from [most] * int(whole)
    if rest or not whole:
        yield rest
