"""Byte-level BPE files: OpenAI's encoder.json and vocab.bpe, Hugging Face's tokenizer.json, tiktoken's ranks."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from _nmt_prep_core import ByteBPEModel, byte_bpe_rank_merges

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenization, byte_level, bytes_of, spelled
from nmt_prep.subwords.byte_bpe.ranks import TIKTOKEN_ENCODINGS, published_encoding
from nmt_prep.subwords.byte_bpe.vocabulary import MAX_TOKENS, ByteBPEVocabulary, build_vocabulary
from nmt_prep.subwords.tokenizer import read_vocabulary
from nmt_prep.subwords.tokenizer_json import (
    FLAGS,
    list_at,
    model_type,
    names_by_id,
    object_at,
    parse_json,
    read_added,
    read_ids,
    read_merge,
    steps_of,
    text_of,
    type_of,
    unsupported,
)

Format: TypeAlias = Literal["tokenizer.json", "openai", "tiktoken"]

_TOKENIZER_JSON = "tokenizer.json"
OPENAI_NAMES = (("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt"))
"""Usual names of OpenAI's two files: the tokens with their IDs, and the merges."""


def load_vocabulary(
    path: Path,
    pattern: str | None = None,
    specials: Mapping[str, int] | None = None,
    merges: Path | None = None,
) -> ByteBPEVocabulary:
    """Reads a vocabulary in any of the formats.

    Args:
        merges: OpenAI's file of merges; None for the file beside ``path`` with the usual name.
    """
    path = _file_in(path)
    for pair in OPENAI_NAMES:
        if path.name in pair:
            vocabulary, beside = (path.with_name(name) for name in pair)
            return _from_openai(vocabulary, merges or beside, pattern or GPT2_PATTERN, specials or {})
    data = read_vocabulary(path)
    if data.lstrip()[:1] == b"{":
        if pattern is not None or specials is not None:
            raise VocabularyError(f"{path} defines its own pattern and special tokens; omit pattern= and specials=")
        return from_tokenizer_json(parse_json(path, data), str(path))
    return _from_ranks(path, data, pattern, specials)


def save_vocabulary(vocabulary: ByteBPEVocabulary, path: Path, file_format: Format) -> None:
    """Writes a vocabulary file; for "openai", ``path`` is the directory of the two files."""
    if file_format == "tokenizer.json":
        _write(path, to_tokenizer_json(vocabulary))
    elif file_format == "openai":
        reason = None if vocabulary.pretokenization.gpt2 else "pretokens follow a pattern that is not GPT-2's"
        _refuse_to_save(path, "OpenAI's files", reason or _not_before(vocabulary) or _not_by_merges(vocabulary))
        pieces = vocabulary.pieces()
        ids = {piece: number for number, piece in enumerate(pieces) if piece}
        lines = ["#version: 0.2", *(f"{pieces[left]} {pieces[right]}" for left, right, _ in vocabulary.merges.tolist())]
        encoder, merges = OPENAI_NAMES[0]
        _write(path / encoder, json.dumps(ids, ensure_ascii=False))
        _write(path / merges, "\n".join(lines) + "\n")
    elif file_format == "tiktoken":
        _refuse_to_save(path, "tiktoken's ranks", _not_by_ranks(vocabulary))
        ranks = [
            f"{base64.b64encode(token).decode()} {number}\n" for number, token in enumerate(vocabulary.tokens) if token
        ]
        _write(path, "".join(ranks))
    else:
        raise ValueError(f"format {file_format!r}: it must be one of {', '.join(get_args(Format))}")


def _file_in(path: Path) -> Path:
    if not path.is_dir():
        return path
    names = (_TOKENIZER_JSON, *(pair[0] for pair in OPENAI_NAMES))
    for name in names:
        if (path / name).exists():
            return path / name
    raise VocabularyError(f"the directory {path} holds none of {', '.join(names)}; name the vocabulary file itself")


def _whole_lines(path: Path, text: str) -> list[str]:
    if not text.endswith("\n"):
        raise VocabularyError(f"{path}: the last line has no line end, so the file is truncated; fetch it again")
    return text.removesuffix("\n").split("\n")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as beside:
        beside.write_bytes(text.encode("utf-8"))


def _from_openai(encoder: Path, merges: Path, pattern: str, named: Mapping[str, int]) -> ByteBPEVocabulary:
    """Reads OpenAI's files. Tokens of several bytes that no merge produces are special (``<|endoftext|>``)."""
    ids = read_ids(parse_json(encoder, read_vocabulary(encoder)), str(encoder))
    pairs: list[tuple[str, str]] = []
    lines = _whole_lines(merges, text_of(merges, read_vocabulary(merges)))
    for number, line in enumerate(lines, 1):
        if number == 1 and line.startswith("#version"):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise VocabularyError(
                f"{merges}, line {number}: expected two tokens separated by a space, found {line[:40]!r}; "
                "fetch the file again"
            )
        pairs.append((parts[0], parts[1]))
    made = {left + right for left, right in pairs}
    specials = {name: number for name, number in ids.items() if len(name) > 1 and name not in made}
    known = made | (ids.keys() - specials.keys())
    for name in specials:
        if any(name[:at] in known and name[at:] in known for at in range(1, len(name))):
            raise VocabularyError(
                f"{merges}: no merge produces {name!r}, although both its halves are tokens: the file is truncated; "
                "fetch it again"
            )
    how = Pretokenization.by_pattern(pattern)
    return build_vocabulary(ids, pairs, _specials({**specials, **named}), f"{encoder} and {merges.name}", how)


