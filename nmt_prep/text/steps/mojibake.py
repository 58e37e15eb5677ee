"""Step ``mojibake``: text that was decoded as another encoding than its own, repaired as by ftfy."""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Mojibake(NamedStep[StepOptions]):
    """Repairs misread UTF-8."""
