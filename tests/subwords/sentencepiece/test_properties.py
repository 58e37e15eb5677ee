"""Small random models: the native core against the library, and its samples against their readable twin."""

from __future__ import annotations

import random
import struct
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nmt_prep.subwords.sentencepiece
from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.conftest import examples
from tests.reference import sentencepiece as reference
from tests.reference.sentencepiece import CONTROL, NORMAL, UNUSED, USER_DEFINED
from tests.subwords.sentencepiece.models import BPE, BYTES, UNIGRAM, UNK, library, model_file

CHARSMAPS = Path(nmt_prep.subwords.sentencepiece.__file__).parent / "charsmaps"
ALPHABET = "ab▁ éあ𠮷"
SCORES = [-0.5, -1.0, -2.0, -2.5, -3.0, -4.0, -1.1, -2.2, -3.3, -0.1, 0.0, -0.0, 0.3]

texts = st.text(st.sampled_from(ALPHABET + "cz\0\t"), max_size=24)
ties = st.text(st.sampled_from("ab"), min_size=20, max_size=90)


@st.composite
def models(draw: st.DrawFn, types: tuple[int, ...]) -> bytes:
    spellings = draw(st.lists(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=5), unique=True, max_size=24))
    pieces = [
        (text, draw(st.sampled_from(SCORES)), draw(st.sampled_from(types)) if draw(st.booleans()) else NORMAL)
        for text in spellings
    ]
    byte_fallback = draw(st.booleans())
    options: dict[str, Any] = {name: draw(st.booleans()) for name in ("suffix", "dummy_prefix", "collapse")}
    return model_file(
        [UNK, ("<s>", 0.0, CONTROL), ("c", -2.0, NORMAL), *(BYTES if byte_fallback else []), *pieces],
        draw(st.sampled_from([UNIGRAM, BPE])),
        byte_fallback=byte_fallback,
        escape=draw(st.integers(0, 4)) > 0,
        **options,
    )


@settings(max_examples=examples(300))
@given(models((NORMAL, USER_DEFINED, UNUSED, CONTROL)), st.lists(st.one_of(texts, ties), max_size=6))
@example(model_file([UNK, ("a", -1.0, NORMAL), ("aa", -2.0, NORMAL)], dummy_prefix=False), ["aaaaa", "aaa"])
@example(model_file([UNK, ("a", -1.0, UNUSED)], BPE), [""])
@example(model_file([UNK, ("a", -1.0, UNUSED)], BPE, dummy_prefix=False), ["a"])
def test_native_core_and_library_agree(file: bytes, lines: list[str]) -> None:
    tokenizer = SentencePieceTokenizer(file)
    assert tokenizer.library_reason is None
    processor = library(file)
    rows = tokenizer.encode_batch(lines, threads=1)
    assert rows.to_lists() == processor.encode(lines, out_type=int)
    assert tokenizer.encode_batch(lines, threads=1).to_lists() == rows.to_lists()  # now from the cache
    assert tokenizer.decode_batch(rows) == [processor.decode(row) if row else "" for row in rows.to_lists()]


@st.composite
def models_of_runs(draw: st.DrawFn) -> bytes:
    """Draws unigram models with long pieces of few characters, so that segmentations of a run have similar scores."""
    spellings = draw(st.lists(st.text(st.sampled_from("あい▁"), min_size=1, max_size=12), unique=True, max_size=40))
    scores = st.one_of(st.sampled_from(SCORES), st.floats(-20, 0, width=32))
    pieces = [(text, draw(scores), NORMAL) for text in spellings if text not in ("い", "1")]
    return model_file([UNK, ("い", draw(scores), NORMAL), ("1", -3.0, NORMAL), *pieces], UNIGRAM)


@settings(max_examples=examples(200))
@given(models_of_runs(), st.lists(st.text(st.sampled_from("あいあい1 う"), max_size=60), max_size=8))
def test_runs_are_encoded_as_in_the_library(file: bytes, lines: list[str]) -> None:
    tokenizer = SentencePieceTokenizer(file)
    assert tokenizer.encode_batch(lines, threads=1).to_lists() == library(file).encode(lines, out_type=int)


