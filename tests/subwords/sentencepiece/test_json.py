"""Files ``tokenizer.json`` made from SentencePiece models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep import load_tokenizer
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import dialect_in
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from nmt_prep.subwords.tokenizer_json import is_of_sentencepiece, parse_json
from tests.subwords.sentencepiece.json_models import (
    COLLAPSE,
    STRIP_RIGHT,
    TO_METASPACE,
    added,
    bpe,
    charsmap,
    content,
    data,
    in_words,
    library_ids,
    metaspace,
    precompiled,
    sequence,
    special_tokens,
    unigram,
)

RULES = precompiled(charsmap({"①": "1", "ﬁ": "fi", "é": "e"}))
PIECES = {"▁": -2.0, "▁ab": -1.0, "a": -3.0, "b": -3.5, "▁a": -2.5, "1": -4.0, "▁▁": -0.1, "f": -5.0, "i": -5.0}
UNIGRAM = unigram(PIECES)  # IDs from 3 on
BPE = bpe(["▁", "a", "b"], [("▁", "a"), ("a", "b"), ("▁a", "b"), ("▁", "▁")], byte_fallback=True)
DIGITS, PUNCTUATION = {"type": "Digits"}, {"type": "Punctuation"}
LLAMA = sequence({"type": "Prepend", "prepend": "▁"}, TO_METASPACE)


def t5(**changes: Any) -> dict[str, Any]:
    normalizer = sequence(RULES, STRIP_RIGHT, {**COLLAPSE, "content": "▁"})
    parts = content(UNIGRAM, normalizer, metaspace(), tokens=special_tokens(UNIGRAM), decoder=metaspace())
    return {**parts, **changes}


def llama(**changes: Any) -> dict[str, Any]:
    return {**content(BPE, LLAMA, None, tokens=special_tokens(BPE)), **changes}


def loaded(parts: dict[str, Any]) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(data(parts))


def pieces(parts: dict[str, Any], text: str) -> list[str]:
    tokenizer = loaded(parts)
    ids = tokenizer.encode(text)
    assert [ids] == library_ids(parts, [text])
    return [tokenizer.pieces[number] for number in ids]


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "text", "expected"),
    [
        (None, metaspace(), "ab  a", ["▁ab", "▁", "▁a"]),
        (COLLAPSE, metaspace(), "ab  a", ["▁ab", "▁a"]),
        (None, metaspace(split=False), "ab  a", ["▁ab", "▁▁", "a"]),
        (None, metaspace("never"), "ab ab", ["a", "b", "▁ab"]),
        (None, metaspace(), " ab ", ["▁ab", "▁"]),
        (STRIP_RIGHT, metaspace(), " ab ", ["▁ab"]),
        (LLAMA, None, " ab", ["▁", "▁ab"]),
        (TO_METASPACE, None, "ab ab", ["a", "b", "▁ab"]),
        (None, in_words(metaspace()), "ab\u3000 a ", ["▁ab", "▁a"]),
        (RULES, metaspace(), "ab① ﬁ", ["▁ab", "1", "▁", "f", "i"]),
        (RULES, metaspace(), "a①\u0301a", ["▁a", "1", "a"]),  # the rule of the first character replaces a grapheme
        (RULES, metaspace(), "ZZ ZZ", ["▁", "<unk>", "▁", "<unk>"]),
        (sequence({"type": "Lowercase"}, COLLAPSE), metaspace(), "AB  A", ["▁ab", "▁a"]),
        (sequence({"type": "Replace", "pattern": {"String": "``"}, "content": "a"}, RULES), metaspace(), "``", ["▁a"]),
    ],
)
def test_text_is_normalized_and_split_as_in_the_library(
    normalizer: dict[str, Any] | None, pre_tokenizer: dict[str, Any] | None, text: str, expected: list[str]
) -> None:
    assert pieces(content(UNIGRAM, normalizer, pre_tokenizer, tokens=special_tokens(UNIGRAM)), text) == expected


def test_merges_apply_in_the_order_of_the_file() -> None:
    assert pieces(llama(), "ab é") == ["▁ab", "▁", "<0xC3>", "<0xA9>"]
    model = {**BPE, "merges": [["a", "b"], ["▁", "a"], ["▁a", "b"]]}
    assert pieces(llama(model=model), "ab a") == ["▁", "ab", "▁a"]


def test_scores_are_read_with_the_last_bit_of_the_library() -> None:
    model = unigram({"d": -4.529283631159078, "dd": -7.6997821729704325})
    parts = content(model, None, metaspace("never"), tokens=special_tokens(model))
    assert pieces(parts, "ddddd") == ["d", "dd", "dd"]
    numbers = {
        "1.25": 1.25,
        "-0.0000000000000000012345": -1.2345e-18,
        "12345678901234567890123.5": 1.2345678901234568e22,
    }
    assert {text: parse_json("x", f'{{"x": {text}}}'.encode())["x"] for text in numbers} == numbers
    with pytest.raises(VocabularyError, match="x is not valid JSON"):
        parse_json("x", f'{{"x": 1.5e{"9" * 5000}}}'.encode())


def test_unknown_text_is_joined_within_a_pretoken_only() -> None:
    model = unigram({"a": -1.0})
    parts = content(model, None, metaspace(), tokens=special_tokens(model))
    assert pieces(parts, "ZZ ZZa") == ["<unk>", "<unk>", "a"]
    model = bpe(["a"], [], fuse_unk=False)
    parts = content(model, None, metaspace("never"), tokens=special_tokens(model))
    assert pieces(parts, "ZZa") == ["<unk>", "<unk>", "a"]


def test_ids_roles_and_texts() -> None:
    tokenizer = loaded(t5())
    assert tokenizer.encode("ab① a") == [4, 8, 7]
    assert (tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id, tokenizer.pad_id) == (1, 2, 0, None)
    assert (tokenizer.dialect, tokenizer.model_type, tokenizer.library_reason, tokenizer.has_spm, len(tokenizer)) == (
        *("sentencepiece", "unigram", None, False),
        12,
    )
    assert tokenizer.decode([4, 8, 7, 2]) == "ab1 a"
    assert tokenizer.decode([4, 0]) == "ab<unk>"
    assert tokenizer.uncovered(["a", "Z"]) == ["Z"]


def test_special_tokens_in_text_are_text() -> None:
    tokenizer = loaded(llama())
    assert tokenizer.encode("</s>") == [259, *(3 + byte for byte in b"</s>")]
    assert tokenizer.piece_id("</s>") == 2


def test_ordinary_added_tokens_are_found_in_text() -> None:
    tokens = [*special_tokens(BPE), *added([("<x>", 266)], special=False, rstrip=True)]
    parts = llama(normalizer=None, pre_tokenizer=metaspace("first", split=False), added_tokens=tokens)
    assert pieces(parts, "a<x>  a") == ["▁a", "<x>", "a"]
    assert pieces(parts, "<x>a b<x>") == ["<x>", "a", "▁", "b", "<x>"]
    assert loaded(parts).encode_batch(["a", "<x>", "", "a<x>a"]).to_lists() == [[262], [266], [], [262, 266, 260]]
    assert loaded(parts).decode([262, 266, 260]) == "a<x>a"


def test_samples_depend_on_the_line_and_the_seed_alone() -> None:
    tokens = [*special_tokens(BPE), *added([("<x>", 266)], special=False)]
    tokenizer = loaded(llama(added_tokens=tokens))
    lines = ["abab ab", "a<x>ab", "abab ab"] * 20
    rows = tokenizer.encode_batch(lines, dropout=0.5, seed=7).to_lists()
    assert rows == tokenizer.encode_batch(lines, threads=2, dropout=0.5, seed=7).to_lists()
    assert rows[0:57:3] == tokenizer.encode_batch(["abab ab"] * 58, dropout=0.5, seed=7).to_lists()[0:57:3]
    assert len({tuple(row) for row in rows[::3]}) > 1
    tokenizer = loaded(t5())
    assert tokenizer.encode_batch(["ab"] * 9, alpha=0.1, seed=1).to_lists().count([4]) < 9


def test_places_of_pieces_are_known_where_text_is_unchanged() -> None:
    tokenizer = loaded(llama())
    lines = TextColumn.from_strings(["ab é", "a"])
    spans = tokenizer.piece_spans(lines, tokenizer.encode_batch(["ab é", "a"]))
    assert spans.known.tolist() == [True, True]
    assert spans.begins.tolist() == [0, 3, 3, 4, 0]
    assert spans.ends.tolist() == [2, 3, 4, 5, 1]
    lines = TextColumn.from_strings(["a①"])
    tokenizer = loaded(t5())
    assert tokenizer.piece_spans(lines, tokenizer.encode_batch(["a①"])).known.tolist() == [False]


@pytest.mark.parametrize(
    "parts", [t5(), llama(), llama(normalizer=None, pre_tokenizer=metaspace("first", split=False))]
)
def test_the_dialect_is_told_from_the_content(tmp_path: Path, parts: dict[str, Any]) -> None:
    path = tmp_path / "vocab"
    path.write_bytes(data(parts))
    tokenizer = load_tokenizer(path)
    assert (tokenizer.dialect, tokenizer.encode("ab")) == ("sentencepiece", loaded(parts).encode("ab"))
    assert tokenizer.fingerprint == loaded(parts).fingerprint
    tokenizer.save(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("parts", [t5(), t5(normalizer=None), llama()], ids=["T5", "XLM-R", "Llama"])
def test_a_model_without_a_type_is_recognized_by_its_parts(tmp_path: Path, parts: dict[str, Any]) -> None:
    path = tmp_path / "tokenizer.json"
    untyped = {name: value for name, value in parts["model"].items() if name != "type"}
    path.write_bytes(data({**parts, "model": untyped}))
    (tmp_path / "spiece.model").touch()
    assert load_tokenizer(path).encode("ab abf") == library_ids(parts, ["ab abf"])[0]


WORDS = {"vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}


def test_other_json_belongs_to_byte_level_bpe(tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    for text in (
        "{",
        "[]",
        "{}",
        json.dumps(content({"type": "WordPiece"})),
        json.dumps(content({**BPE, "byte_fallback": 0})),
    ):
        path.write_text(text)
        assert not is_of_sentencepiece(path)
        assert dialect_in(path).kind == "byte_bpe"
    assert not is_of_sentencepiece(tmp_path / "absent")


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (
            content({"type": "WordPiece"}),
            "a model of type 'WordPiece' is not supported: nmt_prep reads",
        ),
        (content({"type": "WordLevel"}), "a model of type 'WordLevel' is not supported"),
        (content(WORDS), "a model of type 'WordLevel' is not supported: nmt_prep reads"),
        (content({**WORDS, "max_input_chars_per_word": 100}), "a model of type 'WordPiece' is not supported: nmt_prep"),
        (content([]), "model is missing or not an object"),
        (t5(pre_tokenizer={"type": "Whitespace"}), "pre_tokenizer.Whitespace is not supported: nmt_prep supports"),
        (t5(pre_tokenizer={"type": "BertPreTokenizer"}), "pre_tokenizer.BertPreTokenizer is not supported"),
        (t5(pre_tokenizer=in_words({"type": "ByteLevel"})), "pre_tokenizer.WhitespaceSplit is not supported"),
        (
            t5(pre_tokenizer={"type": "Sequence", "pretokenizers": [metaspace(), DIGITS]}),
            "pre_tokenizer.Digits is not supported",
        ),
        (
            t5(pre_tokenizer={"type": "Sequence", "pretokenizers": [PUNCTUATION, metaspace()]}),
            "pre_tokenizer.Punctuation is not supported",
        ),
        (t5(pre_tokenizer=None), "a pre_tokenizer of null is not supported"),
        (t5(pre_tokenizer=in_words(metaspace("first"))), "before a Metaspace that does not begin every word"),
        (t5(pre_tokenizer={**metaspace(), "replacement": "_"}), "Metaspace with the replacement '_'"),
        (t5(pre_tokenizer={**metaspace(), "add_prefix_space": False}), "and add_prefix_space False is not"),
        (t5(pre_tokenizer={**metaspace(), "prepend_scheme": "last"}), "with prepend_scheme 'last'"),
        (
            t5(normalizer={"type": "NFKC"}, pre_tokenizer=metaspace("first")),
            "prepend_scheme first after normalizer.NFKC",
        ),
        (t5(normalizer={"type": "Upside"}), "tokenizers does not accept normalizer"),
        (t5(normalizer={"type": "Precompiled", "precompiled_charsmap": "*"}), "damaged precompiled_charsmap"),
        (t5(normalizer={"type": "Precompiled", "precompiled_charsmap": "é"}), "damaged precompiled_charsmap"),
        (t5(normalizer={"type": "Precompiled"}), "tokenizers does not accept normalizer"),
        (t5(normalizer=precompiled(b"abc")), "the model has a damaged normalisation table; fetch"),
        (t5(model=UNIGRAM | {"vocab": [*UNIGRAM["vocab"], ["a", -1.0]]}), "model.vocab has the piece 'a' twice"),
        (t5(model=UNIGRAM | {"vocab": [*UNIGRAM["vocab"], ["c"]]}), "needs a piece and a finite score, found"),
        (t5(model=UNIGRAM | {"unk_id": None}), "model.unk_id is None"),
        (t5(model=UNIGRAM | {"unk_id": 99}), "model.unk_id is 99"),
        (t5(model=UNIGRAM | {"byte_fallback": True}), "model.vocab has no piece <0x00>"),
        (llama(model=BPE | {"dropout": 0.1}), "model.dropout 0.1 is not supported"),
        (llama(model=BPE | {"ignore_merges": True}), "model.ignore_merges True is not"),
        (llama(model=BPE | {"end_of_word_suffix": "</w>"}), "model.end_of_word_suffix '</w>' is not supported"),
        (llama(model=BPE | {"unk_token": None, "byte_fallback": False}), "model.unk_token null is not supported"),
        (llama(model=BPE | {"unk_token": "?"}), "model.unk_token '?' is not in model.vocab"),
        (llama(model=BPE | {"merges": [*BPE["merges"], ["a", "a"]]}), "needs the piece 'aa', which"),
        (llama(model=BPE | {"vocab": BPE["vocab"] | {"c": 260}}), "'a' and 'c' both have ID 260"),
        (llama(model=BPE | {"vocab": BPE["vocab"] | {"c": 99999}}), "IDs up to 99999"),
        (
            llama(added_tokens=[*special_tokens(BPE), *added([("<x>", 266)], special=False, normalized=True)]),
            "the added token '<x>', which is searched in normalized text, is not supported",
        ),
    ],
)
def test_unsupported_and_damaged_parts_are_named(tmp_path: Path, parts: dict[str, Any], problem: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(data(parts))
    with pytest.raises(VocabularyError) as raised:
        SentencePieceTokenizer.load(path)
    assert problem in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_layout_is_for_models_only() -> None:
    with pytest.raises(VocabularyError, match="id_layout 'fairseq' is for"):
        SentencePieceTokenizer(data(t5()), id_layout="fairseq")
