"""An artificial corpus: sentences of words that each have one translation."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from nmt_prep.cleaning.adequacy.classifier import Classifier
from nmt_prep.cleaning.adequacy.classifier_training import learn
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import Settings
from tests.cleaning.align.corpus import column, trained

PAIRS = 2000


def line(letter: str, *words: int) -> str:
    """The words of a side, by number. They have no digits, which are all the same in keys of pairs."""
    return " ".join(f"{letter}{chr(97 + word // 26)}{chr(97 + word % 26)}" for word in words)


def sentence(draw: random.Random) -> tuple[str, str]:
    """A pair of lines of four to ten words, some of which are frequent."""
    words = [int(300 * draw.random() ** 2) for _ in range(draw.randint(4, 10))]
    return line("a", *words) + " .", line("b", *words) + " 。"


def text() -> str:
    """The corpus as lines of two columns."""
    return "".join(f"{source}\t{target}\n" for source, target in zip(*corpus(), strict=True))


@cache
def corpus() -> tuple[list[str], list[str]]:
    draw = random.Random(1)
    source, target = zip(*(sentence(draw) for _ in range(PAIRS)), strict=True)
    return list(source), list(target)


@cache
def model() -> Model:
    return trained(*corpus(), settings=Settings(jumps=False))


@cache
def learned() -> tuple[Classifier, int]:
    return learn(model(), *map(column, corpus()), np.ones(PAIRS, np.int64))
