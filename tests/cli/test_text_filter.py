from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, T2TTokenizer, Tokenizer, load_tokenizer

PLAIN = ["Hello, world_wide.", "時間 と 𠮷  two spaces", "", "42 \\ 17"]
TEXT = [*PLAIN, "a\tb c　d"]  # SentencePiece's pieces of this have white space, which no text file of pieces can hold


def filtered(text: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run(
        [sys.executable, "-m", "nmt_prep", *arguments],
        env=environment,
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    assert result.stderr == b"", result.stderr.decode()
    return result.stdout.decode()


@pytest.fixture(scope="module", params=["t2t", "byte_bpe", "sentencepiece"])
def vocabulary(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocab")
    lines = PLAIN * 20 if request.param == "sentencepiece" else TEXT * 20
    tokenizer: Tokenizer
    if request.param == "t2t":
        tokenizer, path = T2TTokenizer.train(lines, 100), path / "v.subwords"
    elif request.param == "byte_bpe":
        tokenizer, path = ByteBPETokenizer.train(lines, 300), path / "v.tokenizer.json"
    else:
        options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "byte_fallback": True}
        tokenizer, path = SentencePieceTokenizer.train(lines, 310, model_type="bpe", **options), path / "v.model"
    tokenizer.save(path)
    return path


@pytest.mark.parametrize("form", ["ids", "pieces"])
def test_decode_undoes_encode(vocabulary: Path, form: str) -> None:
    lines = PLAIN if vocabulary.suffix == ".model" else TEXT
    text = "".join(f"{line}\n" for line in lines)
    encoded = filtered(text, "encode", "--vocab", str(vocabulary), "--as", form)
    assert encoded.count("\n") == len(lines)
    if form == "ids":
        expected = [load_tokenizer(vocabulary).encode(line) for line in lines]
        assert [[int(word) for word in line.split()] for line in encoded.splitlines()] == expected
    assert filtered(encoded, "decode", "--vocab", str(vocabulary), "--as", form) == text


def test_vocab_shows_what_it_is_and_how_it_covers_a_text(vocabulary: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in TEXT), encoding="utf-8")
    shown = filtered("", "vocab", str(vocabulary), "--text", str(tmp_path / "text"))
    facts = dict(line.split(maxsplit=1) for line in shown.splitlines() if len(line.split()) > 1)
    tokenizer = load_tokenizer(vocabulary)
    assert facts["dialect"].strip() == tokenizer.dialect
    assert facts["pieces"].split()[0] in (f"{len(tokenizer):,}", "used")
    assert facts["lines"].strip() == "5"
    assert facts["fingerprint"].strip() == tokenizer.fingerprint
