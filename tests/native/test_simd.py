"""Vector instructions: every level gives what a library or the readable twin gives."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
import regex
from _nmt_prep_core import (
    Bucket,
    ByteBPESplitter,
    Lines,
    T2TTokenCounter,
    band_hashes,
    byte_bpe_scanner,
    crc32c,
    find_invalid_utf8,
    line_lengths,
    ordered_records,
    simd_level,
    simd_levels,
    use_simd_level,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from nmt_prep.text.step import apply_native, named_step
from tests.cleaning.align.corpus import SOURCE, TARGET, trained
from tests.conftest import examples
from tests.reference import byte_bpe, fixes, near, records, t2t
from tests.reference.utf8 import first_invalid
from tests.subwords.byte_bpe.models import RANKS_PATTERNS
from tests.subwords.sentencepiece.models import BPE, UNIGRAM, UNK, library, model_file

LEVELS = ["scalar", *(["neon"] if platform.machine() in ("aarch64", "arm64") else ["sse4.2", "avx2", "avx512"])]
# Long enough for blocks of 64 bytes and a rest.
TEXT = st.text(st.sampled_from("aZ09 _'-\u00a0éñЖп中国日本。가😀\U0010ffff"), max_size=150)
each_level = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))


@pytest.fixture(params=LEVELS, autouse=True)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Lowers the level to each one that this processor has."""
    if request.param not in simd_levels():
        pytest.skip("this processor has no such instructions")
    use_simd_level(request.param)
    yield request.param
    use_simd_level(simd_levels()[-1])


def column(*lines: bytes) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(lines), np.uint8), np.cumsum([0, *map(len, lines)]).astype(np.int64)


def test_levels_are_in_order(level: str) -> None:
    assert simd_levels() == LEVELS[: len(simd_levels())]
    assert simd_level() == level
    with pytest.raises(ValueError, match='no level "altivec"'):
        use_simd_level("altivec")
    assert simd_level() == level


@cache
def splitter(pattern: str) -> ByteBPESplitter:
    scanner = byte_bpe_scanner(pattern, True, False)
    assert scanner is not None
    return ByteBPESplitter([scanner], False, False, [], [])


# Patterns whose matches may end earlier than it seems, or of which some characters begin none.
PATTERNS = [
    *RANKS_PATTERNS.values(),
    r"\p{L}+ \p{L}+!|\p{L}+\p{N}|\p{L}+| +(?!\S)|[^\p{L}]",
    r"\p{Lu}+\p{Ll}{2}|[\p{L}\p{M}]++|\s\s",
    r"(?:a|\p{Ll}b+)+| ?\p{Lo}+\p{P}",
    r"\d+",
]
WORDS = st.sampled_from(
    [" ", "  ", "a", "b", "the", "re", "Word", "A", "é", "É", "Жж", "中国", "ひら", "가", "ʰ", "हिन्दी", "0", "123",
     "。", "…", "!", "'", "/", "\n", "\t", "\u3000", "\u0301", "〇", "👩🏽", "𠮷"]
)  # fmt: skip


@each_level
@given(st.sampled_from(PATTERNS), st.lists(WORDS, min_size=20, max_size=120))
@example(PATTERNS[0], ["the", " "] * 70)
@example(PATTERNS[2], ["Жж", " "] * 60 + ["'", "re"])
@example(PATTERNS[1], ["the", " "] * 150 + ["123", "\t"] * 150 + ["the", " "] * 150)
@example(PATTERNS[1], ["the"] * 90 + ["1", "2"] * 150)
@example(PATTERNS[-1], ["1", "2", "a"] * 150)
def test_splitting_by_patterns(pattern: str, words: list[str]) -> None:
    line = "".join(words)
    ends = splitter(pattern).pretoken_ends(np.frombuffer(line.encode(), np.uint8))
    matches = regex.finditer(pattern.replace("$", r"\Z"), line, regex.VERSION1)
    assert ends == [len(line[: match.end()].encode()) for match in matches]


