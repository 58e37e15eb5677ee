"""Files in the formats of published byte-level BPE models, around a small vocabulary."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from tests.subwords.byte_bpe.samples import small_tokenizer

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"
CL100K_IN_JSON = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = O200K.replace(CONTRACTIONS + "?", "").replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK_V2 = [
    r"[\r\n]",
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕ]+",
    r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
    r"\s+$",
    r"[一-龥ࠀ-一가-퟿]+",
]
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
]

HAN_APART = [part.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]") for part in (UPPER, LOWER)]
KIMI_K2 = r"[\p{Han}]+|" + O200K.replace(UPPER, HAN_APART[0]).replace(LOWER, HAN_APART[1]).replace("/]*", "]*")
# In the syntax of tiktoken.
RANKS_PATTERNS = {
    "GPT-2": GPT2_PATTERN,
    "cl100k": CL100K_IN_JSON,
    "o200k": O200K,
    "Kimi K2": KIMI_K2,
    "Llama 3": LLAMA3,
    "Qwen": QWEN2,
    "Tekken": TEKKEN,
}


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False, kind: str = "Regex") -> dict[str, Any]:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(**options: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, **options}


def sequence(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


def added(content: str, number: int, **flags: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": content, **usual, **flags}


NO_REGEX = byte_level(use_regex=False)
NFC = {"type": "NFC"}
RUNS = [added(" " * length, 423 - length, normalized=True) for length in range(23, 1, -1)]
DIGITS = {"type": "Digits", "individual_digits": True}


@cache
def vocabulary() -> dict[str, Any]:
    """Returns the tokens and merges of a tokenizer.json, including its five special tokens."""
    tokens = small_tokenizer()
    pieces = tokens.pieces
    return {
        "vocab": {piece: number for number, piece in enumerate(pieces)},
        "merges": [f"{pieces[left]} {pieces[right]}" for left, right, _ in tokens.vocabulary.merges.tolist()],
    }


def without_bytes_of_no_text() -> dict[str, int]:
    """Returns a vocabulary without tokens for two bytes that never occur in UTF-8."""
    return {{"ö": "unused1", "ü": "unused2"}.get(piece, piece): i for piece, i in vocabulary()["vocab"].items()}


# For each model: pre-tokenizer, normalizer, added tokens after the vocabulary of 400, other options of the model.
MODELS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[dict[str, Any]], dict[str, Any]]] = {
    "GPT-2": (byte_level(), None, [added("<|endoftext|>", 400, normalized=True, special=True)], {}),
    "RoBERTa": (byte_level(), None, [added("<mask>", 400, lstrip=True, special=True)], {}),
    "prefix": (byte_level(add_prefix_space=True), None, [added("<x>", 400)], {}),
    "GPT-NeoX": (byte_level(), NFC, RUNS, {}),
    "CodeGen": (byte_level(), None, [*RUNS, added("\t\t", 422, normalized=True)], {}),
    "ModernBERT": (
        byte_level(use_regex=True),
        NFC,
        [added("|||IP|||", 400, normalized=True), added("  ", 401, normalized=True), added("[MASK]", 402, lstrip=True)],
        {},
    ),
    "BLOOM": (sequence(split(BLOOM), NO_REGEX), None, [], {}),
    "StarCoder": (sequence(DIGITS, byte_level(use_regex=True)), None, [added("<fim>", 400, special=True)], {}),
    "Falcon": (
        sequence(
            {"type": "Punctuation", "behavior": "Contiguous"},
            byte_level(),
            {"type": "Digits", "individual_digits": False},
            split("[0-9][0-9][0-9]"),
        ),
        None,
        [added(">>TITLE<<", 400, special=True)],
        {},
    ),
    "Llama 3": (
        sequence(split(LLAMA3), NO_REGEX),
        None,
        [added("<|bot|>", 400, special=True)],
        {"ignore_merges": True},
    ),
    "Qwen2.5": (
        sequence(split(QWEN2), byte_level(use_regex=False, trim_offsets=False)),
        NFC,
        [added("<|im_end|>", 400, special=True), added("<tool>", 401), added("</tool>", 402)],
        {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
    ),
    "DeepSeek V2": (
        sequence(*map(split, DEEPSEEK_V2), DIGITS, NO_REGEX),
        {"type": "Sequence", "normalizers": []},
        [added("ö", 400, normalized=True), added("ü", 401, normalized=True)],
        {"vocab": without_bytes_of_no_text()},
    ),
    "DeepSeek V3": (sequence(*map(split, DEEPSEEK_V3), NO_REGEX), {"type": "Sequence", "normalizers": []}, [], {}),
    "Phi-4": (
        sequence(split(LLAMA3, "Removed", invert=True), NO_REGEX),
        None,
        [added("<|im|>", 400, lstrip=True, rstrip=True)],
        {},
    ),
    "cl100k in JSON": (sequence(split(CL100K_IN_JSON), NO_REGEX), None, [], {}),
    "GPT-4o": (sequence(split(O200K, "Removed", invert=True), NO_REGEX), None, [], {"ignore_merges": True}),
    "Mistral Nemo": (sequence(split(TEKKEN), NO_REGEX), None, [added("[INST]", 400, special=True)], {}),
    "GPT-2 by Split": (sequence(split(GPT2_PATTERN), NO_REGEX), None, [], {}),
    "whole lines": (NO_REGEX, None, [], {}),
    "NFD": (byte_level(), {"type": "NFD"}, [], {}),
    "NFKC twice": (
        byte_level(),
        {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "NFKC"}]},
        [added("ﬁ", 400, normalized=True), added("½½", 401)],
        {},
    ),
    "single words": (
        byte_level(),
        None,
        [added("the", vocabulary()["vocab"]["the"], single_word=True), added("猫", 400, single_word=True)],
        {},
    ),
    "stripping": (
        byte_level(),
        NFC,
        [added("  ", 400, normalized=True), added("éß", 401, normalized=True), added("<r>", 402, rstrip=True)],
        {},
    ),
    "prefix in parts": (sequence(split("a"), byte_level(add_prefix_space=True, use_regex=False)), None, [], {}),
    "prefix, parts and GPT-2": (sequence(split("a"), byte_level(add_prefix_space=True)), None, [], {}),
    "Lowercase": (byte_level(), {"type": "Lowercase"}, [added("THE", 400, normalized=True)], {}),
    "Whitespace": (sequence({"type": "Whitespace"}, byte_level(add_prefix_space=True)), None, [], {}),
    "prefix before cuts of bytes": (sequence(byte_level(add_prefix_space=True), split("[a-c]")), None, [], {}),
    "sets and names": (sequence(split(r"[\p{L}&&[^\p{Han}]]+|(?<name>\h+)|(?i:ss)|\bx"), NO_REGEX), None, [], {}),
    "strings": (
        sequence(split(" ", "MergedWithNext", kind="String"), split("a.", kind="String"), NO_REGEX),
        None,
        [],
        {},
    ),
    **{
        f"{behavior}, {'' if invert else 'not '}inverted": (
            sequence(split(r"[ ab]|\p{Han}", behavior, invert=invert), NO_REGEX),
            None,
            [],
            {},
        )
        for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
        for invert in (False, True)
    },
}


def model_file(name: str) -> str:
    """Returns a tokenizer.json in the format of that model; merges are strings in some and pairs in others."""
    pre_tokenizer, normalizer, tokens, options = MODELS[name]
    model: dict[str, Any] = {"type": "BPE", **vocabulary(), **options}
    if len(name) % 2:
        model["merges"] = [merge.split(" ") for merge in model["merges"]]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": tokens,
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": None,
            "decoder": byte_level(use_regex=True),
            "model": model,
        }
    )
