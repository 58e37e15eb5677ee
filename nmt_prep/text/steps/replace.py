r"""Step ``replace``: text that a pattern finds, replaced.

``replace: {pattern: '(\d) %', with: '\1%'}`` takes a regular expression of the package ``regex``. A line is searched
by itself: ``^`` and ``$`` are its ends. For speed, lines are joined, and the pattern is changed so that nothing in it
matches a line feed; patterns with rare constructs, such as fuzzy matches, are searched for line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import regex
from pydantic import Field

from nmt_prep.base.columns import TextColumn, joined_lines
from nmt_prep.base.errors import InvalidTextError
from nmt_prep.base.runtime import available_cores, unstoppable
from nmt_prep.text.step import Step, StepContext, StepOptions

_SECONDS = 10.0  # Time limit of the search in a line, for each core: some patterns never end on some lines
_BLOCK = 1 << 16  # Bytes of lines that are searched together
_LONGEST = 1 << 26  # Limit of the characters that replacements may make of lines that are searched together

_TOKEN = regex.compile(
    r"""(?P<group>\((?![?*])|\(\?(?:[aimsu]+:|P?<[^\W\d]\w*>|[:=!>|]|<[=!])|(?<!.)\(\?[aimsu]+\)|\))
    |(?P<repeat>(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d+)\})[+?]?)
    |(?P<atom>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^]\\])*+\]|\\(?:[pP]\{[^}]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[dDnrsStwW]|[^\w\s])
      |[^][\\(){}*+?|^$])
    |(?P<rest>[|^$]|\\[1-9]|\\b|\\[AZ])""",
    regex.VERBOSE | regex.DOTALL,
)
_WITHOUT_LINE_FEED = {".": r"[^\n]", r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]", r"\A": "^", r"\Z": "$"}


class ReplaceOptions(StepOptions):
    """A pattern, and what replaces it."""

    pattern: str = Field(min_length=1)
    """a regular expression of the package regex: what is searched for in each line"""
    text: str = Field("", alias="with", max_length=1000)
    r"""a text, in which \1 or \g<name> stand for groups of the pattern: what replaces each match"""

    def _problems(self) -> Iterator[str]:
        try:
            pattern = regex.compile(self.pattern)
        except (regex.error, OverflowError, RecursionError) as error:
            yield f"pattern: not a regular expression: {error}"
            return
        names = {number: name for name, number in pattern.groupindex.items()}
        groups = (f"(?P<{names[number]}>)" if number in names else "()" for number in range(1, pattern.groups + 1))
        try:
            if b"\n" in regex.sub("".join(groups), self.text, "", count=1).encode():
                yield f"with: {self.text!r} has a line feed, but a line stays one line"
        except (regex.error, IndexError, ValueError) as error:
            yield f"with: {self.text!r} is no replacement for {self.pattern!r}: {error}"


class Replace(Step[ReplaceOptions]):
    """Replaces what a pattern finds."""

    options = ReplaceOptions

    def __init__(self, options: ReplaceOptions, context: StepContext) -> None:
        del context
        self._lines = regex.compile(options.pattern)
        self._with = options.text
        joined = pattern_of_joined(options.pattern)
        self._joined = None if joined is None else regex.compile(joined, regex.MULTILINE)

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        offsets = TextColumn.from_arrow(lines).offsets
        parts, first = list[pa.Array](), 0
        while first < len(lines):
            end = int(offsets.searchsorted(offsets[first] + _BLOCK, "right")) - 1
            parts.append(lines[first : max(end, first + 1)])
            first += len(parts[-1])
        with unstoppable(), ThreadPoolExecutor(threads) as pool:
            made = [*(map if threads == 1 else pool.map)(self._replaced, parts)]
        altered = any(part is not own for part, own in zip(made, parts, strict=True))
        return pa.concat_arrays(made) if altered else lines

    def _replaced(self, lines: pa.Array) -> pa.Array:
        """Returns changed lines; the same array if none is changed."""
        if self._joined is not None:
            text = str(joined_lines(lines)[:-1], "utf-8")
            try:
                made, count = self._sub(self._joined, text)
            except TimeoutError:
                pass  # one line may take the time of all, and is named below
            else:
                return lines if not count or made == text else _split(made)
        made_lines = []
        for line in lines.to_pylist():
            try:
                made_lines.append(self._sub(self._lines, line)[0])
            except TimeoutError:
                raise InvalidTextError(
                    f"the search for the pattern {self._lines.pattern!r} takes more than {_SECONDS:g} s per core on "
                    f"the line {line[:60]!r}; write it without nested repetitions such as (x+x+)+"
                ) from None
        return pa.array(made_lines, pa.large_string())

    def _sub(self, pattern: regex.Pattern[str], text: str) -> tuple[str, int]:
        limit, longest = _SECONDS * available_cores(), len(max(text.split("\n"), key=len))
        most = len(self._with) + (longest * self._with.count("\\"))  # characters that a replacement may have
        if (len(text) + 1) * most <= _LONGEST:
            whole: tuple[str, int] = pattern.subn(self._with, text, timeout=limit, concurrent=True)
            return whole
        made = 0

        def counted(match: regex.Match[str]) -> str:
            nonlocal made
            expanded: str = match.expand(self._with)
            made += len(expanded)
            if made > _LONGEST:
                raise InvalidTextError(
                    f"replacing {self._lines.pattern!r} makes more than {_LONGEST:,} characters of the line "
                    f"{text[:60]!r}; drop such lines, or write a shorter replacement"
                )
            return expanded

        parts: tuple[str, int] = pattern.subn(counted, text, timeout=limit, concurrent=True)
        return parts


def pattern_of_joined(pattern: str) -> str | None:
    """Returns a pattern that finds in joined lines what a pattern finds in each line; None if that is not certain."""
    made, at = [], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            return None
        at, text = token.end(), token[0]
        if token["atom"] is None or not regex.fullmatch(text, "\n", regex.DOTALL):
            made.append(_WITHOUT_LINE_FEED.get(text, text))
        elif text in _WITHOUT_LINE_FEED:
            made.append(_WITHOUT_LINE_FEED[text])
        elif text.startswith("[^") and not text.startswith("[^]"):
            made.append(f"[^\\n{text[2:]}")
        else:
            made.append(rf"(?:(?!\n){text})")
    return "".join(made)


def _split(text: str) -> pa.Array:
    data = np.frombuffer(text.encode(), np.uint8)
    breaks = data == ord("\n")
    ends = np.append(np.flatnonzero(breaks), len(data))
    return TextColumn(data[~breaks], np.append(0, ends - np.arange(len(ends)))).to_arrow()
