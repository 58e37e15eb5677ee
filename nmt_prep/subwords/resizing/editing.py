"""Vocabulary files whose pieces can be taken out, or to which pieces can be added.

Everything else in a file stays: normalization, patterns, post-processors. Pieces that stay keep their order; new pieces
come last.
"""

from __future__ import annotations

import base64
import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import SentencePieceTracer, bpe_last_merges, write_sentencepiece_pieces

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.files import to_tokenizer_json
from nmt_prep.subwords.byte_bpe.pretokenization import Pretokenizer, unspelled
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.sentencepiece.model_file import PieceType, varint
from nmt_prep.subwords.sentencepiece.numbering import with_numbering
from nmt_prep.subwords.tokenizer import Tokenizer, read_vocabulary
from nmt_prep.subwords.tokenizer_json import FLAGS, SPACE, parse_json
from nmt_prep.subwords.words import WordsTokenizer

Ids: TypeAlias = "npt.NDArray[np.int64]"

_MOST_COMPARED = 50_000_000  # Parts of names of added tokens that are compared with other names


@dataclass(frozen=True, slots=True)
class NewPiece:
    """A piece to add."""

    text: str  # the piece as in `Tokenizer.pieces`
    starts: tuple[int, ...]  # the ids of the old pieces whose mean is a start for its embedding
    parts: tuple[str, str] | None = None  # the two pieces that merge into it; None for a character or a special token
    score: float = 0.0  # unigram models: its score
    special: bool = False  # True for a special token, which no text becomes


class EditableVocabulary(ABC):
    """A vocabulary and its file.

    Attributes:
        fixed: by id, True for a piece that must stay: bool, shape ``[pieces]``.
        scores: unigram models: the score of each id, 0 for others; None for BPE.
        lowest: unigram models: the id of the lowest score, which decides on the score of unknown characters.
    """

    fixed: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float64] | None = None
    lowest: int | None = None

    @functools.cached_property
    def merges(self) -> npt.NDArray[np.int32]:
        """Left, right and merged id of the last merge on the way to each piece; int32, shape ``[merges, 3]``."""
        return np.zeros((0, 3), np.int32) if self.scores is not None else self._last_merges()

    @abstractmethod
    def _last_merges(self) -> npt.NDArray[np.int32]: ...

    @abstractmethod
    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        """Returns the bytes of a file with the pieces of some ids, ascending, and new pieces behind them."""

    @property
    def fixed_ids_reason(self) -> str | None:
        """Reason why new pieces would change the ids of old ones; None if they do not."""
        return None


def editable(tokenizer: Tokenizer, path: Path, where: str) -> EditableVocabulary:
    """Returns the vocabulary that was loaded from a file, for editing.

    Args:
        where: the key and name of the file, for messages.

    Raises:
        VocabularyError: the vocabulary cannot be edited safely; the message has the reason.
    """
    if isinstance(tokenizer, ByteBPETokenizer):
        data = read_vocabulary(path)
        return _ByteBPEFile(tokenizer, data, where) if data.lstrip()[:1] == b"{" else _Ranks(tokenizer, where)
    if isinstance(tokenizer, SentencePieceTokenizer):
        return _ModelFile(tokenizer, where) if tokenizer.has_spm else _JsonFile(tokenizer, where)
    kind = (
        "vocabulary with steps" if isinstance(tokenizer, WordsTokenizer) else f"vocabulary of kind {tokenizer.dialect}"
    )
    raise VocabularyError(
        f"{where}: a {kind} cannot be pruned or extended, only byte-level BPE and SentencePiece models; train another "
        "one instead"
    )


def _check_added(added: Mapping[str, AddedToken], normal: Callable[[str], str], where: str) -> None:
    """Refuses added tokens for which it depends on the library where they are found."""
    for name, token in added.items():
        if token.normalized and not token.special and normal(name) != name:
            raise VocabularyError(
                f"{where}: the added token {name!r} is searched in normalized text, where it reads {normal(name)!r}; "
                "what it matches cannot be kept safely: set its normalized to false, or remove it"
            )
    _check_nesting(added, "added token", where)


