"""Reads the filters of an OpusFilter config as rules.

A filter becomes a rule if there is one with the same score and decision; :data:`_READERS` lists these filters. Other
filters and other steps are left out, and reported with the reason. The format is OpusFilter 3.3.1's (``docs/filters``
in Helsinki-NLP/OpusFilter).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.sides import SIDES

Options: TypeAlias = "Mapping[str, Any]"
Spec: TypeAlias = "dict[str, Any]"

_UNITS = {"word": "token", "char": "char", "character": "char"}
_UNKNOWN = "no rule gives the same score; see the rules language and score"


def opusfilter_rules(config: object) -> tuple[Spec, list[str]]:
    """Returns the rules for a config's steps with type ``filter``, and a remark for each part without equivalent."""
    steps = config.get("steps") if isinstance(config, Mapping) else None
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise ConfigError("it has no list 'steps'; is this an OpusFilter config?")
    rules: Spec = {}
    left_out: list[str] = []
    for number, step in enumerate(steps, 1):
        kind = step.get("type") if isinstance(step, Mapping) else None
        if kind != "filter":
            left_out.append(f"step {number}, {kind}: only steps of type filter are converted")
            continue
        for where, name, options in _filters(step, f"step {number}", left_out):
            reader = _READERS.get(name)
            if reader is None:
                left_out.append(f"{where}: {_UNKNOWN}")
                continue
            rule, spec = reader(_Given(where, options, left_out))
            rules[_free_key(rule, options.get("name"), rules)] = spec
    return rules, left_out


def _filters(step: Options, where: str, left_out: list[str]) -> Iterator[tuple[str, str, Options]]:
    """Yields the filters of a step: their place in the config, name and options."""
    parameters = step.get("parameters")
    filters = parameters.get("filters") if isinstance(parameters, Mapping) else None
    if not isinstance(parameters, Mapping) or not isinstance(filters, Sequence):
        raise ConfigError(f"{where}: it has no list parameters.filters")
    if parameters.get("filterfalse"):
        raise ConfigError(f"{where}: filterfalse keeps the pairs that filters drop; no rule does this; remove the step")
    for entry in filters:
        names = [name for name in entry if name != "module"] if isinstance(entry, Mapping) else []
        if len(names) != 1 or not isinstance(entry[names[0]] or {}, Mapping):
            raise ConfigError(f"{where}: expected a filter and its options, found {entry!r}")
        if "module" in entry:
            left_out.append(f"{where}, {names[0]}: a filter of the module {entry['module']}; use the rule python")
        else:
            yield f"{where}, {names[0]}", names[0], entry[names[0]] or {}


def _free_key(rule: str, label: object, taken: Options) -> str:
    """Returns a new key for a rule: its name, with the label of the filter or a number if that is needed."""
    key = f"{rule}/{re.sub('[^A-Za-z0-9_-]', '-', label)}" if isinstance(label, str) else rule
    number = 2
    while key in taken:
        key, number = f"{rule}/{number}", number + 1
    return key


class _Given:
    """A filter's options."""

    def __init__(self, where: str, options: Options, left_out: list[str]) -> None:
        self._where, self._options, self._left_out = where, options, left_out

    def value(self, name: str, default: Any) -> Any:
        """Returns an option: a value for both sides, or a mapping by side."""
        value = self._options.get(name, default)
        if not isinstance(value, list | tuple):
            return value
        if len(value) != len(SIDES):
            raise ConfigError(f"{self._where}: {name} has {len(value)} values; a pair has two sides")
        return value[0] if value[0] == value[1] else dict(zip(SIDES, value, strict=True))

    def unit(self, default: str = "word") -> Any:
        """Returns the ``unit`` option, translated to the units of rules."""
        unit = self.value("unit", default)
        try:
            return {side: _UNITS[each] for side, each in unit.items()} if isinstance(unit, Mapping) else _UNITS[unit]
        except KeyError as error:
            raise ConfigError(f"{self._where}: there is no unit {error.args[0]!r}") from None

    def ignore(self, name: str, reason: str, default: object = None) -> None:
        """Records that an option is left out, if its value is not the default."""
        if self._options.get(name, default) != default:
            self._left_out.append(f"{self._where}: {name}: {reason}")


_Reader: TypeAlias = "Callable[[_Given], tuple[str, Spec]]"


def _same(rule: str, fixed: Options | None = None, **options: tuple[str, object]) -> _Reader:
    """Returns a reader for a rule with fixed options, and others that have another name and default in a filter."""
    return lambda given: (rule, {**(fixed or {}), **{name: given.value(*of) for name, of in options.items()}})


def _length(given: _Given) -> tuple[str, Spec]:
    given.ignore("pass_empty", "pairs with an empty side are always dropped", default=False)
    return _same("length", {"unit": given.unit()}, min=("min_length", 1), max=("max_length", 100))(given)


def _average_word_length(given: _Given) -> tuple[str, Spec]:
    given.ignore("pass_empty", "pairs with an empty side are always dropped", default=False)
    return _same("average_word_length", {"unit": "token"}, min=("min_length", 2), max=("max_length", 20))(given)


def _regex(given: _Given) -> tuple[str, Spec]:
    patterns = given.value("regexps", None)
    match = "keep" if given.value("accept_match", default=False) else "drop"
    if isinstance(patterns, Mapping):
        specs: Spec = {side: {"pattern": patterns[side], "side": side, "match": match} for side in SIDES}
    else:
        specs = {"pattern": {"pattern": patterns, "match": match}}
    return "regex", {"patterns": specs}


def _similarity(given: _Given) -> tuple[str, Spec]:
    given.ignore("weights", "all edits weigh 1", default=[1, 1, 1])
    fixed = {"measure": "distance", "unit": given.unit("char")}
    return _same("copy", fixed, lowercase=("lowercase", False), max=("threshold", 0.9))(given)


_READERS: Mapping[str, _Reader] = MappingProxyType(
    {
        "AlphabetRatioFilter": lambda given: (
            "alphabetic",
            {"spaces": not given.value("exclude_whitespace", default=False), "min": given.value("threshold", 0.75)},
        ),
        "AverageWordLengthFilter": _average_word_length,
        "CharacterScoreFilter": _same("script", script=("scripts", None), min=("thresholds", 1)),
        "HtmlTagFilter": _same("html", {"tags": "any"}),
        "LengthFilter": _length,
        "LengthRatioFilter": lambda given: _same("length_ratio", {"unit": given.unit()}, max=("threshold", 3))(given),
        "LongWordFilter": _same("longest_word", {"unit": "token"}, max=("threshold", 40)),
        "LongestCommonSubstringFilter": _same("copy", {"measure": "substring"}, max=("threshold", 0.9)),
        "NonZeroNumeralsFilter": _same("numerals", min=("threshold", 0.5)),
        "RegExpFilter": _regex,
        "RepetitionFilter": _same("repetition", times=("threshold", 2), min=("min_length", 3), max=("max_length", 100)),
        "SimilarityFilter": _similarity,
        "TerminalPunctuationFilter": _same("terminal_punctuation", min=("threshold", -2)),
    }
)
"""Functions that return, for each filter, the rule and its options."""
