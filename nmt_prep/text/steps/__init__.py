"""The steps. Each has a module with its name, and nothing else lists them.

An installed package adds a step with an entry point of the group ``nmt_prep.steps``: the entry's name is the name
of the step, and its value a subclass of :class:`~nmt_prep.text.step.Step`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

import pyarrow as pa

from nmt_prep.base.errors import TokenizerError
from nmt_prep.config import Section
from nmt_prep.config.problems import checked_options, did_you_mean
from nmt_prep.text import STEPS
from nmt_prep.text.step import Step, StepContext

GROUP = "nmt_prep.steps"


def parse_step(spec: object) -> tuple[str, type[Step[Any]], Section]:
    """Returns the name, type and checked options of a step: a name, or a mapping from a name to its options."""
    if isinstance(spec, str):
        name, given = spec, None
    elif isinstance(spec, Mapping) and len(spec) == 1:
        ((name, given),) = spec.items()
    else:
        raise ValueError(f"{spec!r} is not a step; write a name, or one name and its options")
    kind = _kind(str(name))
    if not (given is None or given is True or isinstance(given, Mapping)):
        if kind.short is None:
            raise ValueError(f"{name}: found {given!r}; the step takes no single value")
        given = {kind.short: given}
    return str(name), kind, checked_options(str(name), kind.options, given)


def make_step(spec: object, context: StepContext) -> Step[Any]:
    """Makes a step from its name, or from a mapping from its name to its options."""
    name, kind, options = parse_step(spec)
    try:
        step = Untrusted(options, context) if kind.runs_code and not context.trusted else kind(options, context)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    step.spec = name, options
    return step


class Untrusted(Step[Section]):
    """A step that would run code from elsewhere."""

    options = Section

    def __init__(self, options: Section, context: StepContext) -> None:
        del options, context

    def apply(self, lines: pa.Array, threads: int = 1) -> pa.Array:
        del lines, threads
        name, options = self.spec
        code = next(iter(options.model_dump(exclude={"label"}).values()))
        raise TokenizerError(
            f"the vocabulary has the step {name}, which runs {code!r}; if you trust it, set NMT_PREP_STEPS to the "
            "directory of its config"
        )


def _kind(name: str) -> type[Step[Any]]:
    if name in STEPS:
        module = import_module(f"{__name__}.{name}")
        kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Step))
        (found,) = (kind for kind in kinds if kind.__module__ == module.__name__)
        return found
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        known = [*STEPS, *sorted(installed)]
        raise ValueError(f"there is no step {name!r}{did_you_mean(name, known)} (steps: {', '.join(known)})")
    try:
        return cast("type[Step[Any]]", installed[name].load())
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the step {name!r} of {installed[name].value} cannot be loaded: {error}") from error
