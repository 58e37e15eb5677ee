"""Word alignment, written for readability: dense arrays in double precision, one pair at a time.

``forward`` means that target words are linked to source words, ``backward`` the reverse. Posteriors are arrays of shape
``[steps, states]``; posteriors of a pair, ``[sources, targets]``. See docs/alignment.md for the formulas.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import regex

Floats: TypeAlias = "npt.NDArray[np.float64]"
Table: TypeAlias = "Mapping[tuple[int, int], float]"

REACH = 7
LEAST_COUNTED = 1 / 512

_VOWELS_BEFORE = range(0x0E40, 0x0E45), range(0x0EC0, 0x0EC5)
_VOWELS_AFTER = {0x0E30, 0x0E32, 0x0E33, 0x0E45, 0x0EB0, 0x0EB2, 0x0EB3}
_JOINING = {0x17D2, 0x1039}
_SINGLE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


def kind(character: str) -> str:
    point, category = ord(character), unicodedata.category(character)
    kinds = {
        "space": character.isspace() or point in (0x0F0B, 0x200B),
        "vowel before": any(point in vowels for vowels in _VOWELS_BEFORE),
        "joining": point in _JOINING,
        "trailing": point in _VOWELS_AFTER or category[0] == "M" or category == "Cf",
        "digit": category == "Nd",
        "symbol": category[0] not in "LN" and category != "Pc",
        "katakana": point == 0x30FC or regex.match(r"\p{Katakana}", character),
        "single": _SINGLE.match(character),
        "letter": True,
    }
    return next(name for name, is_so in kinds.items() if is_so)


def words(line: str) -> list[str]:
    """The words of a line."""
    found: list[str] = []
    before = "space"
    for at, character in enumerate(line):
        now = kind(character)
        if before == "digit" and character in ".," and line[at + 1 : at + 2] in tuple("0123456789"):
            found[-1] += character
            continue
        if now == "space":
            before = now
            continue
        joined = before != "space" and (
            now in ("trailing", "joining")
            or before == "joining"
            or (before in ("letter", "digit") and now in ("letter", "digit"))
            or (before == now == "katakana")
            or (before == "vowel before" and now == "single")
            or (before == now == "symbol" and found[-1][-1] == character)
        )
        if joined:
            found[-1] += character
        else:
            found.append(character)
        if not (joined and now == "trailing"):
            before = now
    return found


def diagonal(sources: int, targets: int, steepness: float) -> Floats:
    """Weights of the positions of a pair: the closer to the diagonal, the higher."""
    i, j = (np.arange(size) + 0.5 for size in (sources, targets))
    return np.exp(-steepness * np.abs(i[:, None] / sources - j[None, :] / targets))


@dataclass(frozen=True)
class Model:
    """What posteriors are computed from; see nmt_prep.cleaning.align.model."""

    forward: Table
    backward: Table
    source_shares: Sequence[float]
    target_shares: Sequence[float]
    jumps_forward: Floats
    jumps_backward: Floats
    null: float
    floor: float
    steepness: float

    def emissions(self, source: Sequence[int], target: Sequence[int]) -> tuple[Floats, Floats]:
        """p(target word | source word) and p(source word | target word), both of shape ``[sources, targets]``."""
        forward, backward = np.zeros((2, len(source), len(target)))
        for (i, s), (j, t) in product(enumerate(source), enumerate(target)):
            forward[i, j] = self.forward.get((s, t), 0) + self.floor * self.target_shares[t]
            backward[i, j] = self.backward.get((s, t), 0) + self.floor * self.source_shares[s]
        return forward, backward


def by_diagonal(model: Model, source: Sequence[int], target: Sequence[int]) -> tuple[Floats, Floats]:
    """Posteriors of links that do not depend on each other: forward and backward, each ``[sources, targets]``."""
    forward, backward = model.emissions(source, target)
    weights = diagonal(len(source), len(target), model.steepness)

    def share(emission: Floats, none: Floats, near: Floats) -> Floats:
        linked = (1 - model.null) * near / near.sum(1, keepdims=True) * emission
        return linked / (linked.sum(1) + model.null * none)[:, None]

    none_target = np.array([model.target_shares[t] for t in target])
    none_source = np.array([model.source_shares[s] for s in source])
    return share(forward.T, none_target, weights.T).T, share(backward, none_source, weights)


def transitions(states: int, jumps: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the first state, ``[states]``, and of the next state given each, ``[states, states]``."""

    def weight(width: int) -> float:
        return float(jumps[width + REACH] if abs(width) <= REACH else jumps[-1])

    first = np.array([weight(i + 1) for i in range(states)])
    following = np.array([[weight(to - at) for to in range(states)] for at in range(states)])
    return first / first.sum(), following / following.sum(1, keepdims=True)


