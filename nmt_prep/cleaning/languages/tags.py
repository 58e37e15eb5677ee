"""Compares the labels of a model with the language tags of the config.

Labels are codes of ISO 639-1 or 639-3, with or without a script: ``__label__en``, ``eng_Latn``, ``zho_Hans``. The
config has BCP 47 tags. Both are reduced to a language, and a script if they name one. The language is an ISO 639-1 code
if there is one. A macrolanguage replaces its usual member: ``zh`` replaces ``cmn``, ``ar`` replaces ``arb``, and ``no``
replaces ``nb``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_PREFIX = "__label__"

_NOT_ISO = {"als": "gsw", "bh": "bho", "eml": "egl", "nah": "nhn"}
"""ISO 639 codes for labels that differ from ISO 639, in models whose labels name no scripts (Wikipedia's codes)."""

SIMILAR: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "bs hr sr cnr",
        "no nn da",
        "cs sk",
        "bg mk",
        "id ms",
        "es gl ast an",
        "pt gl mwl",
        "ca oc",
        "es ca",
        "de gsw bar nds ksh pfl",
        "de lb",
        "nl li vls zea",
        "nl af",
        "it lmo vec scn nap pms lij egl co",
        "en sco",
        "zh yue wuu lzh",
        "ar arz apc ary arb acm",
        "fa prs mzn",
        "ur lah",
        "tr azb az",
        "hi mai bho hif",
        "ne dty",
        "ru rue",
        "uk rue",
        "lv ltg",
        "et vro",
        "chm mrj",
        "ku ckb",
    )
)
"""Groups of languages that models confuse in ordinary text. If a language of a group is expected, all are accepted."""


class Spoken(NamedTuple):
    """A language, and its script if the tag or label names one."""

    language: str
    script: str | None


def spoken_of_tag(tag: str) -> Spoken | None:
    """Returns the language of a BCP 47 tag or of a code such as ``eng_Latn``; None if it is neither."""
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    try:
        language = langcodes.Language.get(langcodes.standardize_tag(tag.replace("_", "-"), macro=True))
        named = langcodes.Language.get(tag.replace("_", "-"), normalize=False).script
    except langcodes.LanguageTagError:
        return None
    if language.language is None:
        return None
    return Spoken("no" if language.language == "nb" else language.language, named)


def languages_of_labels(labels: Sequence[str]) -> list[Spoken | None]:
    """Returns the language of each label of a model; None for labels that do not stand for a language."""
    codes = [label.removeprefix(_PREFIX) for label in labels]
    with_scripts = any("_" in code for code in codes)
    return [spoken_of_tag(code if with_scripts else _NOT_ISO.get(code, code)) for code in codes]


def same(asked: Spoken, label: Spoken | None) -> bool:
    """Returns true if a label stands for a language. Scripts are compared only if both name one."""
    if label is None or label.language != asked.language:
        return False
    return asked.script is None or label.script is None or asked.script == label.script


def similar(asked: Spoken, label: Spoken | None) -> bool:
    """Returns true if a label stands for another language that is similar to the one asked for."""
    if label is None or label.language == asked.language:
        return False
    return any(asked.language in group and label.language in group for group in SIMILAR)
