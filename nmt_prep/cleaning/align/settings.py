"""A model's settings, and its training rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

DIAGONAL_ROUNDS = 3
JUMP_ROUNDS = 3
DIAGONAL_ROUNDS_OF_SCORES = 2
"""Rounds of a model that only scores. Neither a further round nor jumps find more misaligned pairs."""

MOST = 2**31 - 1  # The largest `stem` and `table`


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a model: its words, their stems, and its size."""

    pretokenized: bool = False  # True for words separated by ASCII white space
    # number of characters to which rare words are cut, so that their forms share counts; 0 to keep all words whole
    stem: int = 4
    # maximum number of word pairs in the lexical table. It bounds the memory of training, at about 40 bytes for
    # each word pair, whatever the number of line pairs.
    table: int = 1 << 23
    jumps: bool = True  # True to learn the jumps from link to link, which improves links, but not scores

    @classmethod
    def restored(cls, facts: object) -> Settings:
        match facts:
            case {"pretokenized": bool(spaces), "stem": int(stem), "table": int(table), "jumps": bool(jumps), **others}:
                if not others and 0 <= stem <= MOST and 1 <= table <= MOST:
                    return cls(spaces, stem, table, jumps)
        raise ValueError(f"its settings are {facts!r}")


RUN_SETTINGS = Settings(table=1 << 22)
"""Settings of models that runs learn. The size of the table does not depend on the engine's memory, because models
depend on the size."""

SCORE_SETTINGS = replace(RUN_SETTINGS, jumps=False)  # Settings of models that score pairs and do not link their words

LEARNING_VERSION = 3
"""Must be increased if the same pairs give another model, or the same model gives other links or scores."""


def rounds(settings: Settings) -> tuple[str, ...]:
    """Returns the names of the training rounds in order."""
    diagonal, jumps = (DIAGONAL_ROUNDS, JUMP_ROUNDS) if settings.jumps else (DIAGONAL_ROUNDS_OF_SCORES, 0)
    return (
        "words",
        "cells",
        *(f"diagonal-{number}" for number in range(1, diagonal + 1)),
        *(f"jumps-{number}" for number in range(1, jumps + 1)),
        "evidence",
    )
