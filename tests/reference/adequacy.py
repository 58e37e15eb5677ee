"""Features of pairs, and boosted trees, written for readability: dense arrays, one pair or one split at a time."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tests.reference import align
from tests.reference.align import Floats

WORD, NUMBER, STOP, QUESTION, EXCLAMATION, COMMA, COLON, QUOTE, BRACKET, OTHER = range(10)

_KINDS = {
    **dict.fromkeys(".。．｡।۔…", STOP),
    **dict.fromkeys("?？؟;", QUESTION),
    **dict.fromkeys("!！", EXCLAMATION),
    **dict.fromkeys(",;，、،；؛", COMMA),
    **dict.fromkeys(":：", COLON),
    **dict.fromkeys("\"'`„‚「」『』", QUOTE),
}

Side = Sequence[int]
Origin = tuple[Side, Side, int]
Judge = Callable[[Side, Side, Sequence[Origin]], "tuple[Floats, Floats, list[int | None], list[int | None]]"]


def kind_of(word: str) -> int:
    """The kind of a word by its first character."""
    category = unicodedata.category(word[0])
    if word[0] in _KINDS:
        return _KINDS[word[0]]
    if category == "Nd":
        return NUMBER
    if category in ("Pi", "Pf"):
        return QUOTE
    if category in ("Ps", "Pe"):
        return BRACKET
    return WORD if category[0] in "LMN" or category in ("Pc", "Cf") else OTHER


def judge(model: align.Model, counts: align.Table, options: Mapping[str, Any]) -> Judge:
    """A function that returns values and links of words: words that are each other's best counterpart."""

    def of(
        source: Side, target: Side, origins: Sequence[Origin]
    ) -> tuple[Floats, Floats, list[int | None], list[int | None]]:
        first, second, forward, backward = align.support(model, counts, source, target, origins, options)
        links: list[tuple[int, int]] = []
        for i in range(len(source)):
            j = int(np.argmax(backward[i]))
            mutual = backward[i, j] > 0 and int(np.argmax(forward[:, j])) == i
            if mutual and first[i] > 0.7 and second[j] > 0.7:
                links.append((i, j))
        to_target, to_source = dict(links), {j: i for i, j in links}
        return first, second, [*map(to_target.get, range(len(source)))], [*map(to_source.get, range(len(target)))]

    return of


@dataclass
class Usual:
    """Averages for the words of a side: sums of values, numbers of links, and of occurrences."""

    values: Floats
    links: Floats
    counts: Floats

    @classmethod
    def empty(cls, words: int) -> Usual:
        return cls(*np.zeros((3, words)))

    def add(self, words: Side, values: Floats, links: Sequence[int | None], times: int = 1) -> None:
        for word, value, link in zip(words, values, links, strict=True):
            self.values[word] += times * value
            self.links[word] += times * (link is not None)
            self.counts[word] += times

    def copy(self) -> Usual:
        return Usual(self.values.copy(), self.links.copy(), self.counts.copy())

    def of(self, words: Side) -> Floats:
        """The values, links and occurrences of words; nothing for those counted less often than left out."""
        return np.array([[sums[word] * (self.counts[word] > 0) for word in words] for sums in vars(self).values()])


