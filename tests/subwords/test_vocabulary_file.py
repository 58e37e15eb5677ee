from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import VocabularyError
from nmt_prep.subwords import ByteBPETokenizer, SentencePieceTokenizer, T2TTokenizer, Tokenizer
from nmt_prep.subwords.tokenizer import read_vocabulary

DIALECTS = [T2TTokenizer, ByteBPETokenizer, SentencePieceTokenizer]


def test_reads_bytes_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "vocab"
    path.write_bytes(b"\xff\r\n\0")
    assert read_vocabulary(path) == b"\xff\r\n\0"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_missing_file(dialect: type[Tokenizer], tmp_path: Path) -> None:
    path = tmp_path / "none.model"
    with pytest.raises(VocabularyError) as caught:
        dialect.load(path)
    assert str(caught.value) == f"cannot read the vocabulary {path}: No such file or directory; check the path"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_file_too_large_for_a_vocabulary(dialect: type[Tokenizer], tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    with path.open("wb") as file:
        file.truncate((1 << 28) + 1)
    with pytest.raises(VocabularyError) as caught:
        dialect.load(path)
    message = f"{path} is larger than 256 MiB, too large for a vocabulary; check the path"
    assert str(caught.value) == message
