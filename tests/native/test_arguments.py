"""Arguments that the core would trust are checked by its bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _nmt_prep_core as core
import numpy as np
import pytest

DATA, OFFSETS = np.frombuffer(b"hello world", np.uint8), np.array([0, 5, 11], np.int64)
HUGE = 2**64 - 1


def ignored(_progress: int) -> None:
    pass


def training_text(*, marks: bool = True) -> core.SentencePieceTrainingText:
    rules: dict[str, Any] = {"add_dummy_prefix": True, "remove_extra_whitespaces": True, "split_by_whitespace": True}
    more: dict[str, Any] = {"whitespace_is_suffix": False, "whitespace_only_pieces": False, "separate": []}
    limits: dict[str, Any] = {"delimiter": "", "longest_line": 100, "most_lines": 0, "mark_finals": marks}
    text = core.SentencePieceTrainingText(charsmap=b"", **rules, **more, **limits)
    text.add(DATA, OFFSETS, 1)
    return text


def pieces(longest: int = 16) -> core.SentencePieceOptions:
    return core.SentencePieceOptions(longest, True, True, True, False, False, False)


def unigram(
    characters: list[tuple[int, int]] | None = None, *, marks: bool = True, **changes: Any
) -> list[tuple[str, float]]:
    text = training_text(marks=marks)
    options: dict[str, Any] = {"size": 20, "desired_size": 22, "seeds": 100, "shrinking_factor": 0.75}
    options |= {"sub_iterations": 2, "lanes": 16, "pieces": pieces(), **changes}
    given = text.covered([], 1.0) if characters is None else characters
    assert given is not None
    return core.learn_unigram(text, core.UnigramOptions(**options), given, 1, ignored)


def bpe(characters: list[int], *, marks: bool = False, merges: int = 5, longest: int = 16) -> object:
    return training_text(marks=marks).learn_bpe(pieces(longest), characters, merges, 1, ignored)


def subtokens(text: bytes = b"hello") -> core.T2TTrainer:
    counter = core.T2TTokenCounter()
    counter.add(np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64), 1)
    return core.T2TTrainer(counter, [], -1)


def grow_trees(rows: int = 4, features: int = 1, leaves: int = 4, rate: float = 0.1) -> object:
    bins, classes = np.zeros((features, rows), np.uint8), np.zeros(rows, np.uint8)
    return core.train_trees(bins, classes, np.zeros(features, np.int8), 2, leaves, rate, 1.0, 1, 1)


def cells(rows: int, columns: int) -> object:
    words, bounds = np.array([0], np.int32), np.array([0, 1], np.int64)
    return core.count_cells(core.NumberedPairs(words, bounds, words, bounds), 1, True, rows, columns, 4.0, 1)


NUMBERS = np.zeros((2, 2), np.uint64)
EMPTY = np.zeros(0, np.int32)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: unigram(size=2), "as many pieces as characters"),
        (lambda: unigram(desired_size=2), "as many pieces as characters"),
        (lambda: unigram([(97, 1)], marks=False), "no words with marks"),
        (lambda: unigram([(0x110000, 1)]), "a code point is no character"),
        (lambda: unigram(lanes=HUGE), "an option of unigram training is out of range"),
        (lambda: unigram(sub_iterations=2**31 - 1), "an option of unigram training is out of range"),
        (lambda: unigram(shrinking_factor=float("nan")), "an option of unigram training is out of range"),
        (lambda: pieces(2**32 - 1), "pieces have 1 to 512 characters"),
        (lambda: bpe([0xD800]), "a code point is no character"),
        (lambda: bpe([97], merges=HUGE), "too many merges"),
        (lambda: bpe([97], marks=True), "BPE does not read"),
        (lambda: training_text().covered([0x110000], 1.0), "a code point is no character"),
        (lambda: subtokens().build(2**63 - 1, 4, 1), "the minimum count is less than 1, or too large"),
        (lambda: subtokens().most_pieces(0), "the minimum count is less than 1, or too large"),
        (lambda: subtokens(b"x").pieces(subtokens().build(1, 4, 1)), "that of another trainer"),
        (lambda: core.ByteBPESplitter([None], False, False, [], []), "a scanner is missing"),  # type: ignore[list-item]
        (lambda: cells(HUGE, 1), "too many words"),
        (lambda: core.band_hashes(DATA, OFFSETS, DATA, OFFSETS, 2, HUGE), "1 to 65536 bands"),
        (lambda: core.group_rows(NUMBERS, np.zeros(2, np.uint32), HUGE), "too many groups"),
        (lambda: grow_trees(features=0), "no features"),
        (lambda: grow_trees(leaves=0), "an option is out of range"),
        (lambda: grow_trees(rate=float("nan")), "an option is out of range"),
        (lambda: core.Trees(EMPTY, np.zeros(0), EMPTY, np.zeros(0), EMPTY, 0), "no features"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()


def test_unigram_training_with_the_fewest_pieces_ends() -> None:
    found = training_text().covered([], 1.0)
    assert found is not None
    assert {piece for piece, _ in unigram(size=len(found), desired_size=len(found))} == set("▁hellowrd")
