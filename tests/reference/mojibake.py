"""The mojibake fix in plain Python, for comparison with the core. ``fix_mojibake.cpp`` explains the rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

_WINDOWS = {bytes([b]).decode("cp1252", "ignore"): b for b in range(0x80, 0xA0)} | {
    chr(b): b for b in range(0x80, 0x100)
}
_WINDOWS.pop("", None)

_ODD = {0x80, 0x83, 0x88, 0x89, 0x98, 0x9F, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA8, 0xAC, 0xAF, 0xB1, 0xB5, 0xB6, 0xB8}
_ODD |= {0xBC, 0xBD, 0xBE, 0x81, 0x8D, 0x8F, 0x90, 0x9D}
_CLOSING = {0x85, 0x91, 0x92, 0x93, 0x94, 0x96, 0x97, 0x99, 0x8B, 0x9B, 0xA0, 0xAD, 0xBB}
_COMMON = _CLOSING | {0x8A, 0x8C, 0x8E, 0x9A, 0x9C, 0x9E}
_AFTER_SIGNS = {0x85, *range(0x91, 0x98), 0x99, 0x8B, 0x9B, 0xA0, 0xBB, 0xB0, 0xB2, 0xB3, 0xB9, 0xBA, 0xAA}
_CLOSING_CONTROLS = {0x85, 0x92, 0x93, 0x94, 0x96, 0x97}
_BEFORE_LETTERS = {0x85, 0x92, 0x96, 0x97, 0xA0, 0xAD}
_SPACED = {0x85, 0x96, 0x97, 0xA0, 0xAD}
_SIGNS = {0xD7, 0xD8, 0xDF}
_FINAL_A = {"fr", "it", "pt"}


def _lower(c: str) -> bool:
    return "a" <= c <= "z"


def _letter(c: str) -> bool:
    return c.isascii() and c.isalpha()


def _digit(c: str) -> bool:
    return "0" <= c <= "9"


@dataclass
class Sequence:
    """Characters whose bytes are the UTF-8 of one character."""

    start: int
    end: int
    meant: str
    evidence: int = 0  # 2 sure, 1 sure beside another such sequence, 0 possible


def fix_mojibake(line: str, language: str = "en") -> str:
    """Restores UTF-8 that was read as Windows-1252 or Latin-1."""
    fixed = line
    while (once := _fix_once(fixed, language)) != fixed:
        fixed = once
    if fixed != line and _has_residue(fixed):
        return line
    return "".join(_of_control(c) for c in fixed)


def _of_control(c: str) -> str:
    return (bytes([ord(c)]).decode("cp1252", "ignore") or c) if "\x80" <= c <= "\x9f" else c


def _has_residue(line: str) -> bool:
    before = " " + line
    return "â€" in line or any(c in "ÃÂ" and _lower(p) for p, c in zip(before, line, strict=False))


def _sequences(line: str) -> list[Sequence]:
    found = []
    at = 0
    while at < len(line):
        lead = _WINDOWS.get(line[at], 0)
        size = 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 0
        raw = [_WINDOWS.get(c, 0) for c in line[at : at + size]]
        try:
            meant = bytes(raw).decode() if size else ""
        except (UnicodeDecodeError, ValueError):
            meant = ""
        if len(meant) == 1 and _may_be_meant(ord(meant)):
            sequence = Sequence(at, at + size, meant)
            sequence.evidence = _evidence(line, sequence)
            found.append(sequence)
            at += size
        else:
            at += 1
    return found


def _may_be_meant(point: int) -> bool:
    return not (0xE000 <= point < 0xF900 or 0x40000 <= point < 0xE0000 or point >= 0xE0200 or point & 0xFFFE == 0xFFFE)


def _is_odd(c: str) -> bool:
    byte = _WINDOWS[c]
    return byte in _ODD or ("\x80" <= c <= "\x9f" and byte not in _CLOSING_CONTROLS)


def _evidence(line: str, sequence: Sequence) -> int:
    previous = line[sequence.start - 1] if sequence.start else " "
    following = line[sequence.end] if sequence.end < len(line) else " "
    lead, *rest = line[sequence.start : sequence.end]
    if len(rest) > 1:
        return 2 * _is_sure_long(_WINDOWS[lead], rest, following)
    if lead == "Â":
        return 2 * _is_sure_sign(rest[0], previous, following)
    byte = _WINDOWS[rest[0]]
    if _WINDOWS[lead] in _SIGNS:
        return int(_is_odd(rest[0]) or byte not in _COMMON)
    control = "\x80" <= rest[0] <= "\x9f"
    if _is_odd(rest[0]):
        return 2 * (control or not _digit(following))
    within_word = (control and _letter(following)) or (_lower(previous) and _lower(following) and byte != 0xA0)
    if within_word or _is_sure_latin(lead, byte, sequence.meant, previous, following):
        return 2
    return int(byte not in _COMMON)


def _is_sure_long(lead: int, rest: list[str], following: str) -> bool:
    first, second = _WINDOWS[rest[0]], _WINDOWS[rest[1]]
    if _is_odd(rest[0]) or (any(map(_is_odd, rest)) and first not in _SPACED) or (lead == 0xE1 and first == 0xBA):
        return True
    no_sign = second not in _AFTER_SIGNS or (_letter(following) and second not in _BEFORE_LETTERS)
    return lead == 0xE1 and first in {0xB9, 0xBB} and no_sign


def _is_sure_sign(sign: str, previous: str, following: str) -> bool:
    byte = _WINDOWS[sign]
    if byte < 0xA0:
        return "\x80" <= sign <= "\x9f" or (_lower(previous) and byte in _CLOSING)
    if _is_odd(sign) or _lower(previous):
        return True
    after_sentence = previous in ".,;:!?)\"'"
    if byte == 0xA0:
        return _digit(previous) or after_sentence or following in ":;!?»%"
    if byte in {0xAD, 0xBB}:
        return after_sentence
    return _digit(previous) or not previous.isalnum()


def _is_sure_latin(lead: str, byte: int, meant: str, previous: str, following: str) -> bool:
    if lead not in "ÃÄÅ":
        return False
    if _lower(previous) and (meant.islower() or meant in "×÷"):
        return True
    if _letter(following) and byte not in _BEFORE_LETTERS:
        return True
    if lead == "Ã" and _lower(previous) and 0xC2 <= _WINDOWS.get(following, 0) < 0xE0:
        return True
    if lead != "Ã" or (previous.isalnum() and not _digit(previous)):
        return False
    times = byte == 0x97
    grave = byte == 0xA0 and following == " "
    return byte not in _CLOSING or times or grave or (_lower(following) and byte != 0x92)


def _fix_once(line: str, language: str) -> str:
    sequences = _sequences(line)
    touches = [a.end == b.start for a, b in pairwise(sequences)]
    sure = [sequence.evidence == 2 for sequence in sequences]
    for i, together in enumerate(touches):
        if together and sequences[i].evidence and sequences[i + 1].evidence:
            sure[i] = True
    for i, together in enumerate(touches):
        sure[i + 1] = sure[i + 1] or (together and sure[i])
    for i, together in reversed([*enumerate(touches)]):
        sure[i] = sure[i] or (together and sure[i + 1])
    covered = {at for sequence in sequences for at in range(sequence.start, sequence.end)}
    pure = any(sure) and all(c.isascii() or at in covered or c == "Ã" for at, c in enumerate(line))

    result = []
    at = 0
    starts = {sequence.start: (sequence, known) for sequence, known in zip(sequences, sure, strict=True)}
    while at < len(line):
        previous = line[at - 1] if at else " "
        if at in starts:
            sequence, known = starts[at]
            following = line[sequence.end : sequence.end + 1]
            inside = any(sure) and _letter(previous) and _letter(following)
            known = known or pure or inside
            result.append(sequence.meant if known else line[at : sequence.end])
            at = sequence.end
        elif (
            language in _FINAL_A
            and line.startswith("Ã ", at)
            and (_lower(previous) or (pure and not previous.isalnum()))
        ):
            result.append("à")
            rest = line[at + 1 : at + 4]
            at += 2 if rest.startswith("  ") or (language == "pt" and rest in {" s ", " s"}) else 1
        else:
            result.append(line[at])
            at += 1
    return "".join(result)
