"""download: the files that the config names, verified, in a store by digest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.artefacts import flush, published, writing
from nmt_prep.config import Config, Corpus
from nmt_prep.digests import digest_of
from nmt_prep.errors import DownloadError
from nmt_prep.fetch import fetch, file_name, local_path
from nmt_prep.manifest import Counts
from nmt_prep.pipeline import Context, Result, Stage
from nmt_prep.progress import Progress
from nmt_prep.store import Store, Stored


@dataclass(frozen=True)
class Needed:
    """A file that a corpus needs.

    Attributes:
        key: ``<split>/<corpus>/<both|source|target>``.
        mirrors: URLs and paths, the first of which names the file.
        sha256: what the config says that it must be.
    """

    key: str
    mirrors: tuple[str, ...]
    sha256: str | None

    def local(self, base_dir: Path) -> Path | None:
        """Where the file is, if all its mirrors are local: the first that exists. Such a file is not copied."""
        paths = [local_path(url, base_dir) for url in self.mirrors]
        known = [path for path in paths if path is not None]
        if len(known) < len(paths):
            return None
        return next((path for path in known if path.exists()), known[0])

    @property
    def name(self) -> str:
        """Name of the file, whichever mirror serves it."""
        return file_name(self.mirrors[0])


class Download(Stage):
    """Fetches to ``downloads/<sha256>/<name>`` what is not local.

    A file that was fetched from its first mirror before is kept, as is one with the checksum that the config gives.
    Details are ``{key: {sha256, size, name, local}}`` by :attr:`Needed.key`; which mirror served does not show.
    """

    name: ClassVar[str] = "download"
    inputs: ClassVar[tuple[str, ...]] = ()
    directory: ClassVar[str] = "downloads"
    keeps: ClassVar[bool] = True

    def settings(self, config: Config) -> dict[str, object]:
        settings: dict[str, object] = {}
        for split, corpora in config.splits.items():
            for corpus in corpora:
                key = f"splits.{split}.{corpus.name}"
                settings[f"{key}.url"] = corpus.url.model_dump(mode="json", exclude_none=True)
                settings[f"{key}.sha256"] = corpus.sha256.model_dump(exclude_none=True)
        return settings

    def local_files(self, config: Config, base_dir: Path) -> dict[str, Path]:
        paths = {needed.key: needed.local(base_dir) for needed in needed_files(config)}
        return {key: path for key, path in paths.items() if path is not None}

    def run(self, context: Context) -> Result:
        needed = list(needed_files(context.config))
        local = self.local_files(context.config, context.base_dir)
        details: dict[str, object] = {}
        for file in needed:
            if file.key in local:
                details[file.key] = _local_entry(file, local[file.key], context)
        remote = [file for file in needed if file.key not in local]
        tasks = _distinct(remote)
        store = Store(context.directory, context.digests)
        work = partial(fetch_file, store, context.base_dir, context.progress)
        fetched = dict(zip([task.mirrors[0] for task in tasks], context.tasks.run(work, tasks), strict=True))
        for file in remote:
            stored = fetched[file.mirrors[0]]
            details[file.key] = {"sha256": stored["sha256"], "size": stored["size"], "name": file.name, "local": False}
        files = {stored["file"]: stored["sha256"] for stored in fetched.values()}
        total = sum(stored["size"] for stored in fetched.values())
        counts = Counts(other={"files": len(local) + len(files), "bytes": total})
        return Result(counts, files=sorted(files), digests=files, details=details)


def needed_files(config: Config) -> Iterator[Needed]:
    """All files that the corpora of a config need, in its order."""
    for split, corpora in config.splits.items():
        for corpus in corpora:
            yield from needed_by(split, corpus)


def needed_by(split: str, corpus: Corpus) -> Iterator[Needed]:
    """The files that one corpus needs: one, or one a side."""
    for part in ("both", "source", "target"):
        mirrors = getattr(corpus.url, part)
        if mirrors is not None:
            yield Needed(f"{split}/{corpus.name}/{part}", mirrors, getattr(corpus.sha256, part))


def downloaded_file(context: Context, file: Needed) -> tuple[Path, dict[str, Any]]:
    """Where a needed file is, and its details, for a stage that has download above it."""
    entry = context.manifests["download"].details[file.key]
    local = file.local(context.base_dir)
    path = context.workspace.root / Download.directory / entry["sha256"] / entry["name"] if local is None else local
    return path, entry


def fetch_file(store: Store, base_dir: Path, progress: Progress, file: Needed) -> dict[str, Any]:
    """Sees to it that a file is in the store; returns its place, digest and size.

    Raises:
        DownloadError: it cannot be had.
        OutputError: it cannot be stored.
    """
    key = ["url", file.mirrors[0]]
    stored = store.find(key)
    if file.sha256 is not None and (stored is None or stored.sha256 != file.sha256):
        stored = store.find_digest(file.sha256, file.name)
    if stored is None:
        stored = _fetch(store, base_dir, progress, file)
    return vars(store.note(key, _named(store, stored, file.name)))


def _fetch(store: Store, base_dir: Path, progress: Progress, file: Needed) -> Stored:
    partial_file = store.directory / f".{digest_of(file.mirrors[0])}.partial"
    fetched = fetch(
        file.mirrors, base_dir, partial_file, file.sha256, lambda total: progress.meter(file.name, total, "bytes")
    )
    final = store.directory / fetched.sha256 / file.name
    with writing(final):
        final.parent.mkdir(exist_ok=True)
        flush(partial_file)
        partial_file.replace(final)
        flush(final.parent)
    return Stored(f"{fetched.sha256}/{file.name}", fetched.sha256, fetched.size)


def _named(store: Store, stored: Stored, name: str) -> Stored:
    """A stored file under the name that its first mirror gives it."""
    file = f"{stored.sha256}/{name}"
    if stored.file != file:
        with published(store.directory / file) as beside:
            shutil.copyfile(store.directory / stored.file, beside)
    return replace(stored, file=file)


def _distinct(files: list[Needed]) -> list[Needed]:
    """One file for each first mirror, with the mirrors and the checksum of all that begin with it."""
    merged: dict[str, Needed] = {}
    for file in files:
        before = merged.setdefault(file.mirrors[0], file)
        if before.sha256 and file.sha256 and before.sha256 != file.sha256:
            raise DownloadError(
                f"{file.mirrors[0]}: {before.key} expects SHA-256 {before.sha256}, but {file.key} expects "
                f"{file.sha256}; one of them is wrong: correct it in the config"
            )
        mirrors = tuple(dict.fromkeys((*before.mirrors, *file.mirrors)))
        merged[file.mirrors[0]] = replace(before, mirrors=mirrors, sha256=before.sha256 or file.sha256)
    return list(merged.values())


def _local_entry(file: Needed, path: Path, context: Context) -> dict[str, object]:
    digest = context.digests.digest(path)
    if file.sha256 is not None and digest != file.sha256:
        raise DownloadError(
            f"{path}: expected SHA-256 {file.sha256}, found {digest}; "
            "the file was changed: restore it, or correct sha256 in the config"
        )
    return {"sha256": digest, "size": path.stat().st_size, "name": path.name, "local": True}
