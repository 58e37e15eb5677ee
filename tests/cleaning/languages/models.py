"""Small fastText models of every kind, as files of version 12, and comparisons."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.languages import LanguageIdentifier

Floats = npt.NDArray[np.float32]

END = b"</s>"
PREFIX = b"__label__"
_LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
_SUPERVISED = 3
_MAGIC, _VERSION = 793712314, 12

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


@dataclass(frozen=True)
class Matrix:
    """A matrix as the file holds it: dense, or codes of a quantiser and their centroids, with or without norms."""

    dense: Floats
    codes: npt.NDArray[np.uint8] | None = None
    centroids: Floats | None = None
    part: int = 0
    norm_codes: npt.NDArray[np.uint8] | None = None
    norm_centroids: Floats | None = None


@dataclass(frozen=True)
class Model:
    loss: str
    words: tuple[tuple[bytes, int], ...]
    labels: tuple[tuple[bytes, int], ...]
    input: Matrix
    output: Matrix
    word_ngrams: int = 1
    min_chars: int = 2
    max_chars: int = 4
    buckets: int = 997
    kept: dict[int, int] | None = None
    kind: int = _SUPERVISED


def made_from(lines: Sequence[tuple[str, str]], loss: str, word_ngrams: int = 1, dim: int = 6) -> Model:
    """Makes a model of pairs of label and line; the vector of a word is near those of its labels."""
    labels = Counter(PREFIX + label.encode() for label, _ in lines)
    words = Counter(word for _, line in lines for word in (*line.encode().split(), END))
    random = np.random.default_rng(1)
    output = random.normal(0, 2, (len(labels), dim)).astype(np.float32)
    vectors = random.normal(0, 0.3, (len(words) + Model.buckets, dim)).astype(np.float32)
    rows = {word: row for row, (word, _) in enumerate(words.most_common())}
    numbers = {label: row for row, (label, _) in enumerate(labels.most_common())}
    for label, line in lines:
        for word in line.encode().split():
            vectors[rows[word]] += output[numbers[PREFIX + label.encode()]] / words[word]
    return Model(
        loss, tuple(words.most_common()), tuple(labels.most_common()), Matrix(vectors), Matrix(output), word_ngrams
    )


@cache
def dense_model(loss: str, word_ngrams: int = 1, dim: int = 6) -> Model:
    return made_from(LINES, loss, word_ngrams, dim)


@cache
def model(loss: str, kind: str, word_ngrams: int = 1, dim: int = 6) -> Model:
    options = KINDS[kind]
    dense = dense_model(loss, word_ngrams, dim)
    return dense if options is None else quantized(dense, **options)


def quantized(model: Model, *, part: int = 2, norms: bool = False, output: bool = False, pruned: bool = False) -> Model:
    """The same model with quantised matrices; ``pruned``: only every third bucket is kept."""
    dense = model.input.dense
    kept = None
    if pruned:
        kept = {bucket: number for number, bucket in enumerate(range(0, model.buckets, 3))}
        dense = np.concatenate([dense[: len(model.words)], dense[[len(model.words) + bucket for bucket in kept]]])
    quantized_output = _quantized_matrix(model.output.dense, part, norms) if output else model.output
    return replace(model, input=_quantized_matrix(dense, part, norms), output=quantized_output, kept=kept)


def _quantized_matrix(dense: Floats, part: int, norms: bool) -> Matrix:
    random = np.random.default_rng(2)
    norm_codes, norm_centroids = None, None
    if norms:
        lengths = np.linalg.norm(dense, axis=1).astype(np.float32)
        norm_centroids = np.quantile(lengths, np.linspace(0, 1, 256)).astype(np.float32)
        norm_codes = np.abs(lengths[:, np.newaxis] - norm_centroids).argmin(axis=1).astype(np.uint8)
        dense = dense / np.maximum(lengths, 1e-9)[:, np.newaxis]
    codes, centroids, values = [], [], []
    for first in range(0, dense.shape[1], part):
        piece = dense[:, first : first + part]
        chosen = piece[random.integers(0, len(piece), 256)]
        nearest = ((piece[:, np.newaxis] - chosen) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
        codes.append(nearest)
        centroids.append(chosen.ravel())
        values.append(chosen[nearest])
    joined = (np.concatenate(values, axis=1), np.stack(codes, axis=1), np.concatenate(centroids))
    return Matrix(*joined, part, norm_codes, norm_centroids)


def content(model: Model, version: int = _VERSION) -> bytes:
    out = [struct.pack("<2i", _MAGIC, version)]
    settings = (model.word_ngrams, _LOSSES.get(model.loss, 0), model.kind, model.buckets)
    sizes = (model.min_chars, model.max_chars, 100)
    out.append(struct.pack("<12id", model.input.dense.shape[1], 5, 5, 1, 5, *settings, *sizes, 1e-4))
    size = len(model.words) + len(model.labels)
    pruned = -1 if model.kept is None else len(model.kept)
    out.append(struct.pack("<3i2q", size, len(model.words), len(model.labels), 1000, pruned))
    for is_label, entries in enumerate((model.words, model.labels)):
        out.extend(text + b"\0" + struct.pack("<qb", count, is_label) for text, count in entries)
    out.extend(struct.pack("<2i", bucket, row) for bucket, row in (model.kept or {}).items())
    for matrix in (model.input, model.output):
        out += [struct.pack("<?", matrix.codes is not None), _matrix_content(matrix)]
    return b"".join(out)


def _matrix_content(matrix: Matrix) -> bytes:
    height, width = matrix.dense.shape
    if matrix.codes is None or matrix.centroids is None:
        return struct.pack("<2q", height, width) + matrix.dense.tobytes()
    parts = matrix.codes.shape[1]
    last = width - (parts - 1) * matrix.part
    out = struct.pack("<?2qi", matrix.norm_codes is not None, height, width, matrix.codes.size)
    out += matrix.codes.tobytes() + struct.pack("<4i", width, parts, matrix.part, last) + matrix.centroids.tobytes()
    if matrix.norm_codes is not None and matrix.norm_centroids is not None:
        out += matrix.norm_codes.tobytes() + struct.pack("<4i", 1, 1, 1, 1) + matrix.norm_centroids.tobytes()
    return out


def written(made: Model, directory: Path) -> Path:
    path = directory / "model.bin"
    path.write_bytes(content(made))
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