def _specials(ids: Mapping[str, int]) -> dict[str, AddedToken]:
    return {name: AddedToken(number) for name, number in ids.items()}


def _read_ranks(path: Path, data: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    lines = _whole_lines(path, data.decode("latin-1"))
    for number, line in enumerate(lines, 1):
        try:
            encoded, rank = line.split()
            ranks[binascii.a2b_base64(encoded, strict_mode=True)] = int(rank)
        except ValueError as error:
            raise VocabularyError(
                f"{path}, line {number}: expected a token in base64 and its rank, found {line[:40]!r}; "
                "fetch the file again, or check that this is a byte-level BPE vocabulary"
            ) from error
    if len(ranks) != len(lines):
        raise VocabularyError(f"{path}: {len(lines)} lines have {len(ranks)} distinct tokens; list each token once")
    return ranks


def _from_ranks(path: Path, data: bytes, pattern: str | None, specials: Mapping[str, int] | None) -> ByteBPEVocabulary:
    ranks = _read_ranks(path, data)
    known = published_encoding(path.name, data)
    pattern = known.pattern if pattern is None else pattern
    if pattern is None:
        raise VocabularyError(
            f"{path} contains tiktoken's ranks, which have no pattern; load it with pattern=… (GPT2_PATTERN for "
            "GPT-2's) and specials={name: id}, or use the tokenizer.json of its model; if it has the pattern of a "
            f"published encoding, let its name end in one of {', '.join(TIKTOKEN_ENCODINGS)}"
        )
    added = _specials(known.specials_of(max(ranks.values(), default=-1) + 1) if specials is None else specials)
    for name in added:  # a special token takes the place of a token that its name spells
        ranks.pop(bytes_of(name) or b"", None)
    ids = {name: token.id for name, token in added.items()}
    tokens = [b""] * len(names_by_id({**ranks, **ids}, str(path), MAX_TOKENS))
    for token, number in ranks.items():
        tokens[number] = token
    if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
        raise VocabularyError(
            f"{path} has no rank for byte {missing[0]} and {len(missing) - 1} more; every byte needs one: "
            "fetch the file again"
        )
    merges = byte_bpe_rank_merges(tokens).reshape(-1, 3)
    return ByteBPEVocabulary(tuple(tokens), merges, added, Pretokenization.by_ranks(pattern), whole_words=True)


def _refuse_to_save(path: Path, what: str, reason: str | None) -> None:
    if reason is not None:
        raise VocabularyError(f"cannot write {path}: {what} cannot express that {reason}; use format='tokenizer.json'")


def _not_before(vocabulary: ByteBPEVocabulary) -> str | None:
    """Returns which change or division of text comes before pre-tokenization, for a message; None if there is none."""
    if vocabulary.pretokenization.add_prefix_space:
        return "a space is added before each line"
    if vocabulary.pretokenization.normalizer is not None:
        return "text is normalized"
    for name, token in vocabulary.added.items():
        if replace(token, normalized=False) != AddedToken(token.id):
            return f"the added token {name!r} is recognized in ordinary text, or depends on the text around it"
    return None


def _not_by_merges(vocabulary: ByteBPEVocabulary) -> str | None:
    made = {*vocabulary.merges[:, 2].tolist(), *vocabulary.specials.values()}
    for number, token in enumerate(vocabulary.tokens):
        if len(token) > 1 and number not in made:
            return f"{spelled(token)!r} is a token although no merge produces it"
    return None


def _follows_one_pattern(how: Pretokenization) -> bool:
    match steps_of(json.loads(how.pre_tokenizer or "null")):
        case [{"type": "Split", "pattern": {"Regex": str()}, "behavior": "Isolated", "invert": False}, last]:
            return bool(last == byte_level())
    return False


def _not_by_ranks(vocabulary: ByteBPEVocabulary) -> str | None:
    """Returns why ranks would not give the same IDs, for a message; None if ranks give the same IDs.

    Ranks imply one merge for each token. The IDs are the same if the vocabulary has these merges in the same order, and
    reaches every token by merges. Its other merges then never apply.
    """
    how = vocabulary.pretokenization
    if reason := _not_before(vocabulary):
        return reason
    if not how.gpt2 and how.ranks_pattern is None and not _follows_one_pattern(how):
        return "pretokens follow several patterns, or none"
    single = {token for token in vocabulary.tokens if len(token) == 1}
    if len(single) != 256:
        return f"{256 - len(single)} bytes have no token"
    model = ByteBPEModel(list(vocabulary.tokens), [], vocabulary.merges.ravel(), False)
    if not vocabulary.whole_words and not all(model.reachable()):
        return "some tokens are never used, because no sequence of merges produces them"
    by_rank = byte_bpe_rank_merges(list(vocabulary.tokens)).reshape(-1, 3)
    order = {tuple(rule): rank for rank, rule in enumerate(vocabulary.merges.tolist())}
    places = np.array([order.get(tuple(rule), -1) for rule in by_rank.tolist()], np.int64)
    made = len(set(vocabulary.merges[:, 2].tolist()))
    if len(places) != made or (places < 0).any() or (np.diff(places) < 0).any():
        return "the order of merges differs from the order of IDs"
    return None


def from_tokenizer_json(content: dict[str, Any], where: str) -> ByteBPEVocabulary:
    """Returns the vocabulary of a parsed ``tokenizer.json``.

    Post-processors, padding and truncation are not part of a vocabulary.
    """
    model = object_at(content.get("model"), "model", where)
    _check_model(model, where)
    how = _read_steps(content, where)
    ids = read_ids(model.get("vocab"), where)
    added = read_added(content.get("added_tokens"), ids, where)
    if how.normalizer is None and all(token.normalized for token in added.values()):
        added = {name: replace(token, normalized=False) for name, token in added.items()}  # equivalent then
    merges = [read_merge(merge, where) for merge in list_at(model.get("merges"), "model.merges", where)]
    return build_vocabulary(ids, merges, added, where, how, whole_words=bool(model.get("ignore_merges")))


def to_tokenizer_json(vocabulary: ByteBPEVocabulary) -> str:
    """Returns the file's text, which gives the same IDs in tokenizers."""
    how, pieces = vocabulary.pretokenization, vocabulary.pieces()
    if how.ranks_pattern is not None:
        raise VocabularyError(
            f"tokenizer.json cannot express the pattern {how.ranks_pattern!r}, which is in tiktoken's syntax: "
            "tokenizers may interpret it differently; use format='tiktoken', or load the tokenizer.json that its "
            "authors published"
        )
    native = byte_level(add_prefix_space=how.add_prefix_space, use_regex=how.gpt2)
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token.id, "content": name, **{flag: getattr(token, flag) for flag in FLAGS}}
            for name, token in sorted(vocabulary.added.items(), key=lambda item: item[1].id)
        ],
        "normalizer": json.loads(how.normalizer or "null"),
        "pre_tokenizer": native if how.pre_tokenizer is None else json.loads(how.pre_tokenizer),
        "post_processor": None,
        "decoder": byte_level(add_prefix_space=True, use_regex=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": vocabulary.whole_words,
            "vocab": {piece: number for number, piece in enumerate(pieces[: _numbered_by_file(vocabulary)]) if piece},
            "merges": [f"{pieces[left]} {pieces[right]}" for left, right, _ in vocabulary.merges.tolist()],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _numbered_by_file(vocabulary: ByteBPEVocabulary) -> int:
    """Returns the first ID after all other tokens: from there, tokenizers gives added tokens the same IDs by itself."""
    used = {token.id for token in vocabulary.added.values()}
    used.update(number for number, token in enumerate(vocabulary.tokens) if token)
    if len(used) < len(vocabulary.tokens):
        return len(vocabulary.tokens)
    return max((number + 1 for number, token in enumerate(vocabulary.tokens) if token), default=0)


def _read_steps(content: dict[str, Any], where: str) -> Pretokenization:
    """Returns the settings of normalizer and pre-tokenizer."""
    steps = steps_of(content.get("pre_tokenizer"))
    names = [type_of(step) for step in steps]
    listed = ", ".join(names) or "None"
    if names.count("ByteLevel") != 1:
        raise unsupported(where, f"the pre-tokenizer {listed}", "it must contain ByteLevel exactly once")
    if "Metaspace" in names[names.index("ByteLevel") :]:
        raise unsupported(where, f"the pre-tokenizer {listed}", "steps after ByteLevel may only split text")
    step = steps[names.index("ByteLevel")]
    for key in ("add_prefix_space", "use_regex"):
        if not isinstance(step.get(key, True), bool):
            raise VocabularyError(f"{where}: {key} is {step[key]!r}, not true or false; fetch the file again")
    return Pretokenization.by_steps(content.get("normalizer"), content.get("pre_tokenizer"))


def _check_model(model: dict[str, Any], where: str) -> None:
    if (kind := model_type(model)) != "BPE":
        raise unsupported(where, f"a model of type {kind!r}", "nmt_prep reads BPE and Unigram")
    for option in ("byte_fallback", "continuing_subword_prefix", "end_of_word_suffix", "dropout"):
        if model.get(option):
            advice = "encode with dropout=…" if option == "dropout" else "load it with the tokenizer of its type"
            raise unsupported(where, f"the model's {option} {model[option]!r}", advice)