def markov(emission: Floats, none: Floats, jumps: Floats, null: float) -> tuple[Floats, Floats, Floats]:
    """Posteriors of a hidden Markov model, by the sums over all its paths forwards and backwards.

    A state is a word of the other side, twice: linked, or remembered while a word is linked to nothing.

    Args:
        emission: of the steps given states, ``[steps, states]``.
        none: of the steps given no word, ``[steps]``.
        jumps: weights of the jumps, of each width from -REACH to REACH, and of all others.
        null: probability of no link.

    Returns:
        Posteriors ``[steps, states]``, posteriors of no link ``[steps]``, and expected numbers of jumps like ``jumps``.
    """
    steps, states = emission.shape
    first, following = transitions(states, jumps)
    # [linked or not, state] -> [linked or not, state]
    move = np.zeros((2, states, 2, states))
    for was in (0, 1):
        move[was, :, 0, :] = (1 - null) * following
        move[was, :, 1, :] = null * np.eye(states)
    seen = np.stack([emission, np.repeat(none[:, None], states, 1)], 1)
    alpha, beta = np.zeros((steps, 2, states)), np.ones((steps, 2, states))
    alpha[0] = np.stack([(1 - null) * first, null * first]) * seen[0]
    for step in range(1, steps):
        alpha[step] = np.einsum("ai,aibj->bj", alpha[step - 1], move) * seen[step]
    for step in reversed(range(steps - 1)):
        beta[step] = np.einsum("aibj,bj->ai", move, seen[step + 1] * beta[step + 1])
    total = alpha[-1].sum()
    posterior = alpha * beta / total
    counts = np.zeros(2 * REACH + 2)
    for step in range(1, steps):
        moved = alpha[step - 1][:, :, None, None] * move * (seen[step] * beta[step])[None, None] / total
        for at, to in product(range(states), repeat=2):
            width = to - at
            counts[width + REACH if abs(width) <= REACH else -1] += moved[:, at, 0, to].sum()
    return posterior[:, 0], posterior[:, 1].sum(1), counts


