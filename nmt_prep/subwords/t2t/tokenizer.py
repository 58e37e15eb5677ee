"""The subword dialect of Tensor2Tensor: greedy longest match over escaped tokens.

You get the same vocabulary files, IDs and texts as from ``SubwordTextEncoder`` in tensor2tensor 1.15.7, bit for bit. A
line is split into tokens: runs of letters and numbers, and runs of all other characters. Within a token, underscores,
backslashes and characters outside the vocabulary's alphabet are escaped, and an underscore marks its end. Segmentation
is greedy longest match from left to right.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import UNICODE_VERSION, T2TModel

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.t2t.training import EOS, PAD, TokenCounts, build_pieces, checked_pieces
from nmt_prep.subwords.tokenizer import PieceSpans, ProgressCallback, Tokenizer, read_vocabulary, spans_by_size

_WHITE = re.compile(r"\s")
_ASCII_WHITE = re.compile(r"[ \t\n\v\f\r]")
_ESCAPED = re.compile(r"\\(?:u|\\|([0-9]{1,7});)")  # an underscore, a backslash, or a character by its number
_UNIT = re.compile(rf"{_ESCAPED.pattern}|.", re.DOTALL)


class T2TTokenizer(Tokenizer):
    """A Tensor2Tensor subword vocabulary. ID 0 is ``<pad>``, ID 1 is ``<EOS>``; it can encode any text."""

    dialect = "t2t"
    unicode_version: str = UNICODE_VERSION
    """Unicode version that defines letters (``L*``) and numbers (``N*``)."""
    _special_ids = MappingProxyType({"pad": 0, "eos": 1})

    def __init__(self, pieces: Sequence[str]) -> None:
        """Makes a tokenizer from pieces in ID order. The last of equal pieces is used; empty pieces match nothing.

        Raises:
            InvalidTextError: a piece contains a lone surrogate.
        """
        self._pieces = checked_pieces(pieces)

    @functools.cached_property
    def _model(self) -> T2TModel:
        """The tables for encoding; made when first needed, since saving a new vocabulary does not need them."""
        return T2TModel(list(self._pieces))

    @classmethod
    def train(
        cls,
        lines: Lines | TokenCounts,
        size: int,
        *,
        max_subtoken_length: int | None = 200,
        reserved: Sequence[str] = (),
        progress: ProgressCallback | None = None,
        threads: int | None = None,
        memory: int | None = None,
    ) -> Self:
        """Builds the same vocabulary as Tensor2Tensor from the same lines.

        Args:
            lines: text, used unchanged (Tensor2Tensor strips each line first); or its counted tokens.
            size: target piece count, including reserved ones; the vocabulary with the nearest size is chosen.
            max_subtoken_length: pieces are shorter than this character count; None means no limit, as in
                Tensor2Tensor. Without a limit, whole clauses of text without spaces become pieces.
            reserved: more tokens, with IDs from 2.
            progress: called with ``("bisection", {"min_count": …, "size": …})`` after each vocabulary tried.
            threads: native threads to use; None is one per available core.
            memory: bytes of memory that training may use; None means no limit.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            TrainingError: there are no tokens, an option is invalid, or training needs more memory.
        """
        if isinstance(lines, TokenCounts):
            counts = lines
        else:
            counts = TokenCounts()
            counts.add(lines, threads)
        counts.check_memory(memory)
        return cls(build_pieces(counts, size, max_subtoken_length, reserved, progress, threads or available_cores()))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a ``.subwords`` file: one piece per line, unquoted or in single or double quotes.

        All carriage returns are dropped, as TensorFlow does when it reads the lines for Tensor2Tensor.

        Raises:
            VocabularyError: the file cannot be read, or is not a Tensor2Tensor vocabulary.
        """
        path = Path(path)
        pieces = [_unquoted(line.rstrip()) for line in _read_lines(path)]
        for number, token in enumerate((PAD, EOS)):
            piece = pieces[number] if number < len(pieces) else None
            if piece not in (token, token + "_"):
                raise VocabularyError(
                    f"{path}, line {number + 1}: expected '{token}_', as every Tensor2Tensor vocabulary has there, "
                    f"found {'the end of the file' if piece is None else repr(piece[:40])}; "
                    "check that this is the .subwords file"
                )
        return cls(pieces)

    def save(self, path: str | Path) -> None:
        """Writes one piece per line in single quotes, the same bytes as upstream's ``store_to_file``.

        Raises:
            OutputError: the file cannot be written.
        """
        with atomic_write(Path(path)) as beside:
            beside.write_bytes("".join(f"'{piece}'\n" for piece in self._pieces).encode())

    def encode(self, text: str) -> list[int]:
        """Returns the IDs of one text, without eos.

        Raises:
            InvalidTextError: the text contains a lone surrogate.
            EncodeError: a loaded vocabulary lacks the piece for a character of its alphabet.
        """
        column = TextColumn.from_strings([text])
        values, _ = self._model.encode(column.data, column.offsets, 1)
        ids: list[int] = values.tolist()
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of one ID sequence; ignores IDs outside the vocabulary."""
        known = [i if 0 <= i < len(self._pieces) else -1 for i in ids]
        return self.decode_batch(Ragged.from_lists([known]))[0]

    def encode_batch(self, lines: Lines, threads: int | None = None) -> Ragged:
        """Returns the IDs of many lines, without eos, in order; the same for any thread count.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            EncodeError: a loaded vocabulary lacks the piece for a character of its alphabet.
        """
        count = threads or available_cores()
        parts = [Ragged(*self._model.encode(column.data, column.offsets, count)) for column in text_columns(lines)]
        return Ragged.joined(parts)

    def decode_batch(self, rows: Ragged, threads: int | None = None) -> list[str]:
        """Returns the texts of many ID sequences, in order; ignores IDs outside the vocabulary.

        Raises:
            EncodeError: the offsets do not fit the values.
        """
        return self._model.decode(*rows.contiguous(), threads or available_cores())

    def _spellings(self, piece: str) -> Sequence[str]:
        escaped = piece.replace("\\", "\\\\").replace("_", "\\u").replace("\n", "\\10;") + "_"
        return (escaped, piece)  # older vocabularies have <pad> and <EOS> without the underscore

    @property
    def pieces(self) -> Sequence[str]:
        """The pieces in ID order, escaped as in the file."""
        return self._pieces

    def words(self) -> list[str]:
        r"""Returns the texts of the pieces, with white space in the dialect's escapes: ``\32;`` for a space."""
        return [_WHITE.sub(lambda white: f"\\{ord(white[0])};", piece) for piece in self._pieces]

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        return _with_escapes(spans_by_size(lines, rows, self._text_sizes), lines, rows, self._pieces)

    @functools.cached_property
    def _text_sizes(self) -> npt.NDArray[np.int64]:
        return _text_sizes(self._pieces)

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        """Returns the characters outside of the alphabet; a space between two words needs no piece."""
        alphabet = {" ", *"".join(self._pieces)}
        return [character for character in characters if character not in alphabet]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of dialect, Unicode version and pieces."""
        pieces = b"".join(len(piece).to_bytes(8, "little") + piece for piece in map(str.encode, self._pieces))
        return hashlib.sha256(f"{self.dialect}\n{self.unicode_version}\n".encode() + pieces).hexdigest()


def _read_lines(path: Path) -> list[str]:
    raw = read_vocabulary(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise VocabularyError(
            f"{path}, line {line}: not UTF-8; check that this is the .subwords file, and unpack it if it is compressed"
        ) from error
    return text.replace("\r", "").removesuffix("\n").split("\n") if text else []


def _unquoted(line: str) -> str:
    return line[1:-1] if line and line[0] == line[-1] and line[0] in "'\"" else line


def _text_sizes(pieces: Sequence[str]) -> npt.NDArray[np.int64]:
    """Returns the bytes of text that each piece stands for, without ASCII white space: int64, shape ``[pieces]``.

    A part of an escape counts as the text that it looks like, which is longer than the escaped character.
    """
    texts = (_ESCAPED.sub(_unescaped, piece.removesuffix("_")) for piece in pieces)
    return np.array([len(_ASCII_WHITE.sub("", text).encode()) for text in texts], np.int64)


def _with_escapes(spans: PieceSpans, lines: TextColumn, rows: Ragged, pieces: Sequence[str]) -> PieceSpans:
    """Returns the spans, completed for lines in which several pieces share an escape."""
    begins, ends, known = spans.begins.copy(), spans.ends.copy(), spans.known.copy()
    for number in np.flatnonzero(~spans.known).tolist():
        line = lines.data[lines.offsets[number] : lines.offsets[number + 1]].tobytes().decode()
        placed = _places(line, [pieces[i] for i in rows[number].tolist()])
        if placed is not None:
            row = slice(rows.offsets[number], rows.offsets[number + 1])
            begins[row], ends[row], known[number] = *placed, True
    return PieceSpans(begins, ends, known)


def _places(line: str, pieces: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Returns the byte offsets in a line where its pieces begin and end; None if the pieces do not spell the line."""
    at = [0, *accumulate(len(character.encode()) for character in line)]
    begins, ends = list[int](), list[int]()  # of each character in the joined pieces
    place = 0
    for unit in _UNIT.finditer("".join(pieces)):
        ended = unit[0] == "_"  # the mark at the end of a token, which has no text
        if not ended:
            character = "\\" if unit[0] == r"\\" else _ESCAPED.sub(_unescaped, unit[0])
            if line[place : place + 1] == " " != character:
                place += 1  # a space between two words has no piece
            if line[place : place + 1] != character:
                return None
        size = len(unit[0])
        begins += [at[place]] * size
        place += not ended
        ends += [at[place]] * size
    if place != len(line):
        return None
    bounds = [0, *accumulate(map(len, pieces))]
    return [begins[first] for first, _ in pairwise(bounds)], [ends[last - 1] for _, last in pairwise(bounds)]


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        return "_"  # also for an escaped backslash, since only the number of bytes counts
    return chr(int(match[1])) if int(match[1]) <= sys.maxunicode else ""
