from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from nmt_prep.base.errors import InvalidTextError, TrainingError
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer

LINES = [f"the {noun} sees a small {noun} near {i} trees" for i, noun in enumerate(["cat", "dog", "man"] * 20)]


def train(lines: Any = LINES, size: int = 60, **options: Any) -> SentencePieceTokenizer:
    return SentencePieceTokenizer.train(lines, size, hard_vocab_limit=False, **options)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_same_bytes_for_any_form_of_lines(model_type: Any) -> None:
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


def test_trained_models_are_loaded_when_they_are_first_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[bytes] = []
    engine = SentencePieceTokenizer._engine.func
    monkeypatch.setattr(
        SentencePieceTokenizer._engine, "func", lambda self: loaded.append(self.model_bytes) or engine(self)
    )
    tokenizer = train(model_type="bpe")
    tokenizer.save(tmp_path / "trained.model")
    assert tokenizer.has_spm
    assert loaded == []
    ids = tokenizer.encode("the cat sees a dog")
    assert (tokenizer.unk_id, tokenizer.model_type, tokenizer.decode(ids)) == (2, "bpe", "the cat sees a dog")
    assert loaded == [tokenizer.model_bytes]
    same = SentencePieceTokenizer.load(tmp_path / "trained.model")
    assert (same.encode("the cat sees a dog"), same.fingerprint) == (ids, tokenizer.fingerprint)


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
        (["", ""], {}, "all of these 2 lines are empty, or longer than the 4192 bytes"),
        (["a long line"], {"max_sentence_length": 10}, r"longer than the 10 bytes .* max_sentence_length \(vocab\.op"),
        ([" ", "  "], {}, "these 2 lines hold nothing but white space"),
        (LINES, {"size": 0}, "vocabulary size 0"),
        (LINES, {"size": 4}, "vocabulary size 4: it must be at least 5"),
        (LINES, {"size": 200, "byte_fallback": True}, "vocabulary size 200: it must be at least 261"),
        (
            LINES,
            {"size": 20},
            r"vocabulary size 20: the characters of these 60 lines, .* need 28; .*vocab\.character_co",
        ),
        (LINES, {"size": 10**5}, r"these 60 lines give no more than \d+ pieces; request fewer \(vocab\.size\)"),
        (LINES, {"model_type": "wordpiece"}, "model_type 'wordpiece': it must be one of unigram, bpe, word, char"),
        (LINES, {"normalization_rule_name": "nfd"}, "normalization_rule_name 'nfd': it must be one of nmt_nfkc, nfkc"),
        (LINES, {"pad_id": 2}, "pad_id 2: another special piece has this ID"),
        (LINES, {"pad_id": 60}, "pad_id 60: it must be from 0 to 59"),
        (LINES, {"unk_id": None}, "unk_id None: every SentencePiece model has the unknown piece"),
        (LINES, {"character_coverage": 2.0}, "character_coverage 2.0: it must be from 0.98 to 1"),
        (LINES, {"character_coverage": 0.9}, "character_coverage 0.9: it must be from 0.98 to 1"),
        (LINES, {"user_defined_symbols": ["<unk>"]}, "'<unk>' is the unknown piece"),
        (LINES, {"user_defined_symbols": ["a", "a"]}, r"the piece 'a' is given twice; remove it from vocab\.reserved"),
        (LINES, {"user_defined_symbols": ["x"], "control_symbols": ["x"]}, "'x' is both reserved and one of control_"),
        (
            LINES,
            {"user_defined_symbols": [""]},
            "the reserved piece '': it must be not empty, of less than 8,000 bytes",
        ),
        (LINES, {"user_defined_symbols": ["a", "a\0b"]}, r"the reserved piece 'a\\x00b': it must be"),
        (LINES, {"user_defined_symbols": ["\ud800"]}, r"the reserved piece '\\ud800': it must be"),
        (
            LINES,
            {"control_symbols": ["a\0"]},
            r"control_symbols is \['a\\x00'\]: it must be a list of different",
        ),
        (LINES, {"unk_piece": "\0"}, "unk_piece is .*: it must be a string, not empty, of less than"),
        (LINES, {"required_chars": "a\0"}, "required_chars is .*: it must be a string without NUL"),
        (LINES, {"unk_piece": "<s>"}, "unk_piece is '<s>', as another special piece is"),
    ],
)
def test_errors_of_the_library_are_explained(lines: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        SentencePieceTokenizer.train(lines, **{"size": 60, **options})
    assert "src/" not in str(caught.value)


def test_errors_of_the_lines_propagate() -> None:
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
    for options in ({"model_type": "bpe"}, {"model_type": "bpe", "input_sentence_size": 101}, {"model_type": "char"}):
        with pytest.raises(InvalidTextError, match="line 103 is not UTF-8"):
            train([pa.array(["fine"] * 102), broken], **options)


def test_progress_and_silence(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, Any]] = []
    train(progress=lambda event, fields: seen.append((event, dict(fields))))
    assert seen[:2] == [
        ("lines", {"lines": 60, "bytes": sum(map(len, LINES))}),
        ("step", {"step": "collecting candidate pieces"}),
    ]
    assert ("iteration", 1) in [(event, fields.get("iteration")) for event, fields in seen]
    seen.clear()
    train(size=180, model_type="bpe", progress=lambda event, fields: seen.append((event, dict(fields))))
    assert seen[-2:] == [("merges", {"size": 156, "target": 180}), ("merges", {"size": 180, "target": 180})]
    assert capfd.readouterr() == ("", "")


def test_an_error_of_the_progress_callback_ends_the_training() -> None:
    def stop(event: str, fields: Any) -> None:
        if event == "step":
            raise InterruptedError(event)

    with pytest.raises(InterruptedError):
        train(progress=stop)
