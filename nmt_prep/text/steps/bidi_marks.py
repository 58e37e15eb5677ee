"""Step ``bidi_marks``: no marks of direction, the characters with the property Bidi_Control."""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class BidiMarks(NamedStep[StepOptions]):
    """Removes marks of direction."""
