"""Hugging Face's ``tokenizer.json``, as far as it says byte-level BPE."""

from __future__ import annotations

import json
from typing import Any

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe_vocabulary import (
    GPT2_PATTERN,
    WHOLE_LINE_PATTERN,
    ByteBPEVocabulary,
    build_vocabulary,
)


def from_tokenizer_json(content: dict[str, Any], where: str) -> ByteBPEVocabulary:
    """The vocabulary that a parsed ``tokenizer.json`` describes.

    All added tokens count as special tokens. Post-processors, padding and truncation are not part of a vocabulary.

    Raises:
        VocabularyError: it is not byte-level BPE, or has parts that are not supported; the message names them.
    """
    model = _object(content.get("model"), "model", where)
    _check_model(model, where)
    if content.get("normalizer") is not None:
        raise _unsupported(where, f"the normalizer {_type_of(content['normalizer'])}", "normalise the text beforehand")
    pattern, add_prefix_space = _read_pre_tokenizer(content.get("pre_tokenizer"), where)

    ids = _object(model.get("vocab"), "model.vocab", where)
    for token, value in ids.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise VocabularyError(f"{where}: token {token!r} has the id {value!r}, not a number; fetch the file again")
    specials: dict[str, int] = {}
    for added in _list(content.get("added_tokens") or [], "added_tokens", where):
        entry = added if isinstance(added, dict) else {}
        name, number = entry.get("content"), entry.get("id")
        if not isinstance(name, str) or not name or not isinstance(number, int) or ids.get(name, number) != number:
            raise VocabularyError(
                f"{where}: the added token {added!r} needs a content and the id that the vocabulary has for it; "
                "fetch the file again"
            )
        specials[name] = number
    return build_vocabulary(
        ids,
        [_read_merge(merge, where) for merge in _list(model.get("merges"), "model.merges", where)],
        specials,
        where,
        pattern=pattern,
        add_prefix_space=add_prefix_space,
        whole_words=bool(model.get("ignore_merges")),
    )


def to_tokenizer_json(vocabulary: ByteBPEVocabulary) -> str:
    """The text of the file; tokenizers reads it and gives the same ids."""
    pieces = vocabulary.pieces()
    byte_level = {"type": "ByteLevel", "add_prefix_space": vocabulary.add_prefix_space, "trim_offsets": True}
    pre_tokenizer: dict[str, object] = {**byte_level, "use_regex": True}
    if not vocabulary.native_pattern:
        split = {"type": "Split", "pattern": {"Regex": vocabulary.pattern}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, {**byte_level, "use_regex": False}]}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": name, **flags}
            for name, number in sorted(vocabulary.specials.items(), key=lambda item: item[1])
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": vocabulary.whole_words,
            "vocab": {piece: number for number, piece in enumerate(pieces) if piece},
            "merges": [f"{pieces[left]} {pieces[right]}" for left, right, _ in vocabulary.merges.tolist()],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _check_model(model: dict[str, Any], where: str) -> None:
    if model.get("type", "BPE") != "BPE":
        raise _unsupported(where, f"a model of type {model['type']!r}", "load it with the tokenizer of its dialect")
    for option in ("byte_fallback", "continuing_subword_prefix", "end_of_word_suffix", "dropout"):
        if model.get(option):
            advice = "encode with dropout=…" if option == "dropout" else "load it with the tokenizer of its dialect"
            raise _unsupported(where, f"the model's {option} {model[option]!r}", advice)


def _read_merge(merge: object, where: str) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
        raise VocabularyError(f"{where}: a merge joins two tokens, found {merge!r}; fetch the file again")
    return parts[0], parts[1]


def _read_pre_tokenizer(pre_tokenizer: object, where: str) -> tuple[str, bool]:
    """(pattern, add_prefix_space) of ByteLevel alone or of one Split before it."""
    parts = [pre_tokenizer]
    if isinstance(pre_tokenizer, dict) and pre_tokenizer.get("type") == "Sequence":
        parts = _list(pre_tokenizer.get("pretokenizers"), "pre_tokenizer.pretokenizers", where)
    byte_level = parts[-1] if parts else None
    if not isinstance(byte_level, dict) or byte_level.get("type") != "ByteLevel":
        raise _unsupported(where, f"the pre-tokenizer {_type_of(byte_level)}", "it must be ByteLevel, or end in it")
    use_regex = bool(byte_level.get("use_regex", True))
    add_prefix_space = bool(byte_level.get("add_prefix_space", True))
    if len(parts) == 1:
        return GPT2_PATTERN if use_regex else WHOLE_LINE_PATTERN, add_prefix_space
    split = parts[0]
    if len(parts) > 2 or not isinstance(split, dict) or split.get("type") != "Split":
        names = ", ".join(_type_of(part) for part in parts)
        raise _unsupported(where, f"the sequence of pre-tokenizers {names}", "it must be Split, ByteLevel")
    if use_regex or add_prefix_space:
        raise _unsupported(where, "use_regex or add_prefix_space of ByteLevel after a Split", "train without it")
    pattern = split.get("pattern")
    if (
        not isinstance(pattern, dict)
        or not isinstance(pattern.get("Regex"), str)
        or split.get("behavior") != "Isolated"
        or split.get("invert")
    ):
        raise _unsupported(where, f"the pre-tokenizer {split!r}", "Split needs a Regex and the behavior Isolated")
    return pattern["Regex"], False


def _type_of(part: object) -> str:
    return str(part.get("type")) if isinstance(part, dict) else repr(part)


def _unsupported(where: str, what: str, advice: str) -> VocabularyError:
    return VocabularyError(f"{where}: {what} is not supported: {advice}")


def _object(value: object, key: str, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise VocabularyError(f"{where}: {key} is missing or not an object; check that this is a whole tokenizer.json")
    return value


def _list(value: object, key: str, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise VocabularyError(f"{where}: {key} is missing or not a list; check that this is a whole tokenizer.json")
    return value
