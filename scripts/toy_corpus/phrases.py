"""Nouns and adjectives, and the noun phrases that they make, on both sides at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from . import lexicon
from .inflection import plural, with_article

# English, Chinese, weight: how often the phrase is drawn, relative to others of the same noun.
Phrase = tuple[str, str, float]


@dataclass(frozen=True)
class Noun:
    """A noun with its forms for phrases; `one` and `many` include its container, if it has one."""

    one: str
    many: str
    bare: str
    zh: str
    measure: str
    kind: str
    count: bool

    @classmethod
    def parse(cls, entry: str, kind: str) -> "Noun":
        """Reads an entry of `lexicon.NOUNS` or `lexicon.MEASURED`."""
        english, _, chinese = entry.replace("_", " ").partition("=")
        zh, _, measure = chinese.partition("/")
        name, _, container = english.partition("/")
        if container:
            return cls(
                f"{container} of {name}",
                f"{plural(container)} of {name}",
                name,
                zh,
                measure,
                kind,
                count=False,
            )
        one, _, irregular = name.partition("+")
        many = irregular or plural(one)
        return cls(one, many, many, zh, measure, kind, count=True)


@dataclass(frozen=True)
class Adjective:
    """An adjective; `comparative` and `predicate` are empty if it is only used before nouns."""

    en: str
    comparative: str
    attributive: str
    predicate: str

    @classmethod
    def parse(cls, entry: str) -> "Adjective":
        """Reads an entry of `lexicon.ADJECTIVES`."""
        english, _, chinese = entry.replace("_", " ").partition("=")
        en, _, comparative = english.partition("/")
        attributive, _, predicate = chinese.partition("/")
        return cls(en, comparative, attributive, predicate)


_ALL_NOUNS = {**lexicon.NOUNS, **lexicon.MEASURED, "extra": lexicon.EXTRA_NOUNS}
NOUNS = {kind: [Noun.parse(entry, kind) for entry in text.split()] for kind, text in _ALL_NOUNS.items()}
ADJECTIVES = {kind: [Adjective.parse(entry) for entry in text.split()] for kind, text in lexicon.ADJECTIVES.items()}
_BY_NAME = {noun.one.replace(" ", "_"): noun for nouns in NOUNS.values() for noun in nouns}


def members(spec: str) -> Iterator[tuple[Noun, float]]:
    """Yields the nouns of a list of classes and single nouns, each with its weight: 1/(rank + 1) of list and class."""
    for outer, name in enumerate(spec.split(","), 1):
        for inner, noun in enumerate(NOUNS.get(name) or [_BY_NAME[name]], 1):
            yield noun, 1 / outer / inner


def _qualified(noun: Noun) -> Iterator[tuple[str, str, float]]:
    """Yields (English adjective, Chinese attribute, weight), the bare noun first."""
    yield "", "", 1.0
    for rank, adjective in enumerate(ADJECTIVES.get(noun.kind, ()), 2):
        yield f"{adjective.en} ", adjective.attributive, 1 / rank


def indefinite(noun: Noun) -> Iterator[Phrase]:
    """Yields "a new book", "two books", … with 一本新书, 两本书, …."""
    if noun.count:
        for en, zh, weight in _qualified(noun):
            yield with_article(en + noun.one), f"一{noun.measure}{zh}{noun.zh}", weight
    else:
        yield with_article(noun.one), f"一{noun.measure}{noun.zh}", 1.0
    for rank, (number, zh_number) in enumerate((("two", "两"), ("three", "三"), ("several", "几"), ("four", "四")), 2):
        yield f"{number} {noun.many}", f"{zh_number}{noun.measure}{noun.zh}", 0.4 / rank


def definite(noun: Noun) -> Iterator[Phrase]:
    """Yields "this book", "the new book", … with 这本书, 那本新书, …."""
    if not noun.count:
        yield f"the {noun.bare}", f"那{noun.measure}{noun.zh}", 1.0
        return
    for en, zh, weight in _qualified(noun):
        yield f"the {en}{noun.one}", f"那{noun.measure}{zh}{noun.zh}", weight
        yield f"this {en}{noun.one}", f"这{noun.measure}{zh}{noun.zh}", weight / 2
        yield f"that {en}{noun.one}", f"那{noun.measure}{zh}{noun.zh}", weight / 3


def bare(noun: Noun) -> Iterator[Phrase]:
    """Yields "books", "new books", … with 书, 新书, …."""
    for en, zh, weight in _qualified(noun):
        yield en + noun.bare, zh + noun.zh, weight
