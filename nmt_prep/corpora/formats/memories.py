"""Readers of translation memories: TMX up to version 1.4, XLIFF 1.2 and 2.0."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from nmt_prep.base.errors import CorpusError
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.formats.markup import Document, XmlReader, fits
from nmt_prep.corpora.reader import DOCUMENT, PairBuilder, Value
from nmt_prep.corpora.scores import value_of
from nmt_prep.text.blocks import Fault

_PROP = "prop:"
_MOST_LANGUAGES = 1000


class _Tmx(Document):
    """Gives a pair for each ``tu``: for each language the variant with the same tag, or else the first regional one."""

    root: ClassVar[str] = "tmx"
    codes: ClassVar[frozenset[str]] = frozenset({"bpt", "ept", "it", "ph", "ut", "note", "prop"})
    inner: ClassVar[str] = "seg"

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        super().__init__(corpus, languages, path, builder)
        self._fits: dict[str, tuple[int, int]] = {}
        self._fit = (0, 0)
        self._best = [0, 0]
        self._texts: list[str | None] = [None, None]
        self._faults = [0, 0]
        self._prop_fault = 0
        self._seen = False
        self._props = TmxReader.columns_inside(corpus)
        self._columns: dict[str, Value] = {}
        self._in_variant = False
        self._prop = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "seg":
            if self._fit != (0, 0):
                self.gather()
        elif name == "prop":
            self._prop = f"{_PROP}{attributes.get('type', '')}"
            if self._prop in self._props.values() and not self._in_variant:
                self.gather()
        elif name == "tuv":
            self._in_variant = True
            tag = attributes.get("xml:lang") or attributes.get("lang", "")
            self._fit = self._fits.get(tag) or self._fit_of(tag)
            if self._fit != (0, 0):
                self.gather()  # some programs write the text without a seg
        elif name == "tu":
            self._best, self._texts, self._faults, self._columns = [0, 0], [None, None], [0, 0], {}
            self._prop_fault = 0

    def end(self, name: str) -> None:
        if name == "seg":
            if self._gathering:
                self._take(self.gathered())
        elif name == "prop":
            if self._gathering:
                text, where = self.gathered(), f"{self.path}:{self.parser.CurrentLineNumber}"
                if self.fault == Fault.INVALID_TEXT:
                    self._prop_fault = self.fault
                    return
                for key, place in self._props.items():
                    if place == self._prop:
                        self._columns[key] = value_of(text, key, where)
        elif name == "tuv":
            if self._gathering and ((text := self.gathered().strip()) or self.fault):
                self._take(text)
            self._fit, self._in_variant = (0, 0), False
        elif name == "tu":
            source, target = self._texts
            self._seen = self._seen or (source is not None and target is not None)
            self.builder.add(source, target, self._prop_fault or self._faults[0] or self._faults[1], self._columns)

    def finish(self) -> None:
        if self._fits and not self._seen:
            raise CorpusError(
                f"{self.path} has no unit in both {self.languages.source} and {self.languages.target}, only in "
                f"{', '.join(sorted(self._fits))}; set languages, or texts, of the corpus to the tags in the file"
            )

    def _fit_of(self, tag: str) -> tuple[int, int]:
        if len(self._fits) >= _MOST_LANGUAGES:
            raise self.error(f"more than {_MOST_LANGUAGES} different languages are rejected")
        self._fits[tag] = fits(self.languages, tag)
        return self._fits[tag]

    def _take(self, text: str) -> None:
        # A unit may have en-US, en and en-GB. Only a better fit replaces a text: the exact tag wins in any order, or
        # else the first regional variant.
        for side in (0, 1):
            if self._fit[side] > self._best[side]:
                self._best[side], self._texts[side], self._faults[side] = self._fit[side], text, self.fault


class TmxReader(XmlReader):
    """Reads TMX without the formatting codes in segments; highlighted text is kept."""

    version: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = (".tmx",)
    document: ClassVar[type[Document]] = _Tmx

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        """Returns True for ``prop:<type>``, a property of translation units."""
        return isinstance(place, str) and place.startswith(_PROP)


_UNITS = {"trans-unit", "segment"}
_ASIDE = {"alt-trans", "match"}  # suggestions, with their own sources and targets


class _Xliff(Document):
    """Gives a pair for each ``trans-unit`` (1.2) or ``segment`` (2.0), in the config's direction."""

    root: ClassVar[str] = "xliff"
    codes: ClassVar[frozenset[str]] = frozenset(
        {"bpt", "ept", "it", "ph", "x", "bx", "ex", "sc", "ec", "sm", "em", "cp"}
    )

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        super().__init__(corpus, languages, path, builder)
        self._columns: dict[str, Value] = {}
        self._texts: dict[str, str] = {}
        self._has_document = DOCUMENT in XliffReader.columns_inside(corpus)
        self._file_fault = 0
        self._unit_fault = 0
        self._in_unit = False
        self._aside = 0
        self._file_tags = {"source": "", "target": ""}
        self._tags = self._file_tags
        self._directions: dict[tuple[str, str], tuple[str, ...]] = {}
        self._seen = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "xliff" and "srcLang" in attributes:
            self._file_tags = {"source": attributes["srcLang"], "target": attributes.get("trgLang", "")}
        elif name == "file":
            where = f"{self.path}:{self.parser.CurrentLineNumber}"
            self._columns = {DOCUMENT: value_of(attributes.get("original"), DOCUMENT, where)}
            self._file_fault = self.fault_in(attributes.get("original", "")) if self._has_document else 0
            if "source-language" in attributes:
                tags = attributes["source-language"], attributes.get("target-language", "")
                self._file_tags = dict(zip(("source", "target"), tags, strict=True))
        elif name in _UNITS:
            self._texts, self._unit_fault, self._in_unit = {}, self._file_fault, True
            self._tags = dict(self._file_tags)
        elif name in _ASIDE:
            self._aside += 1
        elif name in ("source", "target") and self._in_unit and not self._aside:
            self._tags[name] = attributes.get("xml:lang") or self._tags[name]
            self.gather()

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if name in _ASIDE:
            self._aside -= 1
        elif name in ("source", "target") and self._gathering:
            self._texts[name] = self.gathered()
            self._unit_fault = self._unit_fault or self.fault
        elif name in _UNITS:
            self._in_unit = False
            # Units of one file may differ in direction. A missing tag fits both sides; a unit of the opposite direction
            # is read with its sides exchanged.
            tags = self._tags["source"], self._tags["target"]
            direction = self._directions.get(tags)
            if direction is None:
                direction = self._direction_of(*tags)
            if direction:
                source, target = (self._texts.get(side) for side in direction)
                self.builder.add(source, target, self._unit_fault, self._columns)
                self._seen = True

    def finish(self) -> None:
        if self._directions and not self._seen:
            stated = ", ".join(
                f"{source or 'unstated'} to {target or 'unstated'}" for source, target in sorted(self._directions)
            )
            raise CorpusError(
                f"{self.path} has no unit for {self.languages.source} and {self.languages.target}, only {stated}; set "
                "languages of the corpus in the config as the file tags them"
            )

    def _direction_of(self, source: str, target: str) -> tuple[str, ...]:
        """Returns a unit's elements for the config's source and target, or nothing if the languages do not match."""
        if len(self._directions) >= _MOST_LANGUAGES:
            raise self.error(f"more than {_MOST_LANGUAGES} different language pairs are rejected")
        of_source, of_target = (fits(self.languages, tag) if tag else (1, 1) for tag in (source, target))
        direction: tuple[str, ...] = ()
        if of_source[0] and of_target[1]:
            direction = ("source", "target")
        elif of_source[1] and of_target[0]:
            direction = ("target", "source")
        self._directions[source, target] = direction
        return direction


class XliffReader(XmlReader):
    """Reads XLIFF; inline codes are removed, the text of marked spans is kept."""

    version: ClassVar[int] = 3
    suffixes: ClassVar[tuple[str, ...]] = (".xlf", ".xliff")
    document: ClassVar[type[Document]] = _Xliff
    own_documents: ClassVar[str] = "original"
