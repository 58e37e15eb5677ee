"""Reads and writes Hugging Face's ``tokenizer.json`` for byte-level BPE."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe.pretokenization import Pretokenization, byte_level
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary, build_vocabulary
from nmt_prep.subwords.tokenizer_json import (
    FLAGS,
    list_at,
    object_at,
    read_added,
    read_ids,
    read_merge,
    steps_of,
    type_of,
    unsupported,
)


def from_tokenizer_json(content: dict[str, Any], where: str) -> ByteBPEVocabulary:
    """Returns the vocabulary of a parsed ``tokenizer.json``.

    Post-processors, padding and truncation are not part of a vocabulary.

    Raises:
        VocabularyError: it is not byte-level BPE, or has unsupported parts; the message names them.
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
    """Returns the text of the file, which gives the same ids in tokenizers.

    Raises:
        VocabularyError: the vocabulary has a pattern in tiktoken's syntax, which tokenizers may interpret differently.
    """
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
    """Returns the id from which on there are only added tokens, which tokenizers gives the same ids by itself."""
    used = {token.id for token in vocabulary.added.values()}
    used.update(number for number, token in enumerate(vocabulary.tokens) if token)
    if len(used) < len(vocabulary.tokens):
        return len(vocabulary.tokens)
    return max((number + 1 for number, token in enumerate(vocabulary.tokens) if token), default=0)


def _read_steps(content: dict[str, Any], where: str) -> Pretokenization:
    """Returns the settings of normalizer and pre-tokenizer.

    Raises:
        VocabularyError: the vocabulary is not byte-level, or a step is not supported.
    """
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
    if model.get("type", "BPE") != "BPE":
        raise unsupported(where, f"a model of type {model['type']!r}", "nmt_prep reads BPE and Unigram")
    for option in ("byte_fallback", "continuing_subword_prefix", "end_of_word_suffix", "dropout"):
        if model.get(option):
            advice = "encode with dropout=…" if option == "dropout" else "load it with the tokenizer of its dialect"
            raise unsupported(where, f"the model's {option} {model[option]!r}", advice)
