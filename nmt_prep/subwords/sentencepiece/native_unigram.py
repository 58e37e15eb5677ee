"""Learns the pieces of SentencePiece unigram models with the native core: the library's pieces and scores.

The library's sums depend on its number of threads. The core computes the same ones on any number of cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import SentencePieceOptions, SentencePieceTrainingText, UnigramOptions, learn_unigram

from nmt_prep.columns import TextColumn
from nmt_prep.runtime import available_cores
from nmt_prep.subwords.tokenizer import ProgressCallback

_SPACE = "\u2581"
_DESIRED = 1.1  # pieces at which the library ends its rounds, by those to learn
_DYNAMIC_SEEDS = (100_000, 8)  # seed pieces where 0 are asked for: at least so many, and so many times the vocabulary


def library_reason(given: Mapping[str, Any]) -> str | None:
    """Returns why the library must learn unigram pieces; None if the native core can.

    Args:
        given: options of the library with their defaults.
    """
    model = "a SentencePiece unigram model with"
    if not given["split_by_whitespace"]:
        return f"{model} split_by_whitespace: false"
    if given["treat_whitespace_as_suffix"]:
        return f"{model} treat_whitespace_as_suffix"
    if not given["add_dummy_prefix"]:
        return f"{model} add_dummy_prefix: false"
    boundaries = [*given["control_symbols"], *given["user_defined_symbols"], given["pretokenization_delimiter"]]
    boundaries += [given[f"{name}_piece"] for name in ("unk", "bos", "eos", "pad")]
    if any(text.startswith((" ", _SPACE)) for text in boundaries):
        return f"{model} a reserved piece that begins with a space"
    return None


def learn(
    text: SentencePieceTrainingText,
    given: Mapping[str, Any],
    pieces: SentencePieceOptions,
    characters: Sequence[tuple[int, int]],
    size: int,
    progress: ProgressCallback,
) -> tuple[TextColumn, npt.NDArray[np.float32]]:
    """Returns the pieces, the best ones first, and their scores. Frees the words of the text.

    Args:
        text: the words, with marks of those that end a line.
        given: options of the library with their defaults.
        pieces: rules of pieces.
        characters: code points that must be pieces, with their counts.
        size: number of pieces to learn.
        progress: called with the steps and iterations, as for those of the library.

    Raises:
        TrainingError: the words give no pieces.
    """
    vocab_size = given["vocab_size"]
    least, times = _DYNAMIC_SEEDS
    options = UnigramOptions(
        size=size,
        desired_size=int(vocab_size * _DESIRED),
        seeds=given["seed_sentencepiece_size"] or max(least, times * vocab_size),
        shrinking_factor=given["shrinking_factor"],
        sub_iterations=given["num_sub_iterations"],
        lanes=given["num_threads"],
        pieces=pieces,
    )
    iterations = count(1)

    def report(left: int) -> None:
        progress("iteration", {"iteration": next(iterations), "size": left, "target": vocab_size})

    progress("step", {"step": "collecting candidate pieces"})
    learnt = learn_unigram(text, options, list(characters), available_cores(), report)
    scores = np.array([score for _, score in learnt], np.float32)
    return TextColumn.from_strings([piece for piece, _ in learnt]), scores
