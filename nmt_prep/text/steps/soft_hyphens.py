"""Step ``soft_hyphens``: no soft hyphens, U+00AD."""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class SoftHyphens(NamedStep[StepOptions]):
    """Removes soft hyphens."""
