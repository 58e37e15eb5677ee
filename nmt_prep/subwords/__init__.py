"""Subword dialects behind one interface."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe import ByteBPETokenizer
from nmt_prep.subwords.sentencepiece import SentencePieceTokenizer
from nmt_prep.subwords.t2t import T2TTokenizer
from nmt_prep.subwords.tokenizer import ProgressCallback, Tokenizer

__all__ = [
    "ByteBPETokenizer",
    "ProgressCallback",
    "SentencePieceTokenizer",
    "T2TTokenizer",
    "Tokenizer",
    "load_tokenizer",
]

_RANK = re.compile(rb"[A-Za-z0-9+/]+=* [0-9]+\n")
_BYTE_BPE_FILES = ("encoder.json", "vocab.json", "vocab.bpe", "merges.txt", "tokenizer.json")


def load_tokenizer(path: str | Path, *, id_layout: Literal["sentencepiece", "fairseq"] | None = None) -> Tokenizer:
    """Loads a vocabulary file of any dialect, which it tells from the file.

    A directory, a JSON file, files with OpenAI's names and tiktoken's ranks are byte-level BPE; a protocol buffer is
    SentencePiece; other text is Tensor2Tensor's.

    Args:
        path: the file, or a directory with the files of byte-level BPE.
        id_layout: of a SentencePiece model, which does not say it.

    Raises:
        VocabularyError: the file cannot be read, or is no vocabulary that nmt_prep knows.
    """
    path = Path(path)
    if path.is_dir() or path.name in _BYTE_BPE_FILES or path.suffix == ".tiktoken":
        return ByteBPETokenizer.load(path)
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError as error:
        raise VocabularyError(f"cannot read the vocabulary {path}: {error.strerror or error}") from error
    if _RANK.match(head):
        return ByteBPETokenizer.load(path)
    if path.suffix == ".model" or (head[:1] == b"\n" and head[2:3] == b"\n"):
        return SentencePieceTokenizer.load(path, id_layout=id_layout or "sentencepiece")
    if path.suffix == ".json" or _opens_json(head):
        return ByteBPETokenizer.load(path)
    return T2TTokenizer.load(path)


def _opens_json(head: bytes) -> bool:
    """Whether text opens as a JSON object does; a bare piece that begins with a brace does not go on so."""
    try:
        return json.loads(head.lstrip()[:1] + b"}") == {} and head.lstrip()[1:].lstrip()[:1] == b'"'
    except ValueError:
        return False
