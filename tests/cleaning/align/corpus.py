"""A tiny corpus to align, and shorthand for tests."""

from __future__ import annotations

from collections.abc import Sequence

from nmt_prep.base.columns import TextColumn
from nmt_prep.cleaning.align.learning import count, merge, updated
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.align.settings import Settings

SOURCE = ["the house", "the book", "a book", "a small house", "the small book", "the green tree", "a tree", "green"]
_TARGET = "das Haus|das Buch|ein Buch|ein kleines Haus|das kleine Buch|der grüne Baum|ein Baum|grün"
TARGET = _TARGET.split("|")


def column(lines: Sequence[str]) -> TextColumn:
    return TextColumn.from_strings(lines)


def trained(
    source: Sequence[str] = SOURCE,
    target: Sequence[str] = TARGET,
    *,
    settings: Settings | None = None,
    prior: Model | None = None,
    batches: int = 1,
    threads: int = 1,
) -> Model:
    """Trains a model on pairs, divided into batches."""
    model = Model.start(settings or Settings(), prior)
    while not model.finished:
        parts = [(column(source[n::batches]), column(target[n::batches])) for n in range(batches)]
        model = updated(model, merge(count(model, *part, threads) for part in parts))
    return model
