"""Names of members: how they are compared, matched, and suggested."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_SUFFIX = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)


def member_name(member: str) -> str:
    """A member's path in the form in which paths are compared: archives may begin them with ``./``."""
    while member.startswith("./"):
        member = member[2:].lstrip("/")
    return member


def without_suffix(name: str) -> str:
    """A file's name without the suffix of its compression."""
    return _SUFFIX.sub("", name)


def climbs_out(name: str) -> bool:
    """Whether a name is absolute or has ``..`` in it."""
    return name.startswith("/") or ".." in name.split("/")


def is_pattern(name: str) -> bool:
    """Whether a name stands for all that it matches."""
    return "*" in name or "?" in name


def matcher(wanted: str) -> re.Pattern[str]:
    """What a wanted name matches: ``*`` and ``?`` within one level, ``**`` over several, all else itself."""
    pieces = re.split(r"(\*\*|\*|\?)", wanted)
    wild = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def nearest(name: str, names: Sequence[str]) -> str:
    """What there is instead of a name that there is not, in words."""
    base = name.rpartition("/")[2]
    near = [other for other in names if other.rpartition("/")[2] == base]
    near = (near or difflib.get_close_matches(name, names[:10_000], n=5) or list(names))[:5]
    if not near:
        return "it is empty"
    more = f" and {len(names) - len(near)} more" if len(names) > len(near) else ""
    return f"it has {', '.join(map(repr, near))}{more}"