def _check_nesting(names: Iterable[str], what: str, where: str) -> None:
    # The longest of several runs of one character, such as spaces, is the same for every library.
    known = {name for name in names if name}
    lengths = sorted({*map(len, known)})
    if sum(map(len, known)) * len(lengths) > _MOST_COMPARED:
        raise VocabularyError(f"{where}: there are too many or too long {what}s; check that this is a vocabulary")
    for outer in sorted(known, key=lambda name: (len(name), name)):
        parts = (
            outer[at : at + size]
            for size in lengths
            if size < len(outer) and len(set(outer)) > 1
            for at in range(len(outer) - size + 1)
        )
        if inner := next((part for part in parts if part in known), None):
            raise VocabularyError(
                f"{where}: the {what} {outer!r} contains the {what} {inner!r}; libraries differ in which of them they "
                "find, so the vocabulary cannot be pruned or extended safely: remove one of them"
            )


def _character_merges(
    pieces: Sequence[str], ranks: npt.NDArray[np.int64], merges: npt.NDArray[np.int32], frozen: Iterable[str] = ()
) -> npt.NDArray[np.int32]:
    """Returns the last merge on the way to each piece of characters; pieces that text does not become are empty.

    Args:
        ranks: the rank of each piece, if any two halves of a piece merge; else empty.
        merges: all merges, if there are no ranks.
        frozen: texts that never merge.
    """
    never = [text for text in frozen if text]
    spelled = ["" if any(text in piece for text in never) else piece for piece in pieces]
    offsets = np.cumsum([0, *map(len, spelled)], dtype=np.int64)
    points = np.frombuffer("".join(spelled).encode("utf-32-le"), np.int32)
    single = {ord(piece): number for number, piece in enumerate(spelled) if len(piece) == 1}
    known, places = np.unique(points, return_inverse=True)
    symbols = np.array([single.get(int(point), len(pieces) + at) for at, point in enumerate(known)], np.int32)[places]
    return bpe_last_merges(symbols, offsets, ranks, np.ascontiguousarray(merges, np.int32).ravel()).reshape(-1, 3)


class _TokenizerJson(EditableVocabulary):
    """A ``tokenizer.json``."""

    def __init__(self, content: dict[str, Any], fixed: npt.NDArray[np.bool_], added: Iterable[int], where: str) -> None:
        self._content, self._where = content, where
        self.fixed = fixed
        self.fixed[[*added, *_processor_ids(content, len(fixed), where)]] = True

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        return _edited_json(self._content, len(self.fixed), kept, new, self._where)


class _ByteBPEFile(_TokenizerJson):
    """A file of byte-level BPE; OpenAI's two files become one."""

    def __init__(self, tokenizer: ByteBPETokenizer, data: bytes, where: str) -> None:
        vocabulary = self._vocabulary = tokenizer.vocabulary
        _check_added(vocabulary.added, Pretokenizer(vocabulary.pretokenization).normal, where)
        given = parse_json(where, data)
        content = given if "model" in given else json.loads(to_tokenizer_json(vocabulary))
        fixed = np.array([len(token) == 1 for token in vocabulary.tokens], np.bool_)
        super().__init__(content, fixed, (token.id for token in vocabulary.added.values()), where)

    def _last_merges(self) -> npt.NDArray[np.int32]:
        tokens, merges = self._vocabulary.tokens, np.ascontiguousarray(self._vocabulary.merges)
        ids = np.full(256, -1, np.int32)
        for number, token in enumerate(tokens):
            if len(token) == 1:
                ids[token[0]] = number
        offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
        symbols = ids[np.frombuffer(b"".join(tokens), np.uint8)]
        return bpe_last_merges(symbols, offsets, np.zeros(0, np.int64), merges.ravel()).reshape(-1, 3)


class _JsonFile(_TokenizerJson):
    """A file of a SentencePiece model."""

    def __init__(self, tokenizer: SentencePieceTokenizer, where: str) -> None:
        assert tokenizer.json_file is not None
        file = self._file = tokenizer.json_file
        _check_added(file.added, str, where)
        pairs = zip(file.pieces, file.types, strict=True)
        fixed = np.array([piece != "" and kind is not PieceType.NORMAL for piece, kind in pairs], np.bool_)
        content = parse_json(where, tokenizer.model_bytes)
        super().__init__(content, fixed, (token.id for token in file.added.values()), where)
        if file.kind == "unigram":
            self.scores = np.zeros(len(file.pieces))
            self.scores[: len(file.scores)] = file.scores
            self.lowest = int(np.argmin(file.scores))

    def _last_merges(self) -> npt.NDArray[np.int32]:
        pairs = zip(self._file.pieces, self._file.types, strict=True)
        texts = [piece if kind is PieceType.NORMAL else "" for piece, kind in pairs]
        return _character_merges(texts, np.zeros(0, np.int64), self._file.merges)


