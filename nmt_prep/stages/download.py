"""download: fetches the files that the config names, verifies them, and stores them by digest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from nmt_prep.archives import damage_of
from nmt_prep.artefacts import parse_json_as
from nmt_prep.cleaning.decontamination.sets import evaluation_corpora
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.corpus import Corpus
from nmt_prep.corpora.registry import score_files
from nmt_prep.errors import ConfigError, DownloadError
from nmt_prep.pipeline.manifest import Counts, Manifest
from nmt_prep.pipeline.stage import Job, Outputs, Result, Stage
from nmt_prep.sources.address import file_name, local_path, shown
from nmt_prep.sources.fetch import Fetcher
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.sources.partial import remove_partials
from nmt_prep.sources.supply import DownloadCache, Supply, WantedFile, get_all
from nmt_prep.store import Store, Stored


@dataclass(frozen=True)
class Needed:
    """A file that a corpus needs, or an existing vocabulary.

    Attributes:
        key: ``<split>/<corpus>/<both|source|target|scores.name>``, or the key of a vocabulary, ``vocab.from``.
        mirrors: URLs and paths of the file, of which the first gives its name.
        sha256: expected SHA-256 from the config; None if the config has none.
        manual: instructions for fetching the file by hand; None if it can be downloaded.
    """

    key: str
    mirrors: tuple[str, ...]
    sha256: str | None
    manual: str | None = None

    def local(self, base_dir: Path) -> Path | None:
        """Returns the first mirror that exists if all are local, else None. Local files are not copied."""
        paths = [local_path(url, base_dir) for url in self.mirrors]
        known = [path for path in paths if path is not None]
        if len(known) < len(paths):
            return None
        return next((path for path in known if path.exists()), known[0])

    @property
    def corpus(self) -> str:
        """Name of the corpus; the key of a vocabulary."""
        return self.key.split("/")[1] if "/" in self.key else self.key

    @property
    def name(self) -> str:
        """Name of the file; the same for all mirrors."""
        return file_name(self.mirrors[0])


@dataclass(frozen=True)
class Downloaded:
    """A file that was downloaded, or is local.

    Attributes:
        sha256: SHA-256 of its bytes.
        size: size in bytes.
        name: name of the file.
        local: True if the config gives its local path; it is not copied into the run's directory.
    """

    sha256: str
    size: int
    name: str
    local: bool


@dataclass(frozen=True)
class DownloadOutput:
    """The files by :attr:`Needed.key`."""

    files: dict[str, Downloaded]


class Download(Stage[DownloadOutput, None]):
    """Fetches files that are not local to ``downloads/<sha256>/<name>``.

    A file is not fetched again if it was fetched from its first mirror before, or if the run or the shared cache has a
    file with the checksum in the config or lock file. The manifest does not record which mirror served a file.
    """

    name = "download"
    directory = "downloads"
    version = 2
    output = DownloadOutput
    keeps = True

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpus in fetched_corpora(config):
            key = f"splits.{split}.{corpus.name}"
            urls = corpus.url.model_dump(exclude_none=True)
            settings[f"{key}.url"] = {part: [*map(shown, mirrors)] for part, mirrors in urls.items()}
            if checksums := corpus.sha256.model_dump(exclude_none=True):
                settings[f"{key}.sha256"] = checksums
            for needed in needed_by(split, corpus):
                _, _, part = needed.key.rpartition("/")
                if part.startswith("scores."):
                    settings[f"{key}.{part}"] = [*map(shown, needed.mirrors), needed.sha256]
        for needed in needed_vocabularies(config):
            settings[needed.key] = [*map(shown, needed.mirrors)]
        return settings

    def local_files(self, config: Config, base_dir: Path) -> dict[str, Path]:
        paths = {needed: path for needed in needed_files(config) if (path := needed.local(base_dir)) is not None}
        missing = [(needed, path) for needed, path in paths.items() if needed.manual and not path.exists()]
        if missing:
            lines = [f"  {needed.key}: put it at {path}\n    {needed.manual}" for needed, path in missing]
            raise DownloadError("\n".join(["these files must be fetched by hand, and are missing:", *lines]))
        return {needed.key: path for needed, path in paths.items()}

    def misnamed(self, outputs: Outputs) -> str:
        for name, digest in outputs.manifest(Download).files.items():
            if name.partition("/")[0] != digest:
                return f"{outputs.directory_of(Download) / name} does not have the digest in its name"
        return ""

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        try:
            files = parse_json_as(DownloadOutput, manifest.details).files
        except ValueError as error:
            return f"its manifest is damaged ({error})"
        for needed in needed_files(config):
            file = files[needed.key]
            if not file.local and lock.path is not None:
                locked = lock.find(needed.mirrors)
                if locked is None or locked.sha256 != file.sha256:
                    return f"{needed.key} is {'not' if locked is None else 'another file'} in {lock.path.name}"
        return ""

    def finish(self, job: Job, made: None) -> Result[DownloadOutput]:
        needed = list(needed_files(job.config))
        local = self.local_files(job.config, job.base_dir)
        found = {file.key: _local_entry(file, local[file.key], job) for file in needed if file.key in local}
        remote = [file for file in needed if file.key not in local]
        fetched = _fetch_all(_distinct(remote), job)
        for file in remote:
            stored = fetched[file.mirrors[0]]
            found[file.key] = Downloaded(stored.sha256, stored.size, file.name, local=False)
        digests = {stored.file: stored.sha256 for stored in fetched.values()}
        return Result(DownloadOutput(found), Counts(other=_totals(found)), files=sorted(digests), digests=digests)


SACREBLEU = "sacrebleu:"
"""Stands for the split of corpora of sacrebleu that are only evaluation sets. No split has this name."""


def fetched_corpora(config: Config) -> Iterator[tuple[str, Corpus]]:
    """Yields all corpora whose files are needed, with their splits: those of the splits, then evaluation sets by id."""
    for split, corpora in config.splits.items():
        for corpus in corpora:
            yield split, corpus
    for corpus in evaluation_corpora(config):
        yield SACREBLEU, corpus


def needed_files(config: Config) -> Iterator[Needed]:
    """Yields the files that a config needs: those of its corpora, in its order, and its existing vocabularies."""
    for split, corpus in fetched_corpora(config):
        yield from needed_by(split, corpus)
    yield from needed_vocabularies(config)


def needed_vocabularies(config: Config) -> Iterator[Needed]:
    """Yields the existing vocabularies that a config names."""
    if isinstance(config.vocab, ExistingVocab):
        for key, sides in config.vocab.keys.items():
            yield Needed(key, config.vocab.files.of(sides[0]), None)


def addresses_of(config: Config, names: Collection[str]) -> set[str]:
    """Returns the addresses of all files that the named corpora need, in any split.

    Raises:
        ConfigError: no corpus has one of the names.
    """
    addresses: dict[str, set[str]] = {}
    for needed in needed_files(config):
        addresses.setdefault(needed.corpus, set()).update(needed.mirrors)
    for name in names:
        if name not in addresses:
            near = get_close_matches(name, addresses, n=3) or sorted(addresses)[:10]
            raise ConfigError(f"the config has no corpus {name!r}; it has {', '.join(map(repr, near))}")
    return set().union(*(addresses[name] for name in names))


def needed_by(split: str, corpus: Corpus) -> Iterator[Needed]:
    """Yields the files that a corpus needs: one, or one for each side; and one for each score with a url."""
    for part in ("both", "source", "target"):
        mirrors = getattr(corpus.url, part)
        if mirrors is not None:
            key = f"{split}/{corpus.name}/{part}"
            yield Needed(key, mirrors, getattr(corpus.sha256, part), corpus.manual)
    for name, place in score_files(corpus).items():
        if place.url is not None:
            yield Needed(f"{split}/{corpus.name}/scores.{name}", place.url, place.sha256)


def downloaded_file(outputs: Outputs, file: Needed) -> tuple[Path, Downloaded]:
    """Returns the path and the entry of a needed file, for later stages."""
    entry = outputs.read(Download).files[file.key]
    local = file.local(outputs.base_dir)
    return outputs.directory_of(Download) / entry.sha256 / entry.name if local is None else local, entry


def _fetch_all(files: list[Needed], job: Job) -> dict[str, Stored]:
    """Fetches files; returns them by their first mirror.

    With any engine, threads of this process fetch them, because they share one speed limit and one lock file.
    """
    options = job.config.download
    incoming = job.directory / ".incoming"

    def damage(path: Path, advance: Callable[[int], None]) -> str:
        return damage_of(path, job.config.extract, advance)

    supply = Supply(
        store=Store(job.directory, job.digests),
        fetcher=Fetcher(incoming, job.base_dir, options, job.progress, damage=damage),
        cache=DownloadCache() if options.cache else None,
        lock=job.lock,
    )
    wanted = [WantedFile(file.mirrors, file.name, file.sha256, file.corpus) for file in files]
    results = get_all(supply, wanted, options.parallel)
    job.lock.finish()
    remove_partials(incoming)
    return {file.mirrors[0]: results[file] for file in wanted}


def _distinct(files: list[Needed]) -> list[Needed]:
    """Merges the entries of files with the same first mirror."""
    merged: dict[str, Needed] = {}
    for file in files:
        before = merged.setdefault(file.mirrors[0], file)
        if before.sha256 and file.sha256 and before.sha256 != file.sha256:
            raise DownloadError(
                f"{shown(file.mirrors[0])}: {before.key} expects SHA-256 {before.sha256}, but {file.key} expects "
                f"{file.sha256}; one of them is wrong: correct it in the config"
            )
        mirrors = tuple(dict.fromkeys((*before.mirrors, *file.mirrors)))
        merged[file.mirrors[0]] = replace(before, mirrors=mirrors, sha256=before.sha256 or file.sha256)
    return list(merged.values())


def _totals(files: Mapping[str, Downloaded]) -> dict[str, int]:
    """Returns the numbers of files and bytes; a file that several corpora use counts once."""
    sizes = {(file.sha256, file.name): file.size for file in files.values()}
    return {"files": len(sizes), "bytes": sum(sizes.values())}


def _local_entry(file: Needed, path: Path, job: Job) -> Downloaded:
    digest = job.digests.digest(path)
    if file.sha256 is not None and digest != file.sha256:
        raise DownloadError(
            f"{path}: expected SHA-256 {file.sha256}, found {digest}; "
            "the file was changed: restore it, or correct sha256 in the config"
        )
    return Downloaded(digest, path.stat().st_size, path.name, local=True)
