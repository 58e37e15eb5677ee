"""download: fetches the files that the config names, verifies them, and stores them by digest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.base.digests import FileSteps
from nmt_prep.base.errors import ConfigError, CorpusError, DownloadError
from nmt_prep.base.progress import Progress
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.evaluation_segments import id_corpora_of
from nmt_prep.cleaning.health_warnings import corpus_warnings
from nmt_prep.config import Config, DownloadSettings, ExistingVocab, ExtractSettings
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import is_hub_id
from nmt_prep.corpora.archives.extraction import damage_of, is_plain
from nmt_prep.corpora.formats.parquet import check_fields
from nmt_prep.corpora.registry import column_files
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.downloads import DownloadCache, Downloads, Needed, Store, Stored, download_all
from nmt_prep.corpora.sources.fetch import Fetcher
from nmt_prep.corpora.sources.hub import Kind, repository_address
from nmt_prep.corpora.sources.hub_files import HubFile, Listing, files_of_split, read_listing, vocabulary_file
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.corpora.sources.partial import remove_partials
from nmt_prep.pipeline.manifest import Counts, Manifest
from nmt_prep.pipeline.stage import HealthWarning, Job, Outputs, Result, Stage
from nmt_prep.subwords.byte_bpe.files import OPENAI_NAMES
from nmt_prep.subwords.chat.template import CONFIG_FILE, TEMPLATE_FILE

SACREBLEU = "sacrebleu:"
"""Stands for the split of sacrebleu corpora that are only evaluation sets. No split has this name."""


def fetched_corpora(config: Config) -> Iterator[tuple[str, Corpus]]:
    """Yields all corpora whose files are needed, with their splits: first the config's, then evaluation sets by ID."""
    yield from ((split, corpus) for split, corpora in config.own_splits.items() for corpus in corpora)
    yield from ((SACREBLEU, corpus) for corpus in id_corpora_of(config))


def needed_files(config: Config) -> Iterator[Needed]:
    """Yields the files that a config needs: files of its corpora, in its order, and existing vocabularies."""
    for split, corpus in fetched_corpora(config):
        yield from needed_by(split, corpus)
    yield from needed_vocabularies(config)


def needed_vocabularies(config: Config) -> Iterator[Needed]:
    """Yields the files of the existing vocabularies that a config names.

    OpenAI's vocabularies have a second file, with the key ``vocab.from/merges``. Then come the files of
    ``numbering`` and ``compare``.
    """
    options = config.vocab
    if isinstance(options, ExistingVocab):
        yield from _vocabulary_files({key: options.files.of(sides[0]) for key, sides in options.keys.items()})
        if options.ids is not None:
            for key, side in {options.ids_key(side): side for side in SIDES}.items():
                yield Needed(key, _addresses(options.ids.of(side), "models"), None)
    yield from _vocabulary_files(compared_vocabularies(config))


def compared_vocabularies(config: Config) -> dict[str, Sequence[str]]:
    """Returns the addresses of the vocabularies that the report compares, by key."""
    return {f"vocab.compare.{number}": mirrors for number, mirrors in enumerate(config.vocab.compare)}


def _vocabulary_files(files: Mapping[str, Sequence[str]]) -> Iterator[Needed]:
    for key, addresses in files.items():
        mirrors = _addresses(addresses, "models")
        yield Needed(key, with_openai_name(mirrors, 0), None)
        if openai_names(mirrors) is not None:
            yield Needed(f"{key}/{MERGES}", with_openai_name(mirrors, 1), None)


def addresses_of(config: Config, names: Collection[str]) -> set[str]:
    """Returns the addresses of all files that the named corpora need, in any split."""
    addresses: dict[str, set[str]] = {}
    for needed in needed_files(config):
        addresses.setdefault(needed.corpus, set()).update(needed.mirrors)
    for name in names:
        if name not in addresses:
            near = get_close_matches(name, addresses, n=3) or sorted(addresses)[:10]
            raise ConfigError(f"the config has no corpus {name!r}; it has {', '.join(map(repr, near))}")
    return set().union(*(addresses[name] for name in names))


