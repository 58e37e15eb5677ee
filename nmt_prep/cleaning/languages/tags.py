"""Language tags: their scripts, and the labels of models that stand for the expected language and its rivals.

Labels are codes of ISO 639-1 or 639-3, with or without a script: ``__label__en``, ``eng_Latn``, ``zho_Hans``. The
config has BCP 47 tags. Both are reduced to a language, and a script if they name one. The language is an ISO 639-1 code
if there is one. A macrolanguage replaces its usual member: ``zh`` replaces ``cmn``, ``ar`` replaces ``arb``, and ``no``
replaces ``nb``. In languages with several scripts, a region stands for the script that CLDR gives it: ``zh-TW`` for
``zh-Hant``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import Lines, han_counts, script_names, script_of_name

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


@cache
def spoken_of_tag(tag: str) -> Spoken | None:
    """Returns the language of a BCP 47 tag or a code such as ``eng_Latn``, or None if it is neither."""
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    try:
        language = langcodes.Language.get(langcodes.standardize_tag(tag.replace("_", "-"), macro=True))
        written = langcodes.Language.get(tag.replace("_", "-"), normalize=False)
    except langcodes.LanguageTagError:
        return None
    if language.language is None:
        return None
    code, script = "hbs" if written.language == "hbs" else language.language, written.script
    if script is None and language.territory is not None and code in {*_SEVERAL_SCRIPTS, *_CHINESE}:
        script = language.maximize().script
    if code == "pa" and script == "Arab":
        code = "lah"  # models call it Western Punjabi
    return Spoken("no" if code == "nb" else code, script)


def languages_of_labels(labels: Sequence[str]) -> list[Spoken | None]:
    """Returns each label's language in a model, or None for labels that do not stand for a language."""
    codes = [label.removeprefix(_PREFIX) for label in labels]
    with_scripts = any("_" in code for code in codes)
    return [spoken_of_tag(code if with_scripts else _NOT_ISO.get(code, code)) for code in codes]


def same(asked: Spoken, label: Spoken | None) -> bool:
    """Returns true if a label stands for a language. Scripts are compared only if both name one."""
    if label is None:
        return False
    joint = {label.language, asked.language} <= {"hbs", *_SERBO_CROATIAN} and "hbs" in (label.language, asked.language)
    if label.language != asked.language and not joint:
        return False
    return asked.script is None or label.script is None or asked.script == label.script


_SERBO_CROATIAN = ("bs", "cnr", "hr", "sr")  # Some models have one label, hbs, for all of them
_CHINESE = ("zh", "yue")  # Languages with tags that imply Simplified or Traditional characters

_SEVERAL_SCRIPTS = {
    *["az", "bs", "ha", "hbs", "kk", "ku", "ky", "mn", "ms", "pa", "sd", "sr", "tg", "tk"],
    "tt",
    "ug",
    "uz",
}
"""Languages that may be written in Latin, Cyrillic or Arabic script, whichever script their tag implies."""


@cache
def _similar_to(language: str) -> frozenset[str]:
    return frozenset().union(*(group for group in SIMILAR if language in group)) - {language}


