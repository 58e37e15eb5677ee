"""Step ``moses``: the tokens of Moses' tokenizer.perl, and the text of its detokenizer.perl on the way back.

Lists of words whose final dot stays with them (nonbreaking prefixes) come from an installed ``sacremoses`` or from a
file, because Moses' lists have a license of their own. Without a list of the language, the English one holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import regex
from _nmt_prep_core import TextStep, moses_detokenizer, moses_tokenizer, simple_step

from nmt_prep.base.errors import InvalidTextError
from nmt_prep.base.runtime import available_cores, needed_extra
from nmt_prep.config.section import Location
from nmt_prep.text.step import WHITE_SPACE, Step, StepContext, StepOptions, apply_native
from nmt_prep.text.text_file import file_lines

_ONLY_NUMBERS = re.compile(f"(.*?)[{WHITE_SPACE}]+#NUMERIC_ONLY#")

_SECONDS = 10.0  # Time limit of the search for patterns in a line, for each core: some patterns never end on some lines
_LONGEST = 1 << 26  # Limit of the characters that a line with protected text may have


class MosesOptions(StepOptions):
    """The options of tokenizer.perl."""

    aggressive: bool = False
    """true or false: hyphens between letters become tokens, ``@-@``; as tokenizer.perl -a"""
    escape: bool = True
    """true or false: characters with a meaning for Moses become entities; false is tokenizer.perl -no-escape"""
    protected: Location | None = None
    """path: a file with a regular expression per line; matching text stays in one piece"""
    prefixes: Location | None = None
    """path: words whose final dot stays with them, instead of sacremoses's list: one per line, with ``#NUMERIC_ONLY#``
    after words that keep it only before a number"""
    skip_tags: bool = False
    """true or false: lines that are one tag stay as they are; as tokenizer.perl -x"""


class Moses(Step[MosesOptions]):
    """Tokenizes text."""

    options = MosesOptions

    def __init__(self, options: MosesOptions, context: StepContext) -> None:
        self._language = context.base_language
        paths = {"prefixes": options.prefixes, "protected": options.protected}
        self.files = {name: context.file(path) for name, path in paths.items() if path is not None}
        if options.prefixes is not None:
            lines = file_lines(self.files["prefixes"])
        else:
            lines = self._installed = _installed_prefixes(self._language)
        self._patterns = _read_patterns(self.files["protected"]) if options.protected else []
        prefixes = _read_prefixes(lines)
        self._tokenizer = moses_tokenizer(
            self._language, prefixes, options.aggressive, options.escape, options.skip_tags
        )
        if self._patterns:
            self._unescaped = moses_tokenizer(self._language, prefixes, options.aggressive, False, False)
            self._escape, self._skip_tags = options.escape, options.skip_tags
        else:
            self.native = self._tokenizer

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        tokens = apply_native((self._tokenizer,), lines, threads).lines
        if not self._patterns:
            return tokens
        made = tokens.to_pylist()
        for number, line in enumerate(lines.to_pylist()):
            if not (self._skip_tags and regex.fullmatch("<.+>", line)):
                made[number] = self._protected_tokens(line) or made[number]
        return pa.array(made, pa.large_string())

    def contents(self) -> dict[str, bytes]:
        copied = super().contents()
        return copied if "prefixes" in copied else {"prefixes": "\n".join(self._installed).encode(), **copied}

    def undo(self) -> TextStep:
        return moses_detokenizer(self._language, False)

    def _protected_tokens(self, line: str) -> str | None:
        """Returns the tokens of a line with protected text; None for a line without it."""
        text = re.sub("[\x00-\x1f]", "", re.sub(f"[{WHITE_SPACE}]+", " ", f" {line} "))
        try:
            found = [
                match[0]
                for pattern in self._patterns
                for match in pattern.finditer(text, timeout=_SECONDS * available_cores())
            ]
        except TimeoutError:
            raise InvalidTextError(
                f"a protected pattern of moses takes more than {_SECONDS:g} s on the line {line[:60]!r}; "
                "simplify the pattern, or drop the line"
            ) from None
        if not any(found):
            return None
        for number, part in enumerate(found):
            text = _replaced(text, part, f" THISISPROTECTED{number:03} ", line)
        text = apply_native((self._unescaped,), pa.array([text], pa.large_string()), 1).lines[0].as_py()
        for number, part in enumerate(found):
            text = _replaced(text, f"THISISPROTECTED{number:03}", part, line)
        if not self._escape:
            return text
        return str(apply_native((simple_step("escape"),), pa.array([text], pa.large_string()), 1).lines[0].as_py())


def _replaced(text: str, old: str, new: str, line: str) -> str:
    if old and len(text) + text.count(old) * max(len(new) - len(old), 0) > _LONGEST:
        raise InvalidTextError(f"the line {line[:60]!r} has too much protected text; drop it, or change the patterns")
    return text.replace(old, new) if old else text


def _installed_prefixes(language: str) -> list[str]:
    lists = needed_extra(
        "sacremoses._data_nonbreaking_prefixes",
        "moses",
        "the step moses (for its lists of nonbreaking prefixes; the option prefixes names a file instead)",
    ).NONBREAKING_PREFIXES
    text: str = lists.get(f"nonbreaking_prefix.{language}", lists["nonbreaking_prefix.en"])
    return text.split("\n")


def _read_prefixes(lines: Iterable[str]) -> list[tuple[str, bool]]:
    """Returns words, and whether each is one only before numbers; the last line of a word counts."""
    prefixes = {}
    for line in lines:
        if line and not line.startswith("#"):
            numeric = _ONLY_NUMBERS.match(line)
            prefixes[numeric[1] if numeric else line] = numeric is not None
    return list(prefixes.items())


def _read_patterns(path: Path) -> list[regex.Pattern[str]]:
    patterns = []
    for number, line in enumerate(file_lines(path), 1):
        if line:
            try:
                patterns.append(regex.compile(line))
            except (regex.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: not a regular expression: {error}") from error
    return patterns
