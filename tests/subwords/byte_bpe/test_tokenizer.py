from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import EncodeError, InvalidTextError, VocabularyError
from nmt_prep.subwords.added import AddedToken
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenization
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary
from tests.reference import byte_bpe as reference
from tests.subwords.byte_bpe.samples import LINES, SPECIALS, TEXTS, small_tokenizer


def twin(tokenizer: ByteBPETokenizer) -> reference.Vocabulary:
    return reference.Vocabulary(tokenizer.vocabulary.tokens, tokenizer.vocabulary.merges.tolist())


def tiny(**options: Any) -> ByteBPETokenizer:
    """Returns all bytes, then ab (256), abc (257), 你 (258, 259), and a token that no merge produces."""
    tokens = (*(bytes([byte]) for byte in range(256)), b"ab", b"abc", b"\xe4\xbd", b"\xe4\xbd\xa0", b"bcd")
    merges = np.array([[97, 98, 256], [256, 99, 257], [0xE4, 0xBD, 258], [258, 0xA0, 259]], np.int32)
    return ByteBPETokenizer(ByteBPEVocabulary(tokens, merges, {}, **options))


def test_ids_of_a_handmade_vocabulary() -> None:
    tokenizer = tiny()
    assert tokenizer.encode("abc abcd bcd") == [257, 32, 257, 100, 32, 98, 99, 100]
    assert tokenizer.encode("ab你好") == [256, 259, 0xE5, 0xA5, 0xBD]
    assert tokenizer.encode("") == []
    assert tokenizer.decode([257, 259]) == "abc你"


def test_a_space_may_merge_with_the_first_byte_of_a_character() -> None:
    tokens = (*(bytes([byte]) for byte in range(256)), b" \xd0", b"\xd0\xbe", b"\xbe\xd0")
    merges = [[0x20, 0xD0, 256], [0xD0, 0xBE, 257]]
    space_first = ByteBPETokenizer(ByteBPEVocabulary(tokens, np.array(merges, np.int32)))
    assert space_first.encode("ооо ооо") == [257, 257, 257, 256, 0xBE, 257, 257]
    inside_first = ByteBPETokenizer(ByteBPEVocabulary(tokens, np.array([[0xBE, 0xD0, 258], *merges], np.int32)))
    assert inside_first.encode("ооо ооо") == [0xD0, 258, 258, 0xBE, 256, 258, 258, 0xBE]


def test_whole_words_match_tokens_unreachable_by_merges() -> None:
    tokenizer = tiny(whole_words=True)
    assert tokenizer.encode("bcd bcd abcd") == [260, 32, 98, 99, 100, 32, 257, 100]
    assert (
        tokenizer.encode_batch(["xbcd", "bcd", "bcdx"] * 2).to_lists()
        == [
            [120, 98, 99, 100],
            [260],
            [98, 99, 100, 120],
        ]
        * 2
    )


def test_prefix_space() -> None:
    tokenizer = tiny(pretokenization=Pretokenization(add_prefix_space=True))
    assert tokenizer.encode_batch(["abc", " abc", "", "\tx"]).to_lists() == [
        [32, 257],
        [32, 257],
        [],
        [32, 9, 120],
    ]


def test_small_vocabulary() -> None:
    tokenizer = small_tokenizer()
    assert len(tokenizer) == 400
    assert tokenizer.pieces[:5] == SPECIALS
    assert tokenizer.pieces[5:8] == ("!", '"', "#")
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id, tokenizer.unk_id) == (0, 1, 2, None)
    assert tokenizer.special_id("<sep>") == 3
    pieces = [tokenizer.pieces[i] for i in tokenizer.encode("the cat's 他们的")]
    assert pieces == ["the", "Ġcat", "'s", "Ġ", "ä»ĸä»¬çļĦ"]
    with pytest.raises(VocabularyError, match="no special token '<none>', only"):
        tokenizer.special_id("<none>")


@given(TEXTS)
def test_encode_equals_its_twin(text: str) -> None:
    tokenizer = small_tokenizer()
    ids = tokenizer.encode(text, disallowed_special=())
    assert ids == twin(tokenizer).encode(text)
    assert not set(ids) & set(tokenizer.vocabulary.specials.values())
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_bytes(ids) == text.encode()


@given(st.lists(TEXTS, max_size=8), st.integers(1, 3))
def test_encode_batch_equals_encode(lines: list[str], threads: int) -> None:
    tokenizer = small_tokenizer()
    rows = tokenizer.encode_batch(pa.array(lines, pa.string()), threads)
    assert rows.to_lists() == [tokenizer.encode(line, disallowed_special=()) for line in lines]
    assert tokenizer.encode_batch(lines).to_lists() == rows.to_lists()
    assert tokenizer.decode_batch(rows) == lines


