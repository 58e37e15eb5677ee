"""Step ``nfc``: Unicode's normal form C. Characters of later versions than the core's stay as they are."""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Nfc(NamedStep[StepOptions]):
    """Composes characters."""