class Expected:
    """An expected language and its rivals."""

    def __init__(self, labels: Sequence[str], tag: str, other_tag: str, *, accept_similar: bool) -> None:
        asked, other = spoken_of_tag(tag), spoken_of_tag(other_tag)
        spoken = languages_of_labels(labels)
        own = {number for number, label in enumerate(spoken) if asked is not None and same(asked, label)}
        of_other = {number for number, label in enumerate(spoken) if other is not None and same(other, label)} - own
        if accept_similar and asked is not None and own:
            similar = _similar_to(asked.language)
            own |= {number for number, label in enumerate(spoken) if label and label.language in similar} - of_other
        # label indexes of the language and accepted similar languages; empty if the model does not know the
        # language
        self.own = sorted(own)
        self.chinese = chinese_script(tag)
        self.scripts = _scripts(tag)  # numbers of the language's scripts, or None if unknown
        # label indexes of all other languages that share a script with the language
        self.rivals: list[int] = []
        # labels of the language in another Chinese script, which characters tell apart better than models
        self.variants = [
            number
            for number, label in enumerate(spoken)
            if self.chinese and asked and label and label.language == asked.language and number not in own
        ]
        self._beyond: dict[tuple[int, ...], list[int]] = {}
        for number in sorted({*range(len(labels))} - own):
            beyond = self._scripts_beyond(spoken[number])
            if beyond is None:
                continue
            self.rivals.append(number)
            if beyond:
                self._beyond.setdefault(beyond, []).append(number)
        self._of_other = sorted(of_other)

    def is_other(self, rivals: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Returns true for each line whose best rival is the language of the other side."""
        return np.isin(rivals, self._of_other)

    def needing_scripts(self, rivals: npt.NDArray[np.int32]) -> list[tuple[list[int], npt.NDArray[np.bool_]]]:
        """Finds lines whose best rival also uses scripts that the expected language lacks.

        An example is Japanese as a rival of Chinese: text without kana is not Japanese.

        Returns:
            For each set of such scripts, their numbers, and true for each line whose rival uses them.
        """
        found = [(list(scripts), np.isin(rivals, labels)) for scripts, labels in self._beyond.items()]
        return [(scripts, lines) for scripts, lines in found if lines.any()]

    def _scripts_beyond(self, rival: Spoken | None) -> tuple[int, ...] | None:
        """Returns the scripts of another language that the expected one lacks; None if the two share no script."""
        if rival is None or self.scripts is None:
            return ()
        if rival.script is None and rival.language in _SEVERAL_SCRIPTS:
            return () if {*self.scripts} & {script_number(name) for name in ("Latin", "Cyrillic", "Arabic")} else None
        scripts = _scripts(rival.language if rival.script is None else f"{rival.language}-{rival.script}")
        if scripts is None:
            return ()
        shared, beyond = {*scripts} & {*self.scripts}, {*scripts} - {*self.scripts}
        return tuple(sorted(beyond)) if shared - {*_NO_SCRIPT} else None


@cache
def chinese_script(tag: str) -> str | None:
    """Returns Hans or Hant if a tag implies Simplified or Traditional characters, or names them; None otherwise."""
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    spoken = spoken_of_tag(tag)
    if spoken is None or (spoken.language not in _CHINESE and spoken.script is None):
        return None
    script = spoken.script or langcodes.Language.get(tag).maximize().script
    return script if script in ("Hans", "Hant") else None


def chinese_shares(lines: Lines, script: str | None) -> npt.NDArray[np.float64]:
    """Returns the share of Hans or Hant among the characters that only one of them has; 1.0 without such characters."""
    if script is None:
        return np.ones(len(lines))
    simplified, traditional = han_counts(lines)
    both = simplified + traditional
    right = simplified if script == "Hans" else traditional
    return np.divide(right, both, out=np.ones(len(lines)), where=both > 0)


@cache
def _scripts(tag: str) -> list[int] | None:
    try:
        return scripts_of_language(tag)
    except ValueError:
        return None


_SCRIPTS_OF_SYSTEMS = {
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Jpan": ("Han", "Hiragana", "Katakana"),
    "Kore": ("Hangul", "Han"),
    "Hanb": ("Han", "Bopomofo"),
}
_NO_SCRIPT = (0, 1)  # Common and Inherited, which every language uses


def script_number(name: str) -> int:
    """Returns the number that native functions use for a script."""
    number = script_of_name(name)
    if number < 0:
        names = ", ".join(long.capitalize() for long, _ in script_names()[3:])
        raise ValueError(f"there is no script {name!r} (scripts: {names})")
    return number


def scripts_of_language(tag: str) -> list[int]:
    """Returns the numbers of the scripts that a language is written in, Common and Inherited included."""
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    system = langcodes.Language.get(tag).maximize().script
    if system is None:
        raise ValueError(f"the script of the language {tag!r} is not known; name it with the key script")
    names = _SCRIPTS_OF_SYSTEMS.get(system, (system,))
    return [*(script_number(name) for name in names), *_NO_SCRIPT]
