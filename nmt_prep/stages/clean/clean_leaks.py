"""Evaluation sets in the `clean` stage.

One task gathers the segments of all evaluation sets in a file, in the round ``clean-segments``. The tasks that clean
parts build the index from this file, and drop or count the pairs that contain a segment. In the end, the leaks of all
corpora are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _nmt_prep_core import KEYS_UNICODE_VERSION

from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import CleaningError, CorpusError
from nmt_prep.cleaning.evaluation_segments import (
    FILE,
    against_of,
    id_corpora,
    id_corpora_of,
    is_decontaminated,
    is_split,
    read_segments,
    set_name,
)
from nmt_prep.cleaning.leaks import LARGE_SHARE, Against, EvaluationSet, LeakExample, gathered
from nmt_prep.cleaning.presets import PRESET_AGAINST
from nmt_prep.config import Config, Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora import PairBatch, iter_pairs, open_corpus, parts_of
from nmt_prep.corpora.parts import BatchFile
from nmt_prep.corpora.sources.address import local_path
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.clean.cleaned_corpora import CleanedCorpus, CorpusWork, cleaned_corpora, section_of
from nmt_prep.stages.compile import Compile, corpus_files
from nmt_prep.stages.compile.slices import CorpusFiles
from nmt_prep.stages.download import SACREBLEU
from nmt_prep.stages.extract import Extract


@dataclass(frozen=True)
class SetSource:
    """An evaluation set; one of the last three attributes gives the origin of its segments."""

    name: str  # name of the set, such as `dev/news`
    entry: str  # name of the evaluation set that it belongs to, such as `dev`
    parts: tuple[Path, ...] = ()  # compiled parts of a corpus
    corpus: CorpusFiles | None = None  # a corpus that is read from its files
    file: Path | None = None  # a file of the user


@dataclass(frozen=True)
class SegmentsTask:
    """The evaluation sets whose segments are written to a file."""

    key: str
    sources: tuple[SetSource, ...]
    languages: Languages
    output: Path


@dataclass(frozen=True)
class GatheredSegments:
    """The file with the segments of all evaluation sets: its digest, and the sets by number."""

    sha256: str
    sets: tuple[EvaluationSet, ...]


def gather_segments(task: SegmentsTask, tick: Tick) -> GatheredSegments:
    """Writes the segments of all evaluation sets to a file. Reports progress per segment."""
    sets: list[EvaluationSet] = []
    sources = ((source.name, source.entry, _segments_of(source, task)) for source in task.sources)
    with BatchFile(task.output) as file:
        for batch in gathered(sources, sets):
            file.write(batch)
            tick(len(batch))
    return GatheredSegments(sha256_of(task.output), tuple(sets))


def _segments_of(source: SetSource, task: SegmentsTask) -> Iterator[PairBatch]:
    for part in source.parts:
        for batch in iter_pairs(part):
            yield PairBatch(batch.column("source"), batch.column("target"), rows=batch.column("row").to_numpy())
    if source.file is not None:
        unpacked = task.output.with_name(f"{task.output.name}.unpacked")
        yield from read_segments(source.file, task.languages, unpacked)
        unpacked.unlink(missing_ok=True)
    if source.corpus is not None:
        try:
            for pairs in open_corpus(source.corpus.corpus, source.corpus.files, task.languages).pairs():
                yield pairs.sound()
        except CorpusError as error:
            raise source.corpus.explained(error) from error


SEGMENTS = Round(
    "clean-segments",
    gather_segments,
    GatheredSegments,
    unit="segments",
    words="gathering evaluation sets",
)


def gather(job: Job) -> Rounds[Against | None]:
    """Yields the round that gathers evaluation segments; returns the segments to compare pairs with, or None."""
    config = job.config
    if not is_active(config):
        yield from SEGMENTS.run([])
        return None
    _refuse_same_digests(job)
    settings = section_of(config).decontaminate
    output = job.scratch / "segments.parquet"
    task = SegmentsTask("segments", tuple(_sources(job)), config.languages, output)
    (gathered,) = yield from SEGMENTS.run([task])
    return Against(output, gathered.sha256, gathered.sets, settings.coverage, settings.action == "drop")


def _sources(job: Job) -> Iterator[SetSource]:
    config, compiled = job.config, job.read(Compile)
    for entry in against_of(config):
        for corpus in config.own_splits[entry] if is_split(entry) else ():
            parts = [part.file for part in compiled.parts[entry] if part.corpus == corpus.name]
            directory = job.directory_of(Compile)
            yield SetSource(f"{entry}/{corpus.name}", entry, parts=tuple(directory / part for part in parts))
        if entry.startswith(FILE):
            yield SetSource(set_name(entry), set_name(entry), file=job.config.base_dir / entry.removeprefix(FILE))
    for number, (entry, name, corpus) in enumerate(id_corpora(against_of(config), config.languages)):
        yield SetSource(name, set_name(entry), corpus=corpus_files(job, SACREBLEU, number, corpus))


def is_active(config: Config) -> bool:
    """Returns true if any pairs are compared with evaluation sets."""
    return any(_compared(config))


def _compared(config: Config) -> Iterator[CleanedCorpus]:
    return (each for each in cleaned_corpora(config) if is_decontaminated(config, each.split, each.corpus))


def decontamination_settings(config: Config) -> dict[str, object]:
    """Returns the settings that the result depends on; none if no pairs are compared with evaluation sets."""
    if not is_active(config):
        return {}
    settings = section_of(config).decontaminate
    corpora = (corpus.model_dump(mode="json", exclude={"split"}) for corpus in id_corpora_of(config))
    return {
        "clean.decontaminate.against": [*against_of(config)],
        "clean.decontaminate.coverage": settings.coverage,
        "clean.decontaminate.action": settings.action,
        "clean.decontaminate.unicode": KEYS_UNICODE_VERSION,
        "clean.decontaminate.corpora": [*corpora],
    }


def evaluation_files(config: Config) -> dict[str, Path]:
    """Returns the user's files of evaluation segments, by their keys in the config."""
    named = (entry for entry in against_of(config) if entry.startswith(FILE)) if is_active(config) else ()
    return {f"clean.decontaminate.against {entry}": config.base_dir / entry.removeprefix(FILE) for entry in named}