def by_jumps(
    model: Model, source: Sequence[int], target: Sequence[int]
) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Posteriors ``[sources, targets]``, of no link, and jumps, first forward, then backward."""
    forward, backward = model.emissions(source, target)
    none_target = np.array([model.target_shares[t] for t in target])
    none_source = np.array([model.source_shares[s] for s in source])
    to_source, no_source, jumps_forward = markov(forward.T, none_target, model.jumps_forward, model.null)
    to_target, no_target, jumps_backward = markov(backward, none_source, model.jumps_backward, model.null)
    return to_source.T, to_target, no_source, no_target, jumps_forward, jumps_backward


def agreed(forward: Floats, backward: Floats) -> Floats:
    """Probabilities that both directions have a link."""
    both = forward * backward
    return np.where(both < LEAST_COUNTED, 0, both)


def expected(
    posteriors: Sequence[tuple[Sequence[int], Sequence[int], Floats]], cells: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """Expected numbers of links of each cell of the table, from agreed posteriors of pairs."""
    counts = dict.fromkeys(cells, 0.0)
    for source, target, links in posteriors:
        for (i, s), (j, t) in product(enumerate(source), enumerate(target)):
            if (s, t) in counts:
                counts[s, t] += float(links[i, j])
    return counts


def probabilities(counts: Table) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """p(target | source) and p(source | target) of all cells."""
    rows: dict[int, float] = {}
    columns: dict[int, float] = {}
    for (s, t), count in counts.items():
        rows[s] = rows.get(s, 0) + count
        columns[t] = columns.get(t, 0) + count
    forward = {(s, t): count / rows[s] if count else 0.0 for (s, t), count in counts.items()}
    backward = {(s, t): count / columns[t] if count else 0.0 for (s, t), count in counts.items()}
    return forward, backward


def cells(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], steepness: float, one: int
) -> dict[tuple[int, int], int]:
    """Weights of the pairs of known words that occur together, as whole numbers."""
    counts: dict[tuple[int, int], int] = {}
    for source, target in pairs:
        weights = diagonal(len(source), len(target), steepness) / max(len(source), len(target))
        for (i, s), (j, t) in product(enumerate(source), enumerate(target)):
            if s and t:
                counts[s, t] = counts.get((s, t), 0) + int(weights[i, j] * one) + 1
    return counts


def support(
    model: Model,
    counts: Table,
    source: Sequence[int],
    target: Sequence[int],
    origins: Sequence[tuple[Sequence[int], Sequence[int], int]],
    options: Mapping[str, Any],
) -> tuple[Floats, Floats, Floats, Floats]:
    """Values of source and target words, without the counts of the origins' copies.

    Also what each cell adds to the probability of its target word, and of its source word: ``[sources, targets]``.
    """
    left = dict(counts)
    for s, t, copies in origins:
        brought = expected([(s, t, agreed(*by_diagonal(model, s, t)))], list(counts))
        left = {cell: left[cell] - copies * brought[cell] for cell in counts}
    weights = diagonal(len(source), len(target), model.steepness)
    values: dict[bool, list[float]] = {True: [], False: []}
    shares = {True: model.target_shares, False: model.source_shares}
    added = {True: np.zeros(weights.shape), False: np.zeros(weights.shape)}
    for forward, words, others in ((True, target, source), (False, source, target)):
        for at, word in enumerate(words):
            near = weights[:, at] if forward else weights[at]
            given = 0.0
            for place, (other, weight) in enumerate(zip(others, near, strict=True)):
                cell = (other, word) if forward else (word, other)
                total = sum(count for (s, t), count in left.items() if (s if forward else t) == other)
                known = max(left.get(cell, 0.0), 0.0)
                spread = options["pseudo"] * shares[forward][word]
                given += weight / near.sum() * (known + spread) / (max(total, 0.0) + options["pseudo"])
                where = (place, at) if forward else (at, place)
                added[forward][where] = weight * known / (max(total, 0.0) + options["pseudo"])
            values[forward].append(max(np.log(given / shares[forward][word] + options["mix"]), options["floor"]))
    return np.array(values[False]), np.array(values[True]), added[True], added[False]


def score(
    model: Model, counts: Table, source: Sequence[int], target: Sequence[int], own: int, options: Mapping[str, Any]
) -> float:
    """The score of a pair, without the counts of ``own`` copies of it."""
    origins = [(source, target, own)] if own else []
    source_values, target_values, *_ = support(model, counts, source, target, origins, options)
    return float(source_values.mean() + target_values.mean())


def best(posterior: Floats, none: Floats) -> set[tuple[int, int]]:
    """Links each step to its most probable state, unless no link is more probable."""
    return {(step, int(np.argmax(row))) for step, row in enumerate(posterior) if row.max() >= none[step]}


def symmetrized(forward: set[tuple[int, int]], backward: set[tuple[int, int]], how: str) -> set[tuple[int, int]]:
    """Joins links (source, target) of both directions as Moses does."""
    plain = {"forward": forward, "backward": backward, "union": forward | backward, "intersection": forward & backward}
    if how in plain:
        return plain[how]
    links = grown(forward & backward, forward | backward)
    if how == "grow-diag":
        return links
    enough = all if how == "grow-diag-final-and" else any
    for direction in (forward, backward):
        for link in sorted(direction):
            if enough(free(link, links)):
                links = links | {link}
    return links


def free(link: tuple[int, int], links: set[tuple[int, int]]) -> tuple[bool, bool]:
    """Whether the source word and the target word of a link have no links."""
    return all(link[0] != i for i, _ in links), all(link[1] != j for _, j in links)


def grown(links: set[tuple[int, int]], union: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Adds links of the union that are next to a link and have a word without link, until there are no more."""
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    sizes = (range(1 + max(link[side] for link in union)) for side in (0, 1)) if union else ()
    positions = list(product(*sizes)) if union else []
    more = True
    while more:
        more = False
        for i, j in positions:
            for down, right in neighbours if (i, j) in links else ():
                near = (i + down, j + right)
                if near in union - links and any(free(near, links)):
                    links, more = links | {near}, True
    return links


def columns(lines: Sequence[str], mark: str) -> tuple[list[tuple[str, str]], tuple[int, int] | None]:
    """Returns the sides of lines up to the first one that has not two, and the number and size of that one."""
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        fields = line.split(mark) if line else ["", ""]
        if len(fields) != 2:
            return pairs, (number, len(fields))
        pairs.append((fields[0], fields[1]))
    return pairs, None


def link_text(links: Sequence[tuple[int, int]]) -> str:
    """Returns the links of a pair as text."""
    return " ".join(f"{source}-{target}" for source, target in links)
