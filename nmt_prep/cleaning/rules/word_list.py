r"""Rule ``word_list``: words of a list that only one side has.

``source`` and ``target`` are files with a word or phrase on each line, for example the toxicity lists of NLLB. Value:
the absolute difference between the numbers of listed words on the two sides. A pair passes if ``value <= max``. Case is
ignored. Only whole words are found (``\b`` of the package regex), except in scripts without spaces between words.
NLLB's toxicity filter has ``max: 2``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import regex
from pydantic import Field

from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.rule import Context, PairRule, Pairs, Values
from nmt_prep.config import Section
from nmt_prep.config.section import Location

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"


class WordListOptions(Section):
    """The lists, and the limit of the difference."""

    source: Location
    """a path: a file with a word of the source language on each line"""
    target: Location
    """a path: a file with a word of the target language on each line"""
    max: int = Field(2, ge=0)
    """an integer >= 0: the greatest difference that passes"""


class WordListRule(PairRule[WordListOptions]):
    """The difference between both sides' counts of list words."""

    edges = (0, 1, 2, 3, 4, 5, 10, 20)

    def __init__(self, options: WordListOptions, context: Context) -> None:
        super().__init__(options, context)
        names: dict[Side, str] = {"source": options.source, "target": options.target}
        self.files = {names[side]: context.base_dir / names[side] for side in SIDES}
        self._words = {side: _word_pattern(context.base_dir / names[side]) for side in SIDES}

    def pair_values(self, pairs: Pairs) -> Values:
        source, target = (self._counts(pairs, side) for side in SIDES)
        return np.abs(source - target)

    def _counts(self, pairs: Pairs, side: Side) -> Values:
        pattern = self._words[side]
        lines = pairs.arrow(side).to_pylist()
        return np.fromiter((len(pattern.findall(line)) for line in lines), np.float64, count=len(lines))


def _word_pattern(path: Path) -> regex.Pattern[str]:
    if path.exists() and not path.is_file():
        raise ValueError(f"the word list {path} is not a regular file; a run reads it more than once")
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"the word list {path} cannot be read: {reason}") from error
    words = sorted({line.strip() for line in lines} - {""})
    if not words:
        raise ValueError(f"the word list {path} contains no words")
    anywhere = [word for word in words if regex.search(_UNSPACED, word)]
    between = [word for word in words if not regex.search(_UNSPACED, word)]
    parts = [r"\L<anywhere>"] * bool(anywhere) + [r"(?<!\w)\L<between>(?!\w)"] * bool(between)
    lists = {"anywhere": anywhere, "between": between}
    return regex.compile("|".join(parts), regex.IGNORECASE, **{name: some for name, some in lists.items() if some})
