"""The best path of beads, as a search over all cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Bead = tuple[int, int, int, int]


@dataclass(frozen=True)
class Side:
    """Sentences: words, and lengths in characters."""

    words: list[list[int]]
    lengths: list[float]


@dataclass(frozen=True)
class Words:
    """Links and shares of words.

    Attributes:
        counts: links by source and target word.
        shares: shares of source and target words.
        own: counts by source and target word that each bead of an earlier path added.
        source_beads: the bead of each source sentence.
        target_beads: the bead of each target sentence.
    """

    counts: dict[tuple[int, int], float]
    shares: tuple[list[float], list[float]]
    own: list[dict[tuple[int, int], float]]
    source_beads: list[int]
    target_beads: list[int]


@dataclass(frozen=True)
class Model:
    """Parameters of the values of beads."""

    kinds: Sequence[tuple[int, int]]
    priors: Sequence[float]
    deletion: float
    extension: float
    ratio: float
    variance: float
    gammas: tuple[tuple[float, float], tuple[float, float]]
    pseudo: float = 2.0
    mix: float = 0.2
    window: int = 1
    background: float = 3.0
    weight: float = 0.25
    free: float = -5.0


def student(x: float, mean: float, variance: float) -> float:
    constant = math.lgamma(2.5) - math.lgamma(2) - 0.5 * math.log(4 * math.pi)
    return constant - 0.5 * math.log(variance) - 2.5 * math.log1p((x - mean) ** 2 / variance / 4)


def gamma(x: float, shape: float, scale: float) -> float:
    return (shape - 1) * math.log(x) - x / scale - math.lgamma(shape) - shape * math.log(scale)


def length_value(model: Model, source: Sequence[float], target: Sequence[float]) -> float:
    x, y, c = sum(source), sum(target), model.ratio
    (a, b), (d, e) = model.gammas
    forward = student(y, c * x, model.variance * c * max(x, 5)) - gamma(y, d * len(target), e)
    backward = student(x, y / c, model.variance / c * max(y / c, 5)) - gamma(x, a * len(source), b)
    return 0.5 * (forward + backward)


def word_value(
    model: Model, known: Words, side: Side, begin: int, end: int, given: list[tuple[int, list[int]]], *, forward: bool
) -> float:
    """Sum over the words of sentences [begin, end) of a side; given: for each sentence its bead and its words."""
    words = [(bead, word) for bead, sentence in given for word in sentence]
    if not words:
        return -2.0 * (end - begin)
    total = 0.0
    for at, word in ((place, word) for place in range(begin, end) for word in side.words[place]):
        near = [other for j in side.words[max(at - model.window, 0) : at + model.window + 1] for other in j]
        share = near.count(word) + model.background * known.shares[forward][word]
        share /= len(near) + model.background
        p = rest = 0.0
        for bead, other in words:
            own = known.own[bead] if bead >= 0 else {}

            def left(key: tuple[int, int], own: dict[tuple[int, int], float] = own) -> float:
                return known.counts.get(key, 0.0) - own.get(key, 0.0)

            keys = [key for key in known.counts if key[0 if forward else 1] == other]
            inverse = 1 / (max(sum(map(left, keys)), 0.0) + model.pseudo)
            p += max(left((other, word) if forward else (word, other)), 0.0) * inverse
            rest += model.pseudo * inverse
        total += math.log((1 - model.mix) * p / share / len(words) + rest / len(words) * (1 - model.mix) + model.mix)
    return total


def bead_value(model: Model, source: Side, target: Side, known: Words | None, bead: Bead) -> float:
    a, b, c, d = bead
    value = length_value(model, source.lengths[a:b], target.lengths[c:d])
    value += model.priors[model.kinds.index((b - a, d - c))]
    if known is None:
        return value
    given_source = [(known.source_beads[i], source.words[i]) for i in range(a, b)]
    given_target = [(known.target_beads[j], target.words[j]) for j in range(c, d)]
    words = word_value(model, known, target, c, d, given_source, forward=True)
    words += word_value(model, known, source, a, b, given_target, forward=False)
    return value + max(model.weight * words, model.free)


def path_value(model: Model, source: Side, target: Side, known: Words | None, beads: Sequence[Bead]) -> float:
    total, alone = 0.0, False
    for bead in beads:
        a, b, c, d = bead
        if a == b or c == d:
            total, alone = total + (model.extension if alone else model.deletion), True
        else:
            total, alone = total + bead_value(model, source, target, known, bead), False
    return total


def best_value(model: Model, source: Side, target: Side, known: Words | None) -> float:
    n, m = len(source.lengths), len(target.lengths)
    never = -math.inf
    best = {(i, j, alone): never for i in range(-5, n + 1) for j in range(-5, m + 1) for alone in (False, True)}
    best[0, 0, False] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            for x, y in ((i - 1, j), (i, j - 1)):
                longer = max(best[x, y, False] + model.deletion, best[x, y, True] + model.extension)
                best[i, j, True] = max(best[i, j, True], longer)
            for a, b in model.kinds:
                before = max(best[i - a, j - b, False], best[i - a, j - b, True])
                if before > never:
                    value = before + bead_value(model, source, target, known, (i - a, i, j - b, j))
                    best[i, j, False] = max(best[i, j, False], value)
    return max(best[n, m, False], best[n, m, True])
