"""Names of members: how they are compared, matched, and suggested."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_LISTED = 10

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
    """Says which name comes nearest to one that is missing, and lists up to ten of those that there are."""
    if not names:
        return "it is empty"
    base = name.rpartition("/")[2]
    same = [other for other in names if other.rpartition("/")[2] == base]
    near = (same or difflib.get_close_matches(name, names[:10_000], n=1))[:1]
    hint = f"the nearest is {near[0]!r}; " if near and len(names) > 1 else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{hint}it has {', '.join(map(repr, names[:_LISTED]))}{more}"
