"""Timed runs of the pipeline on some text, from which the constants of a machine follow.

Run are hardly any text, for what a stage and a task cost however small; the text with one worker; and the text with a
worker a core. Each is repeated, and the best counts.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from nmt_prep.artefacts import writing
from nmt_prep.config import SIDES, Config
from nmt_prep.corpora.slices import count_range
from nmt_prep.engines.local import available_cores
from nmt_prep.estimates.calibration import Calibration, Disk, TextFacts
from nmt_prep.estimates.constants import Measured, constants
from nmt_prep.estimates.disk import measure_disk
from nmt_prep.estimates.runs import RunTimes, timed_load, timed_run
from nmt_prep.estimates.text import PairLines, write_text
from nmt_prep.pipeline.manifest import Workspace, read_manifest

_TINY_CORPORA, _TINY_SHARDS = 24, 4
_TINY_LINES, _TINY_BYTES = 20, 1_000_000
_GZIP_BYTES = 16_000_000
_SAMPLE_DIVISORS = {"t2t": 1, "byte_bpe": 1, "sentencepiece": 8}
"""Of the text, what part the vocabulary is trained on: the sentencepiece library is slow."""

_SMALL_DIVISORS = {"t2t": 8, "byte_bpe": 8, "sentencepiece": 2}
"""How much smaller the second sample is, from which exponents follow; the library needs enough text for its pieces."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class _Place:
    """Where runs are made: the text there, and how to run it."""

    root: Path
    config: Config
    text: TextFacts
    corpora: int

    @property
    def output(self) -> Path:
        """The directory of the full runs."""
        return self.root / "run"

    @property
    def cache(self) -> Path:
        """The cache directory of all runs."""
        return self.root / "cache"

    def settings(self, **changes: Any) -> dict[str, Any]:
        """A config over the text, as YAML would give it."""
        corpora = [_corpus(self.root, str(number)) for number in range(self.corpora)]
        return {
            "name": "calibration",
            "languages": self.config.languages.model_dump(),
            "output_dir": str(self.output),
            "seed": 1,
            "splits": {"train": corpora},
            "sample": {"bytes_per_corpus": self.budget(1)},
            "vocab": self.config.vocab.model_dump(mode="json"),
            "records": {
                **self.config.records.model_dump(include={"layout", "row_length"}),
                "shards": {"train": self.corpora},
            },
            "engine": {"memory": self.config.engine.memory},
            **changes,
        }

    def budget(self, divisor: int) -> int:
        """Characters to sample a side of a corpus, so that about such a part of its lines is taken."""
        divisor *= _SAMPLE_DIVISORS[self.config.vocab.kind]
        side = max(self.text.source_bytes, self.text.target_bytes) / self.corpora
        return int(side / (2 * divisor - 1)) + 1 if divisor > 1 else 2 * int(side) + 1

    def run(self, settings: dict[str, Any], workers: int, until: str | None = None) -> RunTimes:
        return timed_run(settings, self.cache, workers, until)

    def sample_bytes(self) -> dict[str, int]:
        """Bytes of either side's sample in the full run."""
        manifest = read_manifest(Workspace(self.output).manifest("sample"))
        counts = {} if manifest is None else manifest.counts.other
        return {side: int(counts[f"{side}_bytes"]) for side in SIDES}


def measure(
    config: Config, pairs: Iterator[PairLines], origin: str, *, size: int, directory: Path, repeats: int, told: Told
) -> Calibration:
    """Measures the constants of this machine.

    Args:
        config: its vocabulary, layout and ``engine.memory`` count, and its languages.
        pairs: the text.
        origin: of the text, in words.
        size: bytes of text to measure on.
        directory: where to work, in a temporary directory; its file system is measured too.
        repeats: runs of each kind, of which the best counts.
        told: is told what is being done.

    Raises:
        NmtPrepError: the text cannot be had, or a stage failed on it.
    """
    cores = available_cores()
    with _temporary(directory) as root:
        told("the disk")
        disk = measure_disk(root)
        corpora = max(cores, 2)
        told("the text")
        text = write_text(pairs, root, corpora, size, origin)
        place = _Place(root, config, text, corpora)
        told("hardly any text")
        tiny = _tiny_run(place)
        one, every = [], []
        for number in range(repeats):
            told(f"one worker ({number + 1} of {repeats})")
            one.append(_fresh_run(place, 1))
            if cores > 1:
                told(f"{cores} workers ({number + 1} of {repeats})")
                every.append(_fresh_run(place, cores))
        return constants(_measured(place, disk, tiny, one, every, cores, told))


