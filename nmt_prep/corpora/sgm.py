"""Reader of the pair of SGML files (srcset and refset) in which WMT published test sets.

Segments are matched by document and segment id, not by line. Test sets are small, so the references are kept in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.entities import html5
from pathlib import Path
from typing import ClassVar, NamedTuple

from nmt_prep.config.section import Side
from nmt_prep.corpora.lines import TextPolicy, read_text
from nmt_prep.corpora.pairs import PairBuilder, one_line
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.errors import AlignmentError, CorpusError, InvalidTextError

_TAG = re.compile(r"""<(/?)(doc|seg)\b((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""", re.IGNORECASE)
_SEG_END = re.compile(r"</seg\s*>", re.IGNORECASE)
_SEG_START = re.compile(r"<seg\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")


class Segment(NamedTuple):
    """A segment: document, segment id, translator (empty in a srcset) and text."""

    document: str
    number: str
    translator: str
    text: str

    @property
    def where(self) -> str:
        """Returns the name of the segment for messages."""
        return f"doc {self.document!r}, seg {self.number!r}"


class SgmReader(Reader):
    """Reads srcset and refset; pairs come in the order of the source file.

    A refset may hold several references, which differ in the ``sysid`` of their docs. ``references`` selects some of
    them; each gives a pair.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".sgm", ".sgml")
    parts: ClassVar[tuple[str, ...]] = ("source", "target")
    options: ClassVar[frozenset[str]] = frozenset({"references", "encoding", "max_line_bytes"})

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of segments with the same docid and segment id.

        Raises:
            AlignmentError: a segment is missing from one file, or occurs twice.
            InvalidTextError: a file is not text in the encoding of the corpus, or refers to an invalid character.
            CorpusError: a segment has no id or no end, or a file cannot be read or is too large.
        """
        source, target = self.files["source"], self.files["target"]
        references: dict[tuple[str, str], dict[str, Segment]] = {}
        for segment in _distinct_segments(target, self.policy, self.counts):
            references.setdefault(segment[:2], {})[segment.translator] = segment
        builder = PairBuilder(self.corpus.max_line_bytes, target)
        seen: set[tuple[str, str]] = set()
        for segment in _distinct_segments(source, self.policy, self.counts):
            if segment[:2] in seen:
                raise _twice(source, segment)
            seen.add(segment[:2])
            if segment[:2] not in references:
                raise self._missing(segment, "target", "source")
            for reference in self._chosen(references.pop(segment[:2]), segment):
                builder.add(segment.text, reference.text)
            yield from builder.full()
        if references:
            [segment, *_] = next(iter(references.values())).values()
            raise self._missing(segment, "source", "target")
        yield from builder.rest()

    def _chosen(self, found: dict[str, Segment], segment: Segment) -> list[Segment]:
        chosen, target = self.corpus.references, self.files["target"]
        if chosen == "all" or (chosen is None and len(found) == 1):
            return list(found.values())
        names = ", ".join(map(repr, found))
        if chosen is None:
            raise AlignmentError(
                f"{target}: {segment.where} has the references {names}; set references in the config to one of them, "
                "a list, or all"
            )
        lacking = [name for name in chosen if name not in found]
        if lacking:
            raise AlignmentError(
                f"{target}: {segment.where} has no reference {lacking[0]!r}, only {names}; correct references in the "
                "config"
            )
        return [found[name] for name in chosen]

    def _missing(self, segment: Segment, lacking: Side, having: Side) -> AlignmentError:
        counts = [
            len({found[:2] for found in _segments(self.files[side], self.policy, self.counts)})
            for side in (lacking, having)
        ]
        return AlignmentError(
            f"{self.files[lacking]}: {segment.where} is missing, but {self.files[having]} has it ({counts[0]} and "
            f"{counts[1]} segments); check that the two files are the two sides of the same test set"
        )


def _twice(path: Path, segment: Segment) -> AlignmentError:
    return AlignmentError(f"{path}: {segment.where} occurs twice; remove one of the two")


def _distinct_segments(path: Path, policy: TextPolicy, counts: Counter[str]) -> Iterator[Segment]:
    seen: set[tuple[str, str, str]] = set()
    for segment in _segments(path, policy, counts):
        if segment[:3] in seen:
            raise _twice(path, segment)
        seen.add(segment[:3])
        yield segment


def _segments(path: Path, policy: TextPolicy, counts: Counter[str]) -> Iterator[Segment]:
    markup = read_text(path, policy, counts)
    document, translator, position = "", "", 0
    while tag := _TAG.search(markup, position):
        position = tag.end()
        closes, name, attributes = tag[1], tag[2].lower(), _attributes(tag[3].removesuffix("/"))
        if name == "doc":
            document = "" if closes else attributes.get("docid", "")
            translator = "" if closes else attributes.get("sysid", "")
        elif not closes:
            if "id" not in attributes:
                line = markup.count("\n", 0, tag.start()) + 1
                raise CorpusError(f"{path}:{line}: a seg of doc {document!r} has no id; give it one")
            segment = Segment(document, attributes["id"], translator, "")
            if not tag[3].endswith("/"):
                position, text = _content(markup, position, segment, path)
                segment = segment._replace(text=text)
            yield segment


def _content(markup: str, start: int, segment: Segment, path: Path) -> tuple[int, str]:
    """Returns the end of the segment whose content starts at ``start``, and its text."""
    end = _SEG_END.search(markup, start)
    if end is None or _SEG_START.search(markup, start, end.start()):
        raise CorpusError(f"{path}: {segment.where} has no </seg>; the file is damaged or truncated")
    text = _ENTITY.sub(lambda entity: _character(entity, segment, path), markup[start : end.start()])
    if "\n" in text:  # the markup was wrapped; each side of a pair is one line
        text = one_line(text)
    return end.end(), text


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
