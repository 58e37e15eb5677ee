"""The rules, one module each. To add a rule, write its module and add its class to the list here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from nmt_prep.cleaning.presets import is_off
from nmt_prep.cleaning.rule import Context, Rule
from nmt_prep.cleaning.rules.alphabetic import AlphabeticRule
from nmt_prep.cleaning.rules.average_word_length import AverageWordLengthRule
from nmt_prep.cleaning.rules.brackets import BracketsRule
from nmt_prep.cleaning.rules.copy import CopyRule
from nmt_prep.cleaning.rules.currency import CurrencyRule
from nmt_prep.cleaning.rules.html import HtmlRule
from nmt_prep.cleaning.rules.language import LanguageRule
from nmt_prep.cleaning.rules.length import LengthRule
from nmt_prep.cleaning.rules.length_ratio import LengthRatioRule
from nmt_prep.cleaning.rules.longest_word import LongestWordRule
from nmt_prep.cleaning.rules.noise import NoiseRule
from nmt_prep.cleaning.rules.numbers import NumbersRule
from nmt_prep.cleaning.rules.numerals import NumeralsRule
from nmt_prep.cleaning.rules.only_digits import OnlyDigitsRule
from nmt_prep.cleaning.rules.only_symbols import OnlySymbolsRule
from nmt_prep.cleaning.rules.program import ProgramRule
from nmt_prep.cleaning.rules.python import PythonRule
from nmt_prep.cleaning.rules.regex import RegexRule
from nmt_prep.cleaning.rules.repetition import RepetitionRule
from nmt_prep.cleaning.rules.score import ScoreRule
from nmt_prep.cleaning.rules.script import ScriptRule
from nmt_prep.cleaning.rules.terminal_punctuation import TerminalPunctuationRule
from nmt_prep.cleaning.rules.too_short import TooShortRule
from nmt_prep.cleaning.rules.translation import TranslationRule
from nmt_prep.cleaning.rules.truncated import TruncatedRule
from nmt_prep.cleaning.rules.url_only import UrlOnlyRule
from nmt_prep.cleaning.rules.urls import UrlsRule
from nmt_prep.cleaning.rules.word_list import WordListRule
from nmt_prep.config import Section
from nmt_prep.config.problems import problems_of
from nmt_prep.errors import CleaningError

_ALL: tuple[type[Rule[Any]], ...] = (
    LengthRule,
    TooShortRule,
    OnlySymbolsRule,
    OnlyDigitsRule,
    UrlOnlyRule,
    LongestWordRule,
    AverageWordLengthRule,
    AlphabeticRule,
    ScriptRule,
    HtmlRule,
    NoiseRule,
    RepetitionRule,
    CopyRule,
    LengthRatioRule,
    TruncatedRule,
    LanguageRule,
    TerminalPunctuationRule,
    NumeralsRule,
    NumbersRule,
    UrlsRule,
    CurrencyRule,
    BracketsRule,
    RegexRule,
    WordListRule,
    ScoreRule,
    TranslationRule,
    PythonRule,
    ProgramRule,
)

RULES: Mapping[str, type[Rule[Any]]] = MappingProxyType({rule.name: rule for rule in _ALL})
"""All rules by name, in the order in which they are listed."""


def kind_of(key: str) -> str:
    """Returns the name of the rule that a key stands for: ``length`` for ``length`` and for ``length/characters``.

    Labels such as ``characters`` let a config have a rule several times, with different options.
    """
    return key.partition("/")[0]


def make_rules(specs: Mapping[str, object], context: Context) -> tuple[Rule[Any], ...]:
    """Builds the rules for a corpus, in the order of the mapping.

    Rules that are off, and rules that do not apply to the corpus, are left out.

    Args:
        specs: options by key; true stands for default options. A key is the name of a rule, or ``name/label``.
        context: the corpus that the rules are for.

    Raises:
        ValueError: a rule or an option is unknown or wrong. The message has a line for each problem; each line begins
            with the rule's key.
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
    """Yields the problems of rules and their options, as far as they can be found without building the rules.

    Each problem begins with the rule's key.
    """
    for name, spec in specs.items():
        try:
            rule_options(name, spec)
        except ValueError as error:
            yield from str(error).splitlines()


def rule_options(name: str, spec: object) -> Section | None:
    """Returns the checked options of a rule; None if it is off.

    Raises:
        ValueError: there is no such rule, or an option is unknown or wrong.
    """
    if (kind := RULES.get(kind_of(name))) is None:
        near = difflib.get_close_matches(name, RULES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name}: there is no such rule{hint} (rules: {', '.join(RULES)})")
    if is_off(spec):
        return None
    if problems := [*_too_large(name, spec)]:
        raise ValueError("\n".join(problems))
    try:
        return kind.options.model_validate({} if spec is None or spec is True else spec)
    except ValidationError as error:
        lines = sorted(problems_of(error, kind.options, {}))
        raise ValueError("\n".join(f"{name}.{line}".replace(f"{name}.config:", f"{name}:") for line in lines)) from None


def _too_large(key: str, spec: object) -> Iterator[str]:
    """Yields a problem for each integer that has more than 64 bits, which neither arrays nor native code hold."""
    if isinstance(spec, Mapping):
        for name, value in spec.items():
            yield from _too_large(f"{key}.{name}", value)
    elif isinstance(spec, list | tuple):
        for number, value in enumerate(spec):
            yield from _too_large(f"{key}.{number}", value)
    elif isinstance(spec, int) and not -(2**63) <= spec < 2**63:
        yield f"{key}: found an integer of more than 64 bits"


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
