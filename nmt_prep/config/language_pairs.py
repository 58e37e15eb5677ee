"""The pairs of languages of a config with several: the key ``pairs``, and the names of pairs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from nmt_prep.config.languages import CheckedTag, check_language, suggestion
from nmt_prep.config.problems import UNKNOWN_NAME
from nmt_prep.config.section import Languages, Section

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
    """a list of language tags: the languages that are paired with English"""

    def _problems(self) -> Iterator[str]:
        if "en" in self.others:
            yield "english-centric lists the languages that are paired with English; leave en out"


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
    pair of languages, even if the name in the records has no such ending.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, pair in corpora:
        groups.setdefault(name.removesuffix(f".{pair}"), []).append((name, pair))
    several = {base: directions for base, directions in groups.items() if len(directions) > 1}
    alone = {f"{base}.{pair}": (name,) for base, of in several.items() for name, pair in of if name == base}
    return {base: tuple(name for name, _ in directions) for base, directions in several.items()} | alone
