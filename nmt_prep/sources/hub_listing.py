"""The list of the files of a repository on the Hugging Face Hub at one commit, which is downloaded like a file.

A list is JSON, and the same bytes for one commit at any time: the commit, and the path, size and, if the hub knows it,
SHA-256 of each file. For a data set it also has the licence and the configs that the card states.

The hub converts data sets in other formats to Parquet, on the branch ``refs/convert/parquet``. A data set without any
Parquet file on its main branch stands for that branch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from nmt_prep.artefacts import parse_json
from nmt_prep.config import DownloadSettings as Limits
from nmt_prep.errors import DownloadError
from nmt_prep.sources.address import shown
from nmt_prep.sources.hub import HubAddress, is_commit, refusals_worded, token
from nmt_prep.sources.timing import Clock, RefusedError, Stop
from nmt_prep.sources.web import asked
from nmt_prep.typed_json import parse_json_as

CONVERTED = "refs/convert/parquet"
"""The branch with the hub's own conversion to Parquet."""

_MOST_BYTES = 100_000_000
_MOST_PAGES = 10_000


@dataclass(frozen=True)
class HubFile:
    """A file of a repository: its path, its size in bytes, and its SHA-256, or None if the hub does not know it."""

    path: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True)
class HubConfig:
    """A config of a data set, as its card states it.

    Attributes:
        name: its name.
        default: True if the card marks it as the default one.
        files: patterns of the paths of its files by split; None if the card does not state them.
        folder: the directory that the patterns are relative to; empty for the repository.
    """

    name: str
    default: bool
    files: dict[str, tuple[str, ...]] | None
    folder: str


@dataclass(frozen=True)
class Listing:
    """The files of a repository at a commit.

    Attributes:
        repository: ``hf://`` address of the repository, without a revision.
        commit: the commit.
        licence: licence of a data set, as its card states it; None if it states none.
        configs: configs of a data set, as its card states them.
        files: all files, sorted by path.
    """

    repository: str
    commit: str
    licence: str | None
    configs: tuple[HubConfig, ...]
    files: tuple[HubFile, ...]

    def as_bytes(self) -> bytes:
        """Returns the content of its file."""
        return (json.dumps({"version": 1, **asdict(self)}, ensure_ascii=False, indent=1) + "\n").encode()


def read_listing(path: Path) -> Listing:
    """Reads a list that was downloaded.

    Raises:
        DownloadError: the file is damaged.
    """
    try:
        return parse_json_as(Listing, parse_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise DownloadError(f"{path} is not a list of files ({error}); delete it and run again") from error


Ask: TypeAlias = "Callable[[str], tuple[Any, str | None]]"
"""Returns the JSON at a URL, and the URL of the next page."""


def fetch_listing(hub: HubAddress, commit: str | None, limits: Limits, clock: Clock, stop: Stop) -> Listing:
    """Asks the hub for the files of a repository.

    Args:
        hub: the repository.
        commit: the commit that the revision stood for before; None to look it up.
        limits: timeouts.
        clock: source of time.
        stop: interrupts the requests.

    Raises:
        DownloadError: there is no such repository or revision, access is refused, or the hub does not answer.
    """

    def ask(url: str) -> tuple[Any, str | None]:
        return _asked_json(url, hub, limits, clock, stop)

    found = _listing(hub if commit is None else replace(hub, revision=commit), str(hub), ask)
    if hub.kind == "models" or commit is not None or hub.revision is not None or _has_parquet(found):
        return found
    try:
        return _listing(replace(hub, revision=CONVERTED), str(hub), ask)
    except RefusedError:
        return found  # the choice of files says that none is Parquet


def _has_parquet(listing: Listing) -> bool:
    return any(file.path.endswith(".parquet") for file in listing.files)


def _listing(hub: HubAddress, address: str, ask: Ask) -> Listing:
    with refusals_worded(hub, address):
        info, _ = ask(hub.info_url())
        with _well_formed(address):
            commit, card = str(info["sha"]), info.get("cardData")
            if not is_commit(commit):
                raise ValueError(f"the commit {commit}")
            at_commit = hub.at(commit)
        files, following = [], at_commit.tree_url()
        for _ in range(_MOST_PAGES):
            entries, next_page = ask(following)
            with _well_formed(address):
                files += [_file(entry) for entry in entries if entry["type"] == "file"]
            if next_page is None:
                break
            _require_same_server(next_page, following, address)
            following = next_page
    with _well_formed(address):
        has_card = isinstance(card, Mapping) and any(file.path == "README.md" for file in files)
        card = card if has_card and hub.kind == "datasets" else {}
        return Listing(
            repository=str(HubAddress(hub.kind, hub.repository)),
            commit=commit,
            licence=_joined(card.get("license")),
            configs=tuple(_config(each) for each in card.get("configs") or ()),
            files=tuple(sorted(files, key=lambda file: file.path)),
        )


def _file(entry: Mapping[str, Any]) -> HubFile:
    stored = entry.get("lfs") or {}
    digest = str(stored.get("oid", ""))
    return HubFile(
        path=str(entry["path"]),
        size=int(stored.get("size", entry["size"])),
        sha256=digest if re.fullmatch(r"[0-9a-f]{64}", digest) else None,
    )


def _config(entry: Mapping[str, Any]) -> HubConfig:
    """Returns a config of a card; ``data_files`` may be a pattern, a list of patterns, or a list by split."""
    listed = entry.get("data_files")
    files: dict[str, tuple[str, ...]] | None = None
    if isinstance(listed, Mapping):
        files = {str(split): _patterns(paths) for split, paths in listed.items()}
    elif isinstance(listed, list) and listed and all(isinstance(each, Mapping) for each in listed):
        files = {str(each["split"]): _patterns(each["path"]) for each in listed}
    elif listed:
        files = {"train": _patterns(listed)}
    return HubConfig(
        name=str(entry.get("config_name", "default")),
        default=entry.get("default") is True,
        files=files,
        folder=str(entry.get("data_dir") or "").removeprefix("./").strip("/"),
    )


def _patterns(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _joined(value: object) -> str | None:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) if value else None


def _asked_json(url: str, hub: HubAddress, limits: Limits, clock: Clock, stop: Stop) -> tuple[Any, str | None]:
    content = bytearray()
    with asked(url, None, limits, clock, stop, token()) as answer:
        for chunk in answer.chunks:
            content += chunk
            if len(content) > _MOST_BYTES:
                raise DownloadError(f"{shown(url)}: more than {_MOST_BYTES:,} bytes, too long for a list of files")
    with _well_formed(str(hub)):
        return parse_json(bytes(content)), answer.following


@contextmanager
def _well_formed(address: str) -> Iterator[None]:
    """Converts errors in reading an answer, which may be anything, to :class:`DownloadError`."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DownloadError(f"{address}: the hub's answer is not a list of files ({error}); try again later") from error


def _require_same_server(url: str, before: str, address: str) -> None:
    """Raises if the next page is on another server, which must not get the token."""
    one, two = urlsplit(url), urlsplit(before)
    if (one.scheme, one.netloc) != (two.scheme, two.netloc):
        raise DownloadError(f"{address}: the hub continues its list on {shown(url)}, another server; refused")