def _processor_ids(content: Mapping[str, Any], size: int, where: str) -> list[int]:
    """Returns the ids that the post-processor and the padding of a ``tokenizer.json`` name."""
    found: list[int] = []

    def note(number: int) -> int:
        found.append(number)
        return number

    _with_ids(content, note, where)
    return [number for number in found if number in range(size)]


def _with_ids(content: Mapping[str, Any], change: Callable[[int], int], where: str) -> dict[str, Any]:
    """Returns post-processor and padding of a ``tokenizer.json`` with changed ids."""
    try:
        return _changed_ids(content, change)
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise VocabularyError(
            f"{where}: post_processor or padding is damaged, or names an id that the vocabulary lacks ({error}); fetch "
            "the file again"
        ) from error


def _changed_ids(content: Mapping[str, Any], change: Callable[[int], int]) -> dict[str, Any]:
    def processor(part: Any) -> Any:
        match part:
            case {"type": "TemplateProcessing", "special_tokens": dict(tokens)}:
                changed = {name: {**token, "ids": [*map(change, token["ids"])]} for name, token in tokens.items()}
                return {**part, "special_tokens": changed}
            case {"type": "Sequence", "processors": list(parts)}:
                return {**part, "processors": [*map(processor, parts)]}
            case {"sep": [str(sep), int(end)], "cls": [str(cls), int(begin)]}:
                return {**part, "sep": [sep, change(end)], "cls": [cls, change(begin)]}
        return part

    changed = {"post_processor": processor(content.get("post_processor"))}
    if isinstance(padding := content.get("padding"), dict) and isinstance(padding.get("pad_id"), int):
        changed["padding"] = {**padding, "pad_id": change(padding["pad_id"])}
    return changed


def _edited_json(content: Mapping[str, Any], size: int, kept: Ids, new: Sequence[NewPiece], where: str) -> bytes:
    ids = np.full(size, -1, np.int64)
    ids[kept] = np.arange(len(kept))
    model, added = dict(content["model"]), [dict(token) for token in content.get("added_tokens") or ()]
    number: Callable[[int], int] = ids.tolist().__getitem__
    changed = _with_ids(content, number, where)
    for token in added:
        token["id"] = number(token["id"])
    if isinstance(model["vocab"], list):
        model["unk_id"] = number(model["unk_id"])
        model["vocab"] = [entry for at, entry in enumerate(model["vocab"]) if ids[at] >= 0]
    else:
        model["vocab"] = {piece: number(at) for piece, at in model["vocab"].items() if ids[at] >= 0}
        model["merges"] = [*_kept_merges(model["merges"], model["vocab"])]
    if new:
        _add_pieces(model, added, len(kept), new, where)
    written = json.dumps({**content, **changed, "model": model, "added_tokens": added}, ensure_ascii=False)
    return written.encode() + b"\n"


def _kept_merges(merges: Iterable[Any], vocab: Mapping[str, int]) -> Iterable[Any]:
    for merge in merges:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left in vocab and right in vocab and left + right in vocab:
            yield merge


def _add_pieces(
    model: dict[str, Any], added: list[dict[str, Any]], first: int, new: Sequence[NewPiece], where: str
) -> None:
    """Adds pieces from the id ``first`` on. The model lists all added tokens, so that no library numbers them anew."""
    vocab = model["vocab"]
    listed = {entry[0] for entry in vocab} if isinstance(vocab, list) else vocab
    for token in sorted(added, key=lambda token: int(token["id"])):
        if token["content"] in listed:
            continue
        if model.get("ignore_merges") and not token.get("special"):
            raise VocabularyError(
                f"{where}: the added token {token['content']!r} is not in model.vocab, and with ignore_merges it "
                "cannot be added there to fix its id; make it special"
            )
        if isinstance(vocab, list):
            vocab.append([token["content"], 0.0])  # the reader checked that its id is the next one
        else:
            vocab[token["content"]] = token["id"]
    as_text = bool(model.get("merges")) and isinstance(model["merges"][0], str)
    for number, piece in enumerate(new, first):
        if isinstance(vocab, list):
            vocab.append([piece.text, piece.score])
        else:
            vocab[piece.text] = number
            if piece.parts is not None:
                model["merges"].append(" ".join(piece.parts) if as_text else [*piece.parts])
        if piece.special:
            flags = dict.fromkeys(FLAGS, False) | {"special": True}
            added.append({"id": number, "content": piece.text, **flags})


