"""Normalises, matches and suggests names of members."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

_LISTED = 10

_SUFFIX = re.compile(r"\.(gz|bz2|xz|zst)$", re.IGNORECASE)


def member_name(member: str) -> str:
    """Normalises a member's path for comparison, without a leading ``./``."""
    while member.startswith("./"):
        member = member[2:].lstrip("/")
    return member


def without_suffix(name: str) -> str:
    """Returns a file name without its compression suffix."""
    return _SUFFIX.sub("", name)


def climbs_out(name: str) -> bool:
    """Returns True if a name is absolute or contains ``..`` as a part."""
    return name.startswith("/") or ".." in name.split("/")


def is_pattern(name: str) -> bool:
    """Returns True if a name is a pattern with ``*`` or ``?``."""
    return "*" in name or "?" in name


def matcher(wanted: str) -> re.Pattern[str]:
    """Compiles a requested name: ``*`` and ``?`` match within a level, ``**`` across levels, all else literally."""
    pieces = re.split(r"(\*\*|\*|\?)", wanted)
    wild = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def nearest(name: str, names: Sequence[str]) -> str:
    """Suggests the name nearest to a missing one, and lists up to ten existing names."""
    if not names:
        return "it is empty"
    base = name.rpartition("/")[2]
    same = [other for other in names if other.rpartition("/")[2] == base]
    near = (same or difflib.get_close_matches(name, names[:10_000], n=1))[:1]
    hint = f"the nearest is {near[0]!r}; " if near and len(names) > 1 else ""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{hint}it has {', '.join(map(repr, names[:_LISTED]))}{more}"
