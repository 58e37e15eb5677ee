"""Parsing of XML documents of any size in constant memory, safe for hostile documents.

A DOCTYPE that only names an external DTD is ignored; the DTD is not loaded. A DOCTYPE with an internal subset is
refused, since entities and default attributes allow XML bombs. Overlong tags, deep nesting and too many element names
are refused too, since the parser would keep them in memory.
"""

from __future__ import annotations

import codecs
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import ClassVar
from xml.parsers import expat

from nmt_prep.base.errors import CorpusError
from nmt_prep.config.corpus import Corpus, text_encoding
from nmt_prep.config.language_pairs import hyphened
from nmt_prep.config.section import Languages
from nmt_prep.corpora.reader import PairBatch, PairBuilder, Reader
from nmt_prep.text.blocks import Fault
from nmt_prep.text.chunks import Chunk, decoded, unreadable

CHUNK_BYTES = 1 << 16  # Size in bytes of the chunks in which a document is parsed

_LONGEST_TOKEN = 4 << 20
_DEEPEST = 200
_MOST_NAMES = 10_000

_MARK = "\ufdd0"
"""Stands for what XML does not allow while texts with it are dropped: a code point that is no character."""
_NOT_XML = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|&#(?:x([0-9A-Fa-f]{1,30})|([0-9]{1,30}));"
)
_LONGEST_REFERENCE = 34
_OF_CHARACTERS = [
    expat.errors.codes[message]
    for message in (expat.errors.XML_ERROR_INVALID_TOKEN, expat.errors.XML_ERROR_BAD_CHAR_REF)
]
_STATED = re.compile(rb"""(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.-]++)""")
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}


class Document(ABC):
    """Base class of the XML formats: expat calls ``start`` and ``end``, which add pairs to the builder."""

    root: ClassVar[str]  # name of the root element
    # names of elements inside a text whose content does not belong to the text
    codes: ClassVar[frozenset[str]] = frozenset()
    inner: ClassVar[str] = ""  # name of an element inside a text that is the text itself

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        self.corpus = corpus
        self.languages = languages
        self.path = path
        self.builder = builder
        self.fault = 0  # fault of the last collected text, or 0
        self.parser = expat.ParserCreate("utf-8" if _is_decoded(corpus) else None)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._enter
        self.parser.EndElementHandler = self._leave
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.SkippedEntityHandler = self._skipped_entity
        self._depth = 0
        self._pieces: list[str] = []
        self._gathering = False
        self._code_depth = 0

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handles the start of an element outside texts."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handles the end of an element that is not inside ``codes``."""

    @abstractmethod
    def finish(self) -> None:
        """Handles the end of the document."""

    def error(self, what: str) -> CorpusError:
        """Returns an error that names the current line."""
        return CorpusError(f"{self.path}:{self.parser.CurrentLineNumber}: {what}")

    def gather(self) -> None:
        """Starts to collect characters as text, until :meth:`gathered`."""
        self.fault = 0
        self._pieces.clear()
        self._gathering = True
        self.parser.CharacterDataHandler = self._pieces.append

    def gathered(self) -> str:
        """Returns the collected text, and stops collecting."""
        self.parser.CharacterDataHandler = None
        self._gathering = False
        text = "".join(self._pieces)
        self.fault = self.fault_in(text) or self.fault
        return text

    def fault_in(self, text: str) -> int:
        """Returns the fault of a text or an attribute with characters that XML does not allow, or 0."""
        return Fault.INVALID_TEXT if _MARK in text and self.corpus.invalid == "drop" else 0

    def check(self, fed: int) -> None:
        """Checks that the document needs no unbounded memory; ``fed`` is the number of bytes parsed so far."""
        if fed - self.parser.CurrentByteIndex > _LONGEST_TOKEN:
            raise self.error(f"a tag or comment of more than {_LONGEST_TOKEN} bytes is rejected")
        if len(self.parser.intern) > _MOST_NAMES:
            raise self.error(f"more than {_MOST_NAMES} different element names are rejected")
        if self._gathering and sum(map(len, self._pieces)) > self.corpus.max_line_bytes:
            self._pieces.clear()
            self.fault = Fault.TOO_LONG

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name.rpartition(":")[2].lower() != self.root:
            raise self.error(f"begins with <{name[:100]}>, not with <{self.root}>; correct format in the config")
        if self._depth > _DEEPEST:
            raise self.error(f"elements nested more than {_DEEPEST} deep are rejected")
        if not self._gathering or (name == self.inner and not self._code_depth):
            self.start(name, attributes)
        elif self._code_depth or name.rpartition(":")[2] in self.codes:
            self._code_depth += 1
            self.parser.CharacterDataHandler = None

    def _leave(self, name: str) -> None:
        self._depth -= 1
        if self._code_depth:
            self._code_depth -= 1
            if not self._code_depth:
                self.parser.CharacterDataHandler = self._pieces.append
        else:
            self.end(name)

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_subset: int) -> None:
        if has_subset:
            raise self.error("a DOCTYPE with an internal subset is rejected: remove the part from [ to ]")

    def _skipped_entity(self, name: str, is_parameter: int) -> None:
        raise self.error(f"the entity &{name}; is not defined; write the character itself")


