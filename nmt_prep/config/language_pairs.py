"""Configs with several language pairs: the key ``pairs``, and the pair names."""

from __future__ import annotations

import locale
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from nmt_prep.config.section import LANGUAGE, UNKNOWN_NAME, Languages, Section

_TAG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_TWO_LETTERS = re.compile(
    r"a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]"
    r"|i[adegiknostuw]|j[aivw]|k[agijklmnorsuvwy]|l[abginotuv]|m[ghiklnorsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]"
    r"|q[u]|r[mnouw]|s[acdeghiklmnoqrstuvw]|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|x[h]|y[io]|z[ahu]"
)
"""The two-letter languages of BCP 47. Tags of most configs match, so that langcodes need not be loaded."""


_SCRIPTS = {"@latin": "-Latn", "@cyrillic": "-Cyrl", "@devanagari": "-Deva"}


def hyphened(tag: str) -> str:
    """Returns a file's or OPUS's language tag in BCP 47 form: de-DE for de_DE, sr-Latn for sr@latin."""
    for modifier, script in _SCRIPTS.items():
        tag = tag.replace(modifier, script)
    return tag.replace("_", "-").replace("@", "-")


def check_language(tag: str) -> None:
    """Checks a language tag."""
    if _TWO_LETTERS.fullmatch(tag):
        return
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    if _TAG.fullmatch(tag) and langcodes.tag_is_valid(tag):
        return
    near = suggestion(tag)
    hint = f"; did you mean {near}?" if near else ""
    raise PydanticCustomError(
        UNKNOWN_NAME,
        "found the text {tag}, which is not a language tag{hint} (allowed: a language tag such as en, zh or pt-BR)",
        {"tag": repr(tag), "hint": hint},
    )


def suggestion(tag: str) -> str | None:
    """Returns the tag that was probably meant by an invalid one, or None.

    ``de_DE`` gives de-DE. A language's name is looked up in the locale aliases; a country's code gives its language.
    """
    import langcodes  # noqa: PLC0415  (langcodes takes 0.1 s to load)

    name = hyphened(tag)
    if langcodes.tag_is_valid(name):
        return str(langcodes.standardize_tag(name))
    first = name.partition("-")[0].lower()
    alias = locale.locale_alias.get(first, "").partition("_")[0]
    if langcodes.tag_is_valid(alias):
        return alias
    if re.fullmatch("[a-z]{2}", first):
        spoken = str(langcodes.Language.get(f"und-{first.upper()}").maximize().language)
        return None if spoken == "en" else spoken  # langcodes says en for unknown countries
    return None


def _checked_tag(tag: str) -> str:
    check_language(tag)
    return tag


CheckedTag = Annotated[
    str, AfterValidator(_checked_tag), WithJsonSchema({"type": "string", "pattern": f"^{_TAG.pattern}$"})
]


def spoken_of(tag: str, otherwise: str) -> str:
    """Returns the language of a tag in a file, or another one for a tag such as ``English``, which is not of BCP 47."""
    try:
        check_language(hyphened(tag))
    except PydanticCustomError:
        return otherwise
    return hyphened(tag)


_FileTag = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
_IN_FILE = "a text such as en, en_US, sr@latin or English"


class FileLanguages(Languages):
    """The languages of the two sides as a file names them, or in a config with pairs, language tags."""

    source: _FileTag = Field(description=f"{_IN_FILE}: the language of that side")
    target: _FileTag = Field(description=f"{_IN_FILE}: the language of that side")


class ConfigLanguages(Languages):
    """The languages of the two sides. Files and records may use other tags for them."""

    source: CheckedTag = Field(description=f"{LANGUAGE}: the language of that side")
    target: CheckedTag = Field(description=f"{LANGUAGE}: the language of that side")


MULTIPLE = "mul"
"""The language tag of a side with several languages."""


class LanguagePair(NamedTuple):
    """The languages of a direction, written as ``en-de``."""

    source: str
    target: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Returns the pair that a text such as ``en-de`` or ``pt-BR-en`` names."""
        pairs = [pair for pair in splits_of(text) if are_languages(pair)]
        if len(pairs) > 1:
            pairs = [pair for pair in pairs if (*map(suggestion, pair),) == pair]  # en-pt-BR: with the usual capitals
        if len(pairs) != 1 or pairs[0][0] == pairs[0][1]:
            raise ValueError(f"found the text {text!r}, which is not a pair of different languages such as en-de")
        return cls(*pairs[0])

    @classmethod
    def of(cls, languages: Languages) -> Self:
        """Returns the pair of the two sides."""
        return cls(languages.source, languages.target)

    @property
    def reverse(self) -> LanguagePair:
        """The other direction."""
        return LanguagePair(self.target, self.source)

    @property
    def languages(self) -> Languages:
        """The languages of the two sides."""
        return Languages(source=self.source, target=self.target)

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


def splits_of(text: str) -> list[tuple[str, str]]:
    """Returns all ways to split a text such as ``en-de`` or ``pt-BR-en`` at a hyphen into two parts."""
    return [(text[: dash.start()], text[dash.end() :]) for dash in re.finditer("-", text)]


def are_languages(tags: tuple[str, str]) -> bool:
    """Returns true if both are language tags."""
    try:
        for tag in tags:
            check_language(tag)
    except PydanticCustomError:
        return False
    return all(tags)


def _checked(text: str) -> str:
    try:
        LanguagePair.parse(text)
    except ValueError as error:
        raise PydanticCustomError(UNKNOWN_NAME, "{problem}", {"problem": str(error)}) from error
    return text


class EnglishCentric(Section):
    """Both directions between English and each of some languages."""

    others: Annotated[tuple[CheckedTag, ...], Field(min_length=1)] = Field(alias="english-centric")
    """a list of language tags: languages to pair with English, in both directions"""

    def _problems(self) -> Iterator[str]:
        if "en" in self.others:
            yield "english-centric lists the languages that are paired with English; remove en"


_Listed = Annotated[tuple[Annotated[str, AfterValidator(_checked)], ...], Field(min_length=1)]


def _form(value: object) -> str:
    """Returns the tag of the form that a value has in a config; problems of the other forms are not reported."""
    return "list" if isinstance(value, tuple) else "mapping" if isinstance(value, dict | EnglishCentric) else "text"


Pairs: TypeAlias = Annotated[
    Annotated[Literal["all"], Tag("text")]
    | Annotated[_Listed, Tag("list")]
    | Annotated[EnglishCentric, Tag("mapping")],
    Discriminator(_form),
]


def asked_pairs(pairs: Pairs) -> tuple[LanguagePair, ...]:
    """Returns the directions that ``pairs`` lists, in order and each once; none for ``all``."""
    if pairs == "all":
        return ()
    if isinstance(pairs, EnglishCentric):
        directions = (LanguagePair("en", other) for other in pairs.others)
        return tuple(dict.fromkeys(pair for one in directions for pair in (one, one.reverse)))
    return tuple(dict.fromkeys(map(LanguagePair.parse, pairs)))


def groups_of_directions(corpora: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Returns names for the directions of corpora that are used in several directions.

    The name that a corpus has in the config stands for all of its directions. The name of one direction ends in its
    language pair, even if the name in the records has no such ending.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, pair in corpora:
        groups.setdefault(name.removesuffix(f".{pair}"), []).append((name, pair))
    several = {base: directions for base, directions in groups.items() if len(directions) > 1}
    alone = {f"{base}.{pair}": (name,) for base, of in several.items() for name, pair in of if name == base}
    return {base: tuple(name for name, _ in directions) for base, directions in several.items()} | alone
