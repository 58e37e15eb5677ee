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
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.files import to_tokenizer_json
from nmt_prep.subwords.byte_bpe.pretokenization import Pretokenizer, spelled, unspelled
from nmt_prep.subwords.byte_bpe.ranks import TIKTOKEN_ENCODINGS
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.sentencepiece.model_file import PieceType, fields, message
from nmt_prep.subwords.sentencepiece.numbering import with_numbering
from nmt_prep.subwords.tokenizer import Tokenizer, read_vocabulary
from nmt_prep.subwords.tokenizer_json import FLAGS, SPACE, parse_json
from nmt_prep.subwords.words import WordsTokenizer

Ids: TypeAlias = "npt.NDArray[np.int64]"

_MOST_COMPARED = 1_000_000_000  # characters in the names of added tokens


@dataclass(frozen=True, slots=True)
class NewPiece:
    """A piece to add."""

    text: str  # the piece as in `Tokenizer.pieces`
    starts: tuple[int, ...]  # the IDs of the old pieces whose mean is a start for its embedding
    parts: tuple[str, str] | None = None  # the two pieces that merge into it; None for a character or a special token
    score: float = 0.0  # unigram models: its score
    special: bool = False  # True for a special token, which no text becomes


class EditableVocabulary(ABC):
    """A vocabulary and its file.

    Attributes:
        fixed: by ID, True for a piece that must stay: bool, shape ``[pieces]``.
        scores: unigram models: each ID's score, 0 for others; None for BPE.
        lowest: unigram models: the ID with the lowest score, which decides on the score for unknown characters.
        fixed_ids_reason: why new pieces would change old pieces' IDs, or None if they do not.
    """

    scores: npt.NDArray[np.float64] | None = None
    lowest: int | None = None
    fixed_ids_reason: str | None = None

    def __init__(self, where: str, texts: Sequence[str], rules: npt.NDArray[np.int32], fixed: Iterable[bool]) -> None:
        self._where, self._texts, self._rules = where, texts, rules
        self.fixed: npt.NDArray[np.bool_] = np.array([*fixed], np.bool_)

    @functools.cached_property
    def merges(self) -> npt.NDArray[np.int32]:
        """Left, right and merged ID of the last merge on the way to each piece; int32, shape ``[merges, 3]``."""
        return np.zeros((0, 3), np.int32) if self.scores is not None else self._last_merges()

    def _last_merges(self) -> npt.NDArray[np.int32]:
        return _last_merges(self._texts, np.zeros(0, np.int64), self._rules)

    @abstractmethod
    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        """Returns a file's bytes with the pieces of some IDs, ascending, and new pieces behind them."""


def editable(tokenizer: Tokenizer, path: Path, where: str) -> EditableVocabulary:
    """Returns the vocabulary that was loaded from a file, for editing.

    Args:
        where: the file's key and name, for messages.

    Raises:
        VocabularyError: the vocabulary cannot be edited safely; the message has the reason.
    """
    if isinstance(tokenizer, SentencePieceTokenizer) and tokenizer.has_spm:
        return _ModelFile(tokenizer, where)
    if isinstance(tokenizer, ByteBPETokenizer | SentencePieceTokenizer):
        data = read_vocabulary(path)
        if data.lstrip()[:1] == b"{":
            return _JsonFile(tokenizer, parse_json(where, data), where)
        assert isinstance(tokenizer, ByteBPETokenizer)
        return _Ranks(tokenizer, where)
    kind = (
        "vocabulary with steps" if isinstance(tokenizer, WordsTokenizer) else f"vocabulary of kind {tokenizer.dialect}"
    )
    raise VocabularyError(
        f"{where}: a {kind} cannot be pruned or extended, only byte-level BPE and SentencePiece models; train another "
        "one instead"
    )


def _check_nesting(names: Iterable[str], what: str, where: str) -> None:
    # The longest among several runs of one character, such as spaces, is the same for every library.
    known = sorted({*names} - {""})
    outer = [name for name in known if len({*name}) > 1]
    text = "\0".join(outer)
    if len(known) * len(text) > _MOST_COMPARED:
        raise VocabularyError(f"{where}: there are too many or too long {what}s; check that this is a vocabulary")
    for inner in known:
        if text.count(inner) > (len({*inner}) > 1):
            longer = next(name for name in outer if inner in name and inner != name)
            raise VocabularyError(
                f"{where}: the {what} {longer!r} contains the {what} {inner!r}; libraries differ in which one they "
                "find, so the vocabulary cannot be pruned or extended safely: remove one of them"
            )


