"""Files ``tokenizer.json`` of SentencePiece's kind made by hand, and the library to compare with."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tokenizers import Tokenizer

SPECIAL = ("<unk>", "<s>", "</s>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
TO_METASPACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
COLLAPSE = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
STRIP_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}


def metaspace(scheme: str = "always", *, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


def sequence(*steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(steps)}


def in_words(scheme: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, scheme]}


def charsmap(rules: Mapping[str, str]) -> bytes:
    """Returns a table in the format of SentencePiece: a double array with a block of units for each node."""
    trie: dict[int, Any] = {}
    replacements = b""
    for left, right in rules.items():
        node = trie
        for byte in left.encode(errors="surrogateescape"):
            node = node.setdefault(byte, {})
        node[0] = len(replacements)
        replacements += right.encode() + b"\0"
    unused = 1 << 31
    units = [0] + [unused] * 255
    nodes = [(0, trie)]
    while nodes:
        place, node = nodes.pop()
        base = len(units)
        units += [unused] * 256
        for byte, child in node.items():
            if byte == 0:
                units[base] = 1 << 31 | child
            else:
                units[base | byte] = byte
                nodes.append((base | byte, child))
        units[place] |= (place ^ base) << 10 | (1 << 8 if 0 in node else 0)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + replacements


def precompiled(table: bytes) -> dict[str, Any]:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


def added(tokens: Iterable[tuple[str, int]], **flags: bool) -> list[dict[str, Any]]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": number, "content": name, **usual, **flags} for name, number in tokens]


def content(
    model: dict[str, Any],
    normalizer: dict[str, Any] | None = None,
    pre_tokenizer: dict[str, Any] | None = None,
    *,
    tokens: Sequence[dict[str, Any]] = (),
    decoder: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "added_tokens": list(tokens),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": decoder,
        "model": model,
    }


def unigram(pieces: Mapping[str, float], *, byte_fallback: bool = False) -> dict[str, Any]:
    """Returns a model with the special tokens first."""
    vocab = [[name, 0.0] for name in SPECIAL] + [[name, 0.0] for name in BYTES if byte_fallback]
    vocab += [[piece, score] for piece, score in pieces.items()]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": byte_fallback}


def bpe(
    pieces: Sequence[str], merges: Sequence[tuple[str, str]], *, byte_fallback: bool = False, fuse_unk: bool = True
) -> dict[str, Any]:
    """Returns a model with the special tokens first, and the pieces that the merges produce last."""
    names = [*SPECIAL, *(BYTES if byte_fallback else ()), *pieces, *(left + right for left, right in merges)]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": fuse_unk,
        "byte_fallback": byte_fallback,
        "ignore_merges": False,
        "vocab": {name: number for number, name in enumerate(dict.fromkeys(names))},
        "merges": [list(merge) for merge in merges],
    }


def special_tokens(model: dict[str, Any]) -> list[dict[str, Any]]:
    names = list(model["vocab"]) if model["type"] == "BPE" else [name for name, _ in model["vocab"]]
    return added((name, names.index(name)) for name in SPECIAL)


def data(parts: dict[str, Any]) -> bytes:
    return json.dumps(parts, ensure_ascii=False).encode()


def library(parts: dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_str(json.dumps(parts))


def library_ids(parts: dict[str, Any], lines: Sequence[str]) -> list[list[int]]:
    return [encoding.ids for encoding in library(parts).encode_batch(lines, add_special_tokens=False)]