class XmlReader(Reader):
    """Reads one XML file."""

    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"languages", "encoding", "invalid", "max_line_bytes"})
    multilingual: ClassVar[bool] = True
    document: ClassVar[type[Document]]  # the format of the file

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the document's pairs; before an error, the pairs read so far."""
        path = self.files["both"]
        builder = PairBuilder(self.corpus.max_line_bytes, path, self.columns)
        document = self.document(self.corpus, self.languages, path, builder)
        fed = 0
        try:
            for chunk in self._chunks(path):
                _parse(document, chunk, final=False)
                fed += len(chunk)
                document.check(fed)
                yield from builder.full()
            _parse(document, b"", final=True)
            document.finish()
        except CorpusError:
            yield from builder.rest()  # to inspect a file's beginning
            raise
        yield from builder.rest()

    def _chunks(self, path: Path) -> Iterator[Chunk]:
        chunks = _raw_chunks(path)
        if not _is_decoded(self.corpus):
            return chunks
        policy = self.policy("both")
        if "encoding" not in self.corpus.model_fields_set:
            first = next(chunks, b"")
            policy, chunks = replace(policy, encoding=_stated_encoding(first, path)), chain([first], chunks)
        text = decoded(chunks, policy, path, self.counts)
        return text if policy.invalid == "error" else _marked(text)


def _is_decoded(corpus: Corpus) -> bool:
    """Returns True if the parser gets UTF-8, whatever the file's encoding."""
    return "encoding" in corpus.model_fields_set or corpus.invalid == "drop"


def _stated_encoding(head: bytes, path: Path) -> str:
    if wide := _WIDE.get(head[:2]):
        return wide
    stated = _STATED.match(head)
    name = stated[1].decode("ascii", "replace") if stated else "utf-8"
    try:
        return text_encoding(name)
    except ValueError as error:
        raise _unusable(path, error) from error


def _marked(chunks: Iterator[Chunk]) -> Iterator[bytes]:
    """Yields UTF-8 with a mark for each character and reference that XML does not allow, and for each invalid byte."""
    decoder, rest = codecs.getincrementaldecoder("utf-8")("surrogateescape"), ""
    for chunk in chain(chunks, [b""]):
        text = rest + decoder.decode(chunk, final=not chunk)
        cut = text.find("&", max(len(text) - _LONGEST_REFERENCE, 0)) if chunk else -1
        text, rest = (text, "") if cut < 0 else (text[:cut], text[cut:])
        yield _NOT_XML.sub(_mark, text).encode()


def _mark(match: re.Match[str]) -> str:
    hexadecimal, decimal = match.groups()
    code = int(hexadecimal, 16) if hexadecimal else int(decimal) if decimal else 0
    is_allowed = code <= 0x10FFFF and (code >= 0x20 or code in (9, 10, 13)) and not _NOT_XML.match(chr(code))
    return match[0] if is_allowed else _MARK


def fits(languages: Languages, tag: str) -> tuple[int, int]:
    """Returns how well a tag fits each side: 2 if equal, 1 for a variant (en-US for en), 0 otherwise.

    A tag that fits both sides, such as pt-BR for pt and pt-BR, belongs to the side with the longer tag.
    """
    tag, *wanted = (hyphened(name.lower()).lower() for name in (tag, languages.source, languages.target))
    source, target = (2 if tag == side else int(tag.startswith(f"{side}-")) for side in wanted)
    if source and target and len(wanted[0]) != len(wanted[1]):
        return (source, 0) if len(wanted[0]) > len(wanted[1]) else (0, target)
    return source, target


def _raw_chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise unreadable(path, error) from error


def _parse(document: Document, chunk: Chunk, *, final: bool) -> None:
    try:
        document.parser.Parse(chunk, final)
    except expat.ExpatError as error:
        hint = ""
        if error.code in _OF_CHARACTERS and document.corpus.invalid == "error":
            hint = ", or set invalid: drop to skip texts with characters that XML does not allow"
        raise CorpusError(
            f"{document.path}:{error.lineno}: not well-formed XML at column {error.offset + 1} "
            f"({expat.ErrorString(error.code)}); the file is damaged or truncated: repair it or fetch it again{hint}"
        ) from error
    except (ValueError, LookupError) as error:
        raise _unusable(document.path, error) from error


def _unusable(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path}: the encoding in its first line cannot be used ({error}); set encoding in the config")