@st.composite
def bpe_models_of_runs(draw: st.DrawFn) -> bytes:
    """Draws BPE models whose pieces join earlier ones, as training leaves them; now and then with another piece."""
    pieces = [*draw(st.sampled_from(["あいう", "あい▁"]))]
    for _ in range(draw(st.integers(0, 30))):
        pieces.append(draw(st.sampled_from(pieces)) + draw(st.sampled_from(pieces)))
    if draw(st.integers(0, 3)) == 0:
        pieces.insert(
            draw(st.integers(1, len(pieces))), draw(st.text(st.sampled_from("あいう▁"), min_size=2, max_size=5))
        )
    unused = draw(st.sampled_from(["", "あ", "う"]))  # this character has no piece of its own
    listed = [(piece, -float(number), NORMAL) for number, piece in enumerate(dict.fromkeys(pieces)) if piece != unused]
    byte_fallback, collapse = draw(st.booleans()), draw(st.booleans())
    spaces = [] if collapse else [("▁▁", -1e9, NORMAL), ("▁▁▁▁", -1e9, NORMAL)]  # as in published models
    return model_file(
        [
            UNK,
            *(BYTES if byte_fallback else []),
            *spaces,
            *(piece for piece in listed if piece[0] not in ("▁▁", "▁▁▁▁")),
        ],
        BPE,
        byte_fallback=byte_fallback,
        collapse=collapse,
    )


@settings(max_examples=examples(200), deadline=None)
@given(bpe_models_of_runs(), st.lists(st.text(st.sampled_from("あいう" * 4 + " 中"), max_size=60), max_size=8))
@example(
    model_file(
        [UNK, *((text, -1.0 - i, NORMAL) for i, text in enumerate(["あ", "い", "う", "いう", "あいう", "あい"]))], BPE
    ),
    ["あいう", "あい", "いいう"],
)
@example(
    model_file(
        [UNK, *((text, -1.0 - i, NORMAL) for i, text in enumerate(["あ", "い", "う", "あいう", "いう", "あい"]))], BPE
    ),
    ["あいう", "あい", "いいう"],
)
@example(
    model_file([UNK, *(("あ" * 2**i, -float(i), NORMAL) for i in range(9))], BPE), ["あ" * i for i in range(0, 600, 37)]
)
def test_bpe_runs_are_encoded_as_in_the_library(file: bytes, lines: list[str]) -> None:
    tokenizer = SentencePieceTokenizer(file)
    assert tokenizer.encode_batch(lines, threads=1).to_lists() == library(file).encode(lines, out_type=int)


NORMALIZED_RUNS = "あい，１ｱ\u3000 ▁か\u3099が㌔ﷺ\u200b𠮷한中國a e\u0301é。\t"
NORMALIZED_LETTERS = "Aa  \u0308ÄäßŒИи\u0306йЁאؤو\u0654ไทยΣς\u00a0½"


@settings(max_examples=examples(150))
@given(
    st.sampled_from([(NORMALIZED_RUNS, "あい中"), (NORMALIZED_LETTERS, "Aaи\u0306")]).flatmap(
        lambda characters: st.tuples(
            st.lists(st.text(st.sampled_from(characters[0]), min_size=1, max_size=4), unique=True, max_size=12),
            st.lists(st.text(st.sampled_from("".join(characters)), max_size=40), max_size=6),
        )
    ),
    st.sampled_from(["nmt_nfkc", "nmt_nfkc_cf"]),
    st.sampled_from([UNIGRAM, BPE]),
    st.booleans(),
    st.fixed_dictionaries({name: st.booleans() for name in ("suffix", "dummy_prefix", "collapse", "escape")}),
)
def test_runs_are_normalized_as_in_the_library(
    texts: tuple[list[str], list[str]], charsmap: str, kind: int, byte_fallback: bool, options: dict[str, bool]
) -> None:
    spellings, lines = texts
    pieces = [(unicodedata.normalize("NFKC", text), -1.5 - i, NORMAL) for i, text in enumerate(spellings)]
    distinct = [(text, score, kind) for text, (score, kind) in {text: rest for text, *rest in pieces if text}.items()]
    file = model_file(
        [UNK, *(BYTES if byte_fallback else []), ("あ!", -1.0, NORMAL), *distinct],
        kind,
        byte_fallback=byte_fallback,
        charsmap=(CHARSMAPS / charsmap).read_bytes(),
        **options,
    )
    lines = [line for part in lines for line in (part, "あい" + part, f"中{part * 9}")]
    assert SentencePieceTokenizer(file).encode_batch(lines, threads=1).to_lists() == library(file).encode(
        lines, out_type=int
    )


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_lines_whose_sums_restart_are_encoded_as_in_the_library(byte_fallback: bool) -> None:
    """The library restarts its sums beyond 100,000, here after about 8,000 pieces."""
    generator = random.Random(1)
    scores = {text: -generator.uniform(8, 17) for text in ("▁", *"abcあいう", "ab", "bc", "abc", "▁a", "▁ab", "いう")}
    scores["あいう"] = scores["あ"] + scores["いう"]
    file = model_file(
        [UNK, *(BYTES if byte_fallback else []), *((text, score, NORMAL) for text, score in scores.items())],
        byte_fallback=byte_fallback,
    )
    words = ["ab", "a", "abc", "cab", "bcab", "abcあ", "中", "x"]
    lines = [
        " ".join(generator.choices(words, k=20_000)),
        "".join(generator.choices("あいうあいうab中国 ", k=40_000)),
        "".join(generator.choices("あいう", k=30_000)),
        "あいう" * 9000,
    ]
    assert SentencePieceTokenizer(file).encode_batch(lines, threads=1).to_lists() == library(file).encode(
        lines, out_type=int
    )