def test_many_lines_on_any_number_of_threads() -> None:
    lines = [f"{line} {number}" for number in range(2000) for line in LINES]
    one = small_tokenizer().encode_batch(lines, 1)
    two = small_tokenizer().encode_batch(pa.chunked_array([lines[:7], lines[7:]]), 2)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(one.offsets, two.offsets)


def test_special_tokens_as_in_tiktoken() -> None:
    tokenizer = small_tokenizer()
    text = "the<sep>x<EOS>"
    ordinary = tokenizer.encode_batch([text]).to_lists()[0]
    assert not set(ordinary) & {0, 1, 2, 3, 4}
    assert tokenizer.encode(text, disallowed_special=()) == ordinary
    assert tokenizer.encode(text, allowed_special="all") == [*tokenizer.encode("the"), 4, 1]
    assert tokenizer.encode("<sep>x", allowed_special={"<sep>"}, disallowed_special=()) == [3, *tokenizer.encode("x")]
    with pytest.raises(EncodeError, match="contains the special token '<sep>x' at character 3; allow it"):
        tokenizer.encode(text)
    with pytest.raises(EncodeError, match="'<EOS>' at character 9"):
        tokenizer.encode(text, allowed_special={"<sep>", "<sep>x"})
    assert tokenizer.decode([3, 4, 0]) == "<sep><sep>x<pad>"


def test_bytes_that_are_not_utf8() -> None:
    tokenizer = small_tokenizer()
    ids = tokenizer.encode("好")[:-1]
    with pytest.raises(EncodeError, match=r"row 0: .* not UTF-8 from byte 0 on; decode with errors=\"replace\""):
        tokenizer.decode(ids)
    assert tokenizer.decode(ids, errors="replace") == "\ufffd"
    assert tokenizer.decode_bytes(ids) == "好".encode()[: len(tokenizer.decode_bytes(ids))]
    with pytest.raises(EncodeError, match="row 1"):
        tokenizer.decode_batch(Ragged.from_lists([[5], ids]))


def test_invalid_ids() -> None:
    tokenizer = tiny()
    for number in (-1, 261, 2**40):
        with pytest.raises(EncodeError, match=f"ID {number}: the IDs of the vocabulary are from 0 to 260"):
            tokenizer.decode([number])
    with pytest.raises(EncodeError, match="id 261 is not in the vocabulary"):
        tokenizer.decode_batch(Ragged.from_lists([[261]]))
    with pytest.raises(EncodeError, match="offsets of rows"):
        tokenizer.decode_batch(Ragged(np.zeros(1, np.int32), np.array([0, 2], np.int64)))


def test_lone_surrogates() -> None:
    tokenizer = small_tokenizer()
    with pytest.raises(InvalidTextError, match="U\\+D800"):
        tokenizer.encode("\ud800")
    with pytest.raises(InvalidTextError, match="null"):
        tokenizer.encode_batch(pa.array(["a", None]))


def test_a_byte_that_the_vocabulary_lacks() -> None:
    tokenizer = ByteBPETokenizer(ByteBPEVocabulary((b"a", b"b", b"ab"), np.array([[0, 1, 2]], np.int32), {}))
    with pytest.raises(EncodeError, match="no token for the byte 99, which the text holds; train it with all 256"):
        tokenizer.encode("abc")
    # A token may contain such a byte too, but no text gives that token.
    without = ByteBPETokenizer(ByteBPEVocabulary((b"a", b"aaaaaaab"), np.empty((0, 3), np.int32), {}))
    assert without.encode("aaaaaaa") == [0] * 7
    with pytest.raises(EncodeError, match="no token for the byte 98"):
        without.encode("aaaaaaab")


def test_own_pattern() -> None:
    tokenizer = ByteBPETokenizer.train(["abab abab"], 260, pattern=r"[\s\S]+")
    assert tokenizer.pieces[258:] == ("ab", "abab")
    assert tokenizer.encode_batch(["ab ab", "", "b a"]).lengths.tolist() == [3, 0, 3]
    long = ByteBPETokenizer.train(["abab abab"] * 2, 300, pattern=r"[\s\S]+")
    assert len(long.encode("abab abab")) == 1
    assert long.encode_batch(pa.array(["x", "abab abab"]), 2).lengths.tolist() == [1, 1]


