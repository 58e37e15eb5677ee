"""Step ``wiki``: no left-over markup of wikis.

Headings lose their ``==``, ``[[page|text]]`` becomes its text, ``{{templates}}`` are removed, and so is ``'''``.
"""

from __future__ import annotations

from nmt_prep.text.step import NamedStep, StepOptions


class Wiki(NamedStep[StepOptions]):
    """Removes the markup of wikis."""
