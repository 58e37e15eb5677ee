"""Gathers the evaluation sets that a stream of pairs is compared with, outside of any run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from nmt_prep.archives import Archive, damage_of, extract_members
from nmt_prep.checks.stream import StreamCleaning
from nmt_prep.cleaning.decontamination.finder import LeakFinder
from nmt_prep.cleaning.decontamination.leaks import LARGE_SHARE, EvaluationSet, SetLeaks
from nmt_prep.cleaning.decontamination.reading import read_segments
from nmt_prep.cleaning.decontamination.segments import Segments, numbered_segments
from nmt_prep.cleaning.decontamination.sets import FILE, sacrebleu_corpora, set_name
from nmt_prep.config import Corpus, DecontaminateSettings, DownloadSettings, ExtractSettings, Languages
from nmt_prep.corpora import PairBatch, open_corpus
from nmt_prep.digests import DigestCache
from nmt_prep.errors import CorpusError
from nmt_prep.progress import Progress
from nmt_prep.sources.downloads import DownloadCache, Downloads, WantedFile, download_all
from nmt_prep.sources.fetch import Fetcher
from nmt_prep.sources.lockfile import LockFile, lock_path
from nmt_prep.stages.download import SACREBLEU
from nmt_prep.stages.wanted_files import wanted_by
from nmt_prep.store import Store


def segments_for_stream(
    loaded: StreamCleaning, config: Path, progress: Progress
) -> tuple[Segments, tuple[EvaluationSet, ...]]:
    """Returns the evaluation segments that a config names, and the sets that they are from.

    Args:
        loaded: the settings of the filter.
        config: path of the config; its lock file records what is fetched.
        progress: receives events of downloads.

    Raises:
        CorpusError: a set cannot be read, or has no segments.
        DownloadError: a set cannot be fetched.
        ArchiveError: an archive is damaged.
    """
    against, languages = loaded.decontaminate.against or (), loaded.languages
    sets: list[EvaluationSet] = []
    batches: list[pa.RecordBatch] = []
    with tempfile.TemporaryDirectory(prefix="nmt-prep-") as directory:
        for name, entry, pairs in _sources(against, languages, config, Path(directory), progress):
            size = 0
            for batch in numbered_segments(pairs, len(sets)):
                batches.append(batch)
                size += len(batch)
            if not size:
                raise CorpusError(f"clean.decontaminate.against: the evaluation set {name} has no segments")
            sets.append(EvaluationSet(name, entry, size))
    return Segments.of(batches, loaded.decontaminate.coverage), tuple(sets)


def finder_of(segments: Segments, sets: Sequence[EvaluationSet], settings: DecontaminateSettings) -> LeakFinder:
    """Returns the finder of these segments."""
    return LeakFinder(segments, sets, settings.coverage, drop=settings.action == "drop")


def leak_line(evaluation: EvaluationSet, leaks: SetLeaks) -> str:
    """Returns the leaks of an evaluation set in words."""
    share = len(leaks.found) / evaluation.segments
    return (
        f"{'warning: ' * (share > LARGE_SHARE)}{evaluation.name}: {len(leaks.found):,} of {evaluation.segments:,} "
        f"segments ({share:.1%}) found in {leaks.pairs:,} pairs"
    )


def _sources(
    against: Sequence[str], languages: Languages, config: Path, directory: Path, progress: Progress
) -> Iterator[tuple[str, str, Iterator[PairBatch]]]:
    """Yields name, entry and segments of each set."""
    for entry in against:
        if entry.startswith(FILE):
            name = set_name(entry)
            path = config.parent / entry.removeprefix(FILE)
            yield name, name, read_segments(path, languages, directory / "unpacked")
    corpora = list(sacrebleu_corpora(against, languages))
    files = _fetched([corpus for _, _, corpus in corpora], config, directory, progress)
    for (entry, name, corpus), parts in zip(corpora, files, strict=True):
        yield name, set_name(entry), (batch.sound() for batch in open_corpus(corpus, [parts], languages).pairs())


def _fetched(corpora: Sequence[Corpus], config: Path, directory: Path, progress: Progress) -> Iterator[dict[str, Path]]:
    """Fetches and extracts the files of corpora; yields the files of a corpus by part."""
    if not corpora:
        return
    options, limits = DownloadSettings(), ExtractSettings()

    def damage(path: Path, advance: Callable[[int], None]) -> str:
        return damage_of(path, limits, advance)

    lock = LockFile(lock_path(config))
    store = Store(directory / "downloads", DigestCache(directory))
    fetcher = Fetcher(directory / "incoming", config.parent, options, progress, damage=damage)
    downloads = Downloads(store, fetcher, DownloadCache(), lock)
    wanted = [list(wanted_by(SACREBLEU, corpus)) for corpus in corpora]
    needed = {file.container.mirrors: file.container for files in wanted for file in files}
    asked = {key: WantedFile(key, file.name, file.sha256, file.corpus) for key, file in needed.items()}
    stored = download_all(downloads, list(asked.values()), options.parallel)
    lock.finish()
    for number, files in enumerate(wanted):
        extracted = {file.key.rpartition("/")[2]: directory / f"{number}-{index}" for index, file in enumerate(files)}
        for file, path in zip(files, extracted.values(), strict=True):
            held = stored[asked[file.container.mirrors]]
            archive = Archive(store.directory / held.file, file.container.name, held.sha256)
            extract_members(archive, [file.member], lambda _, path=path: path, limits, lambda _: None)  # type: ignore[misc]
        yield extracted