class _Ranks(EditableVocabulary):
    """Tiktoken's ranks."""

    def __init__(self, tokenizer: ByteBPETokenizer, where: str) -> None:
        vocabulary = tokenizer.vocabulary
        self._tokens, self._where = vocabulary.tokens, where
        _check_nesting(vocabulary.added, "special token", where)
        self._merges = vocabulary.merges
        self.fixed = np.array([len(token) == 1 for token in self._tokens], np.bool_)
        ranks = 1 + max(number for number, token in enumerate(self._tokens) if token)
        self.fixed[min([ranks, *vocabulary.specials.values()]) :] = True  # the ids of special tokens follow the ranks

    def _last_merges(self) -> npt.NDArray[np.int32]:
        return self._merges  # ranks imply one for each token

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        tokens = [self._tokens[number] for number in kept.tolist()]
        if any(piece.special for piece in new):
            raise VocabularyError(f"{self._where}: tiktoken's ranks contain no special tokens; use a tokenizer.json")
        tokens += [unspelled(piece.text) for piece in new]
        lines = (f"{base64.b64encode(token).decode()} {number}\n" for number, token in enumerate(tokens) if token)
        return "".join(lines).encode()


_PIECE, _TRAINER, _SELF_TESTS, _NUMBERING = 1, 2, 4, 200  # Fields of the protocol buffer
_SIZE = 4  # Field of the trainer's options for the number of pieces
_ROLE_DEFAULTS = {40: 0, 41: 1, 42: 2, 43: -1}  # Fields of the ids of unk, bos, eos and pad, and their defaults


class _ModelFile(EditableVocabulary):
    """A SentencePiece ``.model`` file, in any layout or numbering."""

    def __init__(self, tokenizer: SentencePieceTokenizer, where: str) -> None:
        if tokenizer.library_reason is not None:
            raise VocabularyError(
                f"{where}: only the sentencepiece library runs this model ({tokenizer.library_reason}), so it cannot "
                "be pruned or extended safely"
            )
        self._data = tokenizer.model_bytes
        self._where = where
        self._layout, self._numbering = tokenizer.id_layout, tokenizer.numbering
        model = tokenizer.native_model
        self._texts, self._scores, self._types = model.pieces(), model.scores(), model.types()
        self._pieces = tokenizer.pieces
        self._numbers = {piece: number for number, piece in enumerate(self._pieces)}
        # the id of each piece of the file; -1 for a piece that a numbering lacks
        self._ids = np.array([self._numbers.get(text, -1) for text in self._texts], np.int64)
        self._check_defined()
        in_file, normal = self._ids >= 0, self._types == PieceType.NORMAL
        self.fixed = np.zeros(len(self._pieces), np.bool_)
        self.fixed[self._ids[in_file & ~normal]] = True
        roles = (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id, tokenizer.unk_id)
        self.fixed[[number for number in roles if number is not None]] = True
        if self._layout == "fairseq":
            self.fixed[[self._numbers["<pad>"], self._numbers["<mask>"]]] = True
        if tokenizer.model_type == "unigram":
            self.scores = np.zeros(len(self._pieces))
            self.scores[self._ids[in_file]] = self._scores[in_file]
            place = int(np.argmin(np.where(normal, self._scores, np.inf)))
            self.lowest = int(self._ids[place]) if self._ids[place] >= 0 else None

    def _check_defined(self) -> None:
        """Refuses user-defined symbols that normalization would change if they were ordinary pieces."""
        is_defined = self._types == PieceType.USER_DEFINED
        defined = [self._texts[place] for place in np.flatnonzero(is_defined).tolist()]
        if not defined:
            return
        ordinary = np.where(is_defined, PieceType.NORMAL, self._types).astype(np.uint8)
        rest = (self._data[start:end] for number, start, _, end in _fields(self._data) if number > _PIECE)
        model = b"".join([_written(self._texts, self._scores, ordinary), *rest])
        column = TextColumn.from_strings(defined)
        normal = SentencePieceTracer(np.frombuffer(model, np.uint8), False).normalized(column.data, column.offsets)
        for text, other in zip(defined, normal, strict=True):
            if text.replace(" ", SPACE).strip(SPACE) != other.strip(SPACE):
                raise VocabularyError(
                    f"{self._where}: the model's normalization makes {other.strip(SPACE)!r} from the user-defined "
                    f"symbol {text!r}, and libraries differ in which of them they find, so the vocabulary cannot be "
                    "pruned or extended safely; train the model without it"
                )
        _check_nesting(defined, "user-defined symbol", self._where)

    def _last_merges(self) -> npt.NDArray[np.int32]:
        in_text = (self._types == PieceType.NORMAL) | (self._types == PieceType.UNUSED)
        texts = [text if own else "" for text, own in zip(self._texts, in_text.tolist(), strict=True)]
        frozen = [text for text, kind in zip(self._texts, self._types, strict=True) if kind == PieceType.USER_DEFINED]
        ranks = np.unique(-self._scores.astype(np.float64), return_inverse=True)[1].astype(np.int64)
        merges = _character_merges(texts, ranks, np.zeros((0, 3), np.int32), frozen)
        # Symbols beyond the pieces are characters without a piece, which need not be kept.
        ids = np.append(self._ids, np.full(max(int(merges.max(initial=0)) + 1 - len(self._ids), 0), -1))
        return ids[merges].astype(np.int32)

    @property
    def fixed_ids_reason(self) -> str | None:
        if self._layout == "fairseq":
            return (
                "its tokenizer numbers <mask>, and for NLLB and mBART the codes of languages, behind the pieces, so "
                "new pieces would change their ids; use the tokenizer.json of the model"
            )
        if self._numbering is not None:
            return "its ids come from another file, which new pieces would not be in; prune it only"
        return None

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        chosen = np.zeros(len(self._pieces), np.bool_)
        chosen[kept] = True
        stay = (self._ids < 0) | chosen[self._ids]
        places = np.flatnonzero(stay)
        ids = np.cumsum(stay) - 1
        texts = [self._texts[place] for place in places.tolist()] + [piece.text for piece in new]
        floor = float(self._scores.min()) - 1
        ranked = [floor - place if self.scores is None else piece.score for place, piece in enumerate(new)]
        kinds = [PieceType.CONTROL if piece.special else PieceType.NORMAL for piece in new]
        scores = np.append(self._scores[places], np.array(ranked, np.float32))
        parts = [_written(texts, scores, np.append(self._types[places], np.array(kinds, np.uint8)))]
        for number, start, content, end in _fields(self._data):
            if number == _TRAINER:
                trainer = _renumbered_trainer(self._data[content:end], len(texts), stay, ids)
                parts += [varint(_TRAINER << 3 | 2), varint(len(trainer)), trainer]
            elif number not in (_PIECE, _SELF_TESTS, _NUMBERING):
                parts.append(self._data[start:end])
        data = b"".join(parts)
        if self._numbering is None:
            return data
        numbers = {number: at for at, number in enumerate(kept.tolist())}
        numbering = {piece: numbers[at] for piece, at in self._numbering.items() if at in numbers}
        return with_numbering(data, numbering)


