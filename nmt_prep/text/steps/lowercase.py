"""Step ``lowercase``: lower case, as Moses' lowercase.perl.

Each character is mapped by itself, so that Σ becomes σ at the end of a word, too.
"""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Lowercase(NamedStep[StepOptions]):
    """Lower case."""
