"""Fixes of text in plain Python, for comparison with the core."""

from __future__ import annotations

import re
import unicodedata
from html.entities import html5

import regex

_WHITESPACE = re.compile("[\t\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_REFERENCE = re.compile(r"&(?:#([0-9]+)|#[xX]([0-9a-fA-F]+)|([0-9a-zA-Z]+));")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "ſt", 0xFB06: "st"}


def html_entities(line: str) -> str:
    """Replaces complete references, once."""
    return _REFERENCE.sub(_meaning, line)


def _meaning(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return html5.get(f"{name};", match[0]).replace("\n", " ").replace("\t", " ")
    digits = decimal or hexadecimal
    number = int(digits, 10 if decimal else 16)
    if len(match[0]) > 42 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return match[0]
    if number in {9, 10, 13}:
        return " "
    if 0x80 <= number <= 0x9F:
        return bytes([number]).decode("cp1252", "ignore") or match[0]
    noncharacter = 0xFDD0 <= number <= 0xFDEF or number & 0xFFFE == 0xFFFE
    control = unicodedata.category(chr(number)) == "Cc"
    return match[0] if control or noncharacter else chr(number)


def control(line: str) -> str:
    """Removes U+FEFF and characters of category Cc, but not tabs, nor U+0080 to U+009F after other than ASCII."""
    kept = ""
    for c in line:
        misread = "\x80" <= c <= "\x9f" and not kept[-1:].isascii()
        if c == "\t" or misread or (unicodedata.category(c) != "Cc" and c != "\ufeff"):
            kept += c
    return kept


def soft_hyphens(line: str) -> str:
    """Removes U+00AD."""
    return line.replace("\u00ad", "")


def bidi_marks(line: str) -> str:
    """Removes characters with the property Bidi_Control."""
    return _BIDI.sub("", line)


def nfc(line: str) -> str:
    """Returns normal form C."""
    return unicodedata.normalize("NFC", line)


def whitespace(line: str) -> str:
    """Makes every run of whitespace one space, none at the ends."""
    return _WHITESPACE.sub(" ", line).strip(" ")


def whitespace_keep_no_break(line: str) -> str:
    """Like ``whitespace``, but a run that holds a no-break space becomes the first one of the run."""
    runs = _WHITESPACE.sub(lambda run: (re.findall("[\u00a0\u202f]", run[0]) or [" "])[0], line)
    return runs.strip(" \u00a0\u202f")


def ligatures(line: str) -> str:
    """Writes out Latin ligatures."""
    return line.translate(_LIGATURES)


def width(line: str) -> str:
    """Replaces full-width ASCII."""
    return "".join(chr(ord(c) - 0xFEE0) if 0xFF01 <= ord(c) <= 0xFF5E else c for c in line)


_EAST_ASIAN = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー]"
_MARK = r"(?:(?!\p{L})[\u3000-\u303f\ufe30-\ufe4f\uff00-\uff65・])"
_STRETCH = regex.compile(
    rf"(?P<space> +)|(?P<east>{_EAST_ASIAN}+)|(?P<mark>{_MARK}+)|(?:(?! |{_EAST_ASIAN}|{_MARK}).)+"
)


def join_east_asian(line: str) -> str:
    """Joins Chinese and Japanese characters, and separates Latin words from them."""
    joined, left, left_kind, spaced = "", "", "", False
    for match in _STRETCH.finditer("".join(" " if c.isspace() else c for c in line)):
        kind, text = match.lastgroup or "other", match[0]
        if kind == "space":
            spaced = True
            continue
        if (left_kind, kind) == ("other", "east"):
            other, touching = left, r"\p{L}[\p{L}\p{N}\p{M}]*$"
        else:
            other, touching = text, r"^[\p{N}\p{M}]*\p{L}"
        if (
            left_kind == kind == "other"
            or ({left_kind, kind} == {"other", "east"} and regex.search(touching, other))
            or ({left_kind, kind} == {"other", "east"} and spaced and regex.search(r"\p{L}", other))
        ):
            joined += " "
        joined, left, left_kind, spaced = joined + text, text, kind, False
    return joined


_HEADING = re.compile("([ \t]*)(={2,6})(?!=) *([^= ][^=]*)((?<!=)\\2)(?!=)(?=[ \t]|$)")


def wiki(line: str) -> str:
    """Removes the markup of wikis."""
    cuts: list[tuple[int, int, bool]] = []  # begin, end, and whether it is a template
    brackets: list[tuple[str, int, int]] = []  # kind, begin, and begin of the text
    at = 0
    if heading := _HEADING.match(line):
        at = heading.start(3)
        cuts += [(heading.start(2), at, False), (*heading.span(4), True)]
        if heading.end() == len(line):
            cuts[-1] = (at + len(heading[3].rstrip(" ")), len(line), False)
    while at < len(line):
        two, size = line[at : at + 2], 1
        if two[0] == "'":
            size = len(line) - at - len(line[at:].lstrip("'"))
            cuts += [(at, at + (3 if size < 5 else 5), False)] * (size >= 3)
        elif two in ("[[", "{{"):
            size = 2
            brackets.append((two, at, at + 2))
        elif two == "]]":
            size = 2
            if brackets and brackets[-1][0] == "[[":
                _, begin, text = brackets.pop()
                if text == at > begin + 2:  # [[a|]]
                    cuts += [(begin, begin + 2, False), (at - 1, at + 2, False)]
                else:
                    cuts += [(begin, text, False), (at, at + 2, False)]
        elif two == "}}" and any(kind == "{{" for kind, _, _ in brackets):
            while brackets[-1][0] == "[[":
                brackets.pop()
            _, begin, text = brackets.pop()
            size = 3 if line[text] == "{" and line[at + 2 : at + 3] == "}" else 2
            cuts.append((begin, at + size, True))
        elif two[0] == "|" and brackets and brackets[-1][0] == "[[":
            brackets[-1] = (*brackets[-1][:2], at + 1)
        at += size
    return _without(line, sorted(cuts))


def _without(line: str, cuts: list[tuple[int, int, bool]]) -> str:
    made, at = "", 0
    for begin, end, template in cuts:
        if end <= at:
            continue
        made, at = made + line[at:begin], end
        if template and made[-1:] in ("", " "):
            at += line[at : at + 1] == " "
            made = made[:-1] if at == len(line) else made
    return made + line[at:]
