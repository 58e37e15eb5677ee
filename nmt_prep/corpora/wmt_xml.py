"""Reader of the XML in which WMT publishes test sets: documents with a source, references and system outputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.markup import Document, XmlReader, matches
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.errors import AlignmentError, CorpusError

_MOST_IN_DOCUMENT = 1_000_000


class _Text(NamedTuple):
    """The text of a segment, and its fault or 0."""

    text: str
    fault: int


_Segments = dict[str, _Text]


class _WmtXml(Document):
    """Gives the pairs of each ``doc``, matched by segment id: one per segment and selected version."""

    root: ClassVar[str] = "dataset"

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        super().__init__(corpus, languages, path, builder)
        self._doc = ""
        self._source: _Segments = {}
        self._versions: dict[tuple[str, str], _Segments] = {}
        self._current: _Segments | None = None
        self._id = ""
        self._segments = 0
        self._found: set[str] = set()
        self._seen = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "doc":
            self._doc, self._source, self._versions, self._segments = attributes.get("id", ""), {}, {}, 0
        elif name in ("src", "ref", "hyp"):
            self._current = self._section(name, attributes)
        elif name == "seg" and self._current is not None:
            self._begin_segment(attributes, self._current)

    def end(self, name: str) -> None:
        if name == "seg" and self._gathering:
            text = self.gathered()
            if self._current is not None:
                self._current[self._id] = _Text(text, self.fault)
        elif name in ("src", "ref", "hyp"):
            self._current = None
        elif name == "doc" and self._source:
            self._pair()

    def finish(self) -> None:
        if not self._seen:
            raise CorpusError(
                f"{self.path} has no document from {self.languages.source} to {self.languages.target}, only "
                f"{', '.join(sorted(self._found)) or 'none at all'}; set languages of the corpus in the config"
            )

    def _section(self, name: str, attributes: dict[str, str]) -> _Segments | None:
        """Returns the mapping for the segments of a section; None if the section is not selected."""
        tag = attributes.get("lang", "")
        wanted = self.languages.source if name == "src" else self.languages.target
        if len(self._found) < 100:
            self._found.add(f"{name} {tag}")
        if tag and not matches(wanted, tag):
            return None
        if name == "src":
            return self._source
        whose = attributes.get("translator" if name == "ref" else "system", "")
        chosen = self.corpus.systems
        if name == "hyp" and (chosen is None or (chosen != "all" and whose not in chosen)):
            return None
        return self._versions.setdefault((name, whose), {})

    def _begin_segment(self, attributes: dict[str, str], segments: _Segments) -> None:
        self._id = attributes.get("id", "")
        self._segments += 1
        if not self._id:
            raise self.error(f"a seg of doc {self._doc!r} has no id; give it one")
        if self._id in segments:
            raise AlignmentError(
                f"{self.path}: doc {self._doc!r}, seg {self._id!r} occurs twice; remove one of the two"
            )
        if self._segments > _MOST_IN_DOCUMENT:
            raise self.error(f"doc {self._doc!r} has more than {_MOST_IN_DOCUMENT} segments, which is refused")
        self.gather()

    def _pair(self) -> None:
        versions = [*self._chosen("ref", self.corpus.references), *self._chosen("hyp", self.corpus.systems)]
        for name, version in versions:
            other = self._source.keys() ^ version.keys()
            if other:
                lacking = name if min(other) in self._source else "the source"
                raise AlignmentError(
                    f"{self.path}: doc {self._doc!r}, seg {min(other)!r} is missing from {lacking}; fix the document"
                )
        for number, source in self._source.items():
            for _, version in versions:
                target = version[number]
                self.builder.add(source.text, target.text, source.fault or target.fault)
                self._seen = True

    def _chosen(self, kind: str, chosen: Literal["all"] | tuple[str, ...] | None) -> Iterator[tuple[str, _Segments]]:
        found = {whose: segments for (name, whose), segments in self._versions.items() if name == kind}
        word, key = ("reference", "references") if kind == "ref" else ("system", "systems")
        if chosen is None:
            if kind == "hyp" or self.corpus.systems is not None:
                return
            if len(found) > 1:
                raise AlignmentError(
                    f"{self.path}: doc {self._doc!r} has the references {', '.join(map(repr, found))}; set references "
                    "in the config to one of them, a list, or all"
                )
            chosen = "all"
        for whose in found if chosen == "all" else chosen:
            if whose not in found:
                raise AlignmentError(
                    f"{self.path}: doc {self._doc!r} has no {word} {whose!r} in {self.languages.target}, "
                    f"{'only ' * bool(found)}{', '.join(map(repr, found)) or 'nor any other'}; correct {key} in the "
                    "config"
                )
            yield f"{word} {whose!r}", found[whose]


class WmtXmlReader(XmlReader):
    """Reads WMT XML: the only reference, or the selected references or system outputs."""

    suffixes: ClassVar[tuple[str, ...]] = (".xml",)
    options: ClassVar[frozenset[str]] = XmlReader.options | {"references", "systems"}
    document: ClassVar[type[Document]] = _WmtXml
