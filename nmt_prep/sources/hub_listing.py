"""The list of the files of a repository on the Hugging Face Hub at one commit, which is downloaded like a file.

A list is JSON, and the same bytes for one commit at any time: the commit, and the path, size and, if the hub knows it,
SHA-256 of each file. For a data set it also has the licence and the configs that the card states.

The hub converts data sets in other formats to Parquet, on the branch ``refs/convert/parquet``. A data set without any
Parquet file on its main branch stands for that branch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nmt_prep.artefacts import parse_json
from nmt_prep.errors import DownloadError
from nmt_prep.sources.hub import HubAddress, hub_api, hub_errors, is_commit
from nmt_prep.sources.retries import TransientError
from nmt_prep.typed_json import parse_json_as

CONVERTED = "refs/convert/parquet"
"""The branch with the hub's own conversion to Parquet."""

_SECONDS = 60.0
"""Time limit for the hub to answer."""


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


def fetch_listing(hub: HubAddress, commit: str | None) -> Listing:
    """Asks the hub for the files of a repository.

    Args:
        hub: the repository.
        commit: the commit that the revision stood for before; None to look it up.

    Raises:
        ConfigError: huggingface_hub is not installed.
        DownloadError: there is no such repository or revision, access is refused, or the hub does not answer.
    """
    listing = _listing(hub if commit is None else replace(hub, revision=commit))
    if hub.kind == "models" or commit is not None or hub.revision is not None or _has_parquet(listing):
        return listing
    try:
        return _listing(replace(hub, revision=CONVERTED))
    except TransientError:
        raise
    except DownloadError:
        return listing  # the choice of files says that none is Parquet


def _has_parquet(listing: Listing) -> bool:
    return any(file.path.endswith(".parquet") for file in listing.files)


def _listing(hub: HubAddress) -> Listing:
    with hub_errors(hub):
        api = hub_api(str(hub))
        info = api.repo_info(**hub.selector, timeout=_SECONDS)
        if not is_commit(info.sha):
            raise ValueError(f"the commit {info.sha}")
        entries = api.list_repo_tree(**hub.at(info.sha).selector, recursive=True)
        files = [_file(entry) for entry in entries if hasattr(entry, "size")]  # folders have none
        has_card = hub.kind == "datasets" and any(file.path == "README.md" for file in files)
        card = info.card_data.to_dict() if has_card and info.card_data is not None else {}
        return Listing(
            repository=str(HubAddress(hub.kind, hub.repository)),
            commit=info.sha,
            licence=_joined(card.get("license")),
            configs=tuple(map(_config, card.get("configs") or ())),
            files=tuple(sorted(files, key=lambda file: file.path)),
        )


def _file(entry: Any) -> HubFile:
    if entry.lfs is None:
        return HubFile(str(entry.path), int(entry.size))
    digest = entry.lfs.sha256
    return HubFile(str(entry.path), int(entry.lfs.size), digest if re.fullmatch(r"[0-9a-f]{64}", digest) else None)


def _config(entry: Mapping[str, Any]) -> HubConfig:
    """Returns a config of a card; ``data_files`` may be a pattern, a list of patterns, or a list by split."""
    listed = entry.get("data_files")
    files: dict[str, tuple[str, ...]] | None = None
    if isinstance(listed, Mapping):
        files = {str(split): _patterns(paths) for split, paths in listed.items()}
    elif isinstance(listed, list) and listed and all(isinstance(item, Mapping) for item in listed):
        files = {str(item["split"]): _patterns(item["path"]) for item in listed}
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
