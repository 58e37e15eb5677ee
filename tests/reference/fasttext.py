"""Readable twin of the native reader of fastText models: the file format both ways, training, and prediction.

Written from the format, for supervised models of version 12. Sums are made in float32, in fastText's order.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
SUPERVISED = 3
MAGIC, VERSION = 793712314, 12
SPACES = b" \n\r\t\v\f\0"
END = b"</s>"
PREFIX = b"__label__"


@dataclass(frozen=True)
class Matrix:
    """A matrix as the file holds it: dense, or codes of a quantiser and their centroids, with or without norms."""

    dense: Floats
    """The values; those that the codes stand for, without norms."""
    codes: npt.NDArray[np.uint8] | None = None
    centroids: Floats | None = None
    part: int = 0
    norm_codes: npt.NDArray[np.uint8] | None = None
    norm_centroids: Floats | None = None

    @property
    def norms(self) -> Floats:
        if self.norm_codes is None or self.norm_centroids is None:
            return np.ones(len(self.dense), np.float32)
        return self.norm_centroids[self.norm_codes]


@dataclass(frozen=True)
class Model:
    loss: str
    words: tuple[tuple[bytes, int], ...]
    labels: tuple[tuple[bytes, int], ...]
    input: Matrix
    output: Matrix
    min_chars: int = 0
    max_chars: int = 0
    word_ngrams: int = 1
    buckets: int = 0
    kept: dict[int, int] | None = None
    kind: int = SUPERVISED
    index: dict[bytes, int] = field(default_factory=dict)

    @property
    def dim(self) -> int:
        return self.input.dense.shape[1]


# Rows of a line


def fnv(data: bytes) -> int:
    """FNV-1a, with bytes as signed numbers."""
    value = 2166136261
    for byte in data:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value


def bucket_rows(model: Model, bucket: int) -> list[int]:
    if model.kept is None:
        return [len(model.words) + bucket]
    return [len(model.words) + model.kept[bucket]] if bucket in model.kept else []


def character_ngrams(word: bytes, shortest: int, longest: int) -> Iterator[bytes]:
    text = b"<" + word + b">"
    starts = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
    ends = [*starts[1:], len(text)]
    for first, start in enumerate(starts):
        for size in range(max(shortest, 1), longest + 1):
            if first + size > len(starts):
                break
            end = ends[first + size - 1]
            if size > 1 or (start > 0 and end < len(text)):
                yield text[start:end]


def tokens(line: bytes) -> list[bytes]:
    found = line.translate(bytes(32 if byte in SPACES else byte for byte in range(256))).split(b" ")
    found = [token for token in found if token]
    return found[: found.index(END) + 1] if END in found else [*found, END]


def rows(model: Model, line: bytes) -> list[int]:
    found, hashes = [], []
    for token in tokens(line):
        number = model.index.get(token)
        if number is None and token.startswith(PREFIX):
            continue
        if number is not None and number >= len(model.words):
            continue
        if number is not None:
            found.append(number)
        if token != END:
            for ngram in character_ngrams(token, model.min_chars, model.max_chars):
                found += bucket_rows(model, fnv(ngram) % model.buckets)
        hashes.append(fnv(token))
    signed = [value - (1 << 32) if value >> 31 else value for value in hashes]
    for first in range(len(signed)):
        value = signed[first] & (1 << 64) - 1
        for other in signed[first + 1 : first + model.word_ngrams]:
            value = (value * 116049371 + other) & (1 << 64) - 1
            found += bucket_rows(model, value % model.buckets)
    return found


# Prediction


def hidden(model: Model, found: Sequence[int]) -> Floats:
    total = np.zeros(model.dim, np.float32)
    for row in found:
        total += model.input.norms[row] * model.input.dense[row]
    return total * np.float32(1.0 / len(found))


def products(model: Model, vector: Floats) -> Floats:
    total = np.zeros(len(model.output.dense), np.float32)
    for number in range(model.dim):
        total += model.output.dense[:, number] * vector[number]
    return total * model.output.norms


def tree(counts: Sequence[int]) -> list[tuple[int, int]]:
    """The children of the inner nodes of the Huffman tree; labels have the first numbers, the root the last one."""
    weights, children = list(counts), []
    leaf, node = len(counts) - 1, len(counts)
    while len(weights) < 2 * len(counts) - 1:
        pair = []
        for _ in range(2):
            if leaf >= 0 and (node >= len(weights) or weights[leaf] < weights[node]):
                pair.append(leaf)
                leaf -= 1
            else:
                pair.append(node)
                node += 1
        weights.append(weights[pair[0]] + weights[pair[1]])
        children.append((pair[0], pair[1]))
    return children


def log(probability: float) -> np.float32:
    return np.float32(math.log(float(np.float32(probability)) + 1e-5))


def logistic(value: np.float32) -> float:
    """fastText's table of 512 steps from -8 to 8."""
    if abs(value) > 8:
        return float(value > 8)
    step = int((value + np.float32(8)) * np.float32(512) / np.float32(8) / np.float32(2))
    return float(np.float32(1 / (1 + float(np.exp(-np.float32(step * 16 / 512 - 8))))))


def probabilities(model: Model, line: bytes) -> dict[int, float]:
    """Probability of each label, as fastText gives it: without those whose branch of the tree is below 0.00001."""
    found = rows(model, line)
    if not found:
        return {}
    outputs = products(model, hidden(model, found))
    if model.loss == "hs":
        return tree_probabilities(model, outputs)
    if model.loss == "softmax":
        powers = np.exp((outputs - outputs.max()).astype(np.float64)).astype(np.float32)
        total = np.float32(0)
        for power in powers:
            total += power
        shares = [float(power / total) for power in powers]
    else:
        shares = [logistic(value) for value in outputs]
    return {label: float(np.exp(log(share))) for label, share in enumerate(shares)}