def needed_by(split: str, corpus: Corpus) -> Iterator[Needed]:
    """Yields the files that a corpus needs: one, or one for each side; and one for each column with a url."""
    if not corpus.is_fetched:
        return  # local documents are read in place, and joined corpora have no files
    for part in ("both", "source", "target"):
        mirrors = getattr(corpus.url, part)
        if mirrors is not None:
            key = f"{split}/{corpus.name}/{part}"
            yield Needed(key, _addresses(mirrors, "datasets"), getattr(corpus.sha256, part), corpus.manual)
    for column, place in column_files(corpus).items():
        if place.url is not None:
            yield Needed(f"{split}/{corpus.name}/{column}", place.url, place.sha256)


def _addresses(mirrors: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """Returns addresses with each ``hf:`` ID as its repository's address."""
    return tuple(str(repository_address(url, kind)[0]) if is_hub_id(url) else url for url in mirrors)


MERGES = "merges"  # Key suffix of the second file

_LAST_NAME = re.compile(r"(?<![^/])([^/?]+)(\?.*)?$")


def openai_names(mirrors: Sequence[str]) -> tuple[str, str] | None:
    """Returns the names of the two files that one of the addresses belongs to, or None for other vocabularies."""
    found = _LAST_NAME.search(mirrors[0])
    return next((names for names in OPENAI_NAMES if found is not None and found[1] in names), None)


def with_openai_name(mirrors: Sequence[str], which: int) -> tuple[str, ...]:
    """Returns one OpenAI file's addresses, given either file's addresses; returns other addresses unchanged."""
    names = openai_names(mirrors)
    if names is None:
        return tuple(mirrors)
    return tuple(_LAST_NAME.sub(lambda found: names[which] + (found[2] or ""), address) for address in mirrors)


@dataclass(frozen=True)
class Downloaded:
    """A file that was downloaded, or is local."""

    sha256: str  # SHA-256 of its bytes
    size: int  # size in bytes
    name: str  # name of the file
    local: bool  # True if the config gives its local path; it is not copied into the run's directory
    # the steps of a local file that is neither an archive nor compressed; None for others
    steps: FileSteps | None = None


@dataclass(frozen=True)
class DownloadOutput:
    """The files by :attr:`Needed.key`; the files chosen from a repository follow its list of files."""

    files: dict[str, Downloaded]


class Download(Stage[DownloadOutput, None]):
    """Fetches files that are not local to ``downloads/<sha256>/<name>``.

    A file is not fetched again if it was fetched from its first mirror before, or if the run or the shared cache has a
    file with the checksum in the config or lock file. The manifest does not record which mirror served a file.
    """

    name = "download"
    directory = "downloads"
    version = 3
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
                if part in corpus.places:
                    settings[f"{key}.{part}"] = [*map(shown, needed.mirrors), needed.sha256]
        for needed in needed_vocabularies(config):
            settings[needed.key] = [*map(shown, needed.mirrors)]
            if needed.is_repository and config.records.template is not None:
                settings["records.template"] = config.records.template
        return settings

    def local_files(self, config: Config) -> dict[str, Path]:
        paths = {needed: path for needed in needed_files(config) if (path := needed.local(config.base_dir)) is not None}
        missing = [(needed, path) for needed, path in paths.items() if needed.manual and not path.exists()]
        if missing:
            lines = [f"  {needed.where}: put it at {path}\n    {needed.manual}" for needed, path in missing]
            raise DownloadError("\n".join(["these files must be fetched by hand, and are missing:", *lines]))
        return {needed.where: path for needed, path in paths.items()}

    def warnings(self, observed: object, config: Config) -> tuple[HealthWarning, ...]:
        del observed
        return tuple(corpus_warnings(config))

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
                    return f"{needed.where} is {'not' if locked is None else 'another file'} in {lock.path.name}"
        return ""

    def finish(self, job: Job, made: None) -> Result[DownloadOutput]:
        needed = list(needed_files(job.config))
        local = self.local_files(job.config)
        found = {file.key: _local_entry(file, local[file.where], job) for file in needed if file.where in local}
        fetched: dict[str, Stored] = {}
        remote = _fetch_remote([file for file in needed if file.where not in local], fetched, job)
        for file in remote:
            stored = fetched[file.mirrors[0]]
            found[file.key] = Downloaded(stored.sha256, stored.size, file.name, local=False)
        digests = {stored.file: stored.sha256 for stored in fetched.values()}
        sizes = {(file.sha256, file.name): file.size for file in found.values()}  # one of a file that several use
        counts = Counts(other={"files": len(sizes), "bytes": sum(sizes.values())})
        return Result(DownloadOutput(found), counts, files=sorted(digests), digests=digests)


def downloaded_file(outputs: Outputs, file: Needed) -> tuple[Path, Downloaded]:
    """Returns the path and the entry of a needed file, for later stages; for a repository, the first chosen file."""
    return downloaded_files(outputs, file)[0]


def downloaded_files(outputs: Outputs, file: Needed) -> list[tuple[Path, Downloaded]]:
    """Returns the path and entry of a needed file, or of each chosen file in a repository, in order."""
    files = outputs.read(Download).files
    keys = [file.key]
    if file.is_repository:
        keys = sorted(key for key in files if key.startswith(f"{file.key}/"))
    local = file.local(outputs.config.base_dir)
    places = [outputs.directory_of(Download) / files[key].sha256 / files[key].name for key in keys]
    return [(local or place, files[key]) for place, key in zip(places, keys, strict=True)]


def licences_of(outputs: Outputs) -> dict[tuple[str, str], str]:
    """Returns the licenses of corpora by split and name: from the config, else from the hub's own cards."""
    licences: dict[tuple[str, str], str] = {}
    entries, directory = outputs.read(Download).files, outputs.directory_of(Download)
    for needed in needed_files(outputs.config):
        split, _, rest = needed.key.partition("/")
        if needed.is_repository and split in outputs.config.splits:
            entry = entries[needed.key]
            licence = read_listing(directory / entry.sha256 / entry.name).licence
            licences |= {(split, rest.partition("/")[0]): licence} if licence is not None else {}
    stated = {(split, corpus.name): corpus.licence for split, corpus in outputs.config.corpora}
    return licences | {corpus: licence for corpus, licence in stated.items() if licence is not None}


def _fetch_remote(files: list[Needed], fetched: dict[str, Stored], job: Job) -> list[Needed]:
    """Fetches files, and the files chosen from repositories; returns all of them.

    The lists of repositories come first, and then the first file of each corpus from a repository, so that mistakes in
    the config are found early.
    """
    config, store = job.config, Store(job.directory, job.digests)

    def fetch(wanted: Iterable[Needed]) -> None:
        new = [file for file in _distinct(wanted) if file.mirrors[0] not in fetched]
        results = fetch_files(new, store, config.download, config.extract, config.base_dir, job.progress, job.lock)
        fetched.update({file.mirrors[0]: stored for file, stored in results.items()})

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
    """Returns the ``number``-th file that was chosen in a repository, counted from 0."""
    address = f"{listing.repository}@{listing.commit}/{file.path}"
    advice = "or the hub's list of files is wrong: run again later"
    return Needed(f"{key}/{number:05d}", (address,), file.sha256, advice=advice)


_INCOMING = ".incoming"  # The directory of partial files


def fetch_files(
    files: Sequence[Needed],
    store: Store,
    options: DownloadSettings,
    limits: ExtractSettings,
    base_dir: Path,
    progress: Progress,
    lock: LockFile,
) -> dict[Needed, Stored]:
    """Fetches files to a store."""
    # With any engine, threads of this process fetch them, because they share one speed limit and one lock file.
    damage = partial(damage_of, limits=limits)
    fetcher = Fetcher(store.directory / _INCOMING, base_dir, options, progress, damage=damage)
    downloads = Downloads(store, fetcher, DownloadCache() if options.cache else None, lock)
    return download_all(downloads, files, options.parallel)


def _distinct(files: Iterable[Needed]) -> list[Needed]:
    """Merges the entries of files with the same first mirror."""
    merged: dict[str, Needed] = {}
    for file in files:
        before = merged.setdefault(file.mirrors[0], file)
        if before.sha256 and file.sha256 and before.sha256 != file.sha256:
            raise DownloadError(
                f"{shown(file.mirrors[0])}: {before.where} expects SHA-256 {before.sha256}, but {file.where} expects "
                f"{file.sha256}; one of them is wrong: correct it in the config"
            )
        mirrors = tuple(dict.fromkeys((*before.mirrors, *file.mirrors)))
        merged[file.mirrors[0]] = replace(before, mirrors=mirrors, sha256=before.sha256 or file.sha256)
    return list(merged.values())


def _local_entry(file: Needed, path: Path, job: Job) -> Downloaded:
    digest = job.digests.digest(path)
    if file.sha256 is not None and digest != file.sha256:
        raise DownloadError(
            f"{path}: expected SHA-256 {file.sha256}, found {digest}; "
            "the file was changed: restore it, or correct sha256 in the config"
        )
    steps = job.digests.steps(path) if is_plain(path) else None
    return Downloaded(digest, path.stat().st_size, path.name, local=True, steps=steps)


def choose_files(config: Config, lists: Iterable[tuple[str, Listing]]) -> dict[str, list[HubFile]]:
    """Returns each repository's files that are to be fetched, in the order of their rows."""
    chosen: dict[str, list[HubFile]] = {}
    problems = []
    for key, listing in lists:
        try:
            chosen[key] = _chosen(config, key, listing)
        except DownloadError as error:
            problems.append(f"{_config_key(key)}: {error}")
    if problems:
        raise DownloadError("\n  ".join(problems))
    return chosen


def check_first_files(config: Config, paths: Mapping[str, Path]) -> None:
    """Checks the corpora's fields in each first file, given the first files by repository key."""
    for key, path in paths.items():
        if (corpus := corpus_of(config, key)) is not None:
            try:
                check_fields(path, f"{corpus.url.hub_id}: {path.name}", corpus)
            except CorpusError as error:
                raise CorpusError(f"{_config_key(key)}: {error}") from error


def _chosen(config: Config, key: str, listing: Listing) -> list[HubFile]:
    corpus = corpus_of(config, key)
    if corpus is not None:
        address = corpus.url.hub_id or ""
        _, name = repository_address(address, "datasets")
        return files_of_split(listing, name, corpus.split or key.partition("/")[0], address)
    compared = compared_vocabularies(config)
    own = key not in compared
    if own:
        assert isinstance(config.vocab, ExistingVocab)
        compared[key] = config.vocab.files.of(config.vocab.keys[key][0])
    [address] = compared[key]
    chat = {CONFIG_FILE, TEMPLATE_FILE} if config.records.template is not None and own else set()
    return [vocabulary_file(listing, address), *(file for file in listing.files if file.path in chat)]


def corpus_of(config: Config, key: str) -> Corpus | None:
    """Returns a key's corpus, or None for a vocabulary's key."""
    split, _, rest = key.partition("/")
    name = rest.partition("/")[0]
    return next((corpus for corpus in config.splits.get(split, ()) if corpus.name == name), None)


def _config_key(key: str) -> str:
    split, _, rest = key.partition("/")
    return f"splits.{split}.{rest.partition('/')[0]}" if rest else key
