"""How much text the corpora of a config hold: from their files as far as they are there, else as the caller says."""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.archives import WHOLE_FILE, is_pattern
from nmt_prep.archives.names import matcher
from nmt_prep.config import Config
from nmt_prep.corpora import reader_of
from nmt_prep.errors import ConfigError
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.measured import PACKED
from nmt_prep.stages.download import Download, Needed
from nmt_prep.stages.extract import Wanted, wanted_by

BYTES_PER_PAIR = 150.0
"""Of both sides, with the ends of lines, where nothing else is known."""

_SOURCE_SHARE = 0.5
_PACKED_RATIO = 0.25
_GZIP = b"\x1f\x8b"
_PACKED_HEADS = (_GZIP, b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK")
_GZIP_WRAPS = 2**32  # the trailer counts bytes modulo this


@dataclass(frozen=True)
class CorpusSize:
    """How much a corpus of a split holds.

    Attributes:
        split: its name.
        source: bytes of that side, an end of line a line included; likewise the target.
        fetched: bytes of its files, as far as they come from elsewhere.
        lines_apart: whether it can be cut between any two lines.
    """

    split: str
    source: float
    target: float
    fetched: float = 0.0
    lines_apart: bool = True

    @property
    def bytes(self) -> float:
        """Bytes of both sides."""
        return self.source + self.target


def given_corpora(config: Config, pairs: int, bytes_per_pair: float | None) -> list[CorpusSize]:
    """Divides so many pairs among the training corpora of a config; its other splits do not count."""
    count = sum(corpus.role != "vocab" for corpus in config.splits["train"])
    size = pairs * (bytes_per_pair or BYTES_PER_PAIR) / count
    return [CorpusSize("train", size * _SOURCE_SHARE, size * (1 - _SOURCE_SHARE))] * count


def configured_corpora(config: Config, base_dir: Path, lock: LockFile) -> list[CorpusSize]:
    """Returns the sizes of a config's corpora by their files: local ones, and those that were downloaded or locked.

    Raises:
        ConfigError: the size of a file is not known.
    """
    files = _Files(config, base_dir, lock)
    found = []
    for split, corpora in config.splits.items():
        for corpus in corpora:
            wanted = list(wanted_by(split, corpus))
            parts = {each.key.rpartition("/")[2]: files.text_bytes(each) for each in wanted}
            both = parts.get("both", 0.0)
            source, target = parts.get("source", both * _SOURCE_SHARE), parts.get("target", both * (1 - _SOURCE_SHARE))
            fetched = sum(files.size(each) for each in {each.container for each in wanted} if not each.local(base_dir))
            found.append(CorpusSize(split, source, target, fetched, reader_of(corpus.resolved_format).lines_apart))
    if files.unknown:
        raise ConfigError(
            f"the sizes of {len(files.unknown)} files are not known, the first of them {files.unknown[0]}; fetch them "
            "with nmt-prep download CONFIG, or say how much there is with --pairs"
        )
    return found


def total(corpora: Sequence[CorpusSize], split: str | None = None) -> float:
    """Returns the bytes of text of all corpora, or of those of a split."""
    return sum(corpus.bytes for corpus in corpora if split in (None, corpus.split))


class _Files:
    """Sizes of the files that a config needs, as far as they are known."""

    def __init__(self, config: Config, base_dir: Path, lock: LockFile) -> None:
        self.unknown: list[str] = []
        self._base_dir = base_dir
        self._lock = lock
        workspace = Workspace(config.run_dir)
        manifest = read_manifest(workspace.manifest(Download.name))
        self._details = {} if manifest is None else manifest.details
        self._downloads = workspace.root / Download.directory
        self._members: dict[tuple[str, ...], set[str]] = {}
        for split, corpora in config.splits.items():
            for corpus in corpora:
                for each in wanted_by(split, corpus):
                    self._members.setdefault(each.container.mirrors, set()).add(each.member)

    def path(self, file: Needed) -> Path | None:
        """Returns where a file is; None where it is not there yet."""
        path = file.local(self._base_dir)
        if path is None and file.key in self._details:
            entry = self._details[file.key]
            path = self._downloads / entry["sha256"] / entry["name"]
        return path if path is not None and path.is_file() else None

    def size(self, file: Needed) -> float:
        """Returns the bytes of a file; one that is not known is added to ``unknown`` and counts nothing."""
        path, locked = self.path(file), self._lock.find(file.mirrors)
        if path is not None:
            return path.stat().st_size
        if locked is not None:
            return locked.size
        if file.mirrors[0] not in self.unknown:
            self.unknown.append(file.mirrors[0])
        return 0.0

    def text_bytes(self, wanted: Wanted) -> float:
        """Returns the bytes of a member, decompressed; its share where only the whole archive's can be told."""
        path, member = self.path(wanted.container), wanted.member
        if path is not None and member != WHOLE_FILE and (listed := _listed(path)):
            pattern = matcher(member) if is_pattern(member) else None
            return sum(size for name, size in listed if (pattern.fullmatch(name) if pattern else name == member))
        return self._unpacked(wanted.container, path) / len(self._members[wanted.container.mirrors])

    def _unpacked(self, file: Needed, path: Path | None) -> float:
        size = self.size(file)
        guess = size / _PACKED_RATIO
        if path is None:
            return guess if file.name.endswith(PACKED) else size
        with path.open("rb") as stream:
            head = stream.read(6)
            if not head.startswith(_PACKED_HEADS):
                return size
            if head.startswith(_GZIP) and guess < _GZIP_WRAPS / 2 and size >= 8:
                stream.seek(-4, 2)
                return float(struct.unpack("<I", stream.read(4))[0])
        return guess


def _listed(path: Path) -> list[tuple[str, int]]:
    """Lists names and sizes of an archive's members; nothing where all of it must be read for that."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return [(info.filename.removeprefix("./"), info.file_size) for info in archive.infolist()]
    if path.suffix == ".tar":
        with tarfile.open(path, "r:") as tar:
            return [(info.name.removeprefix("./"), info.size) for info in tar]
    return []
