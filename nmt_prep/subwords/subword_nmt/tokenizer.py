r"""The dialect of subword-nmt: BPE over the characters in words, which spaces separate.

Codes and pieces are the same as those of subword-nmt 0.3.8, byte for byte, for lines that end at ``\n`` only. IDs
follow a list of pieces: special pieces first, then the pieces from the training text or from a vocabulary file.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import SubwordNMTModel

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import Lines, Ragged, TextColumn, joined_items, text_columns
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.subword_nmt.codes import WORD_END, Codes, parse_codes, read_codes, read_counts, read_pieces
from nmt_prep.subwords.subword_nmt.glossaries import Glossaries
from nmt_prep.subwords.subword_nmt.training import SPECIALS, WordCounts, by_count, learn_codes, pieces_by_count
from nmt_prep.subwords.tokenizer import PieceSpans, ProgressCallback, Tokenizer, read_vocabulary, spans_by_size
from nmt_prep.subwords.tokenizer_json import SURROGATE, list_at, object_at, parse_json

MARK = b'{"subword_nmt": 1'  # Start of a file with all parts of a tokenizer

_USUAL = {
    "pad": ("<pad>", "<blank>", "[PAD]"),
    "eos": ("</s>", "<eos>", "<EOS>"),
    "bos": ("<s>", "<bos>"),
    "unk": ("<unk>", "<UNK>", "[UNK]"),
}


class SubwordNMTTokenizer(Tokenizer):
    """The codes of subword-nmt and the piece IDs; or a list of the words in text that is segmented already."""

    dialect = "subword_nmt"

    def __init__(
        self,
        codes: Codes | None,
        pieces: Sequence[str] | Callable[[], Sequence[str]],
        *,
        known: Sequence[str] | None = None,
        reserved: Sequence[str] = (),
        separator: str = "@@",
        glossaries: Sequence[str] = (),
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Makes a tokenizer.

        Args:
            codes: the merges; None if words are pieces already.
            known: other pieces are split again, as with a vocabulary of subword-nmt; None splits no pieces.
            counts: piece counts in this side's text, before merges are undone, for :meth:`vocabulary`.
        """
        if not separator or set(separator) & set(" \r\n"):
            raise VocabularyError(f"the separator is {separator!r}; give characters that are not white space")
        self.codes = codes
        self.separator = separator
        self.glossaries = tuple(glossaries)
        self.reserved = tuple(reserved)
        self.counts = counts
        self._made_pieces = pieces
        self._known = None if known is None else tuple(known)
        self._cutter = Glossaries(glossaries) if glossaries else None
        merges = () if codes is None else map("".join, codes.merges)
        if any(SURROGATE.search(text) for text in (separator, *merges, *reserved, *(known or ()))):
            raise VocabularyError("the vocabulary has a lone surrogate, which is not text; remove it")
        if not callable(pieces):
            self._check(tuple(pieces))

    def _check(self, pieces: tuple[str, ...]) -> None:
        if any(map(SURROGATE.search, pieces)):
            raise VocabularyError("a piece has a lone surrogate, which is not text; remove it")
        if len(set(pieces)) < len(pieces):
            twice = Counter(pieces).most_common(1)[0][0]
            raise VocabularyError(f"the piece {twice!r} occurs twice; list each piece once")
        if not {*_USUAL["unk"]} & {*pieces}:
            raise VocabularyError(f"no piece stands for unknown text; add one of {', '.join(_USUAL['unk'])}")

    @functools.cached_property
    def _pieces(self) -> tuple[str, ...]:
        return tuple(self._made_pieces() if callable(self._made_pieces) else self._made_pieces)

    @functools.cached_property
    def _specials(self) -> dict[str, int | None]:
        numbers = {piece: number for number, piece in enumerate(self._pieces)}
        return {
            role: next((numbers[name] for name in names if name in numbers), None) for role, names in _USUAL.items()
        }

    def _special_id(self, role: str) -> int | None:
        return self._specials[role]

    @functools.cached_property
    def _model(self) -> SubwordNMTModel:
        silent = {*self.reserved, *(name for names in _USUAL.values() for name in names)}
        tokens = ["" if piece in silent else piece for piece in self._pieces]
        codes = self.codes or Codes(())
        known = None if self._known is None else list(self._known)
        assert self.unk_id is not None
        return SubwordNMTModel(
            list(codes.merges), codes.word_end_apart, self.codes is None, self.separator, known, tokens, self.unk_id
        )

    @classmethod
    def train(
        cls,
        lines: Lines | WordCounts,
        *,
        other: Lines | WordCounts | None = None,
        shared: bool = False,
        merges: int | None = None,
        total_symbols: int | None = None,
        min_frequency: int = 2,
        threshold: int | None = None,
        reserved: Sequence[str] = (),
        separator: str = "@@",
        glossaries: Sequence[str] = (),
        progress: ProgressCallback | None = None,
        threads: int | None = None,
        memory: int | None = None,
    ) -> Self:
        """Learns the same codes as learn-bpe, or with ``other`` the same as learn-joint-bpe-and-vocab.

        IDs go first to ``<pad> </s> <unk> <s>``, then to the reserved pieces, then to the pieces in the segmented
        lines: by descending frequency, equally frequent pieces by code points. Other symbols of the codes follow.

        Args:
            other: lines of the other side, from which the codes are learned too; the threshold is for each side.
            shared: also number the pieces of the other side, so that both sides have the same IDs.
            merges: merge count; None is 10,000.
            threshold: pieces that occur less often are split again; None splits no pieces.
            progress: called with ``("merges", {"size": …, "target": …})`` at intervals, and at the end.
            threads: native threads to use; None is one per available core.
            memory: bytes of memory that training may use; None means no limit.
        """
        count = threads or available_cores()
        texts = (lines,) if other is None else (lines, other)
        sides = [text if isinstance(text, WordCounts) else WordCounts.of(text, count) for text in texts]
        words = WordCounts.joined(sides)
        words.check_memory(memory)
        codes = learn_codes(words, merges, total_symbols, min_frequency, progress, count)
        first = [*SPECIALS, *reserved]

        def counted(side: WordCounts, known: Sequence[str] | None) -> dict[str, int]:
            tokenizer = cls(codes, SPECIALS, known=known, separator=separator, glossaries=glossaries)
            columns = side.columns()
            return pieces_by_count(tokenizer.segment(columns.texts.to_arrow(), count), columns.counts)

        @functools.cache
        def known_of(side: WordCounts) -> list[str] | None:
            if threshold is None:
                return None
            return [piece for piece, number in counted(side, None).items() if number >= threshold]

        def pieces() -> list[str]:
            totals = Counter[str]()
            for side in sides if shared else sides[:1]:
                totals.update(counted(side, known_of(side)))
            # Text that was not seen, and dropout, give pieces that this text does not have.
            others = _symbols(codes, separator) if threshold is None else ()
            return list(dict.fromkeys([*first, *by_count(totals), *others]))

        made = cls(
            codes, pieces, known=known_of(sides[0]), reserved=reserved, separator=separator, glossaries=glossaries
        )
        if other is not None:
            counts = counted(sides[0], None)
            made.counts = {piece: counts[piece] for piece in sorted(counts, key=lambda piece: -counts[piece])}
        return made

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        vocabulary: str | Path | None = None,
        threshold: int | None = None,
        separator: str = "@@",
        glossaries: Sequence[str] = (),
        merges: int | None = None,
    ) -> Self:
        """Reads codes of subword-nmt or fastBPE; or a file that :meth:`save` wrote with the suffix ``.json``.

        Without a vocabulary, IDs go to ``<pad> </s> <unk> <s>`` and to all symbols in the codes.

        Args:
            threshold: pieces with a lower count are split again; None splits no pieces.
            merges: merge count to use; None for all.
        """
        path = Path(path)
        if _is_whole(path):
            if vocabulary is not None or threshold is not None or glossaries or merges is not None or separator != "@@":
                raise VocabularyError(
                    f"{path} has its own vocabulary and options; load the codes themselves with others"
                )
            return cls._from_json(path)
        codes = read_codes(path)
        if merges is not None:
            codes = Codes(codes.merges[:merges], codes.word_end_apart)
        if vocabulary is None:
            if threshold is not None:
                raise VocabularyError("a threshold needs a vocabulary with counts")
            known, pieces = None, [*SPECIALS, *_symbols(codes, separator)]
        else:
            counts = read_counts(Path(vocabulary))
            if threshold is not None and any(count is None for _, count in counts):
                raise VocabularyError(f"{vocabulary} has tokens without counts; a threshold needs counts")
            known = [token for token, count in counts if threshold is None or (count or 0) >= threshold]
            # Words and unmerged symbols of one character stay, however rare they are.
            kept = {*known, *SPECIALS, *(token for token, _ in counts if len(token.removesuffix(separator)) == 1)}
            pieces = with_specials([token for token, _ in counts if token in kept])
        tokenizer = cls(codes, pieces, known=known, separator=separator, glossaries=glossaries)
        _ = tokenizer._model  # made at once, so that the first call takes no longer than others
        return tokenizer

    @classmethod
    def of_words(cls, path: str | Path, separator: str = "@@") -> Self:
        """Reads a trainer's vocabulary file for text that is segmented already, such as a list of words."""
        return cls(None, read_pieces(Path(path)), separator=separator)

    def save(self, path: str | Path) -> None:
        """Writes the codes; or with the suffix ``.json``, also the IDs, the vocabulary and the options."""
        path = Path(path)
        if path.suffix == ".json":
            text = self._json()
        elif self.codes is not None:
            text = self.codes.text()
        else:
            raise VocabularyError(f"{path}: a list of words has no codes; save it with the suffix .json")
        with atomic_write(path) as beside:
            beside.write_bytes(text.encode())

    def _json(self) -> str:
        known = None if self._known is None else sorted(set(self._known))
        counts = {} if self.counts is None else {"counts": self.counts}
        parts: dict[str, Any] = {
            "codes": None if self.codes is None else self.codes.text(),
            "separator": self.separator,
            "glossaries": self.glossaries,
            "known": known,
            "reserved": self.reserved,
            "pieces": self._pieces,
            **counts,
        }
        return json.dumps({"subword_nmt": 1, **parts}, ensure_ascii=False, indent=0) + "\n"

    def vocabulary(self) -> list[str]:
        """Returns the lines of the vocabulary that learn-joint-bpe-and-vocab writes for this side."""
        if self.counts is None:
            raise VocabularyError("the vocabulary has no counts of pieces; train it with the other side (vocab.joint)")
        return [f"{piece} {count}" for piece, count in self.counts.items()]

    @classmethod
    def _from_json(cls, path: Path) -> Self:
        where = str(path)
        parts = parse_json(path, read_vocabulary(path))
        codes, known = parts.get("codes"), parts.get("known")
        lists = {
            name: list_at(parts.get(name), name, where)
            for name in ("pieces", "reserved", "glossaries", *(() if known is None else ("known",)))
        }
        if not all(isinstance(text, str) for texts in lists.values() for text in texts):
            raise VocabularyError(f"{where}: a piece or a glossary is not a string; save the file again")
        counts = parts.get("counts")
        if counts is not None and not all(isinstance(n, int) for n in object_at(counts, "counts", where).values()):
            raise VocabularyError(f"{where}: a count is not an integer; save the file again")
        if not isinstance(codes, str | None) or not isinstance(parts.get("separator"), str):
            raise VocabularyError(f"{where}: codes and separator must be strings; save the file again")
        return cls(
            None if codes is None else parse_codes(codes, where),
            lists["pieces"],
            known=lists.get("known"),
            reserved=lists["reserved"],
            separator=parts["separator"],
            glossaries=lists["glossaries"],
            counts=counts,
        )

    @property
    def suffix_of_all(self) -> str:
        return ".subword_nmt.json"

    def encode(self, text: str) -> list[int]:
        """Returns the IDs of one text, without bos or eos."""
        return self.encode_batch([text], 1).to_lists()[0]

    def encode_batch(
        self,
        lines: Lines,
        threads: int | None = None,
        *,
        dropout: float = 0.0,
        seed: int | None = None,
        first_line: int = 0,
    ) -> Ragged:
        """Returns the IDs of many lines, without bos or eos, in order; the same for any thread count.

        Args:
            threads: native threads to use; None is one per available core.
        """
        del first_line
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout {dropout}: it must be between 0 and 1")
        if dropout > 0 and seed is None:
            raise ValueError("dropout needs a seed: pass seed=…")
        if dropout > 0 and self.codes is None:
            raise ValueError("dropout needs codes; a list of words has none")
        count = threads or available_cores()
        return Ragged.joined(
            [
                Ragged(*self._model.encode(*self._cut(column, count), count, dropout, (seed or 0) % 2**64))
                for column in text_columns(lines)
            ]
        )

    def segment(self, lines: Lines, threads: int | None = None) -> pa.ChunkedArray:
        """Returns lines as pieces, separated by spaces; pieces without an ID too."""
        count = threads or available_cores()
        parts = (
            column if self.codes is None else TextColumn(*self._model.segment(*self._cut(column, count), count, 0.0, 0))
            for column in text_columns(lines)
        )
        return pa.chunked_array([part.to_arrow() for part in parts], pa.large_string())

    def _cut(
        self, column: TextColumn, threads: int
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], list[tuple[str, list[tuple[str, bool]]]]]:
        return column.data, column.offsets, [] if self._cutter is None else self._cutter.cut(column, threads)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text of one ID sequence."""
        return self.decode_batch(Ragged.from_lists([list(ids)]))[0]

    def decode_batch(self, rows: Ragged) -> list[str]:
        """Returns the texts of many ID sequences, in order."""
        values, offsets = rows.contiguous()
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < len(self._pieces):
            raise EncodeError(
                f"IDs must be from 0 to {len(self._pieces) - 1}; check that they were made with this vocabulary"
            )
        pieces = pa.array(self._pieces, pa.large_string()).take(pa.array(values))
        texts: list[str] = self.join(joined_items(pieces, offsets, " ")).to_pylist()
        return texts

    def join(self, lines: pa.Array) -> pa.Array:
        """Returns the text of piece lines: each word's pieces joined."""
        joined = pc.replace_substring(lines, pattern=f"{self.separator} ", replacement="")
        cut = pc.utf8_slice_codeunits(joined, 0, -len(self.separator))
        return pc.if_else(pc.ends_with(joined, self.separator), cut, joined)

    @property
    def pieces(self) -> Sequence[str]:
        """The pieces in ID order; a piece that does not end a word ends with the separator."""
        return self._pieces

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        return spans_by_size(lines, rows, self._text_sizes)

    @functools.cached_property
    def _text_sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of text that each piece stands for, without ASCII white space."""
        texts = (piece.removesuffix(self.separator).encode() for piece in self._pieces)
        return np.array([len(text.translate(None, b" \t\n\v\f\r")) for text in texts], np.int64)

    def uncovered(self, characters: Sequence[str]) -> list[str]:
        """Returns the characters that no piece has."""
        alphabet = {" ", *"".join(piece.removesuffix(self.separator) for piece in self._pieces)}
        return [character for character in characters if character not in alphabet]

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of codes, pieces and options."""
        return hashlib.sha256(f"{self.dialect}\n{self._json()}".encode()).hexdigest()


def with_specials(tokens: Sequence[str]) -> list[str]:
    """Returns the pieces of a vocabulary: itself if it has a piece for unknown text, else after the special pieces."""
    if set(tokens) & set(_USUAL["unk"]):
        return list(tokens)
    return [*SPECIALS, *(token for token in tokens if token not in SPECIALS)]


def _symbols(codes: Codes, separator: str) -> list[str]:
    """Returns the pieces that the codes make of the characters they have: characters first, then merges."""
    pieces = dict[str, None]()
    parts = (part.removesuffix(WORD_END) for merge in codes.merges for part in merge)
    for character in dict.fromkeys(part for part in parts if len(part) == 1):
        pieces |= {character + separator: None, character: None}
    for text in map("".join, codes.merges):
        ends = text.endswith(WORD_END)
        if not ends:
            pieces[text + separator] = None
        if ends or codes.word_end_apart:
            pieces[text.removesuffix(WORD_END)] = None
    return [piece for piece in pieces if piece and piece not in SPECIALS]


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(64).replace(b"\n", b"").startswith(MARK)
    except OSError as error:
        raise VocabularyError(
            f"cannot read the vocabulary {path}: {error.strerror or error}; check the path"
        ) from error
