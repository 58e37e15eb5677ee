"""The two sides of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Side: TypeAlias = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
OTHER: Mapping[Side, Side] = {"source": "target", "target": "source"}  # The other side of each side
