"""Settings of a model, and its rounds of training."""

from __future__ import annotations

from dataclasses import dataclass

DIAGONAL_ROUNDS = 3
JUMP_ROUNDS = 3
DIAGONAL_ROUNDS_OF_SCORES = 2
"""Rounds of a model that only scores. One more round, or jumps, do not find more misaligned pairs."""

MOST = 2**31 - 1
"""The largest ``stem`` and ``table``."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a model: its words, their stems, and its size.

    Attributes:
        pretokenized: words are what white space in ASCII separates.
        stem: number of characters that words are cut to, except frequent ones, so that their forms share counts; 0 to
            keep all whole.
        table: the most pairs of words that the lexical table has. It bounds the memory of training, about 40 bytes for
            each, and does not depend on the number of pairs of lines.
        jumps: learn the jumps from link to link. Links are better with them; scores are not.
    """

    pretokenized: bool = False
    stem: int = 4
    table: int = 1 << 23
    jumps: bool = True

    @classmethod
    def restored(cls, facts: object) -> Settings:
        """Returns the settings that a file holds.

        Raises:
            ValueError: they are not settings.
        """
        match facts:
            case {"pretokenized": bool(spaces), "stem": int(stem), "table": int(table), "jumps": bool(jumps), **others}:
                if not others and 0 <= stem <= MOST and 1 <= table <= MOST:
                    return cls(spaces, stem, table, jumps)
        raise ValueError(f"its settings are {facts!r}")


def rounds(settings: Settings) -> tuple[str, ...]:
    """Returns the names of the rounds of training in order."""
    diagonal, jumps = (DIAGONAL_ROUNDS, JUMP_ROUNDS) if settings.jumps else (DIAGONAL_ROUNDS_OF_SCORES, 0)
    return (
        "words",
        "cells",
        *(f"diagonal-{number}" for number in range(1, diagonal + 1)),
        *(f"jumps-{number}" for number in range(1, jumps + 1)),
        "evidence",
    )
