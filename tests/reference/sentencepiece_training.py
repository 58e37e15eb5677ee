"""Readable twin of the native training of SentencePiece BPE models: rules of pieces, words of a text, merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

SPACE, UNCOVERED, BOUNDARY = "\u2581", "\u2585", "\x1f"


@dataclass(frozen=True)
class Options:
    """Options that the rules of pieces depend on; names and defaults are those of the library."""

    max_sentencepiece_length: int = 16
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_by_whitespace: bool = True
    split_digits: bool = False
    treat_whitespace_as_suffix: bool = False
    allow_whitespace_only_pieces: bool = False


def is_piece(text: str, options: Options, script: Callable[[str], str]) -> bool:
    """Returns True if a text may become a piece; ``script`` names the script of a character."""
    if len(text) > options.max_sentencepiece_length or any(c in text for c in (UNCOVERED, BOUNDARY, "\0", " ")):
        return False
    if options.split_digits and len(text) > 1 and any(_is_digit(c) for c in text):
        return False
    if not _spaces_fit(text, options):
        return False
    before: str | None = None
    for character in text.replace(SPACE, ""):
        current: str | None = script(character)
        if current in ("Hiragana", "Katakana") or character == "\u30fc":
            current = "Han"
        elif current == "Inherited":
            current = before
        if not options.split_by_number and _is_digit(character):
            current = None
        if options.split_by_unicode_script and None not in (before, current) and before != current:
            return False
        before = current
    return True


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9" or "\uff10" <= character <= "\uff19"


def _spaces_fit(text: str, options: Options) -> bool:
    if options.allow_whitespace_only_pieces and not text.strip(SPACE):
        return True
    if options.treat_whitespace_as_suffix:
        return SPACE not in text[:-1] if options.split_by_whitespace else not text[:-1].startswith(SPACE)
    return SPACE not in text[1:] if options.split_by_whitespace else not text[1:].endswith(SPACE)


def words_of(text: str, options: Options) -> list[str]:
    """Returns the words of a normalized line."""
    if not options.split_by_whitespace:
        return [text] if text else []
    words: list[str] = []
    for number, character in enumerate(text):
        before = text[number - 1] if number else None
        if options.treat_whitespace_as_suffix:
            begins = before == SPACE and not (options.allow_whitespace_only_pieces and character == SPACE)
        else:
            begins = character == SPACE and not (options.allow_whitespace_only_pieces and before == SPACE)
        if begins or before is None:
            words.append("")
        words[-1] += character
    return words


def learn_merges(
    words: Mapping[str, int], characters: Iterable[str], merges: int, valid: Callable[[str], bool]
) -> list[str]:
    """Returns the pieces of the merges, in order.

    Args:
        words: distinct words and their counts.
        characters: characters of the vocabulary; no merge crosses another one.
        merges: number of merges to learn, at most.
        valid: returns True if a text may become a piece.
    """
    covered = set(characters)
    rows = [(list(part), count) for word, count in words.items() for part in _covered_parts(word, covered)]
    seen = {pair for row, _ in rows for pair in pairwise(row)}
    pieces: list[str] = []
    while len(pieces) < merges:
        counts = Counter[tuple[str, str]]()
        for row, count in rows:
            for pair in pairwise(row):
                counts[pair] += count
        candidates = [pair for pair in seen if valid("".join(pair)) and "".join(pair) not in pieces]
        if not candidates:
            break
        best = min(candidates, key=lambda pair: (-counts[pair], len("".join(pair)), "".join(pair)))
        pieces.append("".join(best))
        for row, _ in rows:
            _merge(row, best, seen)
    return pieces


def _covered_parts(word: str, covered: set[str]) -> list[str]:
    return "".join(character if character in covered else "\0" for character in word).split("\0")


def _merge(row: list[str], pair: tuple[str, str], seen: set[tuple[str, str]]) -> None:
    """Merges a pair from left to right, and adds the pairs that come up, even those that soon go again."""
    at = 0
    while at + 1 < len(row):
        if (row[at], row[at + 1]) == pair:
            row[at : at + 2] = ["".join(pair)]
            seen.update(pairwise(row[max(at - 1, 0) : at + 2]))
        at += 1
