"""Step ``control``: no control characters, except tabs, and no byte order marks.

U+0080 to U+009F stay after characters beyond ASCII, because there they are bytes of misread UTF-8.
"""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Control(NamedStep[StepOptions]):
    """Removes control characters."""
