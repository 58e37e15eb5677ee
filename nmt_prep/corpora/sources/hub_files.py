"""A Hugging Face Hub repository's files: their list at one commit, and the selection of the files to use.

The list is downloaded like a file. It is JSON, with the same bytes for a commit at any time: the commit, and the path,
size and, if the hub knows it, SHA-256 of each file. For a data set it also has the license and the configs that the
card states. The selected files are the Parquet files of a split, or a vocabulary.

The hub converts data sets in other formats to Parquet, on the branch ``refs/convert/parquet``. That branch replaces the
main branch of a data set without Parquet files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from posixpath import normpath
from typing import Any

from nmt_prep.base.artefacts import parse_json, parse_json_as
from nmt_prep.base.errors import DownloadError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.corpora.sources.hub import EXTRA, HubAddress, hub_api, hub_errors, is_commit
from nmt_prep.corpora.sources.transfers import TransientError

CONVERTED = "refs/convert/parquet"  # The branch with the hub's own conversion to Parquet
_SECONDS = 60.0  # Time limit for the hub to answer


@dataclass(frozen=True)
class HubFile:
    """A file of a repository: its path, its size in bytes, and its SHA-256, or None if the hub does not know it."""

    path: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True)
class HubConfig:
    """A config of a data set, as its card states it."""

    name: str
    default: bool  # True if the card marks it as the default one
    # path patterns of its files by split, or None if the card does not state them
    files: dict[str, tuple[str, ...]] | None
    folder: str  # the directory that the patterns are relative to; empty for the repository


@dataclass(frozen=True)
class Listing:
    """A repository's files at a commit."""

    repository: str  # `hf://` address of the repository, without a revision
    commit: str
    licence: str | None  # license of a data set, as its card states it; None if it states none
    configs: tuple[HubConfig, ...]  # configs of a data set, as its card states them
    files: tuple[HubFile, ...]  # all files, sorted by path

    def as_bytes(self) -> bytes:
        """Returns its file's content."""
        return (json.dumps({"version": 1, **asdict(self)}, ensure_ascii=False, indent=1) + "\n").encode()


