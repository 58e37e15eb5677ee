"""Opens the files and repositories that a config names, wherever they are, and looks into them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from nmt_prep.base.errors import ConfigError, NmtPrepError, SourceError
from nmt_prep.config import Config
from nmt_prep.corpora.archives.contents import Contents, Opened, contents_of
from nmt_prep.corpora.archives.zip import STARTS
from nmt_prep.corpora.formats.parquet import check_fields
from nmt_prep.corpora.sources.address import local_path, shown
from nmt_prep.corpora.sources.downloads import DownloadCache, Needed
from nmt_prep.corpora.sources.fetch import open_local
from nmt_prep.corpora.sources.hub import hub_address
from nmt_prep.corpora.sources.hub_files import HubFile, Listing, fetch_listing, read_listing
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.corpora.sources.remote_file import BEGINNING, opened_remote
from nmt_prep.corpora.sources.transfers import Stop
from nmt_prep.corpora.sources.web import Client
from nmt_prep.stages.download import Download, choose_files, corpus_of, file_of_repository

Place: TypeAlias = Literal["local", "remote", "fetched"]


@dataclass(frozen=True)
class FileFacts:
    """A file that the config names."""

    # the part of the corpus: `both`, `source`, `target`, `document` or `scores.<name>`; for a vocabulary, its key in
    # the config
    part: str
    address: str  # path or address, without secrets
    place: Place  # `local`, `remote`, or `fetched` for a remote file that an earlier run has fetched
    size: int | None = None  # size in bytes; None if it is not known
    kind: str | None = None  # `tar`, `zip`, `file` or `repository`; None if the file could not be opened
    members: int = 0  # how many archive members were seen, or how many repository files are used
    complete: bool = True  # true if all members of the archive were seen


@dataclass
class Looked:
    """The facts about a file."""

    address: str  # path or address, without secrets
    place: Place
    size: int | None = None
    contents: Contents | None = None
    problems: list[str] = field(default_factory=list)  # the reasons why it could not be opened
    unseen: str = ""  # the reason why some members cannot be seen; empty if all can
    files: list[HubFile] = field(default_factory=list)  # the used files of a repository


@dataclass(frozen=True)
class Looker:
    """Looks into files. Safe to use from threads."""

    config: Config
    lock: LockFile  # the lock file; its digests are the names of files that were fetched before
    stop: Stop
    most: int  # how many bytes to read from each member of a local file

    def look(self, needed: Needed, wanted: Sequence[str], directory: Path) -> Looked:
        """Looks into a file: a local or fetched copy, or its first mirror that works.

        Args:
            directory: an empty directory for the beginnings of members.
        """
        address = shown(needed.mirrors[0])
        path = needed.local(self.config.base_dir)
        if path is not None and needed.manual and not path.exists():
            fault = f"{path} is missing; it must be fetched by hand: {needed.manual}"
            return Looked(address, "local", problems=[fault])
        if path is not None:
            return self._into(Looked(address, "local"), _opened_local(path, path.name), wanted, directory)
        fetched = self._fetched(needed)
        if needed.is_repository:
            return self._into_repository(needed, fetched)
        if fetched is not None:
            return self._into(Looked(address, "fetched"), _opened_local(fetched, needed.name), wanted, directory)
        faults: list[str] = []
        for mirror in needed.mirrors:
            here = local_path(mirror, self.config.base_dir)
            looked = Looked(shown(mirror), "local" if here else "remote")
            opening = _opened_local(here, needed.name) if here else self._opened_remote(mirror, needed.name)
            self._into(looked, opening, wanted, directory)
            if looked.contents is not None:
                return looked
            faults += looked.problems
        return Looked(address, "remote", problems=faults)

    def here(self, needed: Needed) -> Path | None:
        """Returns the path of a local file, or of a remote file that was fetched before, or None."""
        path = needed.local(self.config.base_dir)
        return path or (None if needed.is_repository else self._fetched(needed))

    def _fetched(self, needed: Needed) -> Path | None:
        """Returns the path of a remote file that was fetched before, if its digest is known."""
        locked = self.lock.find(needed.mirrors)
        sha256 = needed.sha256 or (locked.sha256 if locked else None)
        if sha256 is None:
            return None
        stored = self.config.run_dir / Download.directory / sha256 / needed.name
        return stored if stored.is_file() else DownloadCache().find(sha256)

    def _into_repository(self, needed: Needed, fetched: Path | None) -> Looked:
        address = shown(needed.mirrors[0])
        try:
            listing = _listing_of(needed, fetched, self.lock)
        except (SourceError, ConfigError) as error:
            return Looked(address, "remote", problems=[str(error)])
        files, problems = _files_used(needed, listing, self.config, Client(self.config.download, self.stop))
        size = sum(file.size for file in files) if files else None
        return Looked(f"{address} at commit {listing.commit}", "remote", size, problems=problems, files=files)

    def _into(
        self, looked: Looked, opening: AbstractContextManager[Opened], wanted: Sequence[str], directory: Path
    ) -> Looked:
        """Looks into a file; adds its facts to ``looked`` and returns ``looked``."""
        places = (directory / str(number) for number in range(1 << 30))
        try:
            with opening as opened:
                looked.size = opened.size
                most = BEGINNING if looked.place == "remote" else self.most
                contents = contents_of(opened, wanted, lambda _: next(places), self.config.extract, most)
        except (SourceError, ConfigError) as error:
            looked.problems.append(str(error))
            return looked
        looked.contents = contents
        if not contents.complete and not contents.faults:
            looked.unseen = _why_unseen(contents, looked)
        return looked

    @contextmanager
    def _opened_remote(self, address: str, name: str) -> Iterator[Opened]:
        with opened_remote(address, Client(self.config.download, self.stop)) as remote:
            beginning = remote.beginning
            seekable = beginning.startswith(STARTS) and (remote.whole or remote.file is not None)
            file = remote.open() if seekable else io.BufferedReader(io.BytesIO(beginning))
            with file:
                yield Opened(remote.address, name, remote.size, file, whole=remote.whole or seekable)


def _why_unseen(contents: Contents, looked: Looked) -> str:
    if looked.place != "remote":
        return "the archive is large, and was not read to its end"
    if contents.kind == "zip":
        return "the server does not send parts of files, and the members of a zip are listed at its end"
    return "the members of a tar are not listed anywhere, and only its first megabyte was read"


@contextmanager
def _opened_local(path: Path, name: str) -> Iterator[Opened]:
    with open_local(path) as file:
        yield Opened(path, name, path.stat().st_size, file, whole=True, path=path)


def _listing_of(needed: Needed, fetched: Path | None, lock: LockFile) -> Listing:
    """Returns a repository's files.

    Args:
        fetched: path of the list of files, or None if the list was not fetched before.
    """
    if fetched is not None:
        return read_listing(fetched)
    hub = hub_address(needed.mirrors[0])
    assert hub is not None
    locked = lock.find(needed.mirrors)
    return fetch_listing(hub, locked.commit if locked else None)


def _files_used(needed: Needed, listing: Listing, config: Config, client: Client) -> tuple[list[HubFile], list[str]]:
    """Returns the files that the config uses, and their problems.

    Reads the footer of a corpus's first file to check the corpus's fields.
    """
    try:
        [files] = choose_files(config, [(needed.key, listing)]).values()
    except NmtPrepError as error:
        return [], [str(error)]
    corpus, first = corpus_of(config, needed.key), file_of_repository(files[0], 0, needed.key, listing)
    problems = []
    if corpus is not None:
        try:
            with opened_remote(first.mirrors[0], client) as remote, remote.open() as file:
                check_fields(file, f"{corpus.url.hub_id}: {files[0].path}", corpus)
        except NmtPrepError as error:
            problems.append(str(error))
    return files, problems
