from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.errors import InvalidTextError, TrainingError
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer

LINES = [f"the {noun} sees a small {noun} near {i} trees" for i, noun in enumerate(["cat", "dog", "man"] * 20)]


def train(lines: Any = LINES, size: int = 60, **options: Any) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(lines, size, hard_vocab_limit=False, **options)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_same_bytes_however_the_lines_come(model_type: Any) -> None:
    digests = {
        hashlib.sha256(train(lines, model_type=model_type).model_bytes).hexdigest()
        for lines in (LINES, iter(LINES), pa.array(LINES), pa.chunked_array([LINES[:7], LINES[7:]]))
    }
    assert len(digests) == 1


def test_special_ids() -> None:
    tokenizer = train()
    assert tokenizer.pieces[:4] == ("<pad>", "</s>", "<unk>", "<s>")
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id, tokenizer.bos_id) == (0, 1, 2, 3)
    bare = train(pad_id=None, bos_id=None, eos_id=None, unk_id=0)
    assert (bare.pad_id, bare.eos_id, bare.unk_id, bare.bos_id) == (None, None, 0, None)


def test_options_reach_the_library() -> None:
    tokenizer = train(
        size=400, model_type="bpe", byte_fallback=True, user_defined_symbols=("<a,b>", 'x"y'), control_symbols=("<c>",)
    )
    assert {"<a,b>", 'x"y', "<c>", "<0xFF>"} <= set(tokenizer.pieces)
    assert tokenizer.model_type == "bpe"
    assert tokenizer.decode(tokenizer.encode('the <a,b> dog x"y 日')) == 'the <a,b> dog x"y 日'
    assert train(normalization_rule_name="nmt_nfkc_cf").encode("THE CAT") == train().encode("the cat")


def test_unknown_options_are_named() -> None:
    with pytest.raises(TrainingError, match="'split_digit' that can be set here; did you mean split_digits"):
        train(split_digit=True)
    with pytest.raises(TrainingError, match="no training option 'input'"):
        train(input="corpus.txt")


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ([], {}, "there are no lines"),
        (LINES, {"size": 0}, "vocabulary size 0"),
        (LINES, {"size": 10**5, "hard": True}, r"no more than \d+ pieces"),
        (LINES, {"model_type": "wordpiece"}, "wordpiece"),
        (LINES, {"normalization_rule_name": "nfd"}, "nfd"),
        (LINES, {"pad_id": 2}, "cannot train"),
        (LINES, {"character_coverage": 2.0}, "character_coverage"),
    ],
)
def test_impossible_training_is_explained(lines: list[str], options: dict[str, Any], message: str) -> None:
    size = options.pop("size", 60)
    options = {**options, "hard_vocab_limit": True} if options.pop("hard", False) else options
    with pytest.raises(TrainingError, match=message):
        SentencePieceTokenizer.train(lines, size, **options)


def test_errors_of_the_lines_come_through() -> None:
    def lines() -> Iterator[str]:
        yield "fine"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        train(lines())
    with pytest.raises(InvalidTextError, match="U\\+DC00"):
        train(["fine", "\udc00"])
    broken = pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"), pa.py_buffer(b"ok\xff\xff"))
    with pytest.raises(InvalidTextError, match="line 1 is not UTF-8"):
        train(broken)


def test_progress_and_silence(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, Any]] = []
    train(progress=lambda event, fields: seen.append((event, dict(fields))))
    assert seen == [("lines", {"lines": 60, "bytes": sum(map(len, LINES))})]
    assert capfd.readouterr() == ("", "")
