"""subword-nmt's BPE by its definition: counts all pairs of strings, merges the best one, and repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

END = "</w>"
Merges = Sequence[tuple[str, str]]


def words(line: str) -> list[str]:
    return [word for word in line.strip("\r\n ").split(" ") if word]


def characters(word: str, *, end_apart: bool = False) -> list[str]:
    return [*word, END] if end_apart else [*word[:-1], word[-1] + END]


def merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(symbols):
        found = tuple(symbols[at : at + 2]) == pair
        out.append("".join(pair) if found else symbols[at])
        at += 1 + found
    return out


def learn(lines: Iterable[str], merges: int, min_frequency: int = 2) -> list[tuple[str, str]]:
    """Returns the merges: the most frequent pair first, of several the greatest."""
    counts = Counter(word for line in lines for word in words(line))
    spelt = [(characters(word), count) for word, count in counts.items()]
    learnt: list[tuple[str, str]] = []
    while len(learnt) < merges:
        pairs = Counter[tuple[str, str]]()
        for symbols, count in spelt:
            for pair in pairwise(symbols):
                pairs[pair] += count
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < max(min_frequency, 1):
            break
        learnt.append(best)
        spelt = [(merged(symbols, best), count) for symbols, count in spelt]
    return learnt


def segment(
    line: str,
    merges: Merges,
    known: Collection[str] | None = None,
    *,
    separator: str = "@@",
    end_apart: bool = False,
) -> str:
    """Returns a line as pieces."""
    inner = line.strip("\r\n ")
    if not inner:
        return line
    pieces = [piece for word in words(line) for piece in _pieces(word, merges, known, separator, end_apart)]
    before = line.index(inner)
    return line[:before] + " ".join(pieces) + line[before + len(inner) :]


def _pieces(word: str, merges: Merges, known: Collection[str] | None, separator: str, end_apart: bool) -> Iterator[str]:
    if len(word) == 1:
        yield word
        return
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    symbols = characters(word, end_apart=end_apart)
    while possible := [pair for pair in pairwise(symbols) if pair in ranks]:
        symbols = merged(symbols, min(possible, key=ranks.__getitem__))
    if symbols[-1] == END:
        symbols.pop()
    made = {"".join(pair): pair for pair in ranks}
    for number, symbol in enumerate(symbols, 1):
        last = number == len(symbols)
        text = symbol.removesuffix(END) if last else symbol
        if known is None or _marked(text, last, separator) in known:
            yield _marked(text, last, separator)
        else:
            yield from _undone(text, last, made, known, separator)


def _undone(
    text: str, last: bool, made: dict[str, tuple[str, str]], known: Collection[str], separator: str
) -> Iterator[str]:
    pair = made.get(text + END if last else text) if text else None
    if pair is None:
        yield _marked(text, last, separator)
        return
    for part, ends in ((pair[0], False), (pair[1][:-4] if last else pair[1], last)):
        if _marked(part, ends, separator) in known:
            yield _marked(part, ends, separator)
        else:
            yield from _undone(part, ends, made, known, separator)


def _marked(text: str, last: bool, separator: str) -> str:
    return text if last else text + separator
