"""The lock file beside a config: records each download at first fetch, and pins it from then on.

``enzh.yaml`` has ``enzh.lock``, in JSON. Keep it under version control: with it, another machine gets the same bytes
or an error. A checksum in the config takes precedence. Local files are not recorded. The lock file does not affect
fingerprints.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import filelock

from nmt_prep.base.artefacts import parse_json, parse_json_as, write_json
from nmt_prep.base.digests import cache_directory, digest_of
from nmt_prep.base.errors import ConfigError, OutputError
from nmt_prep.config import Config
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.hub import files_of, is_repository

_VERSION = 1

_BEGINNING = re.compile(rb'\s*(<<<<<<<[^\n]*\n\s*)?\{\s*"files"\s*:\s*\{')
"""How a damaged lock file may begin, such as when Git left both sides of a merge in it."""


@dataclass(frozen=True)
class Locked:
    """A recorded download."""

    address: str  # as in the config, without secrets; the first of its mirrors
    sha256: str
    size: int
    url: str | None = None  # final URL of the download; None if the file was already available locally
    etag: str | None = None
    time: str | None = None  # when it was fetched, in UTC, such as 2026-01-31T23:59:59Z
    # for a repository of the Hugging Face Hub, the commit that its address stands for from now on
    commit: str | None = None


def lock_path(config: Path) -> Path:
    """Returns the path of a config's lock file."""
    return config.with_suffix(".lock")


def lock_of(config: Config, *, renew: bool | Collection[str] = False) -> LockFile:
    """Returns the lock file beside a config's file; without a file, nothing is expected and nothing recorded."""
    return LockFile(None if config.file is None else lock_path(config.file), renew=renew)


class LockFile:
    """The lock file of a run. Safe to use from threads, and under concurrent runs.

    Args:
        path: the file; with None nothing is expected and nothing recorded.
        renew: addresses whose old records are ignored and replaced; True for all addresses.
    """

    def __init__(self, path: Path | None, *, renew: bool | Collection[str] = False) -> None:
        self.path = path
        self._renew = renew if isinstance(renew, bool) else frozenset(map(shown, renew))
        self._guard = threading.Lock()
        if path is not None and renew is True:
            _require_ours(path, _content(path))
        self._known = {} if path is None or renew is True else self._kept(path)

    def renews(self, mirrors: Sequence[str]) -> bool:
        """Returns True if a file must be fetched again, even if it is available locally."""
        if isinstance(self._renew, bool):
            return self._renew
        return any(shown(address) in self._renew for address in mirrors)

    def find(self, mirrors: Sequence[str]) -> Locked | None:
        """Returns the record of a file under any mirror."""
        return next((self._known[shown(address)] for address in mirrors if shown(address) in self._known), None)

    def note(self, locked: Locked) -> None:
        """Records a download."""
        if self.path is None:
            return
        # Written at once, since a run may take days and may be killed; merged with the file as it is now, because other
        # runs of the config write too. A renewal writes at its end only: if it fails, all old records are kept.
        with self._guard:
            if self._known.get(locked.address) != locked:
                self._known[locked.address] = locked
                if not self._renew:
                    with _exclusive(self.path):
                        _write(self.path, {**_read(self.path), locked.address: locked}.values())

    def finish(self) -> None:
        """Ends a renewal: writes the new records and keeps the old ones of addresses that were not renewed."""
        if self.path is not None and self._renew:
            with _exclusive(self.path):
                _require_ours(self.path, _content(self.path))
                kept = {} if self._renew is True else self._kept(self.path)
                _write(self.path, {**kept, **self._known}.values())

    def _kept(self, path: Path) -> dict[str, Locked]:
        """Returns the file's records, without the addresses to renew, and the repository files to renew."""
        renewed = frozenset() if isinstance(self._renew, bool) else self._renew
        below = tuple(files_of(address) for address in renewed if is_repository(address))
        return {
            address: locked
            for address, locked in _read(path).items()
            if address not in renewed and not address.startswith(below)
        }


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Keeps other runs of the config from writing; the kernel releases the lock when the process ends."""
    directory = cache_directory() / "locks"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(directory / digest_of(str(path.resolve()))[:32]):
            yield
    except OSError as error:
        raise OutputError(
            f"cannot write the lock file {path}: {error.strerror or error}; copy the config to a directory that you "
            f"may write, and check that {cache_directory()} can be written (NMT_PREP_CACHE)"
        ) from error


def _require_ours(path: Path, content: bytes | None) -> None:
    """Checks that a file may be replaced: it is a lock file of nmt_prep, damaged or not, or has no content."""
    if content is None or not content.strip(b"\0 \r\n\t"):  # after a loss of power a file may be all zeros
        return
    try:
        parsed = parse_json(content)
        has_files = isinstance(parsed, dict) and isinstance(parsed.get("files"), dict)
    except ValueError:
        has_files = _BEGINNING.match(content) is not None
    if not has_files or not (b'"sha256"' in content or b'"version"' in content):
        raise ConfigError(
            f"{path} is not a lock file of nmt_prep, which needs that name for the lock file of the config; rename the "
            f"config, or move {path.name} away"
        )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read the lock file {path}: {error.strerror or error}") from error


def _read(path: Path) -> dict[str, Locked]:
    raw = _content(path)
    if raw is None:
        return {}
    _require_ours(path, raw)
    try:
        content = parse_json(raw)
        if content["version"] != _VERSION:
            raise ConfigError(f"{path}: version {content['version']} of lock files is not supported; update nmt_prep")
        return {
            address: parse_json_as(Locked, {**facts, "address": address}) for address, facts in content["files"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(
            f"the lock file {path} is damaged: restore it, or renew it with `nmt-prep lock CONFIG --update`"
        ) from error


def _write(path: Path, files: Iterable[Locked]) -> None:
    facts = {
        locked.address: {key: value for key, value in asdict(locked).items() if value is not None and key != "address"}
        for locked in files
    }
    write_json(path, {"version": _VERSION, "files": facts})
