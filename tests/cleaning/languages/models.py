"""Small fastText models of every kind, trained on a few lines, and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nmt_prep.cleaning.languages import LanguageIdentifier
from nmt_prep.columns import TextColumn
from tests.reference import fasttext as twin

LINES = [
    ("en", "A man in an orange hat is starring at something ."),
    ("en", "A boston terrier is running on lush green grass in front of a white fence ."),
    ("en", "People are fixing the roof of a house , and the people stand outside ."),
    ("en", "the cat sat on the mat with two dogs"),
    ("en", "hello world this is a line of text"),
    ("de", "Ein Mann mit einem orangefarbenen Hut , der etwas anstarrt ."),
    ("de", "Leute reparieren das Dach eines Hauses , süße Übergröße ."),
    ("de", "Eine Gruppe von Menschen steht vor einem Iglu und die Katze saß dort"),
    ("zh", "一个 戴 着 橙色 帽子 的 男人 盯着 某物 看"),
    ("zh", "人们 正在 修理 房顶"),
    ("fr", "le chat est là , ça va très bien"),
    *((f"x{number}", f"tag{number} rare") for number in range(4)),
]
KINDS: dict[str, dict[str, Any] | None] = {
    "dense": None,
    "quantized": {},
    "norms": {"norms": True, "part": 4},
    "output": {"output": True, "norms": True},
    "pruned": {"pruned": True},
    "pruned_all": {"pruned": True, "norms": True, "output": True, "part": 5},
}
LOSSES = ("softmax", "hs", "ova", "ns")


@cache
def trained(loss: str, word_ngrams: int = 1, dim: int = 6) -> twin.Model:
    return twin.train(LINES, loss, word_ngrams=word_ngrams, dim=dim)


@cache
def model(loss: str, kind: str, word_ngrams: int = 1, dim: int = 6) -> twin.Model:
    options = KINDS[kind]
    dense = trained(loss, word_ngrams, dim)
    return dense if options is None else twin.quantized(dense, **options)


def written(made: twin.Model, directory: Path) -> Path:
    path = directory / "model.bin"
    path.write_bytes(twin.write(made))
    return path


def best(identifier: LanguageIdentifier, lines: Sequence[str], most: int) -> list[list[tuple[str, float]]]:
    """The labels and probabilities of each line, as lists."""
    labels, found = identifier.top(TextColumn.from_strings(lines), most)
    return [
        [(identifier.labels[label], float(value)) for label, value in zip(*row, strict=True) if label >= 0]
        for row in zip(labels, found, strict=True)
    ]


def byte_column(lines: Sequence[bytes]) -> TextColumn:
    """A column of any bytes, UTF-8 or not."""
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line) for line in lines], out=offsets[1:])
    return TextColumn(np.frombuffer(b"".join(lines), np.uint8), offsets)
