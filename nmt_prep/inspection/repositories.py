"""Looks at the files of a repository on the Hugging Face Hub that a config uses, without fetching them."""

from __future__ import annotations

from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.corpora.parquet import check_fields
from nmt_prep.errors import NmtPrepError
from nmt_prep.sources.hub import hub_address
from nmt_prep.sources.hub_listing import HubFile, Listing, fetch_listing, read_listing
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.sources.remote_file import opened_remote
from nmt_prep.sources.web import Client
from nmt_prep.stages.download import Needed, file_of_repository
from nmt_prep.stages.download.hub import choose_files, corpus_of


def listing_of(needed: Needed, fetched: Path | None, lock: LockFile) -> Listing:
    """Returns the files of a repository.

    Args:
        needed: the repository.
        fetched: path of the list of files; None if it was not fetched before.
        lock: the lock file, which may name the commit.

    Raises:
        DownloadError: there is no such repository, or the hub does not answer.
    """
    if fetched is not None:
        return read_listing(fetched)
    hub = hub_address(needed.mirrors[0])
    assert hub is not None
    locked = lock.find(needed.mirrors)
    return fetch_listing(hub, locked.commit if locked else None)


def files_used(needed: Needed, listing: Listing, config: Config, client: Client) -> tuple[list[HubFile], list[str]]:
    """Returns the files that the config uses, and their problems.

    The footer of the first file of a corpus is read to check the fields of the corpus.
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
