"""Fetches a publication from an object store to a local directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_prep.base.artefacts import atomic_write, remove_partial, write_bytes, writing
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import DownloadError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.corpora.sources.objects import ObjectStore
from nmt_prep.corpora.sources.transfers import at_once
from nmt_prep.stages.publish.publication import (
    MANIFEST,
    UNFINISHED,
    Files,
    Publication,
    PublishedFile,
    parse_publication,
    read_publication,
    some_of,
)

_PARALLEL = 4


def fetch_run(
    url: str,
    directory: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Copies a publication to a local directory, which :func:`~nmt_prep.make_dataset` can read.

    Every file is verified against the manifest's SHA-256 and written atomically. Files that are there already are not
    fetched again, so an interrupted copy resumes. The local manifest is written last; files of an older publication
    that are not in the new one are deleted. Files that were not fetched are never overwritten.

    Args:
        url: as ``publish.url`` in the config.
        directory: the target, created if missing. Only one process may fetch into it at a time.
        options: options of fsspec's file system, as ``publish.options`` in the config.
        progress: receives progress and events; None if there is none.

    Returns:
        The directory.

    Raises:
        ConfigError: fsspec, or the package that it needs for the URL, is not installed.
        DownloadError: there is no complete publication, it cannot be read, or a file does not match the manifest.
        OutputError: the directory cannot be written, or contains a different file with the name of a published one
            that was not fetched.
    """
    root, progress = Path(directory), progress or Progress()
    store = ObjectStore(url, options or {}, DownloadError)
    publication = read_publication(store, DownloadError)
    if publication is None:
        raise _nothing_there(store)
    digests = DigestCache(root)
    try:
        _fetch_missing(store, root, publication, digests, progress)
    finally:
        digests.save()
    return root


def _fetch_missing(
    store: ObjectStore, root: Path, publication: Publication, digests: DigestCache, progress: Progress
) -> None:
    manifest, begun = root / MANIFEST, root / UNFINISHED
    before, unfinished = (parse_publication(_content(path), str(path), OutputError) for path in (manifest, begun))
    wanted = publication.complete_files
    missing = [name for name, file in wanted.items() if not _intact(root / name, file, digests)]
    if before == publication and unfinished is None and not missing:
        return
    ours = {name for made in (before, unfinished) if made for name in made.files}
    foreign = sorted(name for name in missing if name not in ours and os.path.lexists(root / name))
    if foreign:
        raise OutputError(
            f"{root} contains files that were not fetched and would be overwritten: {some_of(foreign)}; fetch "
            "into another directory, or move them away"
        )
    write_bytes(begun, Publication(publication.number, dict.fromkeys(ours | wanted.keys())).as_bytes())
    _remove(manifest)
    for directory in {name.partition("/")[0] for name in wanted}:
        remove_partial(root / directory)
    _fetch_all(store, root, {name: wanted[name] for name in missing}, digests, progress)
    for name in ours - wanted.keys():
        _remove(root / name)
    write_bytes(manifest, publication.as_bytes())
    _remove(begun)


def _fetch_all(store: ObjectStore, root: Path, files: Files, digests: DigestCache, progress: Progress) -> None:
    with progress.meter("fetch", sum(file.size for file in files.values()), "bytes") as meter:

        def fetch(name: str) -> None:
            with atomic_write(root / name) as beside:
                digest = store.download(name, beside, meter.advance)
                if digest != files[name].sha256:
                    raise DownloadError(
                        f"{store.url}/{name}: expected SHA-256 {files[name].sha256}, found {digest}; if a run is "
                        "publishing there, wait for it to end and fetch again; else the object was changed: publish "
                        "again with --force publish"
                    )
            digests.remember(root / name, digest)

        at_once(fetch, [*files], _PARALLEL)


def _intact(path: Path, file: PublishedFile, digests: DigestCache) -> bool:
    try:
        return path.stat().st_size == file.size and digests.digest(path) == file.sha256
    except OSError:
        return False


def _content(path: Path) -> bytes | None:
    with writing(path):
        return path.read_bytes() if path.exists() else None


def _remove(path: Path) -> None:
    with writing(path):
        path.unlink(missing_ok=True)


def _nothing_there(store: ObjectStore) -> DownloadError:
    if store.read(UNFINISHED) is not None:
        return DownloadError(
            f"{store.url}: a publication is in progress or was interrupted; wait for it to end, or run its config again"
        )
    return DownloadError(f"{store.url} has no {MANIFEST}; check the url, and that a run has published there")