def _measured(
    place: _Place,
    disk: Disk,
    tiny: RunTimes,
    one: list[RunTimes],
    every: list[RunTimes],
    cores: int,
    told: Told,
) -> Measured:
    """What is measured in the directory of the last full run, and what was before."""
    sizes = {name: _tree_bytes(place.output / name) for name in ("compiled", "records")}
    taken = place.sample_bytes()
    load_seconds = timed_load(place.output / "vocab")
    told("a smaller sample")
    small_budget = place.budget(_SMALL_DIVISORS[place.config.vocab.kind])
    small = place.run(place.settings(sample={"bytes_per_corpus": small_budget}), 1, "vocab")
    small_taken = place.sample_bytes()
    told("compressed files")
    gzip_ratio, gzip_bytes, decompress = _decompress(place)
    return Measured(
        config=place.config,
        text=place.text,
        corpora=place.corpora,
        cores=cores,
        disk=disk,
        tiny=tiny,
        one=one,
        every=every or one,
        sizes=sizes,
        taken=taken,
        small=small,
        small_taken=small_taken,
        budget=place.budget(1),
        small_budget=small_budget,
        tiny_parts=(_TINY_CORPORA, 1),
        load_seconds=load_seconds,
        lines_per_byte=_count_seconds(place) / place.text.source_bytes,
        gzip_ratio=gzip_ratio,
        gzip_bytes=gzip_bytes,
        decompress=decompress,
    )


def _tiny_run(place: _Place) -> RunTimes:
    """A run of many small corpora, with a vocabulary that hardly any text is enough for."""
    corpora = []
    for number in range(_TINY_CORPORA):
        for side in SIDES:
            text = (place.root / f"0.{side}").read_bytes()[:_TINY_BYTES]
            lines = text.split(b"\n")[:_TINY_LINES]
            (place.root / f"tiny-{number}.{side}").write_bytes(b"".join(line + b"\n" for line in lines))
        corpora.append(_corpus(place.root, f"tiny-{number}"))
    shards = {"train": _TINY_SHARDS, "dev": _TINY_SHARDS}
    records = {**place.settings()["records"], "shards": shards}
    splits = {"train": corpora, "dev": [_corpus(place.root, "tiny-0")]}
    settings = place.settings(splits=splits, records=records, vocab={"kind": "t2t", "size": 300})
    return place.run({**settings, "output_dir": str(place.root / "tiny")}, 1)


def _fresh_run(place: _Place, workers: int) -> RunTimes:
    """A full run, in two processes: what training takes is measured in a fresh one."""
    for left in (place.output, place.cache):  # digests that are remembered would cost nothing
        shutil.rmtree(left, ignore_errors=True)
    first = place.run(place.settings(), workers, "sample")
    second = place.run(place.settings(), workers)
    return RunTimes({**first.stages, **second.stages}, second.base)


def _decompress(place: _Place) -> tuple[float, int, RunTimes]:
    """Bytes of gzip for each byte of text, how many bytes were compressed, and the run that extracted them."""
    corpus = _corpus(place.root, "compressed")
    plain = packed = 0
    for side in SIDES:
        text = (place.root / f"0.{side}").read_bytes()[:_GZIP_BYTES]
        compressed = gzip.compress(text, 6)
        (place.root / f"compressed.{side}.gz").write_bytes(compressed)
        corpus["url"][side] += ".gz"
        plain, packed = plain + len(text), packed + len(compressed)
    settings = place.settings(splits={"train": [corpus]}, records={}, output_dir=str(place.root / "decompressed"))
    return packed / plain, plain, place.run(settings, 1, "extract")


def _count_seconds(place: _Place) -> float:
    """Seconds to count the lines of one side: small files do without, but large ones are cut by it."""
    started = process_time()
    for number in range(place.corpora):
        path = place.root / f"{number}.source"
        count_range(path, 0, path.stat().st_size, "utf-8", b"", lambda _: None)
    return process_time() - started


def _corpus(root: Path, name: str) -> dict[str, Any]:
    return {"name": name, "format": "plain", "url": {side: str(root / f"{name}.{side}") for side in SIDES}}


def _tree_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


@contextmanager
def _temporary(directory: Path) -> Iterator[Path]:
    """A directory that is gone afterwards."""
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="nmt-prep-calibration-", dir=directory) as name:
            yield Path(name).absolute()
