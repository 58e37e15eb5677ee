"""Vocabulary files that trainers make from text that is segmented into pieces, with the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from nmt_prep.base.columns import Lines
from nmt_prep.base.errors import ArgumentError, VocabularyError
from nmt_prep.subwords.subword_nmt.training import WordCounts

_WHITE = re.compile(r"\s")
_LINE_END = re.compile(r"[\n-\r\x1c-\x1e\x85\u2028\u2029]")
_SPLITS = {"fairseq": _WHITE, "sockeye": _WHITE, "joey": _LINE_END}
"""What trainers split pieces or lines at, apart from spaces and line feeds."""

_MULTIPLE = 8  # divisor for the size of fairseq's dictionaries


class Limits(NamedTuple):
    """Options of the trainers' own programs.

    Attributes:
        least: minimum count of a piece.
        most: piece count; it includes the special pieces for fairseq and Marian.
        multiple: Sockeye's size is a multiple of this number.
    """

    least: int = 1
    most: int | None = None
    multiple: int = 1


def count_pieces(lines: Lines) -> dict[str, int]:
    """Returns the pieces in lines, separated by spaces, with their counts, in the order of their first occurrences."""
    counts = WordCounts()
    counts.add(lines, threads=1)  # one thread keeps the order
    columns = counts.columns()
    return dict(zip(columns.texts.strings(), columns.counts.tolist(), strict=True))


def piece_list(trainer: str, counts: Mapping[str, int], limits: Limits) -> str:
    """Returns a trainer's file content, from the pieces in the order of their first occurrences.

    Raises:
        ArgumentError: there is no such trainer.
        VocabularyError: a piece is a special piece of the trainer, or it has white space, at which trainers split.
    """
    if trainer not in LISTS:
        raise ArgumentError(f"there is no list for {trainer!r}; use one of {', '.join(LISTS)}")
    specials, write = LISTS[trainer]
    for piece in counts:
        if piece in specials:
            raise VocabularyError(f"the text has the piece {piece!r}, a special piece of {trainer}; remove it")
        if trainer in _SPLITS and _SPLITS[trainer].search(piece):
            raise VocabularyError(f"the text has the piece {piece!r} with white space, where {trainer} would split it")
    return write({piece: count for piece, count in counts.items() if count >= limits.least}, limits)


def _by_count(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda piece: -counts[piece])


def _by_count_and_text(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def _fairseq(counts: Mapping[str, int], limits: Limits) -> str:
    pieces = _by_count_and_text(counts)[: None if limits.most is None else max(limits.most - 4, 0)]
    missing = -(4 + len(pieces)) % _MULTIPLE
    padding = [f"madeupword{number:04d} 0" for number in range(missing)]
    return _lines([*(f"{piece} {counts[piece]}" for piece in pieces), *padding])


def _marian(counts: Mapping[str, int], limits: Limits) -> str:
    pieces = ["</s>", "<unk>", *_by_count_and_text(counts)][: limits.most]
    return "\n".join(f"{_yaml(piece)}: {number}" for number, piece in enumerate(pieces))


def _sockeye(counts: Mapping[str, int], limits: Limits) -> str:
    # Of equally frequent pieces, the last in the alphabet goes first.
    pieces = sorted(counts, key=lambda piece: (counts[piece], piece), reverse=True)[: limits.most]
    pieces = ["<pad>", "<unk>", "<s>", "</s>", *pieces]
    missing = -len(pieces) % limits.multiple
    pieces += [f"<pad{number}>" for number in range(len(pieces), len(pieces) + missing)]
    return json.dumps({piece: number for number, piece in enumerate(pieces)}, indent=4, ensure_ascii=False)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _headed(*head: str, order: Callable[[Mapping[str, int]], list[str]]) -> Callable[[Mapping[str, int], Limits], str]:
    return lambda counts, limits: _lines([*head, *order(counts)[: limits.most]])


LISTS: Mapping[str, tuple[tuple[str, ...], Callable[[Mapping[str, int], Limits], str]]] = {
    "fairseq": (("<s>", "<pad>", "</s>", "<unk>"), _fairseq),
    "joey": (("<unk>", "<pad>", "<s>", "</s>"), _headed(order=_by_count_and_text)),
    "marian": (("</s>", "<unk>"), _marian),
    "opennmt_py": (
        ("<blank>", "<s>", "</s>", "<unk>"),
        lambda counts, limits: _lines(f"{piece}\t{counts[piece]}" for piece in _by_count(counts)[: limits.most]),
    ),
    "opennmt_tf": (("<blank>", "<s>", "</s>"), _headed("<blank>", "<s>", "</s>", order=_by_count)),
    "sockeye": (("<pad>", "<unk>", "<s>", "</s>"), _sockeye),
    "tensorflow_nmt": (("<unk>", "<s>", "</s>"), _headed("<unk>", "<s>", "</s>", order=_by_count)),
    "thumt": (("<pad>", "<eos>", "<unk>"), _headed("<pad>", "<eos>", "<unk>", order=_by_count_and_text)),
    "subword_nmt": (
        (),
        lambda counts, limits: _lines(f"{piece} {counts[piece]}" for piece in _by_count(counts)[: limits.most]),
    ),
}
"""The special pieces of each trainer, and how it writes its file."""

# The scalars that yaml-cpp does not write plain: they begin with an indicator, look like null, end as a key does, or
# have an ampersand or an unprintable character.
_QUOTED = re.compile(
    r"""[,\[\]{}#&*!|>'"%@`]|[-?:]$|~$|null$|Null$|NULL$|.*(:$|&|[\x00-\x1f\x7f\x80-\x84\x86-\x9f\ufeff])""",
    re.DOTALL,
)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\ufeff": "\\ufeff"}


def _yaml(piece: str) -> str:
    """Returns a key as yaml-cpp writes it."""
    if not _QUOTED.match(piece):
        return piece
    written = (
        _ESCAPES.get(one, f"\\x{ord(one):02x}" if ord(one) < 0x20 or 0x80 <= ord(one) <= 0xA0 else one) for one in piece
    )
    return f'"{"".join(written)}"'
