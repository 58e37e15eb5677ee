"""Builders of test corpora: config entries, files, and the pairs that readers return."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nmt_prep.config import Corpus, Languages
from nmt_prep.corpora import Reader, open_corpus

FILES_OF_SIDES = {
    "plain": {"source": "a.en", "target": "a.zh"},
    "sgm": {"source": "a-src.sgm", "target": "a-ref.sgm"},
}
"""Names of the files of formats with a file for each side."""

LANGUAGES = Languages(source="en", target="zh")


def names_of(kind: str) -> dict[str, str]:
    """Returns the names of the files of a corpus, by part."""
    return FILES_OF_SIDES.get(kind, {"both": f"a.{kind}"})


def corpus(kind: str, **options: Any) -> Corpus:
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    url = {part: (name,) for part, name in names_of(kind).items()}
    return Corpus.model_validate({"name": "c", "url": url, "format": kind, **options})


def write(directory: Path, kind: str, *contents: bytes) -> dict[str, Path]:
    files = {part: directory / name for part, name in names_of(kind).items()}
    for path, content in zip(files.values(), contents, strict=True):
        path.write_bytes(content)
    return files


def reader(directory: Path, kind: str, *contents: bytes, **options: Any) -> Reader:
    """Returns the reader of a corpus whose files have these contents."""
    return open_corpus(corpus(kind, **options), [write(directory, kind, *contents)], LANGUAGES)


def pairs_of(opened: Reader) -> list[tuple[str, str]]:
    """Returns the pairs without faults."""
    pairs: list[tuple[str, str]] = []
    for batch in opened.pairs():
        sound = batch.sound()
        pairs += zip(sound.source.to_pylist(), sound.target.to_pylist(), strict=True)
    return pairs


def faults_of(opened: Reader) -> list[int]:
    """Returns the faults of all pairs."""
    faults: list[int] = []
    for batch in opened.pairs():
        faults += [0] * len(batch) if batch.faults is None else batch.faults.tolist()
    return faults


def read(directory: Path, kind: str, *contents: bytes, **options: Any) -> list[tuple[str, str]]:
    """Returns the pairs without faults of a corpus whose files have these contents."""
    return pairs_of(reader(directory, kind, *contents, **options))
