"""An artificial corpus: sentences of words that each have one translation."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from nmt_prep.align.model import Model
from nmt_prep.align.settings import Settings
from nmt_prep.cleaning.adequacy.learning import Learned, learn
from tests.align.corpus import column, trained

PAIRS = 2000


def sentence(draw: random.Random) -> tuple[str, str]:
    """A pair of lines of four to ten words, some of which are frequent."""
    words = [int(300 * draw.random() ** 2) for _ in range(draw.randint(4, 10))]
    source, target = (" ".join(f"{letter}{word}" for word in words) for letter in "ab")
    return source + " .", target + " 。"


@cache
def corpus() -> tuple[list[str], list[str]]:
    draw = random.Random(1)
    source, target = zip(*(sentence(draw) for _ in range(PAIRS)), strict=True)
    return list(source), list(target)


@cache
def model() -> Model:
    return trained(*corpus(), settings=Settings(jumps=False))


@cache
def learned() -> Learned:
    return learn(model(), *map(column, corpus()), np.ones(PAIRS, np.int64))
