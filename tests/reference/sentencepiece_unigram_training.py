"""Readable twin of native unigram training: the library's steps, on strings and in single precision."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

UNCOVERED = "\u2585"
SPACE = "\u2581"
_END = 256  # follows the text, as the bytes of a sentence follow the one before
_single = np.float32


class Options(NamedTuple):
    """Options of the library; ``size`` is the number of pieces to learn."""

    size: int
    desired_size: int
    seeds: int
    shrinking_factor: float = 0.75
    sub_iterations: int = 2
    lanes: int = 16


class Node(NamedTuple):
    """A piece at a place of a word."""

    id: int
    begin: int
    end: int
    score: np.float32


Pieces = list[tuple[str, np.float32]]


def train(
    sentences: Sequence[str], required: Mapping[str, int], is_valid: Callable[[str], bool], options: Options
) -> list[tuple[str, float]]:
    """Returns pieces with their scores, the best ones first.

    Args:
        sentences: normalized, with ``UNCOVERED`` for uncovered characters; none is empty.
        required: characters that must be pieces, with their counts.
        is_valid: returns whether a string may be a piece.
        options: options of the library.
    """
    pieces = seed_pieces(sentences, is_valid, options.seeds)
    words = Counter(word for sentence in sentences for word in _words(sentence))
    ranked = sorted(words.items(), key=lambda item: (-item[1], item[0].encode()))
    while True:
        for _ in range(options.sub_iterations):
            pieces = maximized(pieces, _lane_sums(ranked, pieces, options.lanes, expected_counts))
        pieces = pruned(pieces, _lane_sums(ranked, pieces, options.lanes, best_counts), options)
        if len(pieces) <= options.desired_size:
            break
    return chosen(reachable(pieces), required, options.size)


def _words(sentence: str) -> list[str]:
    return [SPACE + word for word in sentence.split(SPACE)[1:]]


def seed_pieces(sentences: Sequence[str], is_valid: Callable[[str], bool], most: int) -> Pieces:
    """Returns characters and repeated substrings: the inner nodes of the suffix tree of the bytes of all sentences."""
    text = b"".join(sentence.encode() + b"\0" for sentence in sentences)
    followers = defaultdict[bytes, Counter[int]](Counter)
    for sentence_end in _ends(text):
        for begin in range(sentence_end[0], sentence_end[1]):
            for end in range(begin + 1, sentence_end[1] + 2):
                followers[text[begin:end]][text[end] if end < len(text) else _END] += 1
    counts = Counter[str]()
    for string, following in followers.items():
        if len(following) > 1 and string.rstrip(b"\0"):
            try:
                piece = string.rstrip(b"\0").decode()
            except UnicodeDecodeError:
                continue
            if len(piece) > 1 and is_valid(piece):
                counts[piece] += following.total()
    characters = Counter("".join(sentences))
    del characters[UNCOVERED]
    found = [(piece, _single(_single(count) * _single(len(piece)))) for piece, count in counts.items()]
    found.sort(key=lambda item: (-item[1], -len(item[0].encode()), item[0].encode()))
    ranked = sorted(characters.items(), key=lambda item: (-item[1], item[0]))
    return _logs([*((piece, _single(count)) for piece, count in ranked), *found[:most]])


def _ends(text: bytes) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(text):
        end = text.index(b"\0", begin)
        yield begin, end
        begin = end + 1


def _logs(pieces: Pieces) -> Pieces:
    total = 0.0
    for _, score in pieces:
        total += float(score)
    return [(piece, _single(math.log(float(score)) - math.log(total))) for piece, score in pieces]


def lattice(word: str, pieces: Pieces) -> list[Node]:
    """Returns the nodes by their begins, shorter ones first; the unknown character is last, and has the id 0."""
    ids = {piece: number for number, (piece, _) in enumerate(pieces)}
    unknown = _single(min(score for _, score in pieces) - _single(10))
    nodes = list[Node]()
    for begin in range(len(word)):
        for end in range(begin + 1, len(word) + 1):
            if (number := ids.get(word[begin:end])) is not None:
                nodes.append(Node(number, begin, end, pieces[number][1]))
        if word[begin] not in ids:
            nodes.append(Node(0, begin, begin + 1, unknown))
    return nodes


def log_sum(one: np.float32, other: np.float32) -> np.float32:
    """Returns log(exp(one) + exp(other))."""
    high, low = max(one, other), min(one, other)
    if high > _single(low + _single(50)):
        return high
    return _single(float(high) + math.log1p(math.exp(float(_single(low - high)))))


def expected_counts(word: str, weight: np.float32, pieces: Pieces, sums: list[np.float32]) -> None:
    """Adds the expected numbers of occurrences in a word."""
    nodes = lattice(word, pieces)
    forward, backward = {0: _single(0)}, {len(word): _single(0)}
    for node in nodes:
        through = _single(node.score + forward[node.begin])
        forward[node.end] = log_sum(forward[node.end], through) if node.end in forward else through
    for begin in range(len(word) - 1, -1, -1):
        for node in (node for node in nodes if node.begin == begin):
            through = _single(node.score + backward[node.end])
            backward[begin] = log_sum(backward[begin], through) if begin in backward else through
    for node in nodes:
        log = forward[node.begin] + node.score + backward[node.end] - forward[len(word)]
        sums[node.id] = _single(float(sums[node.id]) + float(weight) * math.exp(float(log)))


def best_counts(word: str, weight: np.float32, pieces: Pieces, sums: list[np.float32]) -> None:
    """Adds the numbers of occurrences in the best segmentation of a word."""
    for node in best_path(word, lattice(word, pieces))[0]:
        sums[node.id] = _single(sums[node.id] + weight)


def best_path(word: str, nodes: Sequence[Node]) -> tuple[list[Node], np.float32]:
    """Returns the best segmentation and its score; of equally good nodes, the first one comes before another."""
    scores = dict[Node | None, np.float32]({None: _single(0)})
    before = dict[Node, Node | None]()
    for node in [*nodes, Node(-1, len(word), len(word) + 1, _single(0))]:
        candidates = [each for each in nodes if each.end == node.begin] if node.begin else [None]
        before[node] = max(candidates, key=lambda each: _single(scores[each] + node.score))
        scores[node] = _single(scores[before[node]] + node.score)
    path = list[Node]()
    last: Node | None = before[node]
    while last is not None:
        path.insert(0, last)
        last = before[last]
    return path, scores[node]


def _lane_sums(
    words: Sequence[tuple[str, int]],
    pieces: Pieces,
    lanes: int,
    add: Callable[[str, np.float32, Pieces, list[np.float32]], None],
) -> list[np.float32]:
    total = [_single(0)] * len(pieces)
    for lane in range(lanes):
        sums = [_single(0)] * len(pieces)
        for word, count in words[lane::lanes]:
            add(word, _single(count), pieces, sums)
        total = [_single(one + other) for one, other in zip(total, sums, strict=True)]
    return total


def digamma(x: float) -> float:
    """Returns the logarithmic derivative of the gamma function."""
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 1 / 2
    xx = 1 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    return result + (
        math.log(x) + (1 / 24) * xx2 - (7 / 960) * xx4 + (31 / 8064) * xx4 * xx2 - (127 / 30720) * xx4 * xx4
    )


def maximized(pieces: Pieces, expected: Sequence[np.float32]) -> Pieces:
    """Returns the pieces with an expected count of 0.5 or more, with new scores."""
    kept = [(piece, count) for (piece, _), count in zip(pieces, expected, strict=True) if count >= 0.5]
    total = _single(0)
    for _, count in kept:
        total = _single(total + count)
    log_total = _single(digamma(float(total)))
    return [(piece, _single(digamma(float(count)) - float(log_total))) for piece, count in kept]


def second_best(piece: str, nodes: Sequence[Node]) -> list[list[Node]]:
    """Returns the best two segmentations, or one if there are no more."""
    scores = {node: _single(0) for node in nodes}
    best = {0: _single(0)}
    for node in nodes:
        scores[node] = _single(best[node.begin] + node.score)
        best[node.end] = max(best.get(node.end, scores[node]), scores[node])
    paths = list[list[Node]]()
    heap = Heap()
    heap.push(best[len(piece)], _single(0), [])
    while heap.items and len(paths) < 2:
        score, path, is_whole = heap.pop()
        if is_whole:
            paths.append(path)
            continue
        end = path[0].begin if path else len(piece)
        if end == 0:
            heap.push(score, score, path, is_whole=True)
        for node in (node for node in nodes if node.end == end):
            heap.push(_single(scores[node] + score), _single(node.score + score), [node, *path])
    return paths


class Heap:
    """The binary heap of C++'s standard library, the greatest first: its order of equal items is part of the result."""

    def __init__(self) -> None:
        self.items = list[tuple[np.float32, np.float32, list[Node], bool]]()

    def push(self, estimate: np.float32, score: np.float32, path: list[Node], *, is_whole: bool = False) -> None:
        """Adds a path with its score, and the score of the best path that it ends."""
        self.items.append((estimate, score, path, is_whole))
        self._sift_up(len(self.items) - 1)

    def pop(self) -> tuple[np.float32, list[Node], bool]:
        """Removes the path with the highest estimate."""
        items = self.items
        _, score, path, is_whole = items[0]
        last = items.pop()
        if items:
            hole = 0
            while (child := 2 * hole + 2) < len(items):
                if items[child][0] < items[child - 1][0]:
                    child -= 1
                items[hole] = items[child]
                hole = child
            if child == len(items):
                items[hole] = items[child - 1]
                hole = child - 1
            items[hole] = last
            self._sift_up(hole)
        return score, path, is_whole

    def _sift_up(self, at: int) -> None:
        items = self.items
        moving = items[at]
        while at > 0 and items[(at - 1) // 2][0] < moving[0]:
            items[at] = items[(at - 1) // 2]
            at = (at - 1) // 2
        items[at] = moving


def pruned(pieces: Pieces, counts: Sequence[np.float32], options: Options) -> Pieces:
    """Returns the pieces without which the likelihood of the text would fall the most."""
    total = _single(math.fsum(float(count) for count in counts))
    log_total = _single(math.log(float(total)))
    kept, judged = list[int](), list[tuple[np.float32, int]]()
    for number, (piece, _) in enumerate(pieces):
        if counts[number] == 0:
            continue
        paths = second_best(piece, lattice(piece, pieces))
        if len(paths) == 1:
            kept.append(number)
        elif len(paths[0]) == 1:
            others = [node.id for node in paths[1]]
            judged.append((_loss(counts, number, others, total, log_total), number))
    judged.sort(key=lambda item: (-item[0], item[1]))
    size = max(options.desired_size, int(_single(options.shrinking_factor) * _single(len(pieces))))
    for _, number in judged:
        if len(kept) == size:
            break
        kept.append(number)
    return [pieces[number] for number in kept]


def _loss(
    counts: Sequence[np.float32], number: int, others: Sequence[int], total: np.float32, log_total: np.float32
) -> np.float32:
    count = counts[number]
    with_piece = _single(math.log(float(count)) - float(log_total))
    log_total_without = _single(math.log(float(total + count * _single(len(others) - 1))))
    without = _single(0)
    for other in others:
        without = _single(float(without) + (math.log(float(counts[other] + count)) - float(log_total_without)))
    return _single(count / total * _single(with_piece - without))


def reachable(pieces: Pieces) -> Pieces:
    """Returns the pieces whose own text has no better segmentation."""
    kept = Pieces()
    for piece, score in pieces:
        others = [node for node in lattice(piece, pieces) if node.end - node.begin < len(piece)]
        best = {0: _single(0)}
        for node in others:
            if node.begin in best:
                through = _single(best[node.begin] + node.score)
                best[node.end] = max(best.get(node.end, through), through)
        if not (len(piece) in best and best[len(piece)] > score):
            kept.append((piece, score))
    return kept


def chosen(pieces: Pieces, required: Mapping[str, int], size: int) -> list[tuple[str, float]]:
    """Returns the required characters and the best other pieces, the best ones first."""
    scores = dict(pieces)
    least = min(scores.values())
    penalty = _single(0)
    final = dict[str, np.float32]()
    for character, _ in sorted(required.items(), key=lambda item: (-item[1], item[0])):
        if character in scores:
            final[character] = scores[character]
        else:
            final[character] = _single(least + penalty)
            penalty = _single(penalty + _single(0.0001))
    ranked = sorted(pieces, key=lambda item: (-item[1], item[0].encode()))
    for piece, score in ranked:
        if piece not in final:
            if len(final) == size:
                break
            final[piece] = score
    return [(piece, float(score)) for piece, score in sorted(final.items(), key=lambda i: (-i[1], i[0].encode()))]