def side_features(
    words: Side, values: Floats, links: Sequence[int | None], every: Usual, left: Usual, shares: Sequence[float]
) -> tuple[list[float], tuple[int, int] | None]:
    """The features of a side, and its gap if it is clear; ``left`` is ``every`` without the pair's own origins."""
    total = max(every.counts.sum(), 1)
    mean, rate = every.values.sum() / total, every.links.sum() / total
    known = left.of(words)
    deficit = values - (known[0] + 2 * mean) / (known[2] + 2)
    rates = (known[1] + 2 * rate) / (known[2] + 2)
    linked = np.array([link is not None for link in links])
    surprise = -np.log(np.maximum(np.where(linked, rates, 1 - rates), 1e-3))
    information = -np.log([shares[word] for word in words])
    everything = max(information.sum(), 1e-9)
    n = len(words)
    runs = [len(run) for run in "".join("x" if link else " " for link in linked).split("x")]
    sums = {(a, b): -(deficit[a:b] + 0.5).sum() for a in range(n) for b in range(a + 1, n + 1)}
    widest = max(0.0, *sums.values())
    gaps = [stretch for stretch, weight in sums.items() if weight > widest - 0.05]
    gap = gaps[0] if len(gaps) == 1 else None
    part = min(max(2, n // 4), n)
    features = [
        values.mean(),
        (information * values).sum() / everything,
        deficit.mean(),
        (information * deficit).sum() / everything,
        surprise.mean(),
        (information * ~linked).sum() / everything,
        deficit.min(),
        math.log1p(max(runs)),
        max(runs) / n,
        widest,
        widest / n,
        deficit[:part].mean(),
        deficit[n - part :].mean(),
        (deficit < -2).mean(),
        deficit.std(),
    ]
    return features, gap


def joint_features(source: Floats, target: Floats, links: Sequence[int | None], n: int) -> list[float]:
    """Features of the links; ``source`` and ``target`` are features of the sides."""
    m = len(links)
    linked = [(i, j) for i, j in enumerate(links) if j is not None]
    pairs = [(a[1], b[1]) for at, b in enumerate(linked) for a in linked[:at]]
    steps = sum(abs(b[1] - a[1]) == 1 for a, b in pairwise(linked))
    far = sum(abs((i + 0.5) / m - (j + 0.5) / n) for i, j in linked)
    return [
        len(linked) / min(m, n),
        len(linked) / max(m, n),
        sum(a > b for a, b in pairs) / len(pairs) if pairs else 0.5,
        steps / len(linked) if linked else 0.0,
        far / len(linked) if linked else 0.3,
        source[0] + target[0],
        max(source[9], target[9]),
        min(source[6], target[6]),
        min(source[2], target[2]),
        max(source[7], target[7]),
    ]


def text_features(
    source: Sequence[tuple[int, int, int]], target: Sequence[tuple[int, int, int]], ratios: tuple[float, float]
) -> list[float]:
    """Features of the marks of words: (kind, characters, digits)."""
    m, n = len(source), len(target)
    lengths = [sum(characters for _, characters, _ in side) for side in (source, target)]
    scale = math.sqrt(min(m, n))
    words = scale * (math.log((m + 1) / (n + 1)) - math.log(ratios[0]))
    characters = scale * (math.log((lengths[0] + 1) / (lengths[1] + 1)) - math.log(ratios[1]))
    numbers = [Counter(digits for kind, _, digits in side if kind == NUMBER) for side in (source, target)]
    both = (numbers[0] & numbers[1]).total()
    ends = [[kind for kind, _, _ in side if kind not in (QUOTE, BRACKET)] or [WORD] for side in (source, target)]
    last = [WORD if end[-1] == NUMBER else end[-1] for end in ends]

    def more(*kinds: int) -> int:
        first, second = (sum(kind in kinds for kind, _, _ in side) for side in (source, target))
        return first - second

    stops = more(STOP, QUESTION, EXCLAMATION)
    return [
        math.log1p(m),
        math.log1p(n),
        max(words, 0),
        max(-words, 0),
        max(characters, 0),
        max(-characters, 0),
        math.log1p(numbers[0].total() - both),
        math.log1p(numbers[1].total() - both),
        math.log1p(both),
        last[0] != last[1],
        abs(more(QUESTION)),
        abs(more(EXCLAMATION)),
        more(COMMA) / math.sqrt(sum(lengths) + 1),
        abs(more(QUOTE)),
        abs(more(BRACKET)),
        abs(more(COLON)),
        max(stops, 0),
        max(-stops, 0),
    ]


@dataclass
class Node:
    """A tree: leaves have a value; inner nodes have a feature, the last bin of their first child, and children."""

    value: float = 0.0
    feature: int | None = None
    bin: int = 0
    children: tuple[Node, ...] = ()

    def of(self, row: Sequence[int]) -> float:
        if self.feature is None:
            return self.value
        return self.children[int(row[self.feature] > self.bin)].of(row)


def boosted(
    rows: Sequence[Sequence[int]], classes: Sequence[int], directions: Sequence[int], trees: int, leaves: int
) -> list[Node]:
    """Trees for the log-odds of the class 1, with a rate of 0.5, a penalty of 1, and one row or more in each leaf."""
    scores = [0.0] * len(rows)
    forest = []
    for _ in range(trees):
        p = [1 / (1 + math.exp(-score)) for score in scores]
        gradients = [int((a - b) * 2**20) / 2**20 for a, b in zip(p, classes, strict=True)]
        curvatures = [int(a * (1 - a) * 2**20) / 2**20 for a in p]

        def value(
            chosen: Sequence[int],
            low: float,
            high: float,
            g: list[float] = gradients,
            h: list[float] = curvatures,
        ) -> float:
            return min(max(-sum(g[i] for i in chosen) / (sum(h[i] for i in chosen) + 1), low), high)

        def gain(chosen: Sequence[int], w: float, g: list[float] = gradients, h: list[float] = curvatures) -> float:
            return -(sum(g[i] for i in chosen) * w + 0.5 * (sum(h[i] for i in chosen) + 1) * w * w)

        def best(chosen: Sequence[int], low: float, high: float) -> tuple[float, int, int, float, float]:
            before = gain(chosen, value(chosen, low, high)) + 1e-6
            found = (0.0, 0, 0, 0.0, 0.0)
            for feature, direction in enumerate(directions):
                for bound in sorted({rows[i][feature] for i in chosen})[:-1]:
                    parts = [[i for i in chosen if (rows[i][feature] > bound) == above] for above in (False, True)]
                    left, right = (value(part, low, high) for part in parts)
                    if direction * (right - left) < 0:
                        continue
                    new = gain(parts[0], left) + gain(parts[1], right) - before
                    if new > found[0]:
                        found = (new, feature, bound, left, right)
            return found

        root = Node()
        open_leaves = [(root, list(range(len(rows))), -math.inf, math.inf)]
        while len(open_leaves) < leaves:
            splits = [best(chosen, low, high) for _, chosen, low, high in open_leaves]
            at = max(range(len(splits)), key=lambda i: splits[i][0])
            if splits[at][0] <= 0:
                break
            node, chosen, low, high = open_leaves[at]
            _, feature, bound, left, right = splits[at]
            middle, direction = (left + right) / 2, directions[feature]
            node.feature, node.bin, node.children = feature, bound, (Node(), Node())
            first = [i for i in chosen if rows[i][feature] <= bound]
            second = [i for i in chosen if rows[i][feature] > bound]
            lows = (middle if direction < 0 else low, middle if direction > 0 else low)
            highs = (middle if direction > 0 else high, middle if direction < 0 else high)
            open_leaves[at] = (node.children[0], first, lows[0], highs[0])
            open_leaves.append((node.children[1], second, lows[1], highs[1]))
        for node, chosen, low, high in open_leaves:
            node.value = 0.5 * value(chosen, low, high)
        scores = [score + root.of(row) for score, row in zip(scores, rows, strict=True)]
        forest.append(root)
    return forest
