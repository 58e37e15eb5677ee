"""Rule ``limits``: the token counts on both sides, as clean-corpus-n.perl counts them.

The ``limits`` section of a config adds this rule as ``limits/tokens``, after all others. Values: each side's token
count after the steps in ``words``, the larger count divided by the smaller one, and each side's longest run of
characters without white space and ``|``. A pair passes if none is above its limit. Every ``|`` is deleted before tokens
are counted, unless they divide factors.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import Lines, line_lengths, longest_tokens

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.rule import Bounds, Context, Pairs, Rule, Values
from nmt_prep.cleaning.rules.length import LENGTHS
from nmt_prep.config.limits import TOKENS, PieceLimits, TokenLimits
from nmt_prep.config.vocab import WordSteps
from nmt_prep.corpora import strip_lines
from nmt_prep.text.chain import Chain
from nmt_prep.text.step import StepContext

_NO_SPACE = "[\x1c-\x1f]"  # White space for Python, but not for Perl


class LimitsOptions(TokenLimits):
    """The limits of both sides."""

    words: WordSteps | None = None
    """{source: …, target: …} with lists of steps, or null for none: what makes tokens from the text"""


class LimitsRule(Rule[LimitsOptions]):
    """The numbers of tokens, their ratio, and the longest token."""

    edges = LENGTHS

    def __init__(self, options: LimitsOptions, context: Context) -> None:
        self._factors = options.factors
        words = options.words or WordSteps()
        self._chains = {
            side: Chain.of(words.of(side), StepContext(context.language(side), context.base_dir))
            for side in context.sides
        }
        self.files = {
            f"vocab.words.{side}: {name}": path
            for side, chain in self._chains.items()
            for step in chain.steps
            for name, path in step.files.items()
        }
        columns, bounds = limit_bounds(options, context.sides)
        self.columns = (*columns, *(f"longest {side}" for side in context.sides))
        self.bounds = (*bounds, *[Bounds(high=_limit(options.longest))] * len(context.sides))

    def values(self, pairs: Pairs) -> Values:
        words = {side: chain.apply(strip_lines(pairs.arrow(side))).lines for side, chain in self._chains.items()}
        if self.key == TOKENS:
            pairs.words = {side: lines for side, lines in words.items() if self._chains[side].steps}
        tokens, longest = np.stack([*map(self._counts, words.values())], axis=2).transpose(1, 2, 0)
        ratios = [token_ratios(*tokens)[np.newaxis]] if len(tokens) > 1 else []
        return np.concatenate([tokens, *ratios, longest])

    def _counts(self, lines: pa.Array) -> npt.NDArray[np.float64]:
        """Returns the number of tokens and the longest one of each line: float64, shape ``[lines, 2]``."""
        if not (TextColumn.from_arrow(lines).data == ord("|")).any():
            return token_counts(lines)
        if not self._factors:
            return token_counts(pc.replace_substring(lines, "|", ""))
        longest = token_counts(pc.replace_substring(lines, "|", " "))[:, 1]
        return np.stack([token_counts(lines)[:, 0], longest], axis=1)


def _limit(given: float | None) -> float:
    return np.inf if given is None else float(given)


def limit_bounds(options: PieceLimits, sides: tuple[Side, ...]) -> tuple[tuple[str, ...], tuple[Bounds, ...]]:
    """Returns the columns for both sides' counts and their ratio, with their bounds."""
    ratio = [("ratio", Bounds(high=_limit(options.ratio)))] if sides == SIDES else []
    columns = [*((side, Bounds(options.min, _limit(options.max))) for side in sides), *ratio]
    return tuple(name for name, _ in columns), tuple(bounds for _, bounds in columns)


def token_counts(lines: pa.Array) -> npt.NDArray[np.float64]:
    """Returns each line's token count (tokens between white space), and the length of its longest token."""
    text = TextColumn.from_arrow(lines)
    if (text.data - np.uint8(0x1C) < 4).any():
        text = TextColumn.from_arrow(pc.replace_substring_regex(lines, _NO_SPACE, "x"))
    native = Lines(text.data, text.offsets)
    return np.stack([line_lengths(native, "token"), longest_tokens(native)], axis=1)


def token_ratios(first: Values, second: Values) -> Values:
    """Returns the larger number divided by the smaller one: infinite if one is 0, else 1 if both are."""
    shorter, longer = np.minimum(first, second), np.maximum(first, second)
    return np.divide(longer, shorter, out=np.where(longer > 0, np.inf, 1.0), where=shorter > 0)
