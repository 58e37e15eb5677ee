"""Reads Hugging Face's ``tokenizer.json``: the parts that all dialects share."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.base.runtime import needed_extra
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.tokenizer import read_vocabulary

SPACE = "▁"  # The character that stands for a space in SentencePiece's pieces, and in the files made from them
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")  # The flags of an added token

USUAL_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|padding|>"),
    "eos": ("<EOS>", "</s>", "<eos>", "[EOS]", "<|endoftext|>"),
    "bos": ("<BOS>", "<s>", "<bos>", "[BOS]"),
}
"""Names that special tokens usually have, most likely first."""


def usual_name(role: str, names: Collection[str]) -> str | None:
    """Returns the special token that is usual for a role, or None if the vocabulary has no such token."""
    return next((name for name in USUAL_NAMES[role] if name in names), None)


SURROGATE = re.compile("[\ud800-\udfff]")  # A lone surrogate, which UTF-8 cannot represent

_Name = TypeVar("_Name", bound=str | bytes)
_Result = TypeVar("_Result")

_EXACT = 16  # Characters of a number that is read exactly in any way
_DEEPEST = 100  # Maximum nesting depth in a file; deeper nesting could end recursive functions


def parse_json(where: str | Path, data: bytes) -> dict[str, Any]:
    """Returns the object that a JSON file contains; messages name the file ``where``."""
    try:
        parsed = json.loads(text_of(where, data), parse_float=_read_float)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{where} is not valid JSON ({error}); fetch the file again") from error
    if not isinstance(parsed, dict):
        raise VocabularyError(f"{where} is JSON, but not an object; check that this is the vocabulary")
    level: list[Any] = [parsed]
    for _ in range(_DEEPEST):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [child for children in parts for child in children if isinstance(child, dict | list)]
        if not level:
            return parsed
    raise VocabularyError(f"{where} is JSON of more than {_DEEPEST} levels; check that this is the vocabulary")


def _read_float(text: str) -> float:
    """Returns a number as tokenizers reads it: its last bit, which decides between equal sums of scores, may differ."""
    if len(text) <= _EXACT and "e" not in text.lower():
        return float(text)
    number, _, exponent = text.lower().partition("e")
    whole, _, fraction = number.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    kept = next(part for part in (digits[:20], digits[:19]) if int(part or 0) < 1 << 64)
    power = int(exponent or 0) - len(fraction) + len(digits) - len(kept)
    value = float(int(kept or 0))
    return math.copysign(value * float(f"1e{power}") if power >= 0 else value / float(f"1e{-power}"), float(text))


def text_of(where: str | Path, data: bytes) -> str:
    """Returns a file's text; messages name the file ``where``."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise VocabularyError(
            f"{where}: byte {error.start} is not UTF-8; fetch the file again, and unpack it if it is compressed"
        ) from error


def steps_of(part: object) -> list[Any]:
    """Returns the steps of a normalizer, pre-tokenizer or decoder, with nested sequences flattened."""
    if isinstance(part, dict) and part.get("type") == "Sequence":
        steps = next((part[key] for key in ("pretokenizers", "normalizers", "decoders") if key in part), None)
        return [step for nested in (steps if isinstance(steps, list) else [steps]) for step in steps_of(nested)]
    return [] if part is None else [part]


def type_of(step: object) -> str:
    """Returns a step's type, for comparisons and messages."""
    return str(step.get("type")) if isinstance(step, dict) else repr(step)


def is_of_sentencepiece(path: Path) -> bool:
    """Returns True if a JSON file is a ``tokenizer.json`` made from a SentencePiece model.

    Such files have unigram models, or BPE models of characters in which ``▁`` stands for a space. Returns False for a
    file that cannot be read.
    """
    try:
        stat = path.stat()
        return _is_of_sentencepiece(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, VocabularyError):
        return False


@functools.lru_cache(maxsize=4)
def _is_of_sentencepiece(path: Path, _mtime: int, _size: int) -> bool:
    content = parse_json(path, read_vocabulary(path))
    model = content.get("model")
    if not isinstance(model, dict):
        return False
    kind = model_type(model)
    if kind == "Unigram":
        return True
    steps = [*steps_of(content.get("normalizer")), *steps_of(content.get("pre_tokenizer"))]
    types = {type_of(step) for step in steps}
    if kind != "BPE" or "ByteLevel" in types:
        return False
    spaces = (SPACE, " ")
    return (
        bool(model.get("byte_fallback"))
        or "Metaspace" in types
        or any(step.get("content") in spaces or step.get("prepend") in spaces for step in steps if type(step) is dict)
    )


def model_type(model: Mapping[str, Any]) -> str:
    """Returns a model's type. Files of tokenizers before 0.9 lack it, and their models differ by their parts."""
    if (given := model.get("type")) is not None:
        return str(given)
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    if "merges" in model or "unk_token" not in model:
        return "BPE"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def unsupported(where: str, what: str, advice: str) -> VocabularyError:
    """Returns the error for an unsupported part of a file."""
    return VocabularyError(f"{where}: {what} is not supported: {advice}")


