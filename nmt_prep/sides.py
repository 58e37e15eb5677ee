"""The two sides of a pair."""

from __future__ import annotations

from typing import Literal, TypeAlias

Side: TypeAlias = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
