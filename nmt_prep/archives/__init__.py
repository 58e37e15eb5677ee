"""Extracts named members from untrusted archives; formats are recognised by content, and members are streamed.

Supported are tar (plain, gzip, bzip2, xz, zstd), zip, and single files (plain or compressed). A member that is itself
compressed is decompressed too. A tar is read once, to its end, so that the checksum of its compression is verified.
"""

from __future__ import annotations

from nmt_prep.archives.entry import Archive, DamagedError, is_pattern, member_name, without_suffix
from nmt_prep.archives.extraction import (
    WHOLE_FILE,
    Extracted,
    MissingMemberError,
    damage_of,
    digest_members,
    extract_members,
    is_plain,
)

__all__ = [
    "WHOLE_FILE",
    "Archive",
    "DamagedError",
    "Extracted",
    "MissingMemberError",
    "damage_of",
    "digest_members",
    "extract_members",
    "is_pattern",
    "is_plain",
    "member_name",
    "without_suffix",
]