def test_rounding_depends_on_the_line_alone() -> None:
    pieces = [
        ("a", -0.1, NORMAL),
        ("b", -0.3, NORMAL),
        ("ab", -0.4, NORMAL),
        ("あ", -1.1, NORMAL),
        ("い", -2.2, NORMAL),
    ]
    tokenizer = SentencePieceTokenizer(file := model_file([UNK, *pieces, ("あい", -3.3, NORMAL)]))
    ties = ["ab" * 9, "bab " * 40, "あいあ" * 9, "い ab う あい" * 9, "ab " * 9000, "あい" * 9000 + " ab"]
    lines = []
    for tie in ties:
        lines += ["b a" * 50] * 1000 + [tie]  # lines of one task, and the first of another
    assert tokenizer.encode_batch(lines, threads=1).to_lists() == library(file).encode(lines, out_type=int)
    for start in range(0, 1000, 97):
        tail = lines[start : start + 1] * 900 + ties
        assert tokenizer.encode_batch(tail, threads=2).to_lists()[900:] == library(file).encode(ties, out_type=int)


@settings(max_examples=examples(150))
@given(
    models((NORMAL, USER_DEFINED, CONTROL)),
    st.lists(st.one_of(texts, ties), max_size=4),
    st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    st.integers(0, 2**64 - 1),
)
@example(model_file([UNK, ("a", -1.0, NORMAL), ("aa", -2.0, NORMAL)]), ["a" * 80, "a" * 80], 1.0, 7)
@example(model_file([UNK, ("c", -2.0, NORMAL), *BYTES], byte_fallback=True), ["zz z"], 0.1, 7)  # bytes have no scores
def test_samples_equal_those_of_the_twin(file: bytes, lines: list[str], strength: float, seed: int) -> None:
    twin = reference.Model(file)
    options = {"dropout" if twin.is_bpe else "alpha": strength if twin.is_bpe else 3 * strength}
    tokenizer = SentencePieceTokenizer(file)
    repeated = lines * 3  # words are cached when they occur again, and found in the cache after that
    rows = tokenizer.encode_batch(repeated, seed=seed, **options).to_lists()
    assert rows == [twin.sample(line, seed, number, **options) for number, line in enumerate(repeated)]


@settings(max_examples=examples(40))
@given(
    models_of_runs(), st.text(st.sampled_from("あい1"), min_size=60, max_size=400), st.sampled_from([0.2, 5.0, 200.0])
)
def test_samples_of_long_runs_equal_those_of_the_twin(file: bytes, line: str, alpha: float) -> None:
    twin = reference.Model(file)
    assert SentencePieceTokenizer(file).encode(line, alpha=alpha, seed=1) == twin.sample(line, 1, 0, alpha=alpha)


@given(models((NORMAL, USER_DEFINED, UNUSED, CONTROL)), st.data())
def test_any_ids_decode_as_in_the_library(file: bytes, data: st.DataObject) -> None:
    tokenizer = SentencePieceTokenizer(file)
    row = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=30))
    assert tokenizer.decode(row) == (library(file).decode(row) if row else "")


RULES = [0x18000, 0x961, 0x19462, 0x80000001, 0x563, 0x80000003, 0x5A9, 0x80000006, 0x2649F, 0x20C98, 0x580, 0x80000000]
"""The first units of a table: a becomes b, bc becomes de, é becomes e and U+0301, U+1F600 nothing."""


@settings(max_examples=examples(300))
@given(st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 31), st.booleans()), max_size=2))
@example({5: (0, False)})  # a space is copied, and read again because a rule may begin there
def test_tables_that_the_library_refuses_are_refused(flips: dict[int, tuple[int, bool]]) -> None:
    units = RULES + [i ^ 1 for i in range(len(RULES), 256)]
    for unit, (bit, is_high) in flips.items():
        units[unit + 230 * is_high] ^= 1 << bit
    file = model_file(
        [UNK, ("b", -1.0, NORMAL), ("e", -2.0, NORMAL), ("▁", -3.0, NORMAL)],
        charsmap=struct.pack("<257I", 1024, *units) + b"\0b\0de\0e\xcc\x81\0",
    )
    try:
        processor = library(file)
    except RuntimeError:
        with pytest.raises(VocabularyError, match=r"damaged normalisation table|precompiled_charsmap is invalid"):
            SentencePieceTokenizer(file)
    else:
        line = "a bc é bcé\U0001f600 b"
        assert SentencePieceTokenizer(file).encode(line) == processor.encode(line)