def object_at(value: object, key: str, where: str) -> dict[str, Any]:
    """Returns the value of ``key`` if it is an object."""
    if not isinstance(value, dict):
        raise VocabularyError(f"{where}: {key} is missing or not an object; check that this is a whole tokenizer.json")
    return value


def list_at(value: object, key: str, where: str) -> list[Any]:
    """Returns the value of ``key`` if it is a list."""
    if not isinstance(value, list):
        raise VocabularyError(f"{where}: {key} is missing or not a list; check that this is a whole tokenizer.json")
    return value


def read_ids(vocab: object, where: str) -> dict[str, int]:
    """Returns each token's ID in a BPE model."""
    ids = object_at(vocab, "model.vocab", where)
    for token, value in ids.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise VocabularyError(f"{where}: token {token!r} has the ID {value!r}, not a number; fetch the file again")
    return ids


def read_added(entries: object, ids: Mapping[str, int], where: str) -> dict[str, AddedToken]:
    """Returns the added tokens by name."""
    added: dict[str, AddedToken] = {}
    for listed in list_at(entries or [], "added_tokens", where):
        entry = listed if isinstance(listed, dict) else {}
        name, number = entry.get("content"), entry.get("id")
        flags = {flag: entry.get(flag, flag == "special") for flag in FLAGS}
        if (
            not isinstance(name, str)
            or not name
            or SURROGATE.search(name)
            or not isinstance(number, int)
            or isinstance(number, bool)
            or ids.get(name, number) != number
            or not all(isinstance(flag, bool) for flag in flags.values())
        ):
            raise VocabularyError(
                f"{where}: the added token {listed!r} needs a content, the same ID as in the vocabulary, and flags "
                "that are true or false; fetch the file again"
            )
        if name in added:
            raise VocabularyError(f"{where}: the added token {name!r} is given twice; fetch the file again")
        added[name] = AddedToken(number, **flags)
    _check_numbering(added, ids, where)
    return added


def _check_numbering(added: Mapping[str, AddedToken], ids: Mapping[str, int], where: str) -> None:
    """Checks the IDs of added tokens that are not in the model's vocabulary.

    ``tokenizers`` ignores these IDs, and assigns the next free ones in order.
    """
    largest = -1
    for name, token in added.items():
        given = ids.get(name, max(largest + 1, len(ids)))
        if token.id != given:
            raise VocabularyError(
                f"{where}: the added token {name!r} has the ID {token.id}, but tokenizers would assign {given}, the "
                "next free ID: add it to model.vocab with its ID, or change its ID"
            )
        largest = max(largest, given)


def names_by_id(ids: Mapping[_Name, int], where: str, most: int) -> list[_Name | str]:
    """Returns each ID's name; "" for unused IDs."""
    largest = max(ids.values(), default=-1)
    if not 0 <= largest < min(2 * len(ids) + 1024, most) or min(ids.values()) < 0:
        raise VocabularyError(
            f"{where}: {len(ids)} pieces with IDs up to {largest}: IDs must be 0 or more, without large gaps, and "
            f"less than {most}; check that the file is complete"
        )
    names: list[_Name | str] = [""] * (largest + 1)
    taken = set[int]()
    for name, number in ids.items():
        if number in taken:
            raise VocabularyError(f"{where}: {names[number]!r} and {name!r} both have ID {number}; give each its own")
        taken.add(number)
        names[number] = name
    return names


def read_merge(merge: object, where: str) -> tuple[str, str]:
    """Returns the two tokens that a merge joins."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
        raise VocabularyError(f"{where}: a merge joins two tokens, found {merge!r}; fetch the file again")
    return parts[0], parts[1]


def without_panic(library: str, call: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
    """Returns the result of a library that is written in Rust."""
    try:
        return call(*arguments, **named)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # not a subclass of Exception
            raise
        raise EncodeError(
            f"{library} cannot match its pattern to a line: {error}; correct the pattern, or split long lines"
        ) from error


def run_by_tokenizers(normalizer: str | None, pre_tokenizer: str | None, what: str, where: str = "") -> Any:
    """Returns a tokenizer of the ``tokenizers`` library, for steps that the native core does not implement.

    Args:
        normalizer: the file's normalizer, as JSON; None if there is none.
        pre_tokenizer: its pre-tokenizer, as JSON; None if there is none.
    """
    library = needed_extra("tokenizers", "tokenizers", what, VocabularyError)
    steps = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer}
    content: dict[str, object] = {
        "version": "1.0",
        "added_tokens": [],
        **{name: None if step is None else json.loads(step) for name, step in steps.items()},
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    try:
        return library.Tokenizer.from_str(json.dumps(content))
    except BaseException as error:  # tokenizers raises nothing more specific, and a panic is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        parts = " and ".join(f"{name} {step}" for name, step in steps.items() if step is not None)
        place = f"{where}: " if where else ""
        raise VocabularyError(f"{place}tokenizers does not accept {parts}: {error}; correct it") from error