EDGES = st.sampled_from(
    [b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xee\x80\x80", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80", b"\xf4\x8f\xbf\xbf",
     b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xc1\xbf", b"\xc2\x80", b"\xe0\x9f\xbf", b"\xe0\xa0\x80", b"\xff",
     b"\x80", b"a" * 17, b"\xe4\xb8\xad", b"\x00"]
)  # fmt: skip


@each_level
@given(st.lists(EDGES | st.binary(max_size=3) | TEXT.map(str.encode), max_size=12))
@example([b"a" * 31, b"\xe4\xb8"])
@example([b"a" * 30, "中".encode() * 30, b"\x80", b"a" * 40])
def test_validation(parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert find_invalid_utf8(np.frombuffer(data, np.uint8)) == first_invalid(data)


def test_every_pair_of_lead_and_continuation() -> None:
    for lead in range(0x80, 0x100):
        for second in range(0x100):
            for tail in (b"", b"\xbf\xbf"):
                data = b"a" * (second % 33) + bytes([lead, second]) + tail  # blocks are of 16 or 32 bytes
                assert find_invalid_utf8(np.frombuffer(data, np.uint8)) == first_invalid(data), data


@each_level
@given(st.binary(max_size=200))
def test_checksums(data: bytes) -> None:
    assert crc32c(data) == records.crc32c(data)


# Of every number of bytes, and at the limits of each.
IDS = st.sampled_from([0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1, 2**28, 2**31 - 1, -1, -(2**31)])


@each_level
@given(st.lists(IDS | st.integers(0, 40000), max_size=30), st.lists(IDS | st.integers(0, 200), max_size=9))
@example([127, 128, 16383, 16384, 2**21], [])
def test_examples(inputs: list[int], targets: list[int]) -> None:
    sides = [(np.array(ids, np.int32), np.array([0, len(ids)], np.int64)) for ids in (inputs, targets)]
    bucket = Bucket(ordered_records(*sides[0], *sides[1], np.zeros(1, np.int32), "example"), 0, 1, "example")
    written = np.empty(bucket.largest, np.uint8)
    assert bucket.copy(written) == len(written)
    assert written.tobytes() == records.frame(records.serialize_example(inputs, targets))


@each_level
@given(st.lists(TEXT, max_size=6))
@example(["", " a", "", "b ", " ", "a" * 63, "b", "-" * 64, "a"])
def test_tokens_of_tensor2tensor(lines: list[str]) -> None:
    counter = T2TTokenCounter()
    counter.add(*column(*(line.encode() for line in lines)), 1)
    assert Counter(dict(counter.items())) == sum((Counter(t2t.tokens(line)) for line in lines), Counter())


PIECES = ["<pad>_", "<EOS>_", "a", "aZ", "a_", "é", "09_", "中国", "_", " _"]
PIECES += "Z09中国' -\\;u\u00a0ñЖп日本。가😀12345678"


@each_level
@given(st.lists(TEXT, max_size=6))
@example(["", " a", "", "b ", " ", "a" * 63, "b", "-" * 64, "a"])
def test_ids_of_tensor2tensor(lines: list[str]) -> None:
    twin = t2t.Vocabulary(PIECES)
    assert T2TTokenizer(PIECES).encode_batch(lines).to_lists() == [twin.encode(line) for line in lines]


@cache
def ids_of_twin(line: str) -> list[int]:
    return t2t.Vocabulary(PIECES).encode(line)


@pytest.mark.parametrize("around", [64, 1024, 2048])
def test_spaces_where_tokens_are_read_in_pieces(around: int) -> None:
    for start in range(around - 3, around + 3):
        for text in ("a" * start + " 9", "Z " * (start // 2) + " 9 " * 50, "a" * start + " ", "a-" * start + "é"):
            lines = [text, "9", " ", "", text]
            assert T2TTokenizer(PIECES).encode_batch(lines).to_lists() == [*map(ids_of_twin, lines)]


@each_level
@given(TEXT)
def test_fixes(line: str) -> None:
    made = apply_native((named_step("whitespace", "en"),), pa.array([line], pa.large_string()), 1).lines
    assert made.to_pylist() == [fixes.whitespace(line)]


SPACES = st.text(st.sampled_from(" \t\x1c\x1f\x85\u00a0\u1680\u2009\u2028\u3000\u180ea中é\U0001f600"), max_size=150)


@each_level
@given(st.lists(TEXT | SPACES, max_size=6))
def test_white_space(lines: list[str]) -> None:
    held = Lines(*column(*(line.encode() for line in lines)))
    assert line_lengths(held, "token").tolist() == [len(line.split()) for line in lines]
    assert line_lengths(held, "char").tolist() == [len(line) for line in lines]


def test_alignment(tmp_path: Path) -> None:
    sides = [[*side * 9, " ".join(side), " ".join(side * 5)] for side in (SOURCE, TARGET)]
    trained(*sides).save(tmp_path / "level")
    use_simd_level("scalar")
    trained(*sides).save(tmp_path / "scalar")
    assert (tmp_path / "level").read_bytes() == (tmp_path / "scalar").read_bytes()


@each_level
@given(TEXT, TEXT)
def test_signatures(first: str, second: str) -> None:
    found = band_hashes(*column(first.encode()), *column(second.encode()), 20, 3)
    assert found.tolist() == [near.band_hashes(first, second, 20, 3)]


def test_merges() -> None:
    random = Random(7)
    words = ["".join(random.choices("abcdeéж", k=random.randint(1, 40))) for _ in range(600)]
    lines = [" ".join(words[at : at + 30]) for at in range(0, len(words), 30)]
    tokenizer = ByteBPETokenizer.train(lines[::2], 700)
    twin = byte_bpe.Vocabulary(tokenizer.vocabulary.tokens, tokenizer.vocabulary.merges.tolist())
    assert tokenizer.encode_batch(lines).to_lists() == [twin.encode(line) for line in lines]


def test_pieces_in_runs() -> None:
    random = Random(5)
    alphabet = "\u2581中国日本人民大学生活在上海北京、。"
    text = "".join(random.choices(alphabet, k=4000))
    cuts = [text[at : at + random.randint(1, 8)] for at in range(0, len(text), 20)]
    pieces = sorted({*alphabet[:12], *cuts, text[:19]})
    file = model_file([UNK, *((piece, -random.uniform(1, 12) * len(piece) ** 0.5, 1) for piece in pieces)])
    # Runs end within blocks of 16 characters and between them, and characters without a piece are among them.
    lines = [text[at : at + at % 53].replace("\u2581", " ") for at in range(0, len(text), 31)] + [text[:19], "中" * 33]
    trained = SentencePieceTokenizer.train([*cuts, *cuts[::3], *lines[:9]], 200, model_type="bpe").model_bytes
    for model in (file, trained):
        assert SentencePieceTokenizer(model).encode_batch(lines).to_lists() == library(model).encode(
            lines, out_type=int
        )


def test_segments_of_sentencepiece() -> None:
    random = Random(3)
    words = ["".join(random.choices("abyzABYZ09.,é’ж가中国", k=random.randint(1, 12))) for _ in range(600)]
    lines = [" ".join(words[at : at + 1 + at % 40]) for at in range(0, len(words), 7)]
    pieces = {*"abyzABYZ09.,é中", *(f"\u2581{word[:3]}" for word in words[::5]), *(word[:4] for word in words[::3])}
    for kind in (UNIGRAM, BPE):
        file = model_file([UNK, *((piece, -1.0 - number / 8, 1) for number, piece in enumerate(sorted(pieces)))], kind)
        assert SentencePieceTokenizer(file).encode_batch(lines).to_lists() == library(file).encode(lines, out_type=int)
