"""Step ``ligatures``: Latin ligatures, U+FB00 to U+FB06, written out."""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Ligatures(NamedStep[StepOptions]):
    """Writes out Latin ligatures."""
