from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from nmt_prep.base.errors import InvalidTextError, TrainingError, VocabularyError
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from tests.subwords.byte_bpe.samples import LINES

SPECIALS = ("<pad>", "<EOS>")


def peer(lines: Sequence[str], size: int, pattern: str = GPT2_PATTERN, **options: Any) -> tuple[dict[str, int], Any]:
    """Returns the vocabulary and merges that ``tokenizers`` learns."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    options.setdefault("initial_alphabet", pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(SPECIALS), show_progress=False, **options)
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def ours(tokenizer: ByteBPETokenizer) -> tuple[dict[str, int], Any]:
    pieces = tokenizer.pieces
    merges = [(pieces[left], pieces[right]) for left, right, _ in tokenizer.vocabulary.merges.tolist()]
    return {piece: number for number, piece in enumerate(pieces)}, merges


def test_merges_of_a_worked_example() -> None:
    tokenizer = ByteBPETokenizer.train(["hug pug hugs", "hug bun pun"], 263)
    assert tokenizer.pieces[:3] == ("<pad>", "<EOS>", "!")
    # ug occurs 4 times, h + ug 3 times, u + n and Ġ + p twice; of the pairs that occur once, b + un has the lowest IDs.
    assert tokenizer.pieces[258:] == ("ug", "hug", "un", "Ġp", "bun")


@given(
    st.lists(st.text(st.sampled_from("aab bc的是"), max_size=30), min_size=1, max_size=12),
    st.integers(259, 400),
    st.integers(0, 3),
    st.integers(1, 2),
)
def test_merges_equal_those_of_tokenizers(lines: list[str], size: int, min_frequency: int, threads: int) -> None:
    lines.append("ab")
    trained = ByteBPETokenizer.train(lines, size, min_frequency=min_frequency, threads=threads)
    assert ours(trained) == peer(lines, size, min_frequency=min_frequency)


def test_overlapping_pairs() -> None:
    lines = ["".join("ab"[(i * i * 3 >> 4) % 2] for i in range(700)), "ab" * 9 + "aab" * 7, "a" * 63, "a" * 64]
    assert ours(ByteBPETokenizer.train(lines, 520)) == peer(lines, 520)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_merges_of_many_words_on_threads(threads: int) -> None:
    draw = random.Random(1)
    words = [" " + "".join(draw.choices("aaabbcdef", k=draw.randint(2, 12))) for _ in range(8000)]
    lines = ["".join(words[start:] + words[start : start + 9]) for start in range(0, 8000, 4000)]
    assert ours(ByteBPETokenizer.train(lines, 3000, threads=threads)) == peer(lines, 3000)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_special_tokens_change_no_merge(threads: int) -> None:
    draw = random.Random(2)
    lines = [" " + "".join(draw.choices("aaabbcdef的是", k=draw.randint(2, 12))) for _ in range(4000)]
    few = ByteBPETokenizer.train(lines, 2000, threads=threads)
    many = ByteBPETokenizer.train(lines, 2300, threads=threads, reserved=[f"<{number}>" for number in range(300)])
    assert many.pieces[302:] == few.pieces[2:]


def test_floors_of_counts() -> None:
    """Counts from one to far beyond the counts with separate lists, and words that vanish when they are one symbol."""
    lines = [f"{number:x} " * min(6000, 70_000 // (number + 1)) for number in range(700)]
    assert ours(ByteBPETokenizer.train(lines, 1000)) == peer(lines, 1000)


@pytest.mark.parametrize(
    ("ours_only", "theirs"),
    [
        ({"pattern": r"\w+| +|[^\w ]+"}, {"pattern": r"\w+| +|[^\w ]+"}),
        ({"pattern": r"[\s\S]+"}, {"pattern": r"[\s\S]+"}),
    ],
    ids=["words", "whole lines"],
)
def test_options_of_tokenizers(ours_only: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    lines = ["aaaa bbbbb ccc dd cccccc", "abcabc abcd ab eeeeeeee", "abba bbba cdcd, ee!"]
    assert ours(ByteBPETokenizer.train(lines, 300, **ours_only)) == peer(lines, 300, **theirs)


def test_result_does_not_depend_on_form_and_batches_of_lines_or_threads() -> None:
    lines = [f"{line} {number % 17}" for number in range(1500) for line in LINES]
    fingerprint = ByteBPETokenizer.train(lines, 500, threads=1).fingerprint
    assert ByteBPETokenizer.train(pa.array(lines), 500, threads=2).fingerprint == fingerprint
    stream = (pa.array(lines[start : start + 1000], pa.large_string()) for start in range(0, len(lines), 1000))
    assert ByteBPETokenizer.train(stream, 500, threads=2).fingerprint == fingerprint
    assert ByteBPETokenizer.train(reversed(lines), 500, threads=2).fingerprint == fingerprint


def test_ids_of_special_tokens() -> None:
    tokenizer = ByteBPETokenizer.train(["ab"], 264, pad="[P]", eos="[E]", bos="[B]", reserved=["[x]", "[y]"])
    assert tokenizer.pieces[:6] == ("[P]", "[E]", "[B]", "[x]", "[y]", "!")
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id) == (0, 1, 2)


def test_text_never_produces_a_special_token() -> None:
    tokenizer = ByteBPETokenizer.train(["abcab abc"] * 9, 300, reserved=["ab", "Ġabc"])
    assert tokenizer.pieces[:4] == ("<pad>", "<EOS>", "ab", "Ġabc")
    rows = tokenizer.encode_batch(["ab abc"]).to_lists()
    assert not set(rows[0]) & {0, 1, 2, 3}
    assert tokenizer.decode(rows[0]) == "ab abc"


def test_progress_and_exceptions_in_it() -> None:
    events: list[tuple[str, Any]] = []
    ByteBPETokenizer.train(LINES, 360, progress=lambda name, fields: events.append((name, dict(fields))))
    assert events == [("merges", {"size": 322, "target": 360}), ("merges", {"size": 360, "target": 360})]

    def stop(name: str, fields: Any) -> None:
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="merges"):
        ByteBPETokenizer.train(LINES, 360, progress=stop)


@pytest.mark.parametrize(
    ("lines", "size", "options", "message"),
    [
        ([], 300, {}, "no text to train from"),
        (["", ""], 300, {}, "no text to train from"),
        (["a"], 257, {}, "vocabulary size 257: it must be at least 258, for 2 special tokens and 256 bytes"),
        (["a"], 300, {"reserved": ["<pad>"]}, "special token '<pad>' is given twice"),
        (["a"], 300, {"reserved": [""]}, "special token '' is empty"),
        (["a"], 300, {"reserved": ["\ud800"]}, "lone surrogate"),
        (["a"], 300, {"reserved": ["Ġ"]}, "special token 'Ġ' is the spelling of a byte"),
    ],
)
def test_invalid_options(lines: list[str], size: int, options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        ByteBPETokenizer.train(lines, size, **options)


def test_invalid_text_and_pattern() -> None:
    with pytest.raises(InvalidTextError, match="line 1: byte 0"):
        ByteBPETokenizer.train(pa.array([b"a", b"\xff"]).cast(pa.binary()).view(pa.string()), 300)
    with pytest.raises(VocabularyError, match="tokenizers does not accept"):
        ByteBPETokenizer.train(["a"], 300, pattern="(")