def preset_left_out(config: Config) -> str:
    """Returns a remark if the preset names evaluation sets but the config has none of them; otherwise nothing."""
    clean = section_of(config)
    wanted = PRESET_AGAINST[clean.preset]
    if not wanted or clean.decontaminate.against is not None or against_of(config):
        return ""
    names = " nor ".join(wanted)
    return f"clean.preset {clean.preset}: decontaminate is skipped: the config has neither {names}"


def evaluation_problems(config: Config) -> Iterator[str]:
    """Yields a problem for each evaluation set that cannot be read, or is a corpus that is compared with it."""
    corpora = [*_compared(config)]
    for entry in against_of(config) if corpora else ():
        if is_split(entry):
            for held_out in config.own_splits[entry]:
                for compared in corpora:
                    if _facts(held_out) == _facts(compared.corpus):
                        yield _is_itself(f"splits.{entry}.{held_out.name}", compared.name)
        elif entry.startswith(FILE):
            yield from _file_problems(entry, config.base_dir / entry.removeprefix(FILE), corpora, config.base_dir)


def _file_problems(entry: str, path: Path, corpora: Sequence[CleanedCorpus], base_dir: Path) -> Iterator[str]:
    try:
        with path.open("rb"):
            digest, size = sha256_of(path), path.stat().st_size
    except OSError as error:
        yield f"clean.decontaminate.against: cannot read {path}: {error.strerror}"
        return
    for compared in corpora:
        url = compared.corpus.url
        mirrors = (*(url.both or ()), *(url.source or ()), *(url.target or ()))
        for other in filter(None, (local_path(url, base_dir) for url in mirrors)):
            if other.is_file() and other.stat().st_size == size and sha256_of(other) == digest:
                yield _is_itself(entry, compared.name)
                return


def _facts(corpus: Corpus) -> dict[str, Any]:
    """Returns the keys of a corpus that decide its pairs: all but its name, its role in training, and its scores."""
    return corpus.model_dump(exclude={"name", "sha256", "manual", "scores", "licence", "tag", "swap"})


def _refuse_same_digests(job: Job) -> None:
    extracted = job.read(Extract).files

    def digests(split: str, corpus: Corpus) -> tuple[object, ...]:
        if corpus.is_made:
            return split, corpus.name
        parts = (extracted[f"{split}/{corpus.name}/{part}"] for part in parts_of(corpus))
        options = corpus.model_dump(include={"columns", "fields", "languages", "references", "systems"})
        return (repr(options), *(tuple(stored.sha256 for stored in files) for files in parts))

    compared = {digests(each.split, each.corpus): each.name for each in _compared(job.config)}
    held_out = [
        (split, corpus)
        for split in against_of(job.config)
        if is_split(split)
        for corpus in job.config.own_splits[split]
    ]
    for split, corpus in (*held_out, *((SACREBLEU, corpus) for corpus in id_corpora_of(job.config))):
        if (files := digests(split, corpus)) in compared:
            raise CleaningError(_is_itself(f"splits.{split}.{corpus.name}", compared[files]))


def _is_itself(evaluation: str, corpus: str) -> str:
    return (
        f"clean.decontaminate.against: {evaluation} is the same file as {corpus}, all of whose pairs would be dropped; "
        "remove one of them, or set clean.decontaminate.against to other evaluation sets"
    )


@dataclass(frozen=True)
class Leak:
    """Counts of an evaluation set in a corpus."""

    set: str  # name of the set, such as `dev/news` or `wmt22/en-de`
    corpus: str
    pairs: int  # how many pairs in the corpus have their closest segment in the set
    dropped: int  # number of these pairs that were dropped for it; rules may drop others
    segments: int  # how many segments in the set some pair contains
    size: int  # segment count of the set
    examples: tuple[LeakExample, ...]


def leaks_of(corpora: Sequence[CorpusWork]) -> dict[str, tuple[Leak, ...]]:
    """Returns the segments of evaluation sets in all corpora, by split."""
    leaks: dict[str, tuple[Leak, ...]] = {}
    for work in corpora:
        sets = () if work.of.against is None else work.of.against.sets
        for number, counts in work.leaks.items():
            name, size = sets[number].name, sets[number].segments
            numbers = (counts.pairs, counts.dropped, len(counts.found), size)
            leak = Leak(name, work.of.corpus, *numbers, counts.examples)
            leaks[work.split] = (*leaks.get(work.split, ()), leak)
    return leaks


def leak_warnings(leaks: Mapping[str, Sequence[Leak]]) -> Iterator[HealthWarning]:
    """Yields a warning for each corpus that contains a large share of an evaluation set.

    Sets whose segments in the corpus are also in earlier sets give no warning, such as the English side of a test set,
    which is the same for each of its languages.
    """
    for split, contained in leaks.items():
        for leak in contained:
            share = leak.segments / leak.size
            if share > LARGE_SHARE and leak.pairs:
                text = (
                    f"the corpus contains {leak.segments:,} of the {leak.size:,} segments ({share:.1%}) of the test "
                    f"set {leak.set}; {leak.dropped:,} pairs were dropped for it"
                )
                yield HealthWarning("leak", text, leak.corpus, split, value=leak.segments, share=share)
