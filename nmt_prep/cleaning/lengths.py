"""Lengths of lines in the units of rules: characters, bytes, letters, tokens, words.

``char`` counts code points, as Python's ``len``; ``byte`` bytes of UTF-8; ``letter`` code points of the categories L*;
``token`` the parts of ``str.split()``.

``word`` is for languages with and without spaces. A token without characters of the scripts in
:data:`CHARACTERS_PER_WORD` is one word. In other tokens, every run of one of these scripts counts as its number of
characters divided by the average length of a word, rounded up, and every run of other characters counts as one word if
it holds a letter or a digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np
import regex

from nmt_prep.cleaning.rule import Pairs, Values
from nmt_prep.config import Side

Unit: TypeAlias = Literal["char", "byte", "letter", "token", "word"]

CHARACTERS_PER_WORD: Mapping[str, float] = MappingProxyType(
    {
        "Han": 1.6,
        "Hiragana": 2.0,
        "Katakana": 4.0,
        "Thai": 4.0,
        "Lao": 4.0,
        "Khmer": 5.0,
        "Myanmar": 5.0,
        "Tibetan": 5.0,
    }
)
"""Code points of an average word, marks included, in scripts that are written without spaces between words."""

_RUNS = regex.compile(
    "|".join(
        rf"(?P<{script}>[\p{{Script={script}}}{'ー' if script == 'Katakana' else ''}]+)"
        for script in CHARACTERS_PER_WORD
    )
    + "|(?P<other>[^"
    + "".join(rf"\p{{Script={script}}}" for script in CHARACTERS_PER_WORD)
    + "ー]+)"
)
_WORD_CHARACTER = regex.compile(r"[\p{L}\p{N}]")


def lengths(pairs: Pairs, side: Side, unit: Unit) -> Values:
    """Returns the length of every line of a side: float64, shape ``[pairs]``."""
    return pairs.keep(
        ("length", side, unit), lambda: np.array([_length(s, unit) for s in pairs.arrow(side).to_pylist()], np.float64)
    )


def _length(line: str, unit: Unit) -> int:
    if unit == "char":
        return len(line)
    if unit == "byte":
        return len(line.encode())
    if unit == "letter":
        return len(regex.findall(r"\p{L}", line))
    tokens = line.split()
    return len(tokens) if unit == "token" else sum(map(_words, tokens))


def _words(token: str) -> int:
    runs = list(_RUNS.finditer(token))
    if all(run.lastgroup == "other" for run in runs):
        return 1
    return sum(
        _WORD_CHARACTER.search(run[0]) is not None
        if run.lastgroup == "other"
        else int(-(-len(run[0]) // CHARACTERS_PER_WORD[str(run.lastgroup)]))
        for run in runs
    )