def test_fingerprint_covers_all_that_decides_ids() -> None:
    tokenizer = tiny()
    assert tokenizer.fingerprint == tiny().fingerprint
    assert len(tokenizer.fingerprint) == 64
    vocabulary = tokenizer.vocabulary
    others = [
        tiny(whole_words=True),
        tiny(pretokenization=Pretokenization(add_prefix_space=True)),
        ByteBPETokenizer(ByteBPEVocabulary(vocabulary.tokens[:-1], vocabulary.merges)),
        ByteBPETokenizer(ByteBPEVocabulary(vocabulary.tokens, vocabulary.merges[::-1].copy())),
        ByteBPETokenizer(ByteBPEVocabulary((*vocabulary.tokens, b""), vocabulary.merges, {"<pad>": AddedToken(261)})),
        ByteBPETokenizer(
            ByteBPEVocabulary(vocabulary.tokens, vocabulary.merges, {}, Pretokenization.by_pattern(r"\w+"))
        ),
    ]
    assert len({tokenizer.fingerprint, *(other.fingerprint for other in others)}) == 7
    in_other_words = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    same = ByteBPETokenizer(
        ByteBPEVocabulary(vocabulary.tokens, vocabulary.merges, {}, Pretokenization.by_pattern(in_other_words))
    )
    assert in_other_words != GPT2_PATTERN
    assert same.fingerprint == tokenizer.fingerprint


# Characters that share bytes, so that the drawn merges cross their boundaries in every way.
SHARING = "中丮丯亭且乮éê®ab 𠮷𠮸"


@given(st.integers(0, 2**32), st.lists(st.text(st.sampled_from(SHARING), max_size=14), min_size=1, max_size=5))
def test_merges_in_any_order_across_characters(seed: int, lines: list[str]) -> None:
    draw = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256)]
    known = set(tokens)
    text = "".join(draw.choices(SHARING, k=60)).encode()
    merges = []
    for _ in range(draw.randrange(60)):
        start = draw.randrange(len(text) - 6)
        token = text[start : start + draw.randrange(2, 6)]
        halves = [(token[:at], token[at:]) for at in range(1, len(token)) if {token[:at], token[at:]} <= known]
        if token in known or not halves:
            continue
        left, right = draw.choice(halves)
        merges.append([tokens.index(left), tokens.index(right), len(tokens)])
        tokens.append(token)
        known.add(token)
    if seed % 2:
        draw.shuffle(merges)
    vocabulary = ByteBPEVocabulary(tuple(tokens), np.array(merges, np.int32).reshape(-1, 3))
    twin = reference.Vocabulary(tokens, merges)
    assert ByteBPETokenizer(vocabulary).encode_batch(lines).to_lists() == [twin.encode(line) for line in lines]


# Characters that have tokens, others that share bytes with them, and others in between.
TOKENS = "中国人民的一了是"
BETWEEN = "丮丯且é a\0𠮷，"


def joined(draw: random.Random, characters: str, count: int) -> tuple[list[bytes], list[list[int]]]:
    """Draws tokens and merges: all bytes, the characters, then merges of any tokens, even of parts of characters."""
    tokens = [bytes([byte]) for byte in range(256)]
    known = {token: number for number, token in enumerate(tokens)}
    merges: list[list[int]] = []

    def join(left: bytes, right: bytes) -> None:
        if left + right not in known:
            known[left + right] = len(tokens)
            tokens.append(left + right)
        merge = [known[left], known[right], known[left + right]]
        if merge not in merges:
            merges.append(merge)

    for character in map(str.encode, characters):
        if character[:2] not in known:
            join(character[:1], character[1:2])
        join(character[:2], character[2:])
    text = "".join(draw.choices(characters, k=200)).encode()
    for _ in range(count):
        start = draw.randrange(len(text) - 20)
        if draw.random() < 0.9:
            start -= start % 3
        longest = [end for end in range(start + 1, start + 20) if text[start:end] in known]
        middle = draw.choice(longest[-2:])
        ends = [end for end in range(middle + 1, start + 20) if text[middle:end] in known]
        if ends:
            join(text[start:middle], text[middle : draw.choice(ends[-2:])])
    return tokens, merges


@given(st.integers(0, 2**32), st.lists(st.text(st.sampled_from(TOKENS * 4 + BETWEEN), max_size=20), max_size=4))
def test_tokens_of_many_characters(seed: int, lines: list[str]) -> None:
    draw = random.Random(seed)
    characters = TOKENS[: draw.choice([1, 2, len(TOKENS)])]  # runs of one have ties
    tokens, merges = joined(draw, characters, draw.choice([10, 100, 400]))
    if seed % 4 == 0:
        draw.shuffle(merges)  # some tokens then have a lower rank than the merges that they need, or are unreachable
    if seed % 3 == 0:
        merges += draw.choices(merges, k=5)  # of a repeated pair, the last occurrence counts
    lines.append("".join(draw.choices(characters, k=draw.choice([20, 50, 85, 86]))))
    lines += [token.decode(errors="ignore") for token in draw.choices(tokens, k=20)]  # words that may be tokens
    vocabulary = ByteBPEVocabulary(tuple(tokens), np.array(merges, np.int32))
    twin = reference.Vocabulary(tokens, merges)
    assert ByteBPETokenizer(vocabulary).encode_batch(lines).to_lists() == [twin.encode(line) for line in lines]
