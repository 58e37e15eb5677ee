"""Corpora of a test: their config entry, their files, and what a reader makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nmt_prep.config import Corpus
from nmt_prep.corpora import open_corpus

URL_OF = {
    "plain": {"source": "a.en", "target": "a.zh"},
    "sgm": {"source": "a-src.sgm", "target": "a-ref.sgm"},
    "tsv": {"both": "a.tsv"},
}


def corpus(kind: str, **options: Any) -> Corpus:
    url = {part: (name,) for part, name in URL_OF[kind].items()}
    return Corpus.model_validate({"name": "c", "url": url, "format": kind, **options})


def write(directory: Path, kind: str, *contents: bytes) -> dict[str, Path]:
    files = {part: directory / name for part, name in URL_OF[kind].items()}
    for path, content in zip(files.values(), contents, strict=True):
        path.write_bytes(content)
    return files


def read(directory: Path, kind: str, *contents: bytes, **options: Any) -> list[tuple[str, str]]:
    """The pairs of a corpus whose files have these contents."""
    pairs: list[tuple[str, str]] = []
    for batch in open_corpus(corpus(kind, **options), write(directory, kind, *contents)).pairs():
        pairs += zip(batch.source.to_pylist(), batch.target.to_pylist(), strict=True)
    return pairs
