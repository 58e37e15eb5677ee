"""The key ``frame`` of a config's section ``vocab``: the special pieces around the ids of each row."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from nmt_prep.config.section import Section
from nmt_prep.sides import Side

IDS, TAG = "{ids}", "{tag}"


def _frame(text: str) -> str:
    words = text.split()
    if words.count(IDS) != 1 or words.count(TAG) > 1:
        raise ValueError("a frame has {ids} once, and {tag} at most once")
    if " ".join(words) != text:
        raise ValueError("single spaces separate the words of a frame")
    return text


FrameText = Annotated[str, AfterValidator(_frame)]

_MEANING = (
    "pieces separated by spaces, with {ids} once and {tag} at most once, such as '{tag} {ids} </s>', or null for the "
    "tag, the ids and the end of sentence"
)


class FrameTexts(Section):
    """The special pieces around the ids of each row."""

    source: FrameText | None = Field(None, description=f"{_MEANING}: the rows of the source side")
    target: FrameText | None = Field(None, description=f"{_MEANING}: the rows of the target side")

    def of(self, side: Side) -> str | None:
        """Returns the frame of a side; None for the usual one."""
        return self.source if side == "source" else self.target

    def pieces(self, side: Side) -> tuple[str, ...]:
        """Returns the special pieces in the frame of a side."""
        return tuple(word for word in (self.of(side) or "").split() if word not in (IDS, TAG))

    def lacks_tag(self, side: Side) -> bool:
        """Returns True if the frame of a side has no place for a tag."""
        text = self.of(side)
        return text is not None and TAG not in text.split()
