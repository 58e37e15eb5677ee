"""Texts for which quadratic code would take many minutes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.conftest import examples
from tests.subwords.byte_bpe.models import added, model_file
from tests.subwords.byte_bpe.samples import LINES, small_tokenizer


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "ab" * 500_000,
        " " * 1_000_000,
        "们的" * 170_000,
        "👩🏽\u200d🚀" * 60_000,
        "".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) * 15,
        "".join(chr(97 + number * number % 26) for number in range(26)) * 3_800,
    ],
    ids=["a", "ab", "spaces", "Chinese", "emoji", "every character", "one word"],
)
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_line_of_a_megabyte(text: str, dropout: float) -> None:
    tokenizer = small_tokenizer()
    ids = tokenizer.encode(text, dropout=dropout, seed=1)
    assert tokenizer.decode(ids) == text


def test_training_on_long_words() -> None:
    tokenizer = ByteBPETokenizer.train(["a" * 300_000, "ab" * 150_000, "们的" * 50_000, *LINES], 600)
    assert len(tokenizer.encode("a" * 300_000)) < 300


def with_added(ids: dict[str, int]) -> ByteBPETokenizer:
    """Returns the small tokenizer with added tokens."""
    content = json.loads(model_file("GPT-2"))
    content["added_tokens"] += [added(name, number) for name, number in ids.items()]
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(content, file)
        file.flush()
        return ByteBPETokenizer.load(file.name)


def test_a_long_added_token() -> None:
    name = "<x>" * 30_000
    tokenizer = with_added({name: 401, name + "c": 402, "<x>": 403})
    assert tokenizer.encode(f"{name}c{name}<x>") == [402, 401, 403]


def test_a_long_added_token_that_almost_fits_everywhere() -> None:
    tokenizer = with_added({"a" * 100_000 + "b": 401, "c" + "a" * 100_000: 402, "aaa": 403})
    assert tokenizer.encode("a" * 1_800_000) == [403] * 600_000
    ids = [*[403] * 33_333, *tokenizer.encode("b"), 402, *tokenizer.encode("a")]
    assert tokenizer.encode("a" * 99_999 + "b" + "c" + "a" * 100_001) == ids


NAMES = st.lists(st.text("xz<é", min_size=2, max_size=6), min_size=1, max_size=6, unique=True)


@given(NAMES, st.text("xz<é ", max_size=40))
@settings(max_examples=examples(200))
def test_the_longest_added_token_at_each_place(names: list[str], text: str) -> None:
    vocab = json.loads(model_file("GPT-2"))["model"]["vocab"]
    ids = {name: vocab.get(name, 401 + number) for number, name in enumerate(names)}
    tokenizer = with_added(ids)
    plain = small_tokenizer()
    expected: list[int] = []
    rest = at = 0
    while at < len(text):
        longest = max((name for name in names if text.startswith(name, at)), key=len, default=None)
        if longest is None:
            at += 1
            continue
        expected += [*plain.encode(text[rest:at]), ids[longest]]
        rest = at = at + len(longest)
    assert tokenizer.encode(text) == expected + plain.encode(text[rest:])


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "truncation", "model"])
@pytest.mark.parametrize("levels", [60, 400, 494, 100_000])
def test_deeply_nested_files(part: str, levels: int, tmp_path: Path) -> None:
    content = json.loads(model_file("GPT-2")) | {part: "HERE"}
    path = tmp_path / "tokenizer.json"
    nested = '{"type": "Sequence", "normalizers": [' * levels + "]}" * levels
    path.write_text(json.dumps(content).replace('"HERE"', nested))
    for tokenizer in (ByteBPETokenizer, SentencePieceTokenizer):
        with pytest.raises(VocabularyError, match=r"is JSON of more than 100 levels|is not valid JSON"):
            tokenizer.load(path)
