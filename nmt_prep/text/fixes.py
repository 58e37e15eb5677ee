"""Fixes: alterations of text that repair damage or normalize the text, before the rules judge it.

The native core applies them (``_native/core/clean/fix_*.cpp``). They always run in the order of :data:`FIXES`, whatever
the order in the config, because a fix can depend on an earlier one: an entity may stand for a space, for example.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from html.entities import html5
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import pyarrow as pa
from _nmt_prep_core import NORMALIZATION_UNICODE_VERSION, TextFixer

from nmt_prep.base.columns import TextColumn
from nmt_prep.config.problems import did_you_mean

FixSpec: TypeAlias = str | Mapping[str, str]
"""A fix as in a config: its name, or a mapping from its name to its mode, such as ``{punctuation: moses}``."""


FIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mojibake": ("",),
        "html_entities": ("",),
        "control": ("",),
        "soft_hyphens": ("",),
        "bidi_marks": ("",),
        "nfc": ("",),
        "whitespace": ("", "keep_no_break"),
        "ligatures": ("",),
        "width": ("",),
        "punctuation": ("moses", "sacremoses"),
    }
)
"""The modes of all fixes by name, in the order in which they are applied. Empty stands for a fix without a mode."""

UNICODE_VERSION: str = NORMALIZATION_UNICODE_VERSION
"""Unicode version of the fix ``nfc``. Characters of later versions stay as they are."""

_EAST_ASIAN = frozenset({"zh", "ja", "ko", "yue", "wuu", "lzh"})
_ENTITIES = {name.removesuffix(";"): text for name, text in html5.items() if name.endswith(";")}


def parse_fixes(specs: Sequence[FixSpec]) -> tuple[tuple[str, str], ...]:
    """Returns the name and mode (or an empty string) of each fix, in the order in which they are applied."""
    modes: dict[str, str] = {}
    for spec in specs:
        pairs = [(spec, "")] if isinstance(spec, str) else list(spec.items())
        if len(pairs) != 1:
            raise ValueError(f"{spec!r} is not a fix; write a name, or one name and its mode")
        name, mode = pairs[0]
        _check_fix(name, mode)
        if name in modes:
            raise ValueError(f"the fix {name} is listed twice")
        modes[name] = mode
    return tuple((name, modes[name]) for name in FIXES if name in modes)


def _check_fix(name: str, mode: str) -> None:
    if name not in FIXES:
        raise ValueError(f"there is no fix {name!r}{did_you_mean(name, FIXES)} (fixes: {', '.join(FIXES)})")
    if mode in FIXES[name]:
        return
    modes = [choice for choice in FIXES[name] if choice]
    if not modes:
        raise ValueError(f"the fix {name} has no modes; write {name} alone")
    given = f"has no mode {mode!r}" if mode else "needs a mode"
    choices = " or ".join(f"{{{name}: {choice}}}" for choice in modes)
    raise ValueError(f"the fix {name} {given}; write {choices}")


class Fixed(NamedTuple):
    """Lines after their fixes."""

    lines: pa.Array  # the fixed lines: a `large_string` array with one string per line
    altered: dict[str, int]  # number of lines that each fix altered


@functools.cache
def _native_fixer(fixes: tuple[tuple[str, str], ...], language: str) -> TextFixer:
    """Returns the fixer of the core, which all corpora with the same fixes share, because building it takes long."""
    return TextFixer(list(fixes), language, _ENTITIES)


class Fixer:
    """Applies fixes to the lines of one side. It is thread-safe."""

    def __init__(self, specs: Sequence[FixSpec], language: str) -> None:
        """Makes a fixer."""
        base = language.replace("_", "-").split("-")[0].lower()
        self.fixes = tuple(
            (name, "" if name == "whitespace" and base != "fr" else mode)
            for name, mode in parse_fixes(specs)
            if not (name == "width" and base in _EAST_ASIAN)
        )
        """Names and modes of the fixes that apply to the language, in the order in which they are applied."""
        self._native = _native_fixer(self.fixes, base)

    def apply(self, lines: pa.Array) -> Fixed:
        """Fixes lines. The text is not copied if no line needs a fix.

        Args:
            lines: an Arrow ``string`` or ``large_string`` array.
        """
        column = TextColumn.from_arrow(lines)
        data, offsets, counts = self._native.apply(column.data, column.offsets)
        altered = {name: int(count) for (name, _), count in zip(self.fixes, counts, strict=True)}
        if not len(offsets):
            return Fixed(lines.cast(pa.large_string()), altered)
        return Fixed(TextColumn(data, offsets).to_arrow(), altered)
