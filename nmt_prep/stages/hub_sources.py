"""Repositories on the Hugging Face Hub that a config names, before and after they are fetched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nmt_prep.config import Config
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.sources.hub_listing import read_listing
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.download import Download, Downloaded, needed_files


@dataclass(frozen=True)
class HubSource:
    """A repository that a config names.

    Attributes:
        key: key of its corpus or vocabulary, as in :class:`~nmt_prep.stages.download.Needed`.
        address: ``hf://`` address of the repository.
        commit: the commit that is used; None if it is not known yet.
        files: the fetched files, in the order of their rows.
        licence: the licence that the card of a data set states; None if it states none, or is not known yet.
    """

    key: str
    address: str
    commit: str | None
    files: tuple[Downloaded, ...] = ()
    licence: str | None = None


def hub_sources(config: Config, lock: LockFile) -> Iterator[HubSource]:
    """Yields the repositories that a config names, from the last download and the lock file; asks no server.

    Raises:
        OutputError: the manifest of the last download is damaged.
        DownloadError: a list of files is damaged.
    """
    workspace = Workspace(config.run_dir)
    manifest = read_manifest(workspace.manifest(Download.name))
    outputs = Outputs(config, workspace.root, {} if manifest is None else {Download.name: manifest})
    entries = {} if manifest is None else outputs.read(Download).files
    for needed in needed_files(config):
        if not needed.is_repository:
            continue
        address, locked, entry = needed.mirrors[0], lock.find(needed.mirrors), entries.get(needed.key)
        path = outputs.directory_of(Download) / entry.sha256 / entry.name if entry else None
        if entry is None or path is None or not path.exists() or (locked and locked.sha256 != entry.sha256):
            yield HubSource(needed.key, address, locked.commit if locked else None)
            continue
        listing = read_listing(path)
        chosen = (entries[key] for key in sorted(entries) if key.startswith(f"{needed.key}/"))
        yield HubSource(needed.key, address, listing.commit, tuple(chosen), listing.licence)
