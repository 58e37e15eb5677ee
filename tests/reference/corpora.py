"""Readable twins of the readers that work on whole blocks."""

from __future__ import annotations


def lines(data: bytes) -> list[str]:
    r"""Splits lines at ``\n`` only; a last line without it counts."""
    pieces = data.split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    return [piece.decode("utf-8") for piece in pieces]


def columns(data: bytes, wanted: list[int], header: bool) -> list[list[str]]:
    rows = [line.split("\t") for line in lines(data)][int(header) :]
    return [[row[column] for row in rows] for column in wanted]
