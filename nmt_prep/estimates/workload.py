"""How much text the corpora of a config hold: from their files as far as they are there, else as the caller says."""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.archives import WHOLE_FILE, is_pattern
from nmt_prep.archives.names import matcher
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import reader_of
from nmt_prep.errors import ConfigError
from nmt_prep.estimates.calibration import Calibration
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.stages.download import Download, Needed
from nmt_prep.stages.extract import wanted_by

_GZIP, _OTHERS = b"\x1f\x8b", (b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_GZIP_WRAPS = 2**32  # the trailer counts bytes modulo this


@dataclass(frozen=True)
class CorpusSize:
    """A corpus of a split.

    Attributes:
        split: its name.
        sampled: whether the vocabularies see it.
        pairs: how many, about.
        source_bytes: of that side, an end of line a line included; likewise the target.
        fetched_bytes: of its files, as far as they come from elsewhere.
        compressed: whether its files are.
        lines_apart: whether it can be cut between any two lines.
    """

    split: str
    sampled: bool
    pairs: float
    source_bytes: float
    target_bytes: float
    fetched_bytes: float = 0.0
    compressed: bool = False
    lines_apart: bool = True

    @property
    def bytes(self) -> float:
        """Of both sides."""
        return self.source_bytes + self.target_bytes


def given_corpora(
    config: Config, calibration: Calibration, pairs: int, bytes_per_pair: float | None
) -> list[CorpusSize]:
    """So many pairs, in as many equal training corpora as a config has; its other splits do not count.

    Args:
        config: a checked config.
        calibration: says how long a pair is, and what of it is the source side.
        pairs: of all corpora.
        bytes_per_pair: of both sides, the ends of lines included; None is as calibrated.
    """
    corpora = [corpus for corpus in config.splits["train"] if corpus.role != "vocab"]
    text = calibration.text
    size = pairs * (bytes_per_pair or text.bytes / text.pairs) / len(corpora)
    source = size * text.source_bytes / text.bytes
    return [CorpusSize("train", True, pairs / len(corpora), source, size - source) for _ in corpora]


def configured_corpora(
    config: Config, base_dir: Path, lock: LockFile, calibration: Calibration, bytes_per_pair: float | None
) -> list[CorpusSize]:
    """The corpora of a config, by the sizes of their files: local ones, and those that were downloaded or locked.

    Args:
        config: a checked config.
        base_dir: what its local paths are relative to.
        lock: knows the sizes of downloads.
        calibration: says how much of compressed text is the text, how long a pair is, and what of it is the source.
        bytes_per_pair: as :func:`given_corpora`.

    Raises:
        ConfigError: the size of a file is not known.
    """
    files = _Files(config, base_dir, lock, calibration.sizes.gzip)
    text = calibration.text
    length = bytes_per_pair or text.bytes / text.pairs
    share = text.source_bytes / text.bytes
    found: list[CorpusSize] = []
    for split, corpora in config.splits.items():
        for corpus in corpora:
            parts = {
                wanted.key.rpartition("/")[2]: files.text_bytes(wanted.container, wanted.member)
                for wanted in wanted_by(split, corpus)
            }
            both = parts.get("both", 0.0)
            source, target = (parts.get(side, both * part) for side, part in (("source", share), ("target", 1 - share)))
            containers = {wanted.container for wanted in wanted_by(split, corpus)}
            found.append(
                CorpusSize(
                    split=split,
                    sampled=split == "train",
                    pairs=(source + target) / length,
                    source_bytes=source,
                    target_bytes=target,
                    fetched_bytes=sum(files.size(each) for each in containers if each.local(base_dir) is None),
                    compressed=any(files.is_compressed(each) for each in containers),
                    lines_apart=_lines_apart(corpus),
                )
            )
    if files.unknown:
        raise ConfigError(
            f"the sizes of {len(files.unknown)} files are not known, the first of them {files.unknown[0]}; fetch them "
            "with nmt-prep download CONFIG, or say how much there is with --pairs"
        )
    return found


def _lines_apart(corpus: Corpus) -> bool:
    return reader_of(corpus.resolved_format).lines_apart


class _Files:
    """What is known of the files that a config needs."""

    def __init__(self, config: Config, base_dir: Path, lock: LockFile, ratio: float) -> None:
        self.unknown: list[str] = []
        self._config = config
        self._base_dir = base_dir
        self._lock = lock
        self._ratio = ratio
        workspace = Workspace(config.run_dir)
        manifest = read_manifest(workspace.manifest(Download.name))
        self._details = {} if manifest is None else manifest.details
        self._downloads = workspace.root / Download.directory
        everything = [
            wanted
            for split, corpora in config.splits.items()
            for corpus in corpora
            for wanted in wanted_by(split, corpus)
        ]
        self._members: dict[tuple[str, ...], set[str]] = {}
        for wanted in everything:
            self._members.setdefault(wanted.container.mirrors, set()).add(wanted.member)

    def path(self, file: Needed) -> Path | None:
        """Where a file is; None where it is not there yet."""
        path = file.local(self._base_dir)
        if path is None and file.key in self._details:
            entry = self._details[file.key]
            path = self._downloads / entry["sha256"] / entry["name"]
        return path if path is not None and path.is_file() else None

    def size(self, file: Needed) -> float:
        """Bytes of a file; one that is not known is noted as such, and counts nothing."""
        path, locked = self.path(file), self._lock.find(file.mirrors)
        if path is not None:
            return path.stat().st_size
        if locked is not None:
            return locked.size
        if file.mirrors[0] not in self.unknown:
            self.unknown.append(file.mirrors[0])
        return 0.0

    def is_compressed(self, file: Needed) -> bool:
        """Whether a file is compressed; told by the name where it is not there."""
        path = self.path(file)
        if path is None:
            return file.name.endswith((".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip"))
        with path.open("rb") as stream:
            head = stream.read(6)
        return head.startswith((_GZIP, *_OTHERS, b"PK"))

    def text_bytes(self, file: Needed, member: str) -> float:
        """Bytes of a member of a file, decompressed; where only all of them can be told, its share."""
        path = self.path(file)
        if path is not None and member != WHOLE_FILE:
            listed = list(_listed(path))
            if listed:
                wanted = matcher(member) if is_pattern(member) else None
                return sum(size for name, size in listed if (wanted.fullmatch(name) if wanted else name == member))
        return self._unpacked(file, path) / len(self._members[file.mirrors])

    def _unpacked(self, file: Needed, path: Path | None) -> float:
        size = self.size(file)
        if not self.is_compressed(file):
            return size
        guess = size / self._ratio
        if path is not None and guess < _GZIP_WRAPS / 2 and size >= 8:
            with path.open("rb") as stream:
                if stream.read(2) == _GZIP:
                    stream.seek(-4, 2)
                    return float(struct.unpack("<I", stream.read(4))[0])
        return guess


def _listed(path: Path) -> Iterator[tuple[str, int]]:
    """Names and sizes of an archive's members, where it has a list of them; nothing where it must be read for that."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from ((info.filename.removeprefix("./"), info.file_size) for info in archive.infolist())
    elif path.suffix == ".tar":
        with tarfile.open(path, "r:") as tar:
            yield from ((info.name.removeprefix("./"), info.size) for info in tar)


def total(corpora: Sequence[CorpusSize], split: str | None = None) -> float:
    """Bytes of text of all corpora, or of those of a split."""
    return sum(corpus.bytes for corpus in corpora if split in (None, corpus.split))
