r"""Regular expressions in words that ``regex`` and Oniguruma read alike.

``tokenizers`` reads the patterns of a ``tokenizer.json`` with Oniguruma, in Ruby's syntax; we read patterns with the
``regex`` package. The two differ in what published patterns have: ``{1,3}+`` is possessive to one and repeats to the
other, ``$`` is the end of a line or of the text, a set inside a set is one or is a bracket, ``(?i:ss)`` matches ``ß``
or not. So a pattern is read by the rules of its own engine, and written without what they disagree on; what is not
known to mean the same to both is refused.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import regex

Syntax: TypeAlias = Literal["oniguruma", "regex"]

_PROPERTIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf "
    "Alphabetic Arabic Armenian Bengali Bopomofo Common Cyrillic Devanagari Georgian Greek Han Hangul Hebrew Hiragana "
    "Inherited Katakana Khmer Lao Latin Myanmar Tamil Thai"
)
_WORD = {
    "oniguruma": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}¹²³¼½¾",
    "regex": "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u200c\u200d",
}
_ENDS = {
    ("oniguruma", "^"): r"(?:(?<![\s\S])|(?<=\n)(?=[\s\S]))",
    ("oniguruma", "$"): r"(?=\n|(?![\s\S]))",
    ("regex", "^"): r"(?<![\s\S])",
    ("regex", "$"): r"(?=\n?(?![\s\S]))",
}
_GROUPS = ("?:", "?=", "?!", "?>", "?<=", "?<!")
_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_FOLDS = {"s": "sSſ", "k": "kK\u212a"}  # what else ignores case beside the two of a letter
_FOLDS_AS_ONE = ("ss", "st", "ff", "fi", "fl")  # Oniguruma: also ß, ﬆ, ﬀ, …


class PatternError(ValueError):
    """A pattern has a part that the two engines do not read alike, or that is not known to be read alike."""


def common_pattern(pattern: str, syntax: Syntax) -> str:
    """The pattern that means to both engines what ``pattern`` means to that of its syntax.

    Raises:
        PatternError: it has a part that is not known to mean the same; the message names it.
    """
    reader = _Reader(pattern, syntax)
    written = reader.alternatives()
    if reader.peek():
        raise PatternError("it closes a group that it did not open")
    if regex.compile(written).fullmatch(""):
        raise PatternError("it matches no text, too, where one engine goes on to match some, and the other does not")
    return written


class _Reader:
    """Recursive descent over a pattern; each method writes what it read."""

    def __init__(self, pattern: str, syntax: Syntax) -> None:
        self._pattern = pattern
        self._at = 0
        self._syntax: Syntax = syntax
        self._fold = False
        self._repeats = 0

    def peek(self, size: int = 1) -> str:
        return self._pattern[self._at : self._at + size]

    def _take(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _next(self) -> str:
        self._at += 1
        if self._at > len(self._pattern):
            raise PatternError("it ends too early")
        return self._pattern[self._at - 1]

    def alternatives(self) -> str:
        written = [self._sequence()]
        while self._take("|"):
            written.append(self._sequence())
        return "|".join(written)

    def _sequence(self) -> str:
        written = []
        while (following := self.peek()) and following not in "|)":
            if self._fold and self.peek(2).lower() in _FOLDS_AS_ONE:
                raise PatternError(f"(?i:…{self.peek(2)}…) matches one character as well")
            written.append(self._quantified(self._atom()))
        return "".join(written)

    def _atom(self) -> str:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return self._escape(in_set=False)
        if character in "^$":
            return _ENDS[self._syntax, character]
        if character in "*+?{":
            raise PatternError(f"{character!r} has nothing to repeat")
        if character == ".":
            return character
        return f"[{self._folded(character)}]" if self._fold and character.isalpha() else _escaped(character, "]}")

    def _folded(self, character: str) -> str:
        if not character.isascii() or (character in "iI" and self._syntax == "regex"):
            raise PatternError(f"{character!r} where case is ignored")
        both = character.lower() + character.upper()
        return _FOLDS.get(character.lower(), both) if character.isalpha() else _escaped(character, "[]^-&")

    def _group(self) -> str:
        if self._fold:
            raise PatternError("a group where case is ignored")
        if self._take("?i:"):
            self._fold = True
            written = self._closed("(?:")
            self._fold = False
            return written
        kind = next((kind for kind in _GROUPS if self._take(kind)), None)
        if kind is None and self.peek() in ("?", "*"):
            raise PatternError(f"a group that opens with ({self.peek(3)}")
        repeats = self._repeats
        written = self._closed(f"({kind or '?:'}")
        if kind in ("?<=", "?<!") and self._repeats > repeats:
            raise PatternError("repetition in what must come before")
        return written

    def _closed(self, opening: str) -> str:
        written = self.alternatives()
        if not self._take(")"):
            raise PatternError("a group is not closed")
        return f"{opening}{written})"

    def _quantified(self, atom: str) -> str:
        if self.peek() and self.peek() in "?*+":
            written = atom + self._next() + (self._next() if self.peek() and self.peek() in "?+" else "")
        elif self.peek() == "{":
            written = self._interval(atom)
        else:
            return atom
        if atom.startswith(_AROUND) or atom in _ENDS.values():
            raise PatternError(f"repetition of {atom}, which matches no text")
        self._repeats += 1
        if self.peek() and self.peek() in "?*+{":
            raise PatternError(f"{self.peek()!r} behind a repetition")
        return written

    def _interval(self, atom: str) -> str:
        bounds = re.compile(r"\{(\d*)(,?)(\d*)\}").match(self._pattern, self._at)
        if bounds is None or not (bounds[1] or bounds[3]):
            raise PatternError("'{' that opens no repetition")
        self._at = bounds.end()
        written = f"{atom}{{{bounds[1] or 0}{bounds[2]}{bounds[3]}}}"
        if self._take("+"):
            return f"(?:{written})+" if self._syntax == "oniguruma" else f"(?>{written})"
        if not self._take("?"):
            return written
        if bounds[2]:
            return f"{written}?"
        return f"(?:{written})?" if self._syntax == "oniguruma" else written

    def _set(self) -> str:
        negated = self._take("^")
        if negated and self._fold:
            raise PatternError("a set of what is not in it, where case is ignored")
        return f"[{'^' * negated}{self._members()}]"

    def _members(self) -> str:
        written = ""
        while not self._take("]"):
            character = self._next()
            if character == "[" and (self.peek() == ":" or self._syntax == "oniguruma"):
                if self.peek() in (":", "^"):
                    raise PatternError(f"[{self.peek()} inside a set")
                written += self._members()
                continue
            if self.peek(1) == character == "&" and self._syntax == "oniguruma":
                raise PatternError("&& inside a set")
            member = self._escape(in_set=True) if character == "\\" else _escaped(character, "[^-&")
            if self.peek() == "-" and self.peek(2) != "-]":
                member += self._to_end_of_range(member)
            elif self._fold and character != "\\":
                member = self._folded(character)
            written += member
        if not written:
            raise PatternError("a set without members")
        return written

    def _to_end_of_range(self, first: str) -> str:
        self._at += 1
        character = self._next()
        last = self._escape(in_set=True) if character == "\\" else _escaped(character, "^-&")
        if self._fold or character == "[" or any(_is_class(end) for end in (first, last)):
            raise PatternError(f"the range {first}-{last} in a set")
        return f"-{last}"

    def _escape(self, *, in_set: bool) -> str:
        character = self._next()
        if character in "rntfsSdD":
            return f"\\{character}"
        if character == "w" or (character == "W" and not in_set):
            word = _WORD[self._syntax]
            return word if in_set else f"[{'^' * (character == 'W')}{word}]"
        if character in "pP":
            name = re.compile(r"\{(\w+)\}").match(self._pattern, self._at)
            if name is None or name[1] not in _PROPERTIES.split() or self._fold:
                raise PatternError(f"the property \\{character}{name[0] if name else self.peek(2)}")
            self._at = name.end()
            return f"\\{character}{name[0]}"
        number = re.compile(r"u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\}|x([0-7][0-9a-fA-F])").match(
            self._pattern, self._at - 1
        )
        if number is not None and not self._fold:
            self._at = number.end()
            return _escaped(chr(int(number[number.lastindex or 1], 16)), r"\.^$*+?{}[]|()-&")
        if character.isalnum():
            raise PatternError(f"\\{character}")
        return f"\\{character}"


def _escaped(character: str, special: str) -> str:
    return f"\\{character}" if character in special else character


def _is_class(member: str) -> bool:
    return len(member) > 1 and member[1] in "sSdDpP"
