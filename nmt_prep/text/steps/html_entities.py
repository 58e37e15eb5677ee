"""Step ``html_entities``: the characters that references such as ``&amp;`` and ``&#39;`` stand for, once."""

from __future__ import annotations

from functools import cache
from html.entities import html5

from _nmt_prep_core import TextStep, entities_step

from nmt_prep.text.step import NativeStep, StepContext, StepOptions


class HtmlEntities(NativeStep[StepOptions]):
    """Replaces references to characters."""

    options = StepOptions

    def __init__(self, options: StepOptions, context: StepContext) -> None:
        del options, context
        self.native = _entities()


@cache
def _entities() -> TextStep:
    return entities_step({name.removesuffix(";"): text for name, text in html5.items() if name.endswith(";")})