def read_listing(path: Path) -> Listing:
    """Reads a list that was downloaded."""
    try:
        return parse_json_as(Listing, parse_json(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise DownloadError(f"{path} is not a list of files ({error}); delete it and run again") from error


def fetch_listing(hub: HubAddress, commit: str | None) -> Listing:
    """Asks the hub for a repository's files.

    Args:
        commit: the commit that the revision stood for before; None to look it up.
    """
    listing = _listing(hub if commit is None else replace(hub, revision=commit))
    if hub.kind == "models" or commit is not None or hub.revision is not None or _has_parquet(listing):
        return listing
    try:
        return _listing(replace(hub, revision=CONVERTED))
    except TransientError:
        raise
    except DownloadError:
        return listing  # the file selection reports the lack of Parquet files


def _has_parquet(listing: Listing) -> bool:
    return any(file.path.endswith(".parquet") for file in listing.files)


def _listing(hub: HubAddress) -> Listing:
    with hub_errors(hub):
        try:
            return _asked(hub)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DownloadError(f"{hub}: the hub's answer is not a list of files ({error}); try again later") from error


def _asked(hub: HubAddress) -> Listing:
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
    """Returns a card's config; ``data_files`` may be a pattern, a list of patterns, or a list by split."""
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
        folder=normpath("/" + str(entry.get("data_dir") or "")).strip("/"),
    )


def _patterns(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _joined(value: object) -> str | None:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value) if value else None


_SPLIT_WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""The words that the hub finds in the paths of files, by split."""

_IN_FOLDERS = ("**/{}/**", "**/{}[-._ 0-9]*/**", "**/*[-._ 0-9]{}/**", "**/*[-._ 0-9]{}[-._ 0-9]*/**")
_IN_NAMES = ("**/{}[-._ 0-9]*", "**/*[-._ 0-9]{}[-._ 0-9]*")
"""Patterns with which the library datasets finds a word; folders come before names, and patterns give the order."""

_SHARD = re.compile(r"data/(?P<split>\w+(\.\w+)*)-[0-9]{5}-of-[0-9]{5}[^/]*")
_CONVERTED_FILE = re.compile(r"(?P<config>[^/]+)/(?P<split>[^/]+)/[0-9]{4}\.parquet")
_METADATA = {
    *("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
}
"""Names of files that are not data, unless a pattern names them."""
_PARTIAL = "partial-"


def files_of_split(listing: Listing, config: str | None, split: str, address: str) -> list[HubFile]:
    """Returns a split's Parquet files, in the order of its rows.

    If the card of the data set lists files, these are used. Otherwise the splits are found in the paths, as the
    library datasets does.

    Args:
        config: name of the config; None for the default one.
    """
    splits = _splits(listing, config, address)
    name = next((spelling for spelling in _spellings(split) if spelling in splits), None)
    if name is None:
        if f"{_PARTIAL}{split}" in splits:
            raise DownloadError(
                f"{address}: the hub has converted only the beginning of the split {split} to Parquet; to use it, set "
                f"split: {_PARTIAL}{split}, or name files of the data set as hf://datasets/…"
            )
        raise DownloadError(
            f"{address}: there is no split {split!r}{_meant(split, splits)}; set the key split of the corpus"
        )
    files = splits[name]
    parquet = [file for file in files if file.path.endswith(".parquet")]
    others = [file.path for file in files if file not in parquet]
    if len(parquet) <= len(others):  # as in the library datasets, the most frequent format counts
        what = f"{others[0]}, which is not Parquet" if others else "no file"
        raise DownloadError(
            f"{address}: the split {name} has {what}; use the hub's conversion, {_converted(address)}, or name files "
            f"as {listing.repository}/<path>"
        )
    return parquet


def _splits(listing: Listing, config: str | None, address: str) -> Mapping[str, list[HubFile]]:
    # Three sources in order of authority: what the card states, the layout of the hub's own conversion
    # (<config>/<split>/0000.parquet), and else the words in paths, where a config is a folder at the top.
    if listing.configs:
        marked = next((entry.name for entry in listing.configs if entry.default), None)
        configs = {entry.name: entry for entry in reversed(listing.configs)}
        names = [entry.name for entry in listing.configs]
        return _card_splits(configs[_name_among(names, marked if config is None else config, address)], listing)
    parquet = [file for file in listing.files if file.path.endswith(".parquet") and not any(_hidden(file.path))]
    if not parquet:
        paths = [file.path for file in listing.files if not file.path.startswith(".")]
        conversion = ", and the hub has not converted it;"
        if "@" in address:
            conversion = f" at this revision; use the hub's conversion, {_converted(address)}, or"
        raise DownloadError(
            f"{address}: the data set has no Parquet file{conversion} name files of it as "
            f"{listing.repository}/<path> (there is {', '.join(paths[:5]) or 'none'})"
        )
    converted = [_CONVERTED_FILE.fullmatch(file.path) for file in parquet]
    if all(converted):
        by_config: dict[str, dict[str, list[HubFile]]] = {}
        for file, match in zip(parquet, converted, strict=True):
            assert match is not None
            by_config.setdefault(match["config"], {}).setdefault(match["split"], []).append(file)
        return by_config[_name_among(list(by_config), config, address)]
    if config is None:
        return _splits_by_path(parquet)
    folders = sorted({file.path.partition("/")[0] for file in parquet if "/" in file.path})
    if config not in folders:
        raise DownloadError(f"{address}: there is no config {config!r}{_meant(config, folders)}")
    return _splits_by_path(parquet, f"{config}/")


def _name_among(names: Sequence[str], name: str | None, address: str) -> str:
    """Returns a config's name; if None is given, the only config's name, or ``default``."""
    if name is None:
        if len(names) == 1 or "default" in names:
            return names[0] if len(names) == 1 else "default"
        raise DownloadError(
            f"{address}: the data set has {len(names)} configs; name one, such as {_with_config(address, names[0])} "
            f"(there is {_some(names)})"
        )
    if name not in names:
        raise DownloadError(f"{address}: there is no config {name!r}{_meant(name, names)}")
    return name


def _card_splits(config: HubConfig, listing: Listing) -> Mapping[str, list[HubFile]]:
    below = f"{config.folder}/" if config.folder else ""
    if config.files is None:
        return _splits_by_path(listing.files, below)
    return {split: _all_matching(listing.files, below, patterns) for split, patterns in config.files.items()}


def _all_matching(files: Sequence[HubFile], below: str, patterns: Sequence[str]) -> list[HubFile]:
    return list(dict.fromkeys(file for pattern in patterns for file in _matching(files, below, pattern)))


def _matching(files: Sequence[HubFile], below: str, pattern: str) -> Iterator[HubFile]:
    """Yields the files that a pattern matches; it must name hidden files, special folders and files without data."""
    path = below + normpath(pattern)
    matcher = _glob(path)
    for file in files:
        name = file.path.rpartition("/")[2]
        if (
            matcher.fullmatch(file.path)
            and _hidden(file.path) == _hidden(path)
            and (name not in _METADATA or path.endswith(name))
        ):
            yield file


def _hidden(path: str) -> tuple[int, int]:
    """Returns how many components of a path begin with a dot, and how many folders with two underscores."""
    parts = path.split("/")
    return sum(part.startswith(".") for part in parts), sum(part.startswith("__") for part in parts[:-1])


def _splits_by_path(files: Iterable[HubFile], below: str = "") -> Mapping[str, list[HubFile]]:
    """Returns the Parquet files below a folder by the splits that their paths name; all are train if none names one.

    A file belongs to each split that its path names, as in the library datasets.
    """
    # The first kind of pattern that matches any file decides for all: numbered shards in data/, then folders, then
    # names. So `test` in a file name does not divide a data set with folders train/ and dev/. The library datasets has
    # the same order, and users of both must get the same rows.
    parquet = [file for file in files if file.path.endswith(".parquet")]
    splits: dict[str, list[HubFile]] = {}
    for file in _matching(parquet, below, "data/*"):
        if match := _SHARD.fullmatch(file.path.removeprefix(below)):
            splits.setdefault(match["split"], []).append(file)
    for forms in (_IN_FOLDERS, _IN_NAMES) if not splits else ():
        for name, words in _SPLIT_WORDS.items():
            if found := _all_matching(parquet, below, [form.format(word) for word in words for form in forms]):
                splits[name] = found
        if splits:
            break
    return splits or {"train": _all_matching(parquet, below, ["**"])}


def _spellings(split: str) -> list[str]:
    """Returns a split's name, and others that stand for it."""
    canonical = next((name for name, words in _SPLIT_WORDS.items() if split in words), split)
    return list(dict.fromkeys((split, canonical, *_SPLIT_WORDS.get(canonical, ()))))


def _glob(pattern: str) -> re.Pattern[str]:
    """Returns a pattern with ``*`` and ``?`` (within a level), ``**`` (over levels) and ``[…]`` as an expression."""
    translate = needed_extra("fsspec.utils", EXTRA, "a data set of the Hugging Face Hub").glob_translate
    try:
        return re.compile(translate(pattern))
    except ValueError:  # fsspec takes ** only between slashes
        return re.compile(re.escape(pattern))


def _meant(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    near = get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    return f" ({meant}there is {_some(known)})"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:20])
    return f"{shown}, and {len(names) - 20} more" if len(names) > 20 else shown or "none"