def tree_probabilities(model: Model, outputs: Floats) -> dict[int, float]:
    children = tree([count for _, count in model.labels])
    scores, found = {len(model.labels) + len(children) - 1: np.float32(0)}, {}
    for node in range(len(model.labels) + len(children) - 1, -1, -1):
        if node not in scores or scores[node] < log(0):
            continue
        if node < len(model.labels):
            found[node] = float(np.exp(scores[node]))
            continue
        left, right = children[node - len(model.labels)]
        share = np.float32(1 / float(np.float32(1) + np.exp(-outputs[node - len(model.labels)])))
        scores[left] = scores[node] + log(1.0 - float(share))
        scores[right] = scores[node] + log(float(share))
    return found


# Training


def train(
    lines: Sequence[tuple[str, str]],
    loss: str,
    *,
    dim: int = 6,
    min_chars: int = 2,
    max_chars: int = 4,
    word_ngrams: int = 1,
    buckets: int = 997,
    epochs: int = 8,
    rate: float = 1.0,
) -> Model:
    """Trains a model on pairs of label and line, by gradient descent on one line after the other."""
    words = Counter(token for _, line in lines for token in tokens(line.encode()))
    labels = Counter(PREFIX + label.encode() for label, _ in lines)
    random = np.random.default_rng(1)
    vectors = random.uniform(-1 / dim, 1 / dim, (len(words) + buckets, dim)).astype(np.float32)
    model = Model(
        loss,
        tuple(words.most_common()),
        tuple(labels.most_common()),
        Matrix(vectors),
        Matrix(np.zeros((len(labels), dim), np.float32)),
        min_chars=min_chars,
        max_chars=max_chars,
        word_ngrams=word_ngrams,
        buckets=buckets,
    )
    model = indexed(model)
    output = model.output.dense
    children = tree([count for _, count in model.labels])
    names = [name for name, _ in model.labels]
    samples = [(rows(model, line.encode()), names.index(PREFIX + label.encode())) for label, line in lines]
    for _ in range(epochs):
        for found, label in samples:
            vector = vectors[found].mean(axis=0)
            wanted, used = targets(loss, label, len(names), children)
            scores = output[used] @ vector
            if loss == "softmax":
                guessed = np.exp(scores - scores.max())
                guessed /= guessed.sum()
            else:
                guessed = 1 / (1 + np.exp(-scores))
            error = ((wanted - guessed) * rate).astype(np.float32)
            change = error @ output[used]
            output[used] += np.outer(error, vector)
            np.add.at(vectors, found, change / len(found))
    return model


def targets(loss: str, label: int, labels: int, children: list[tuple[int, int]]) -> tuple[Floats, list[int]]:
    """What the outputs should be, and which rows of the output matrix they are of."""
    if loss != "hs":
        return np.eye(labels, dtype=np.float32)[label], list(range(labels))
    parents = {child: (number, side) for number, pair in enumerate(children) for side, child in enumerate(pair)}
    wanted, used, node = [], [], label
    while node in parents:
        number, side = parents[node]
        wanted.append(side)
        used.append(number)
        node = labels + number
    return np.array(wanted, np.float32), used


def indexed(model: Model) -> Model:
    entries = (*model.words, *model.labels)
    return replace(model, index={text: number for number, (text, _) in enumerate(entries)})


def quantized(model: Model, *, part: int = 2, norms: bool = False, output: bool = False, pruned: bool = False) -> Model:
    """The same model with quantised matrices; ``pruned``: only every third bucket is kept."""
    dense = model.input.dense
    kept = None
    if pruned:
        kept = {bucket: number for number, bucket in enumerate(range(0, model.buckets, 3))}
        dense = np.concatenate([dense[: len(model.words)], dense[[len(model.words) + bucket for bucket in kept]]])
    quantized_output = quantized_matrix(model.output.dense, part, norms) if output else model.output
    return replace(model, input=quantized_matrix(dense, part, norms), output=quantized_output, kept=kept)


def quantized_matrix(dense: Floats, part: int, norms: bool) -> Matrix:
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
    return Matrix(
        np.concatenate(values, axis=1),
        np.stack(codes, axis=1),
        np.concatenate(centroids),
        part,
        norm_codes,
        norm_centroids,
    )


# The file


def write(model: Model, version: int = VERSION) -> bytes:
    out = [struct.pack("<2i", MAGIC, version)]
    settings = (model.dim, 5, 5, 1, 5, model.word_ngrams, LOSSES.get(model.loss, 0), model.kind, model.buckets)
    out.append(struct.pack("<12id", *settings, model.min_chars, model.max_chars, 100, 1e-4))
    size = len(model.words) + len(model.labels)
    pruned = -1 if model.kept is None else len(model.kept)
    out.append(struct.pack("<3i2q", size, len(model.words), len(model.labels), 1000, pruned))
    for is_label, entries in enumerate((model.words, model.labels)):
        out.extend(text + b"\0" + struct.pack("<qb", count, is_label) for text, count in entries)
    out.extend(struct.pack("<2i", bucket, row) for bucket, row in (model.kept or {}).items())
    out.append(struct.pack("<?", model.input.codes is not None))
    out.append(write_matrix(model.input))
    out.append(struct.pack("<?", model.output.codes is not None))
    out.append(write_matrix(model.output))
    return b"".join(out)


def write_matrix(matrix: Matrix) -> bytes:
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
