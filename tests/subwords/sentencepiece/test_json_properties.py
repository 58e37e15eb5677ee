"""Random files ``tokenizer.json`` and random text: the native core against ``tokenizers``."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.conftest import examples
from tests.subwords.sentencepiece.json_models import (
    COLLAPSE,
    SPECIAL,
    STRIP_RIGHT,
    TO_METASPACE,
    added,
    bpe,
    charsmap,
    content,
    data,
    in_words,
    library,
    library_ids,
    metaspace,
    precompiled,
    sequence,
    special_tokens,
    unigram,
)

ALPHABET = "ab▁é日𠮷"
USUAL_RULES = {"①": "1", "é": "e", "e\u0301": "é", "ﬁ": "fi", "\t": " "}
RULES = precompiled(charsmap({**USUAL_RULES, "x": "", "q": " ", "A": "a", "ab": "b", "y": "a b"}))
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
STEPS: list[tuple[dict[str, Any] | None, dict[str, Any] | None]] = [
    (None, metaspace()),
    (None, metaspace("never")),
    (None, metaspace("first")),
    (None, metaspace("first", split=False)),
    (STRIP, metaspace("first")),
    (None, in_words({"type": "Metaspace", "replacement": "▁", "add_prefix_space": True})),
    (RULES, in_words(metaspace())),
    (sequence(RULES, STRIP_RIGHT, {**COLLAPSE, "content": "▁"}), metaspace()),
    (sequence(STRIP, RULES, COLLAPSE), metaspace(split=False)),
    (sequence({"type": "Lowercase"}, RULES, COLLAPSE), metaspace()),
    (sequence({"type": "Prepend", "prepend": "▁"}, TO_METASPACE), None),
    (sequence(RULES, {"type": "Prepend", "prepend": " "}, TO_METASPACE), None),
    (TO_METASPACE, {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}),
    (sequence(RULES, TO_METASPACE), metaspace()),
]
SCORES = st.one_of(
    st.sampled_from([-0.5, -1.0, -2.0, -2.5, -3.0, 0.0, 0.25]), st.floats(-20, 0, width=32), st.floats(-20, 0)
)
TEXTS = st.lists(st.text(st.sampled_from(ALPHABET + "  xyqA①\u0301\t\u3000cﬁ"), max_size=24), max_size=6)


@st.composite
def unigram_models(draw: st.DrawFn) -> dict[str, Any]:
    spellings = draw(st.lists(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=5), unique=True, max_size=24))
    return unigram({piece: draw(SCORES) for piece in ["a", *spellings]}, byte_fallback=draw(st.booleans()))


@st.composite
def bpe_models(draw: st.DrawFn) -> dict[str, Any]:
    pieces = draw(st.lists(st.sampled_from(ALPHABET), unique=True, min_size=1))
    known, merges = list(pieces), []
    for _ in range(draw(st.integers(0, 16))):
        left, right = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        merges.append((left, right))
        known.append(left + right)
    return bpe(pieces, draw(st.permutations(merges)), byte_fallback=draw(st.booleans()), fuse_unk=draw(st.booleans()))


@settings(max_examples=examples(120))
@given(st.one_of(unigram_models(), bpe_models()), st.sampled_from(STEPS), TEXTS)
def test_native_core_and_library_agree(
    model: dict[str, Any], steps: tuple[dict[str, Any] | None, dict[str, Any] | None], lines: list[str]
) -> None:
    parts = content(model, *steps, tokens=special_tokens(model))
    tokenizer = SentencePieceTokenizer(data(parts))
    rows = tokenizer.encode_batch(lines, threads=1)
    assert rows.to_lists() == library_ids(parts, lines)
    assert tokenizer.encode_batch(lines, threads=2).to_lists() == rows.to_lists()  # now from the cache


@settings(max_examples=examples(50))
@given(bpe_models(), st.sampled_from([steps for steps in STEPS if steps[0] != STRIP]), TEXTS, st.data())
def test_added_tokens_divide_lines_as_in_the_library(
    model: dict[str, Any],
    steps: tuple[dict[str, Any] | None, dict[str, Any] | None],
    lines: list[str],
    draws: st.DataObject,
) -> None:
    number = len(model["vocab"])
    tokens = []
    for name in draws.draw(st.lists(st.sampled_from(["<x>", "cc", "c c", "x", "①①"]), unique=True)):
        flags = {flag: draws.draw(st.booleans()) for flag in ("single_word", "lstrip", "rstrip")}
        tokens += added([(name, number + len(tokens))], special=False, **flags)
    parts = content(model, *steps, tokens=[*special_tokens(model), *tokens])
    lines = [*lines, *(line.replace("b", "<x>").replace("é", "cc") for line in lines)]
    tokenizer = SentencePieceTokenizer(data(parts))
    assert tokenizer.encode_batch(lines).to_lists() == library_ids(parts, lines)


MARKS = (
    "\u0301\u0308\u0323\u200d\ufe0f\u20dd\u0e31\u093f\u094d\u0600\u06dd\u1160\u11a8\u1100가각\u3099©☺👩🇩🇪क\r\n\u00ad\0"
)


def assigned(text: str) -> str:
    """Returns a text without characters that are newer than one of the libraries, and without special tokens."""
    return "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs", "Co") and c != "<")


@settings(max_examples=examples(80))
@given(st.lists(st.text(st.one_of(st.sampled_from("aéx①ﬁ" + MARKS), st.characters()), max_size=12), max_size=8))
def test_graphemes_are_replaced_as_in_the_library(lines: list[str]) -> None:
    lines = [assigned(line) for line in lines]
    rules = charsmap({**USUAL_RULES, "a": "b", "x": "", "©": "c", "☺": "s", "\r": " ", "क": "k"})
    pieces = dict.fromkeys(dict.fromkeys("▁abekcsfi1é" + "".join(lines)), -1.0)
    parts = content(unigram(pieces), precompiled(rules), metaspace())
    assert SentencePieceTokenizer(data(parts)).encode_batch(lines).to_lists() == library_ids(parts, lines)


@settings(max_examples=examples(40))
@given(st.one_of(unigram_models(), bpe_models()), st.sampled_from(["always", "never"]), TEXTS)
def test_texts_are_decoded_as_in_the_library(model: dict[str, Any], scheme: str, lines: list[str]) -> None:
    if model["byte_fallback"]:
        strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if scheme == "always" else []
        spaces = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
        decoder = {"type": "Sequence", "decoders": [spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip]}
    else:
        decoder = metaspace(scheme)
    parts = content(model, None, metaspace(scheme), tokens=special_tokens(model), decoder=decoder)
    peer, tokenizer = library(parts), SentencePieceTokenizer(data(parts))
    rows = [row for row in tokenizer.encode_batch(lines).to_lists() if SPECIAL.index("<unk>") not in row]
    assert [tokenizer.decode(row) for row in rows] == [peer.decode(row) for row in rows]
