"""Computes the amount of text in the corpora of a config, from their files or from a given number of pairs."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.corpora import format_of, reader_of
from nmt_prep.errors import ConfigError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.sources.lockfile import LockFile
from nmt_prep.stages.download import Download, Needed
from nmt_prep.stages.extract import wanted_by

BYTES_PER_PAIR = 150
"""Assumed bytes of both sides of a pair, line ends included, for a given number of pairs."""

_UNPACKED_RATIO = 4
_GZIP = b"\x1f\x8b"
_GZIP_WRAPS = 2**32  # the trailer counts bytes modulo this
_PACKED_HEADS = (_GZIP, b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK")
_PACKED_NAMES = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip")


@dataclass(frozen=True)
class CorpusSize:
    """Amount of text in a corpus.

    Attributes:
        split: name of its split.
        bytes: bytes of both sides, line ends included.
        fetched: bytes of its remote files.
        lines_apart: true if it can be split between any two lines.
    """

    split: str
    bytes: float
    fetched: float = 0.0
    lines_apart: bool = True


def given_corpora(config: Config, pairs: int) -> list[CorpusSize]:
    """Divides a number of pairs equally among the training corpora of a config, and ignores its other splits."""
    count = sum(corpus.role != "vocab" for corpus in config.splits["train"])
    return [CorpusSize("train", pairs * BYTES_PER_PAIR / count)] * count


def configured_corpora(config: Config, base_dir: Path, lock: LockFile) -> list[CorpusSize]:
    """Returns the sizes of a config's corpora from their local, downloaded or locked files.

    Raises:
        ConfigError: the size of a file is not known.
    """
    corpora = [(split, corpus) for split, listed in config.splits.items() for corpus in listed]
    wanted = [list(wanted_by(split, corpus)) for split, corpus in corpora]
    members = Counter(
        mirrors for mirrors, _ in {(each.container.mirrors, each.member) for files in wanted for each in files}
    )
    workspace = Workspace(config.run_dir)
    manifest = read_manifest(workspace.manifest(Download.name))
    details = {} if manifest is None else manifest.details
    unknown = []

    def sizes(file: Needed) -> tuple[float, float]:
        """Returns the bytes of a file before and after decompression."""
        path = file.local(base_dir)
        if path is None and (entry := details.get(file.key)):
            path = workspace.root / Download.directory / entry["sha256"] / entry["name"]
        if path is not None and path.is_file():
            return path.stat().st_size, _unpacked(path)
        locked = lock.find(file.mirrors)
        if locked is None:
            unknown.append(file.mirrors[0])
            return 0, 0
        return locked.size, locked.size * (_UNPACKED_RATIO if file.name.endswith(_PACKED_NAMES) else 1)

    found = []
    for (split, corpus), files in zip(corpora, wanted, strict=True):
        known = {each.container: sizes(each.container) for each in files}
        text = sum(known[each.container][1] / members[each.container.mirrors] for each in files)
        fetched = sum(size for file, (size, _) in known.items() if not file.local(base_dir))
        found.append(CorpusSize(split, text, fetched, reader_of(format_of(corpus)).lines_apart))
    if unknown:
        raise ConfigError(
            f"the sizes of {len(set(unknown))} files are unknown, the first of them {unknown[0]}; fetch them with "
            "nmt-prep download CONFIG, or give the number of pairs with --pairs"
        )
    return found


def total(corpora: Sequence[CorpusSize], split: str | None = None) -> float:
    """Returns the bytes of text of all corpora, or of the corpora of one split."""
    return sum(corpus.bytes for corpus in corpora if split in (None, corpus.split))


def _unpacked(path: Path) -> float:
    """Returns the bytes that a file decompresses to: exact for small gzip files, else by a typical ratio."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(6)
        if not head.startswith(_PACKED_HEADS):
            return size
        if head.startswith(_GZIP) and size * _UNPACKED_RATIO < _GZIP_WRAPS / 2 and size >= 8:
            stream.seek(-4, 2)
            return float(struct.unpack("<I", stream.read(4))[0])
    return size * _UNPACKED_RATIO
