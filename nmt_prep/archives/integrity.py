"""Integrity test of a whole archive or compressed file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from nmt_prep.archives.compression import decompressed
from nmt_prep.archives.entry import Archive, Budget
from nmt_prep.archives.extraction import damage_errors, entries_of
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.errors import ArchiveError

_CHUNK = 1 << 20


def damage_of(path: Path, limits: Limits, advance: Callable[[int], None]) -> str:
    """Reads a file to its end, as if to extract all of it; returns a description of the damage, or "".

    Tested are the headers of a tar, the directory of a zip, and the checksums of gzip, bzip2, xz, each member of a zip,
    and of zstd if present. A file that is neither an archive nor compressed is not read, since nothing in it shows
    damage. Undamaged content that extraction refuses, such as a decompression bomb or an encrypted member, is not
    reported here.

    Args:
        path: path of the file.
        limits: of the decompressed content; content beyond them is not tested.
        advance: called with the number of bytes decompressed; it may end the test by raising.
    """
    archive = Archive(path, path.name, "")
    budget = Budget(archive, limits)
    total = 0
    try:
        with path.open("rb") as file, closing(entries_of(archive, file, budget, ())) as entries:
            for entry in entries:
                if entry.refused:
                    continue
                try:
                    content = entry.open()
                except NotImplementedError:  # unsupported compression: fails later, if requested
                    continue
                stream = decompressed(content) if entry.single else content
                if entry.single and stream is content:
                    return ""
                while chunk := stream.read(_CHUNK):
                    total += len(chunk)
                    budget.check_total(total)
                    advance(len(chunk))
    except ArchiveError:
        return ""
    except damage_errors() as error:
        return str(error) or type(error).__name__
    return ""
