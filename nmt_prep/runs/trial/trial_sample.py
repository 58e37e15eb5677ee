"""Samples each corpus's pairs: the rows with the smallest hashes."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import ArgumentError, CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.rejects import sample_keys
from nmt_prep.cleaning.rule import Values
from nmt_prep.config import Config
from nmt_prep.corpora import PairBatch, format_of, iter_pairs, open_corpus, parts_of, reader_of
from nmt_prep.corpora.archives.entry import Archive
from nmt_prep.corpora.archives.extraction import extract_members
from nmt_prep.corpora.reader import numbered
from nmt_prep.corpora.scores import ColumnLines, with_columns
from nmt_prep.corpora.sources.lockfile import lock_of
from nmt_prep.corpora.sources.remote_file import BEGINNING
from nmt_prep.corpora.sources.transfers import Stop
from nmt_prep.pipeline.stage import Outputs, outputs_in
from nmt_prep.runs import runner
from nmt_prep.runs.inspection.inspected_files import Looked, Looker
from nmt_prep.stages import STAGES
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import CleanedCorpus, cleaned_corpora
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile.compile_tasks import kept_rows
from nmt_prep.stages.compile.slices import CorpusFiles
from nmt_prep.stages.extract import Wanted, wanted_by
from nmt_prep.stages.pair_files import compiled_files, compiled_pairs

LEAST, MOST = 500, 20_000  # Minimum number of pairs per corpus, and maximum number of pairs in all

SCORES = "scores."  # Key prefix of a reader's score columns

Rows: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Drawn:
    """The pairs drawn from a corpus."""

    of: CleanedCorpus
    source: pa.Array  # Arrow `large_string` array of the source lines, before the fixes
    target: pa.Array  # the same for the target
    rows: Rows  # their rows: int64, ascending, shape `[pairs]`
    scores: Mapping[str, Values]  # scores by name: float64, shape `[pairs]`; NaN for a pair without score
    added: npt.NDArray[np.bool_]  # true for requested pairs that are not in the sample: bool, shape `[pairs]`
    size: int | None  # estimated pair count of the corpus, or None if unknown
    note: str = ""  # why the pairs do not represent the corpus; empty if they do

    @property
    def name(self) -> str:
        """Split and corpus name."""
        return f"{self.of.split}/{self.of.corpus.name}"


@dataclass(frozen=True)
class Run:
    """An earlier run of the config."""

    outputs: Outputs
    compiled: bool  # true if the compiled pairs are up to date, and have rows
    cleaned: bool  # true if the compiled pairs were cleaned
    current: bool  # true if they were cleaned as the config asks now


def run_of(config: Config) -> Run:
    """Returns the earlier run of a config; nothing in it is compiled if there was none."""
    outputs = outputs_in(config.run_dir, STAGES, config)
    fresh: set[str] = set()
    if Compile.name in outputs.manifests:
        for step in runner.plan(config):
            if not step.fresh:
                break
            fresh.add(step.stage)
    compiled = Compile.name in fresh and all(
        "row" in next(iter_pairs(part.path)).schema.names
        for parts in compiled_files(outputs).values()
        for part in parts[:1]
    )
    return Run(outputs, compiled, compiled and Clean.name in outputs.manifests, Clean.name in fresh)


def draw(config: Config, run: Run, number: int, asked: Mapping[str, Collection[int]] | None = None) -> list[Drawn]:
    """Draws pairs from each corpus that the config cleans."""
    corpora = [
        replace(of, untranslated=of.corpus.translate is not None)  # the lines that are to be translated
        for of in cleaned_corpora(config)
        if of.corpus.role != "vocab" and (run.compiled or not of.corpus.is_made)
    ]
    if not corpora:
        raise ArgumentError("a run makes the pairs of all corpora; run nmt-prep run CONFIG --until compile first")
    share = min(max(number // len(corpora), LEAST), MOST // len(corpora))
    if not share:
        raise ArgumentError(f"a sample has at most {MOST:,} pairs, but the config cleans {len(corpora):,} corpora")
    asked = asked or {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nmt-prep-")))
        looker = Looker(config, lock_of(config), Stop(), BEGINNING)
        drawn = []
        for place, of in enumerate(corpora):
            rows = np.array(sorted(asked.get(f"{of.split}/{of.corpus.name}", ())), np.int64)
            pool = _Pool(share, config.seed, of.corpus.name, rows)
            if run.compiled:
                pool.add(compiled_pairs(run.outputs, of.split, of.corpus.name))
                drawn.append(pool.drawn(of))
            else:
                drawn.append(_from_files(of, pool, config, looker, directory / str(place)))
    return drawn


@dataclass
class _Pool:
    """The added pairs with the smallest keys, and the requested pairs."""

    # A bottom-k sample: the key of a row depends on the seed, the corpus and the row alone, so the sample does not
    # depend on how a corpus is divided into batches. The limit only falls, so no pair of the sample is lost. Held
    # batches are filtered again only when they have four times the share, so that the limit is rarely searched for.

    share: int
    seed: int
    corpus: str
    asked: Rows
    seen: int = 0
    held: list[PairBatch] = field(default_factory=list)

    def add(self, batches: Iterable[PairBatch]) -> None:
        limit = np.uint64(2**64 - 1)
        for batch in batches:
            self.seen += len(batch)
            keep = self._chosen(_rows(batch), limit)
            if keep.any():
                self.held.append(batch if keep.all() else batch.filter(keep))
            if sum(map(len, self.held)) > 4 * self.share + len(self.asked):
                keys = np.concatenate([self._keys(_rows(held)) for held in self.held])
                limit = np.partition(keys, self.share - 1)[self.share - 1]
                self.held = [held.filter(self._chosen(_rows(held), limit)) for held in self.held]

    def drawn(self, of: CleanedCorpus, *, note: str = "") -> Drawn:
        """Returns the pairs of a corpus that a run would compile, in row order."""
        if not self.held:
            raise CorpusError(f"{of.name}: no pair could be read; check its format and options in the config")
        # The sample is drawn from all rows, with those that compile drops. So the share of kept rows among the sampled
        # rows estimates the share in the corpus.
        rows = np.concatenate([_rows(batch) for batch in self.held])
        keys = self._keys(rows)
        limit = np.sort(keys)[min(self.share, len(keys)) - 1]
        sound = np.concatenate([kept_rows(batch, of.corpus.read_sides) for batch in self.held])
        sampled = int(np.count_nonzero(keys <= limit))
        good = int(np.count_nonzero(np.isin(rows[keys <= limit], sound)))
        size = None if note else round(self.seen * good / sampled)
        wanted = np.isin(rows, sound) & self._chosen(rows, limit)
        chosen = pa.array(np.flatnonzero(wanted))
        source, target = (pa.concat_arrays([batch.side(side) for batch in self.held]).take(chosen) for side in SIDES)
        scores = {
            key.removeprefix(SCORES): np.concatenate([_numbers(batch.columns[key]) for batch in self.held])[wanted]
            for key in self.held[0].columns
            if key.startswith(SCORES)
        }
        return Drawn(of, source, target, rows[wanted], scores, (keys > limit)[wanted], size, note)

    def _keys(self, rows: Rows) -> npt.NDArray[np.uint64]:
        return sample_keys(rows, self.seed, self.corpus)

    def _chosen(self, rows: Rows, limit: np.uint64) -> npt.NDArray[np.bool_]:
        """Returns true for rows with small keys, and for requested rows."""
        return np.asarray((self._keys(rows) <= limit) | np.isin(rows, self.asked))


def _rows(batch: PairBatch) -> Rows:
    assert batch.rows is not None
    return batch.rows


def _numbers(scores: pa.Array) -> Values:
    return np.asarray(scores.to_numpy(zero_copy_only=False), np.float64)


def _from_files(of: CleanedCorpus, pool: _Pool, config: Config, looker: Looker, directory: Path) -> Drawn:
    """Returns pairs from a corpus's files, or the first pairs for files that are not local."""
    files = _Files(of, config, looker, directory)
    wanted = {file.key.rpartition("/")[2]: file for file in wanted_by(of.split, of.corpus)}
    paths = {part: files.paths(part, file) for part, file in wanted.items()}
    parts = parts_of(of.corpus)
    groups = [dict(zip(parts, group, strict=True)) for group in zip(*(paths[part] for part in parts), strict=True)]
    columns = [ColumnLines(key, paths[key][0]) for key in paths if key.startswith(SCORES)]
    names = {path: files.shown[part] for part, group in paths.items() for path in group}
    reader = open_corpus(of.corpus, groups, config.languages)
    try:
        pool.add(numbered(with_columns(reader.pairs(), columns, last=not files.cut), 0))
    except CorpusError as error:
        if not (files.cut and pool.seen):
            sizes = {path: path.stat().st_size for path in names}
            raise CorpusFiles(of.split, of.index, of.corpus, groups, sizes, names).explained(error) from error
    return pool.drawn(of, note=files.cut)