def _converted(address: str) -> str:
    return f"{address.partition('@')[0]}@{CONVERTED}"


def _with_config(address: str, config: str) -> str:
    plain, at, revision = address.partition("@")
    return f"{plain}/{config}{at}{revision}"


VOCABULARY_NAMES = (
    "tokenizer.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.model",
    "spm.model",
)
"""The names of vocabulary files in a model's repository; the first that is there is taken."""


_MARIAN = ("source.spm", "target.spm", "vocab.json")  # The files of a MarianTokenizer


def vocabulary_file(listing: Listing, address: str) -> HubFile:
    """Returns a model's vocabulary file: the first of `VOCABULARY_NAMES`, or else the only ``.model`` file."""
    files = {file.path: file for file in listing.files}
    for name in VOCABULARY_NAMES:
        if name in files:
            return files[name]
    if {*_MARIAN} <= files.keys():
        source, target, ids = (f"{listing.repository}/{name}" for name in _MARIAN)
        raise DownloadError(
            f"{address}: the repository has a vocabulary for each side, numbered by {_MARIAN[-1]}; set vocab to "
            f"{{from: {{source: {source!r}, target: {target!r}}}, ids: {ids!r}}}"
        )
    models = [path for path in files if path.endswith((".model", ".spm")) and "/" not in path]
    if len(models) == 1:
        return files[models[0]]
    there = ", ".join(models or [path for path in files if not path.startswith(".")][:10]) or "nothing"
    problem = "several vocabulary files" if models else f"no {VOCABULARY_NAMES[0]} and no .model file"
    raise DownloadError(
        f"{address}: the repository has {problem} (there is {there}); name the file, such as "
        f"{listing.repository}/{models[0] if models else VOCABULARY_NAMES[0]}"
    )
