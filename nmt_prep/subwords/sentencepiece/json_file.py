"""Reads a ``tokenizer.json`` whose pieces come from a SentencePiece model: a unigram model, or BPE of characters.

The native core runs the normalizer steps ``Strip``, ``Precompiled``, ``Strip`` and the steps for spaces, in this order.
If a normalizer has other steps, ``tokenizers`` runs all steps up to the last of the others.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import TokenizersRules

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.sentencepiece.model_file import MOST_PIECES, PieceType
from nmt_prep.subwords.tokenizer_json import (
    SPACE,
    SURROGATE,
    list_at,
    model_type,
    names_by_id,
    object_at,
    read_added,
    read_ids,
    read_merge,
    steps_of,
    type_of,
    unsupported,
)

_SPACES = ({"String": " "}, {"Regex": " "})
_LIMITED = "nmt_prep supports Metaspace, WhitespaceSplit before it, or a normalizer that replaces spaces by ▁"


class Prefix(IntEnum):
    """When to put a ``▁`` before a text: never, if it does not begin with one, or always. Values as in the core."""

    NONE = 0
    MISSING = 1
    ALWAYS = 2


@dataclass(slots=True)
class Steps:
    """Rules for text before it reaches the model."""

    library: str | None = None  # normalizer that `tokenizers` runs first, as JSON; None if the core runs all steps
    normalized: bool = False  # True if the file has a normalizer
    charsmap: bytes = b""  # compiled character rules; empty for none
    # True to strip the left and the right end before the character rules
    strip_first: tuple[bool, bool] = (False, False)
    strip: tuple[bool, bool] = (False, False)  # True to strip the left and the right end after them
    collapse: bool = False  # True to replace several spaces by one
    words: bool = False  # True to split at white space
    escaped: bool = False  # True if `▁` stands for a space
    split: bool = False  # True to split before each `▁`
    prefix: Prefix = Prefix.NONE  # when to put a `▁` before a text
    prefix_first_only: bool = False  # True to do so only at the beginning of a line
    left: list[Any] = field(default_factory=list)  # steps of the normalizer that are not yet mapped to a rule

    def rules(self, *, fuse_unknown: bool) -> TokenizersRules:
        """Returns the rules for the core."""
        return TokenizersRules(
            charsmap=self.charsmap,
            strip_left_first=self.strip_first[0],
            strip_right_first=self.strip_first[1],
            strip_left=self.strip[0],
            strip_right=self.strip[1],
            collapse_spaces=self.collapse,
            split_white_space=self.words,
            prefix=int(self.prefix),
            prefix_first_only=self.prefix_first_only,
            split_escaped=self.split,
            fuse_unknown=fuse_unknown,
        )


def read_steps(normalizer: object, pre_tokenizer: object, where: str) -> Steps:
    """Returns the rules of the two parts."""
    steps = Steps(left=steps_of(normalizer))
    steps.normalized = bool(steps.left)
    splits = steps_of(pre_tokenizer)
    types = [type_of(step) for step in splits]
    metaspace = types.index("Metaspace") if "Metaspace" in types else len(splits)
    if metaspace < len(splits):
        _read_metaspace(steps, splits[metaspace], where)
        if types[:metaspace] == ["WhitespaceSplit"]:
            _read_words(steps, where)
        elif metaspace > 0:
            raise _refused(where, splits[0])
        if len(splits) > metaspace + 1:
            raise _refused(where, splits[metaspace + 1])
    _take_spaces(steps)
    if metaspace == len(splits):
        for step in splits:
            if not (steps.escaped and _splits_at_spaces(step)):
                raise _refused(where, step)
        if not steps.escaped:
            raise unsupported(where, "a pre_tokenizer of null", _LIMITED)
    _take_rules(steps, where)
    if steps.prefix_first_only and (steps.left or (steps.charsmap and steps.strip[0])):
        what = f"pre_tokenizer.Metaspace with prepend_scheme first after normalizer.{type_of(steps_of(normalizer)[0])}"
        raise unsupported(where, what, "where a line begins is not known then; set prepend_scheme to always")
    if steps.left:
        steps.library = json.dumps({"type": "Sequence", "normalizers": steps.left}, ensure_ascii=False)
    steps.left = []
    return steps


def _refused(where: str, step: object) -> Exception:
    return unsupported(where, f"pre_tokenizer.{type_of(step)}", _LIMITED)


def _read_metaspace(steps: Steps, step: dict[str, Any], where: str) -> None:
    scheme, split = step.get("prepend_scheme", "always"), step.get("split")
    replacement, prefixed = step.get("replacement"), step.get("add_prefix_space")
    if replacement != SPACE:
        raise unsupported(where, f"pre_tokenizer.Metaspace with the replacement {replacement!r}", f"it must be {SPACE}")
    if scheme not in ("always", "first", "never") or (prefixed is False and scheme != "never"):
        raise unsupported(
            where,
            f"pre_tokenizer.Metaspace with prepend_scheme {scheme!r} and add_prefix_space {prefixed!r}",
            "tokenizers rejects it too; correct the file",
        )
    steps.escaped = True
    steps.split = split is None or bool(split)
    steps.prefix = Prefix.NONE if scheme == "never" else Prefix.MISSING
    steps.prefix_first_only = scheme == "first"


def _read_words(steps: Steps, where: str) -> None:
    if steps.prefix is Prefix.NONE or steps.prefix_first_only or not steps.split:
        what = "pre_tokenizer.WhitespaceSplit before a Metaspace that does not begin every word"
        raise unsupported(where, what, "set prepend_scheme to always and split to true if each word begins with ▁")
    steps.words = True


def _splits_at_spaces(step: object) -> bool:
    """Returns True for a step that splits at spaces; it has no effect on escaped text."""
    return isinstance(step, dict) and step.get("type") == "Split" and step.get("pattern") in _SPACES


def _take_spaces(steps: Steps) -> None:
    """Maps the last steps of the normalizer: those for spaces, which the core runs after the character rules."""
    prepended = False
    while steps.left and not steps.words:
        match steps.left[-1]:
            case {"type": "Replace", "pattern": {"String": " "} | {"Regex": " "}, "content": "▁"}:
                steps.escaped = True
            case {"type": "Prepend", "prepend": "▁" | " " as prepend} if not prepended and (
                prepend == SPACE or steps.escaped
            ):
                steps.prefix, steps.prefix_first_only, prepended = Prefix.ALWAYS, False, True
            case _:
                break
        steps.left.pop()
    match steps.left[-1:]:
        case [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " " | "▁" as content}] if steps.escaped:
            if content == " " or not steps.words:
                steps.collapse = True
                steps.left.pop()


def _take_rules(steps: Steps, where: str) -> None:
    """Maps the steps before those for spaces: stripping, and the character rules."""
    steps.strip = _take_strip(steps)
    match steps.left[-1:]:
        case [{"type": "Precompiled", "precompiled_charsmap": str(charsmap)}]:
            try:
                steps.charsmap = base64.b64decode(charsmap, validate=True)
            except ValueError as error:
                what = "normalizer.Precompiled with a damaged precompiled_charsmap"
                raise unsupported(where, what, "fetch the file again") from error
            steps.left.pop()
            if steps.charsmap:
                steps.strip_first = _take_strip(steps)


def _take_strip(steps: Steps) -> tuple[bool, bool]:
    match steps.left[-1:]:
        case [{"type": "Strip", "strip_left": bool(left), "strip_right": bool(right)}]:
            steps.left.pop()
            return left, right
    return False, False


_LONGEST_PIECE = 8000  # bytes, as in the sentencepiece library


@dataclass(frozen=True, slots=True)
class JsonFile:
    """Content of a file."""

    kind: str  # `unigram` or `bpe`
    pieces: tuple[str, ...]  # the text of each ID; empty for IDs without a piece
    types: tuple[PieceType, ...]  # the type of each piece
    scores: npt.NDArray[np.float64]  # unigram models: each piece's score in the model; float64, shape `[n]`
    merges: npt.NDArray[np.int32]  # BPE models: left, right and merged ID of each merge; int32, shape `[merges, 3]`
    unk_id: int | None  # ID of unknown text; None if all text has bytes
    byte_fallback: bool  # True if text without a piece becomes bytes
    fuse_unknown: bool  # True if consecutive unknown characters become one piece
    steps: Steps  # rules for text before it reaches the model
    added: Mapping[str, AddedToken]  # the added tokens by name
    strips_first_space: bool  # True if decoding drops a space at the beginning


def read_json_file(content: dict[str, Any], where: str) -> JsonFile:
    """Returns the content of a parsed ``tokenizer.json``, without post-processor, padding and truncation."""
    model = object_at(content.get("model"), "model", where)
    kind = model_type(model)
    if kind not in ("BPE", "Unigram"):
        raise unsupported(where, f"a model of type {kind!r}", "nmt_prep reads BPE and Unigram")
    steps = read_steps(content.get("normalizer"), content.get("pre_tokenizer"), where)
    scores: dict[str, float] = {}
    if kind == "Unigram":
        ids, scores = _unigram_pieces(model, where)
    else:
        _check_bpe(model, where)
        ids = read_ids(model.get("vocab"), where)
    added = _added(content, ids, steps, where)
    unknown = _unknown(model, kind, ids, where)
    pieces, types = _typed(ids, added, unknown, bool(model.get("byte_fallback")), where)
    return JsonFile(
        kind="unigram" if kind == "Unigram" else "bpe",
        pieces=pieces,
        types=types,
        scores=np.array(list(scores.values()), np.float64),
        merges=_merges(model, ids, types, where) if kind == "BPE" else np.zeros((0, 3), np.int32),
        unk_id=unknown,
        byte_fallback=bool(model.get("byte_fallback")),
        fuse_unknown=kind == "Unigram" or bool(model.get("fuse_unk")),
        steps=steps,
        added=added,
        strips_first_space=_strips_first_space(content.get("decoder")),
    )


def _unigram_pieces(model: dict[str, Any], where: str) -> tuple[dict[str, int], dict[str, float]]:
    """Returns the IDs and the scores of the pieces, both in ID order."""
    ids: dict[str, int] = {}
    scores: dict[str, float] = {}
    for number, entry in enumerate(list_at(model.get("vocab"), "model.vocab", where)):
        match entry:
            case [str(piece), float() | int() as score] if math.isfinite(score) and not isinstance(score, bool):
                if piece in ids:
                    raise VocabularyError(f"{where}: model.vocab has the piece {piece!r} twice; give it one ID")
                ids[piece], scores[piece] = number, float(score)
            case _:
                raise VocabularyError(
                    f"{where}: model.vocab needs a piece and a finite score, found {entry!r}; fetch the file again"
                )
    return ids, scores


def _check_bpe(model: dict[str, Any], where: str) -> None:
    for option in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges", "dropout"):
        if model.get(option):
            advice = "encode with dropout=…" if option == "dropout" else "nmt_prep reads such files without it only"
            raise unsupported(where, f"model.{option} {model[option]!r}", advice)


def _added(content: dict[str, Any], ids: Mapping[str, int], steps: Steps, where: str) -> dict[str, AddedToken]:
    """Returns the added tokens, all of which are searched in the unchanged text."""
    added = read_added(content.get("added_tokens"), ids, where)
    for name, token in added.items():
        if token.normalized and not token.special and steps.normalized:
            raise unsupported(
                where, f"the added token {name!r}, which is searched in normalized text,", "set normalized to false"
            )
    return {name: replace(token, normalized=False) for name, token in added.items()}


def _unknown(model: dict[str, Any], kind: str, ids: Mapping[str, int], where: str) -> int | None:
    """Returns the ID of unknown text."""
    if kind == "Unigram":
        unknown = model.get("unk_id")
        if not isinstance(unknown, int) or isinstance(unknown, bool) or not 0 <= unknown < len(ids):
            raise VocabularyError(f"{where}: model.unk_id is {unknown!r}; it must be the ID of a piece")
        return unknown
    token: object = model.get("unk_token")
    if token is None:
        if not model.get("byte_fallback"):
            raise unsupported(where, "model.unk_token null", "tokenizers drops text without a piece; name a piece")
        return None
    if not isinstance(token, str) or token not in ids:
        raise VocabularyError(f"{where}: model.unk_token {token!r} is not in model.vocab; fetch the file again")
    return ids[token]


def _typed(
    ids: Mapping[str, int], added: Mapping[str, AddedToken], unknown: int | None, byte_fallback: bool, where: str
) -> tuple[tuple[str, ...], tuple[PieceType, ...]]:
    """Returns the piece texts and types in ID order."""
    numbers = {**{name: token.id for name, token in added.items()}, **ids}
    pieces = names_by_id(numbers, where, MOST_PIECES)
    types = [PieceType.UNUSED] * len(pieces)
    for name, number in numbers.items():
        if SURROGATE.search(name) or len(name.encode()) >= _LONGEST_PIECE:
            raise VocabularyError(f"{where}: the piece {name[:40]!r} is not UTF-8, or too long; fetch the file again")
        special = name in added and added[name].special
        types[number] = PieceType.CONTROL if special else PieceType.NORMAL if name and name in ids else PieceType.UNUSED
    if unknown is not None:
        types[unknown] = PieceType.UNKNOWN
    if byte_fallback:
        for byte in range(256):
            number = ids.get(f"<0x{byte:02X}>", -1)
            if number < 0:
                raise unsupported(where, "model.byte_fallback", f"model.vocab has no piece <0x{byte:02X}>")
            types[number] = PieceType.BYTE
    return tuple(pieces), tuple(types)


def _merges(
    model: dict[str, Any], ids: Mapping[str, int], types: Sequence[PieceType], where: str
) -> npt.NDArray[np.int32]:
    rules: list[tuple[int, int, int]] = []
    for entry in list_at(model.get("merges"), "model.merges", where):
        left, right = read_merge(entry, where)
        for piece in (left, right, left + right):
            if piece not in ids:
                raise VocabularyError(
                    f"{where}: the merge of {left!r} and {right!r} needs the piece {piece!r}, which model.vocab lacks; "
                    "fetch the file again"
                )
        rules.append((ids[left], ids[right], ids[left + right]))
        if any(types[number] is PieceType.BYTE for number in rules[-1]):
            raise unsupported(where, f"a merge of bytes, {left!r} and {right!r},", "remove it from model.merges")
    last = dict.fromkeys(reversed(rules))  # of equal merges, the last one counts
    return np.array([*reversed(last)], np.int32).reshape(-1, 3)


def _strips_first_space(decoder: object) -> bool:
    for step in steps_of(decoder):
        match step:
            case {"type": "Metaspace"}:
                return bool(step.get("prepend_scheme", "always") != "never")
            case {"type": "Strip", "content": " ", "start": int(start)} if start > 0:
                return True
    return not steps_of(decoder) or type_of(decoder) not in ("Sequence", "Metaspace")
