"""Progress of vocabulary training: one event for each report of the trainer, one meter for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from nmt_prep.progress import Meter


class TrainingMeters:
    """A progress callback for trainers. Use it as a context manager, which ends the last meter."""

    def __init__(self, whole: Meter, key: str) -> None:
        """Starts without a meter.

        Args:
            whole: the meter of the whole training. It advances by 1 for each report; if the run is being stopped, this
                raises and so ends the training.
            key: name of the vocabulary.
        """
        self._whole = whole
        self._key = key
        self._meter: Meter | None = None
        self._step = ""

    def __call__(self, event: str, fields: Mapping[str, int | float | str]) -> None:
        """Shows a report of the trainer."""
        self._whole.event(f"vocab_{event}", side=self._key, **fields)
        self._whole.advance(1)
        if event == "step":
            self._begin(str(fields["step"]), None, "steps")
        elif event == "iteration":
            self._show("choosing pieces", None, "iterations", int(fields["iteration"]))
        elif event == "merges":
            self._show("merging", int(fields["target"]), "pieces", int(fields["size"]))

    def _show(self, step: str, total: int | None, unit: str, done: int) -> None:
        if self._meter is None or self._step != step:
            self._begin(step, total, unit)
        assert self._meter is not None
        self._meter.advance(done - self._meter.done)

    def _begin(self, step: str, total: int | None, unit: str) -> None:
        self._end()
        self._step = step
        self._meter = self._whole.part(f"vocab {self._key}: {step}", total, unit)
        self._meter.__enter__()

    def _end(self) -> None:
        if self._meter is not None:
            self._meter.__exit__(None, None, None)
            self._meter = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
