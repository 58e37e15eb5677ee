"""The rules. Each has a module with its name, and nothing else lists them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.presets import is_off
from nmt_prep.cleaning.rule import Context, Rule
from nmt_prep.config import Section
from nmt_prep.config.problems import checked_options, did_you_mean


class _Rules(Mapping[str, type[Rule[Any]]]):
    """All rules by name, in alphabetical order. Loads a rule's module when the rule is looked up."""

    def __init__(self) -> None:
        self._names = tuple(module.name for module in pkgutil.iter_modules(__path__))

    def __getitem__(self, name: str) -> type[Rule[Any]]:
        if name not in self._names:
            raise KeyError(name)
        module = import_module(f"{__name__}.{name}")
        kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Rule))
        (rule,) = (kind for kind in kinds if kind.__module__ == module.__name__)
        return rule

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


RULES: Mapping[str, type[Rule[Any]]] = _Rules()  # All rules by name, in alphabetical order


def kind_of(key: str) -> str:
    """Returns the name of the rule that a key stands for: ``length`` for ``length`` and for ``length/characters``.

    Labels such as ``characters`` let a config have a rule several times, with different options.
    """
    return key.partition("/")[0]


def make_rules(specs: Mapping[str, object], context: Context) -> tuple[Rule[Any], ...]:
    """Builds the rules for a corpus, in the mapping's order.

    Rules that are off, and rules that do not apply to the corpus, are left out.

    Args:
        specs: options by key; true stands for default options. A key is a rule's name, or ``name/label``.
    """
    problems: list[str] = []
    rules = []
    for name, spec in specs.items():
        try:
            rules.extend(_make_rule(name, spec, context))
        except ValueError as error:
            problems.extend(str(error).splitlines())
    if problems:
        raise ValueError("\n".join(problems))
    return tuple(rules)


def rule_problems(specs: Mapping[str, object]) -> Iterator[str]:
    """Yields the problems of rules and their options, without those that are found only when rules are built.

    Each problem begins with the rule's key.
    """
    for name, spec in specs.items():
        try:
            rule_options(name, spec)
        except ValueError as error:
            yield from str(error).splitlines()


def rule_options(name: str, spec: object) -> Section | None:
    """Returns a rule's checked options, or None if the rule is off."""
    if (kind := RULES.get(kind_of(name))) is None:
        raise ValueError(f"{name}: there is no such rule{did_you_mean(name, RULES)} (rules: {', '.join(RULES)})")
    if is_off(spec):
        return None
    return checked_options(name, kind.options, spec)


def _make_rule(name: str, spec: object, context: Context) -> list[Rule[Any]]:
    options = rule_options(name, spec)
    kind = RULES[kind_of(name)]
    if options is None or (kind.compares and len(context.sides) < 2):
        return []
    try:
        rule = kind(options, context)
    except (ValueError, CleaningError) as error:  # CleaningError: a model cannot be read
        raise ValueError(f"{name}: {error}") from error
    for bounds in rule.bounds:
        if bounds.low > bounds.high:
            raise ValueError(f"{name}: min {bounds.low:g} is greater than max {bounds.high:g}, so no pair passes")
    rule.key = name
    return [rule] if rule.columns else []