def _last_merges(
    texts: Sequence[str], ranks: npt.NDArray[np.int64], rules: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Returns the last merge on the way to each text; texts that no text becomes are empty.

    Args:
        ranks: each piece's rank, if any two halves of a piece merge; else empty.
        rules: all merges, if there are no ranks.
    """
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    single = {ord(piece): number for number, piece in enumerate(texts) if len(piece) == 1}
    known = np.flatnonzero(np.bincount(points))
    symbols = np.zeros(0x110000, np.int32)
    symbols[known] = [single.get(point, len(texts) + at) for at, point in enumerate(known.tolist())]
    rules = np.ascontiguousarray(rules, np.int32).ravel()
    return bpe_last_merges(symbols[points], offsets, ranks, rules).reshape(-1, 3)


class _JsonFile(EditableVocabulary):
    """A ``tokenizer.json``; OpenAI's two files become one."""

    def __init__(
        self, tokenizer: ByteBPETokenizer | SentencePieceTokenizer, content: dict[str, Any], where: str
    ) -> None:
        normal: Callable[[str], str] = str
        if isinstance(tokenizer, ByteBPETokenizer):
            vocabulary = tokenizer.vocabulary
            normal = Pretokenizer(vocabulary.pretokenization).normal
            if not isinstance(content.get("model"), dict):  # OpenAI's files, in which it may be a token
                content = json.loads(to_tokenizer_json(vocabulary))
            texts = [*map(spelled, vocabulary.tokens)]
            super().__init__(where, texts, vocabulary.merges, (len(text) == 1 for text in texts))
        else:
            file = tokenizer.json_file
            assert file is not None
            kinds = [*zip(file.pieces, file.types, strict=True)]
            texts = [piece if kind is PieceType.NORMAL else "" for piece, kind in kinds]
            fixed = (piece != "" and kind is not PieceType.NORMAL for piece, kind in kinds)
            super().__init__(where, texts, file.merges, fixed)
            if file.kind == "unigram":
                self.scores = np.zeros(len(texts))
                self.scores[: len(file.scores)] = file.scores
                self.lowest = int(np.argmin(file.scores))
        self._content = content
        for name, token in tokenizer.added.items():
            if token.normalized and not token.special and normal(name) != name:
                raise VocabularyError(
                    f"{where}: the added token {name!r} is searched in normalized text, where it reads "
                    f"{normal(name)!r}; what it matches cannot be kept safely: set its "
                    "normalized to false, or remove it"
                )
        _check_nesting(tokenizer.added, "added token", where)
        named = [token.id for token in tokenizer.added.values()]
        self._with_ids(lambda number: named.append(range(len(texts)).index(number)))
        self.fixed[named] = True

    def _with_ids(self, change: Callable[[int], Any]) -> dict[str, Any]:
        """Returns post-processor and padding with changed IDs."""

        def changed(part: Any) -> Any:
            match part:
                case {"ids": ids}:
                    return {**part, "ids": [*map(change, ids)]}
                case {"pad_id": number}:
                    return {**part, "pad_id": change(number)}
                case [str(token), int(number)]:
                    return [token, change(number)]
                case dict():
                    return {key: changed(value) for key, value in part.items()}
                case list():
                    return [*map(changed, part)]
            return part

        try:
            return {key: changed(self._content[key]) for key in ("post_processor", "padding") if key in self._content}
        except (TypeError, ValueError) as error:
            raise VocabularyError(
                f"{self._where}: post_processor or padding is damaged, or names an ID that the vocabulary lacks; fetch "
                "the file again"
            ) from error

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        ids = np.full(len(self.fixed), -1, np.int64)
        ids[kept] = np.arange(len(kept))
        numbers: list[int] = ids.tolist()
        model = dict(self._content["model"])
        added = [{**token, "id": numbers[token["id"]]} for token in self._content.get("added_tokens") or ()]
        listed = {entry[0] for entry in model["vocab"]} if isinstance(model["vocab"], list) else model["vocab"]
        # The model lists all added tokens before new pieces, so that no library numbers them anew.
        unlisted = [token for token in added if token["content"] not in listed] if new else []
        ordinary = [token["content"] for token in unlisted if not token.get("special")]
        if ordinary and model.get("ignore_merges"):
            raise VocabularyError(
                f"{self._where}: the added token {ordinary[0]!r} is not in model.vocab, and with ignore_merges it "
                "cannot be added there to fix its ID; make it special"
            )
        entries = [(token["content"], token["id"], 0.0) for token in sorted(unlisted, key=lambda token: token["id"])]
        entries += [(piece.text, number, piece.score) for number, piece in enumerate(new, len(kept))]
        if isinstance(model["vocab"], list):
            model["unk_id"] = numbers[model["unk_id"]]
            model["vocab"] = [entry for at, entry in enumerate(model["vocab"]) if numbers[at] >= 0]
            model["vocab"] += [[text, score] for text, _, score in entries]
        else:
            vocab = {piece: numbers[at] for piece, at in model["vocab"].items() if numbers[at] >= 0}
            model["merges"] = [*_merges(model["merges"], vocab, new)]
            model["vocab"] = vocab | {text: number for text, number, _ in entries}
        flags = dict.fromkeys(FLAGS, False) | {"special": True}
        added += [
            {"id": at, "content": piece.text, **flags} for at, piece in enumerate(new, len(kept)) if piece.special
        ]
        _check_nesting((token["content"] for token in added), "added token", self._where)
        content = {**self._content, **self._with_ids(numbers.__getitem__), "model": model, "added_tokens": added}
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def _merges(merges: Sequence[Any], vocab: Mapping[str, int], new: Iterable[NewPiece]) -> Iterable[Any]:
    as_text = bool(merges) and isinstance(merges[0], str)
    for merge in merges:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left in vocab and right in vocab and left + right in vocab:
            yield merge
    for piece in new:
        if piece.parts is not None:
            yield " ".join(piece.parts) if as_text else [*piece.parts]


class _Ranks(EditableVocabulary):
    """Tiktoken's ranks."""

    def __init__(self, tokenizer: ByteBPETokenizer, where: str) -> None:
        vocabulary = tokenizer.vocabulary
        _check_nesting(vocabulary.added, "special token", where)
        texts = [*map(spelled, vocabulary.tokens)]
        super().__init__(where, texts, vocabulary.merges, (len(text) == 1 for text in texts))
        ranks = 1 + max(number for number, text in enumerate(texts) if text)
        known = [each for each in TIKTOKEN_ENCODINGS.values() if each.specials == vocabulary.specials]
        if vocabulary.specials and not known:
            self.fixed_ids_reason = "it was pruned, so its special tokens follow the ranks; use a tokenizer.json"
        elif known and ranks not in [each.size for each in known]:
            raise VocabularyError(
                f"{where}: the ranks were extended, so their special tokens' IDs would move now; use a tokenizer.json"
            )
        self.fixed[min([ranks, *vocabulary.specials.values()]) :] = True  # the IDs of special tokens follow the ranks

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        if any(piece.special for piece in new):
            raise VocabularyError(f"{self._where}: tiktoken's ranks contain no special tokens; use a tokenizer.json")
        texts = [*(self._texts[number] for number in kept.tolist()), *(piece.text for piece in new)]
        return b"".join(
            b"%s %d\n" % (base64.b64encode(unspelled(text)), number) for number, text in enumerate(texts) if text
        )


# A field of the protocol buffer, and fields in it: piece count; IDs of unk, bos, eos and pad.
_TRAINER, _SIZE, _ROLES = 2, 4, (40, 41, 42, 43)


class _ModelFile(EditableVocabulary):
    """A SentencePiece ``.model`` file, in any layout or numbering."""

    def __init__(self, tokenizer: SentencePieceTokenizer, where: str) -> None:
        if tokenizer.library_reason is not None:
            raise VocabularyError(
                f"{where}: only the sentencepiece library runs this model ({tokenizer.library_reason}), so it cannot "
                "be pruned or extended safely"
            )
        model, pieces = tokenizer.native_model, tokenizer.pieces
        super().__init__(where, model.pieces(), np.zeros((0, 3), np.int32), np.zeros(len(pieces), np.bool_))
        self._scores, self._types = model.scores(), model.types()
        self._roles = [model.unk_id, model.bos_id, model.eos_id, model.pad_id]
        self._rest = model.rest
        self._check_defined()
        self._numbering = tokenizer.numbering
        numbers = {piece: number for number, piece in enumerate(pieces)}
        # each piece's ID in the file; -1 for a piece that the ID layout lacks
        self._ids = np.array([numbers.get(text, -1) for text in self._texts], np.int64)
        in_file, normal = self._ids >= 0, self._types == PieceType.NORMAL
        self.fixed[self._ids[in_file & ~normal]] = True
        roles = [tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id, tokenizer.unk_id]
        if tokenizer.id_layout == "fairseq":
            roles.append(numbers["<mask>"])
            self.fixed_ids_reason = (
                "its tokenizer numbers <mask>, and for NLLB and mBART the codes of languages, behind the pieces, so "
                "new pieces would change their IDs; use the tokenizer.json of the model"
            )
        if self._numbering is not None:
            self.fixed_ids_reason = "its IDs come from another file, which new pieces would not be in; prune it only"
        self.fixed[[number for number in roles if number is not None]] = True
        if tokenizer.model_type == "unigram":
            self.scores = np.zeros(len(pieces))
            self.scores[self._ids[in_file]] = self._scores[in_file]
            place = int(np.argmin(np.where(normal, self._scores, np.inf)))
            self.lowest = int(self._ids[place]) if self._ids[place] >= 0 else None

    def _check_defined(self) -> None:
        """Refuses user-defined symbols that normalization would change if they were ordinary pieces."""
        is_defined = self._types == PieceType.USER_DEFINED
        self._defined = [self._texts[place] for place in np.flatnonzero(is_defined).tolist()]
        if not self._defined:
            return
        ordinary = np.where(is_defined, PieceType.NORMAL, self._types)
        model = _written(self._texts, self._scores, ordinary) + self._rest
        column = TextColumn.from_strings(self._defined)
        normal = SentencePieceTracer(np.frombuffer(model, np.uint8), False).normalized(column.data, column.offsets)
        for text, other in zip(self._defined, normal, strict=True):
            if text.replace(" ", SPACE).strip(SPACE) != other.strip(SPACE):
                raise VocabularyError(
                    f"{self._where}: the model's normalization makes {other.strip(SPACE)!r} from the user-defined "
                    f"symbol {text!r}, and libraries differ in which of the two they find, so the vocabulary cannot be "
                    "pruned or extended safely; train the model without it"
                )
        _check_nesting(self._defined, "user-defined symbol", self._where)

    def _last_merges(self) -> npt.NDArray[np.int32]:
        in_text = np.isin(self._types, (PieceType.NORMAL, PieceType.UNUSED)).tolist()
        # User-defined symbols never merge.
        texts = [
            text if own and not any(symbol in text for symbol in self._defined) else ""
            for text, own in zip(self._texts, in_text, strict=True)
        ]
        ranks = np.unique(-self._scores.astype(np.float64), return_inverse=True)[1].astype(np.int64)
        merges = _last_merges(texts, ranks, self._rules)
        # Symbols beyond the pieces are characters without a piece, which need not be kept.
        ids = np.append(self._ids, np.full(max(int(merges.max(initial=0)) + 1 - len(self._ids), 0), -1))
        return ids[merges].astype(np.int32)

    def edited(self, kept: Ids, new: Sequence[NewPiece] = ()) -> bytes:
        chosen = np.zeros(len(self.fixed), np.bool_)
        chosen[kept] = True
        stay = (self._ids < 0) | chosen[self._ids]
        floor = float(self._scores.min()) - 1
        texts = [text for text, stays in zip(self._texts, stay.tolist(), strict=True) if stays]
        scores = [floor - place if self.scores is None else piece.score for place, piece in enumerate(new)]
        types = [PieceType.CONTROL if piece.special else PieceType.NORMAL for piece in new]
        written = _written(
            [*texts, *(piece.text for piece in new)],
            np.append(self._scores[stay], scores),
            np.append(self._types[stay], types),
        )
        # A later message of the trainer's options overrides single options.
        moved = [int(stay[:role].sum()) if role >= 0 else role for role in self._roles]
        trainer = fields([(_SIZE, len(texts) + len(new)), *zip(_ROLES, moved, strict=True)])
        data = b"".join((written, self._rest, *message(_TRAINER, *trainer)))
        if self._numbering is None:
            return data
        numbers = {number: at for at, number in enumerate(kept.tolist())}
        return with_numbering(data, {piece: numbers[at] for piece, at in self._numbering.items() if at in numbers})


def _written(texts: Sequence[str], scores: npt.NDArray[Any], types: npt.NDArray[Any]) -> bytes:
    column = TextColumn.from_strings(texts)
    numbers = scores.astype(np.float32), types.astype(np.uint8)
    return write_sentencepiece_pieces(column.data, column.offsets, *numbers)
