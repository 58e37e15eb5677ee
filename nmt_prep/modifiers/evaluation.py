"""Modifiers of evaluation sets, which show how a model deals with text of that kind."""

from __future__ import annotations

from typing import Any

EVALUATION: dict[str, tuple[dict[str, Any], ...]] = {
    "aug-upper": ({"UpperCase": 1},),
    "aug-lower": ({"LowerCase": 1},),
    "aug-title": ({"TitleCase": 1},),
    "aug-punct": ({"RemoveEndPunct": 1},),
    "aug-typos": ({"Typos": 1, **dict.fromkeys(("char_swap", "missing_char", "extra_char", "nearby_char"), 0.5)},),
    "aug-noise": ({"Noise": 1},),
    "aug-inline-noise": ({"Tags": 0.1, "augment": 1, "tag": 0},),
    "aug-mix": ({"UpperCase": 0.1}, {"TitleCase": 0.1}, {"RemoveEndPunct": 0.1}, {"Typos": 0.3}, {"Noise": 0.05}),
}
"""The modifiers of each kind of set, by its name."""
