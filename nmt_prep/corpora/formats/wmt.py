"""Readers of WMT test sets: a pair of SGML files, or one XML file with references and system outputs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html.entities import html5
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError
from nmt_prep.base.sides import Side
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages, Section
from nmt_prep.corpora.formats.markup import Document, XmlReader, fits
from nmt_prep.corpora.reader import DOCUMENT, PairBatch, PairBuilder, Reader, one_line
from nmt_prep.text.blocks import TextPolicy, read_text

_ASIDE = r"(?P<aside><!--(?:.*?-->)?|<!\[CDATA\[(?:(?P<marked>.*?)\]\]>)?)"
"""A comment or a marked section; only its start if it has no end."""
_TAG = re.compile(
    _ASIDE + r"""|<(?P<close>/?)(?P<name>doc|seg)\b(?P<attributes>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""",
    re.IGNORECASE | re.DOTALL,
)
_INSIDE_SEG = re.compile(_ASIDE + r"|(?P<end></seg\s*>)|<seg\b", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")


Choice: TypeAlias = 'Literal["all"] | tuple[str, ...] | None'


class Segment(NamedTuple):
    """A segment: document, segment ID, translator (empty in a srcset) and text."""

    document: str
    number: str
    translator: str
    text: str

    @property
    def where(self) -> str:
        """Returns the segment's name for messages."""
        return f"doc {self.document!r}, seg {self.number!r}"


class SgmOptions(Section):
    """How the text of sgm files is read."""

    entities: Literal["decode", "keep"] = "decode"
    """decode or keep: read &amp; as the character that it stands for, or as it is, as scripts with grep and sed do"""


class SgmReader(Reader):
    """Reads srcset and refset, in the srcset's order.

    A refset may have several references with different ``sysid``. The ``references`` key of a corpus selects some
    references; each gives a pair for every segment.
    """

    version: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = (".sgm", ".sgml")
    parts: ClassVar[tuple[str, ...]] = ("source", "target")
    own_documents: ClassVar[str] = "docid"
    options: ClassVar[frozenset[str]] = frozenset({"references", "encoding", "max_line_bytes"})
    section: ClassVar[type[Section] | None] = SgmOptions

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of segments with the same docid and segment ID, or the segments of the only side."""
        if len(self.files) == 1:
            yield from self._one_side()
            return
        source, target = self.files["source"], self.files["target"]
        references: dict[tuple[str, str], dict[str, Segment]] = {}
        for segment in self._distinct_segments("target"):
            references.setdefault(segment[:2], {})[segment.translator] = segment
        builder = PairBuilder(self.corpus.max_line_bytes, target, self.columns)
        seen: set[tuple[str, str]] = set()
        for document, listed in groupby(self._distinct_segments("source"), key=lambda segment: segment.document):
            rows: list[_Row] = []
            for segment in listed:
                if segment[:2] in seen:
                    raise _twice(source, segment)
                seen.add(segment[:2])
                if segment[:2] not in references:
                    raise self._missing(segment, "target", "source")
                versions = references.pop(segment[:2])
                chosen = _chosen(versions, self.corpus.references, f"{target}: {segment.where}", "reference")
                rows += [(name, segment.text, versions[name].text, 0) for name in chosen]
            _add_document(builder, document, rows, self.columns)
            yield from builder.full()
        if references:
            [segment, *_] = next(iter(references.values())).values()
            raise self._missing(segment, "source", "target")
        yield from builder.rest()

    def _one_side(self) -> Iterator[PairBatch]:
        (side,) = self.corpus.read_sides
        chosen = None if self.corpus.references == "all" else self.corpus.references
        builder = PairBuilder(self.corpus.max_line_bytes, self.files[side], self.columns)
        for document, listed in groupby(self._distinct_segments(side), key=lambda segment: segment.document):
            texts = [(each.translator, each.text) for each in listed if chosen is None or each.translator in chosen]
            rows = [(name, text, "", 0) if side == "source" else (name, "", text, 0) for name, text in texts]
            _add_document(builder, document, rows, self.columns)
            yield from builder.full()
        yield from builder.rest()

    def _segments(self, side: Side) -> Iterator[Segment]:
        keep = self.own_options(SgmOptions).entities == "keep"
        return _segments(self.files[side], self.policy(side), self.counts, keep)

    def _distinct_segments(self, side: Side) -> Iterator[Segment]:
        seen: set[tuple[str, str, str]] = set()
        for segment in self._segments(side):
            if segment[:3] in seen:
                raise _twice(self.files[side], segment)
            seen.add(segment[:3])
            yield segment

    def _missing(self, segment: Segment, lacking: Side, having: Side) -> AlignmentError:
        counts = [len({other[:2] for other in self._segments(side)}) for side in (lacking, having)]
        return AlignmentError(
            f"{self.files[lacking]}: {segment.where} is missing, but {self.files[having]} has it ({counts[0]} and "
            f"{counts[1]} segments); check that the two files are the two sides of the same test set"
        )


_Row: TypeAlias = "tuple[str, str, str, int]"  # Name of a version, source, target, and fault or 0


def _add_document(builder: PairBuilder, document: str, rows: Sequence[_Row], columns: Mapping[str, object]) -> None:
    """Adds a document's rows; with a document column, each version is a document of its own."""
    names = list(dict.fromkeys(row[0] for row in rows))
    document = re.sub(r"[\t\n]", " ", document)
    if DOCUMENT in columns:
        rows = sorted(rows, key=lambda row: names.index(row[0]))
    for name, source, target, fault in rows:
        of_version = f"{document} {name}".rstrip() if len(names) > 1 else document
        builder.add(source, target, fault, {DOCUMENT: of_version or None})


def _chosen(versions: Mapping[str, object], chosen: Choice, where: str, word: str) -> Sequence[str]:
    """Returns the names of a text's selected versions; by default of the only version.

    Args:
        chosen: names, or ``all``; None for the default.
    """
    if chosen == "all" or (chosen is None and len(versions) < 2):
        return list(versions)
    names = ", ".join(map(repr, versions))
    if chosen is None:
        raise AlignmentError(
            f"{where} has the {word}s {names}; set {word}s in the config to one of them, a list, or all"
        )
    for name in chosen:
        if name not in versions:
            others = f"only {names}" if versions else "nor any other"
            raise AlignmentError(f"{where} has no {word} {name!r}, {others}; correct {word}s in the config")
    return chosen


def _twice(path: Path, segment: Segment) -> AlignmentError:
    return AlignmentError(f"{path}: {segment.where} occurs twice; remove one of the two")


def _segments(path: Path, policy: TextPolicy, counts: Counter[str], keep: bool) -> Iterator[Segment]:
    markup = read_text(path, policy, counts)
    document, translator, position = "", "", 0
    while tag := _TAG.search(markup, position):
        position = tag.end()
        if tag["aside"]:
            _check_aside(tag, path)
            continue
        closes, name, attributes = tag["close"], tag["name"].lower(), _attributes(tag["attributes"].removesuffix("/"))
        if name == "doc":
            document = "" if closes else attributes.get("docid", "")
            translator = "" if closes else attributes.get("sysid", "")
        elif not closes:
            if "id" not in attributes:
                line = markup.count("\n", 0, tag.start()) + 1
                raise CorpusError(f"{path}:{line}: a seg of doc {document!r} has no id; give it one")
            segment = Segment(document, attributes["id"], translator, "")
            if not tag["attributes"].endswith("/"):
                position, text = _content(markup, position, segment, path, keep)
                segment = segment._replace(text=text)
            yield segment


def _content(markup: str, start: int, segment: Segment, path: Path, keep: bool) -> tuple[int, str]:
    """Returns the end of the segment whose content starts at ``start``, and its text, perhaps with its entities."""
    pieces: list[str] = []
    position = start
    for part in _INSIDE_SEG.finditer(markup, start):
        text = markup[position : part.start()]
        pieces.append(text if keep else _ENTITY.sub(lambda entity: _character(entity, segment, path), text))
        position = part.end()
        if part["end"]:
            text = "".join(pieces)
            return position, one_line(text) if "\n" in text else text  # the markup was wrapped
        if not part["aside"]:
            break
        _check_aside(part, path)
        pieces.append(part["marked"] or "")
    raise CorpusError(f"{path}: {segment.where} has no </seg>; the file is damaged or truncated")


def _check_aside(part: re.Match[str], path: Path) -> None:
    """Checks that a comment or a marked section ends, since the search for the end of each takes time."""
    if not part["aside"].endswith(">"):
        line = part.string.count("\n", 0, part.start()) + 1
        raise CorpusError(f"{path}:{line}: {part['aside']} has no end; add it, or write &lt; for <")


def _character(entity: re.Match[str], segment: Segment, path: Path) -> str:
    decimal, hexadecimal, name = entity.groups()
    if name:
        return html5.get(f"{name};", entity[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise InvalidTextError(f"{path}: {segment.where} refers to {entity[0]}, which is not a character; fix it")
    return chr(code)


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): double or single or bare for name, double, single, bare in _ATTRIBUTE.findall(text)}


_MOST_IN_DOCUMENT = 1_000_000


class _Text(NamedTuple):
    """A segment's text, and its fault or 0."""

    text: str
    fault: int


_Segments = dict[str, _Text]


class _WmtXml(Document):
    """Gives a pair for each segment of a ``doc`` and each selected version, matched by segment ID."""

    root: ClassVar[str] = "dataset"

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        super().__init__(corpus, languages, path, builder)
        self._doc = ""
        self._source: _Segments = {}
        self._versions: dict[tuple[str, str], _Segments] = {}
        self._current: _Segments | None = None
        self._id = ""
        self._segments = 0
        self._sections: set[str] = set()
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
                f"{', '.join(sorted(self._sections)) or 'none at all'}; set languages, or texts, of the corpus"
            )

    def _section(self, name: str, attributes: dict[str, str]) -> _Segments | None:
        """Returns the mapping to which the segments of a section belong; None for a section that is not selected."""
        tag = attributes.get("lang", "")
        if len(self._sections) < 100:
            self._sections.add(f"{name} {tag}")
        if tag and not fits(self.languages, tag)[name != "src"]:
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
            raise self.error(f"doc {self._doc!r} has more than {_MOST_IN_DOCUMENT} segments, which is rejected")
        self.gather()

    def _pair(self) -> None:
        versions: list[tuple[str, _Segments]] = []
        for kind, word, chosen in (
            ("ref", "reference", self.corpus.references),
            ("hyp", "system", self.corpus.systems),
        ):
            if chosen is not None or (kind == "ref" and self.corpus.systems is None):
                known = {whose: segments for (name, whose), segments in self._versions.items() if name == kind}
                where = f"{self.path}: doc {self._doc!r} in {self.languages.target}"
                versions += [(f"{word} {name!r}", known[name]) for name in _chosen(known, chosen, where, word)]
        for name, version in versions:
            other = self._source.keys() ^ version.keys()
            if other:
                lacking = name if min(other) in self._source else "the source"
                raise AlignmentError(
                    f"{self.path}: doc {self._doc!r}, seg {min(other)!r} is missing from {lacking}; fix the document"
                )
        columns = WmtXmlReader.columns_inside(self.corpus)
        fault = self.fault_in(self._doc) if DOCUMENT in columns else 0
        rows = [
            (
                name.partition(" ")[2].strip("'\""),
                source.text,
                version[number].text,
                fault or source.fault or version[number].fault,
            )
            for number, source in self._source.items()
            for name, version in versions
        ]
        _add_document(self.builder, self._doc, rows, columns)
        self._seen = self._seen or bool(rows)


class WmtXmlReader(XmlReader):
    """Reads WMT XML: the only reference, or the selected references or system outputs."""

    version: ClassVar[int] = 3
    suffixes: ClassVar[tuple[str, ...]] = (".xml",)
    options: ClassVar[frozenset[str]] = XmlReader.options | {"references", "systems"}
    document: ClassVar[type[Document]] = _WmtXml
    own_documents: ClassVar[str] = "docid"