@dataclass
class _Files:
    """A corpus's files."""

    of: CleanedCorpus
    config: Config
    looker: Looker
    directory: Path  # a directory for extracted files, which does not exist
    shown: dict[str, str] = field(default_factory=dict)  # names of the files by part, for messages
    cut: str = ""  # why only the beginnings of files are read; empty if files are read as a whole

    def paths(self, part: str, wanted: Wanted) -> list[Path]:
        """Returns a part's files, extracted if they are not plain."""
        directory = self.directory / part
        directory.mkdir(parents=True)
        looked = self.looker.look(wanted.container, [wanted.member], directory)
        self.shown[part] = looked.address
        if looked.problems:
            raise CorpusError(looked.problems[0])
        beginnings = looked.contents.beginnings[wanted.member] if looked.contents is not None else []
        whole = looked.contents is not None and looked.contents.complete
        if beginnings and whole and all(file.whole for file in beginnings):
            return [file.path for file in beginnings]
        here = self.looker.here(wanted.container)
        if here is not None:
            places = partial(_place, directory)
            archive = Archive(here, wanted.container.name, sha256_of(here))
            made = extract_members(archive, [wanted.member], places, self.config.extract, lambda _: None)
            return [_place(directory, name) for name in made[wanted.member]]
        return self._beginnings(looked, [file.path for file in beginnings])

    def _beginnings(self, looked: Looked, paths: Sequence[Path]) -> list[Path]:
        where, kind = self.of.name, format_of(self.of.corpus)
        if not paths or not reader_of(kind).lines_apart:
            raise CorpusError(
                f"{where}: {looked.address} cannot be sampled before it is fetched: the format {kind} cannot be read "
                "from its beginning alone; run nmt-prep download first"
            )
        path = paths[0]  # without its last line, which may be cut
        data = path.read_bytes()
        path.write_bytes(data[: data.rfind(b"\n") + 1])
        self.cut = (
            f"only the first lines of {looked.address} were read, which may differ from the others; run nmt-prep "
            "download for a sample of all"
        )
        return [path]


def _place(directory: Path, name: str) -> Path:
    return directory / f"extracted-{name.encode().hex()[-200:] or 'file'}"
