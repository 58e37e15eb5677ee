"""download: fetches the files that the config names, verifies them, and stores them by digest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from nmt_prep.archives import damage_of, is_plain
from nmt_prep.cleaning.decontamination.sets import evaluation_corpora
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.url import is_hub_id
from nmt_prep.corpora.registry import score_files
from nmt_prep.digests import FileSteps
from nmt_prep.errors import ConfigError, DownloadError
from nmt_prep.pipeline.manifest import Counts, Manifest
from nmt_prep.pipeline.stage import Job, Outputs, Result, Stage
from nmt_prep.sides import SIDES
from nmt_prep.sources.address import file_name, local_path, shown
from nmt_prep.sources.downloads import DownloadCache, Downloads, WantedFile, download_all
from nmt_prep.sources.fetch import Fetcher
from nmt_prep.sources.hub import Kind, is_repository, repository_address
from nmt_prep.sources.hub_listing import HubFile, Listing, read_listing
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.sources.partial import remove_partials
from nmt_prep.stages.download_hub import check_first_files, choose_files
from nmt_prep.stages.vocab_pairs import MERGES, openai_names, with_openai_name
from nmt_prep.store import Store, Stored
from nmt_prep.typed_json import parse_json_as


@dataclass(frozen=True)
class Needed:
    """A file that a corpus needs, or an existing vocabulary.

    A repository of the Hugging Face Hub stands for some of its files; the file itself is then the list of all of them.

    Attributes:
        key: ``<split>/<corpus>/<both|source|target|scores.name>``, or the key of a vocabulary, ``vocab.from``. A file
            of a repository adds its number, such as ``/00000``.
        mirrors: URLs and paths of the file, of which the first gives its name.
        sha256: expected SHA-256 from the config, or from the list of a repository; None without one.
        manual: instructions for fetching the file by hand; None if it can be downloaded.
        advice: what to do if the file has another digest than ``sha256``.
    """

    key: str
    mirrors: tuple[str, ...]
    sha256: str | None
    manual: str | None = None
    advice: str = "correct sha256 in the config, or use another mirror"

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
        first, _, rest = self.key.partition("/")
        return first if first.startswith("vocab.") else rest.partition("/")[0]

    @property
    def is_repository(self) -> bool:
        """True for a repository of the Hugging Face Hub, which stands for some of its files."""
        return is_repository(self.mirrors[0])

    @property
    def name(self) -> str:
        """Name of the file; the same for all mirrors."""
        return file_name(self.mirrors[0])

    def wanted(self) -> WantedFile:
        """Returns the file as it is asked for."""
        return WantedFile(self.mirrors, self.name, self.sha256, self.corpus, self.advice)


@dataclass(frozen=True)
class Downloaded:
    """A file that was downloaded, or is local.

    Attributes:
        sha256: SHA-256 of its bytes.
        size: size in bytes.
        name: name of the file.
        local: True if the config gives its local path; it is not copied into the run's directory.
        steps: the steps of a local file that is neither an archive nor compressed; None for others.
    """

    sha256: str
    size: int
    name: str
    local: bool
    steps: FileSteps | None = None


@dataclass(frozen=True)
class DownloadOutput:
    """The files by :attr:`Needed.key`; those that were chosen in a repository follow its list of files."""

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
    divides = True

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpus in fetched_corpora(config):
            key = f"splits.{split}.{corpus.name}"
            urls = corpus.url.model_dump(exclude_none=True)
            settings[f"{key}.url"] = {part: [*map(shown, mirrors)] for part, mirrors in urls.items()}
            if corpus.url.hub_id is not None:
                settings[f"{key}.split"] = corpus.split or split
            if checksums := corpus.sha256.model_dump(exclude_none=True):
                settings[f"{key}.sha256"] = checksums
            for needed in needed_by(split, corpus):
                _, _, part = needed.key.rpartition("/")
                if part.startswith("scores."):
                    settings[f"{key}.{part}"] = [*map(shown, needed.mirrors), needed.sha256]
        for needed in needed_vocabularies(config):
            settings[needed.key] = [*map(shown, needed.mirrors)]
        return settings

    def local_files(self, config: Config) -> dict[str, Path]:
        paths = {needed: path for needed in needed_files(config) if (path := needed.local(config.base_dir)) is not None}
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
        local = self.local_files(job.config)
        found = {file.key: _local_entry(file, local[file.key], job) for file in needed if file.key in local}
        fetched: dict[str, Stored] = {}
        remote = _fetch_remote([file for file in needed if file.key not in local], fetched, job)
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
    """Yields the files of the existing vocabularies that a config names.

    A vocabulary of OpenAI's two files has a second one with the key ``vocab.from/merges``. Numberings follow.
    """
    if isinstance(config.vocab, ExistingVocab):
        for key, sides in config.vocab.keys.items():
            mirrors = _addresses(config.vocab.files.of(sides[0]), "models")
            yield Needed(key, with_openai_name(mirrors, 0), None)
            if openai_names(mirrors) is not None:
                yield Needed(f"{key}/{MERGES}", with_openai_name(mirrors, 1), None)
        if config.vocab.ids is not None:
            for key, side in {config.vocab.ids_key(side): side for side in SIDES}.items():
                yield Needed(key, _addresses(config.vocab.ids.of(side), "models"), None)


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
            yield Needed(key, _addresses(mirrors, "datasets"), getattr(corpus.sha256, part), corpus.manual)
    for name, place in score_files(corpus).items():
        if place.url is not None:
            yield Needed(f"{split}/{corpus.name}/scores.{name}", place.url, place.sha256)


def downloaded_file(outputs: Outputs, file: Needed) -> tuple[Path, Downloaded]:
    """Returns the path and the entry of a needed file, for later stages; of a repository, of its one chosen file."""
    [found] = downloaded_files(outputs, file)
    return found


def downloaded_files(outputs: Outputs, file: Needed) -> list[tuple[Path, Downloaded]]:
    """Returns the path and the entry of a needed file; of a repository, those of all chosen files in their order."""
    files = outputs.read(Download).files
    keys = [file.key]
    if file.is_repository:
        keys = sorted(key for key in files if key.startswith(f"{file.key}/"))
    local = file.local(outputs.config.base_dir)
    places = [outputs.directory_of(Download) / files[key].sha256 / files[key].name for key in keys]
    return [(local or place, files[key]) for place, key in zip(places, keys, strict=True)]


def _addresses(mirrors: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """Returns addresses with each ``hf:`` id as the address of its repository."""
    return tuple(str(repository_address(each, kind)[0]) if is_hub_id(each) else each for each in mirrors)


def _fetch_remote(files: list[Needed], fetched: dict[str, Stored], job: Job) -> list[Needed]:
    """Fetches files, and those that are chosen in repositories; returns all of them.

    The lists of repositories come first, and then the first file of each corpus in one, so that mistakes in the config
    are found before most of the work.

    Args:
        files: the files.
        fetched: receives the stored files by their first mirror.
        job: job of the stage.
    """

    def fetch(wanted: Iterable[Needed]) -> None:
        new = [file for file in _distinct(wanted) if file.mirrors[0] not in fetched]
        fetched.update(_fetch_all(new, job))

    def place(file: Needed) -> Path:
        return job.directory / fetched[file.mirrors[0]].file

    repositories = [file for file in files if file.is_repository]
    fetch(repositories)
    lists = {file.key: read_listing(place(file)) for file in repositories}
    chosen = {
        key: [file_of_repository(file, number, key, lists[key]) for number, file in enumerate(listed)]
        for key, listed in choose_files(job.config, lists.items()).items()
    }
    fetch(listed[0] for listed in chosen.values())
    check_first_files(job.config, {key: place(listed[0]) for key, listed in chosen.items()})
    everything = [*files, *(file for listed in chosen.values() for file in listed)]
    fetch(everything)
    job.lock.finish()
    remove_partials(job.directory / _INCOMING)
    return everything


def file_of_repository(file: HubFile, number: int, key: str, listing: Listing) -> Needed:
    """Returns a file that was chosen in a repository.

    Args:
        file: the file.
        number: its number among those that were chosen, from 0.
        key: key of the repository.
        listing: all files of the repository.
    """
    address = f"{listing.repository}@{listing.commit}/{file.path}"
    advice = "or the hub's list of files is wrong: run again later"
    return Needed(f"{key}/{number:05d}", (address,), file.sha256, advice=advice)


_INCOMING = ".incoming"
"""The directory of partial files."""


def _fetch_all(files: list[Needed], job: Job) -> dict[str, Stored]:
    """Fetches files; returns them by their first mirror.

    With any engine, threads of this process fetch them, because they share one speed limit and one lock file.
    """
    options = job.config.download

    def damage(path: Path, advance: Callable[[int], None]) -> str:
        return damage_of(path, job.config.extract, advance)

    downloads = Downloads(
        store=Store(job.directory, job.digests),
        fetcher=Fetcher(job.directory / _INCOMING, job.config.base_dir, options, job.progress, damage=damage),
        cache=DownloadCache() if options.cache else None,
        lock=job.lock,
    )
    wanted = [file.wanted() for file in files]
    results = download_all(downloads, wanted, options.parallel)
    return {file.mirrors[0]: results[file] for file in wanted}


def _distinct(files: Iterable[Needed]) -> list[Needed]:
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
    steps = job.digests.steps(path) if is_plain(path) else None
    return Downloaded(digest, path.stat().st_size, path.name, local=True, steps=steps)