def _written(texts: Sequence[str], scores: npt.NDArray[Any], types: npt.NDArray[Any]) -> bytes:
    column = TextColumn.from_strings(texts)
    numbers = scores.astype(np.float32), types.astype(np.uint8)
    return write_sentencepiece_pieces(column.data, column.offsets, *numbers)


def _fields(data: bytes) -> Iterable[tuple[int, int, int, int]]:
    """Yields the fields of a protocol buffer: number, and where field and content begin and end."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint_at(data, at)
        kind = tag & 7
        if kind == 0:
            content, at = at, _varint_at(data, at)[1]
        elif kind == 2:
            size, content = _varint_at(data, at)
            at = content + size
        else:
            content, at = at, at + (8 if kind == 1 else 4)
        yield tag >> 3, start, content, at


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _renumbered_trainer(trainer: bytes, size: int, stay: npt.NDArray[np.bool_], ids: Ids) -> bytes:
    """Returns the options of the trainer with another number of pieces, and other ids of special pieces."""
    roles, parts = dict(_ROLE_DEFAULTS), []
    for number, start, content, end in _fields(trainer):
        if number in roles:
            value = _varint_at(trainer, content)[0] & 0xFFFFFFFF
            roles[number] = value - (1 << 32) if value >> 31 else value
        elif number != _SIZE:
            parts.append((number, trainer[start:end]))
    moved = {
        number: int(ids[value]) if 0 <= value < len(stay) and stay[value] else value for number, value in roles.items()
    }
    parts += [(number, varint(number << 3) + varint(value)) for number, value in {_SIZE: size, **moved}.items()]
    return b"".join(part for _, part in sorted(parts, key=lambda part: part[0]))
