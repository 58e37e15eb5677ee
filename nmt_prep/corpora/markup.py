"""Parsing of XML documents of any size in constant memory, safe for hostile documents.

A DOCTYPE that only names an external DTD is ignored; the DTD is not loaded. A DOCTYPE with an internal subset is
refused, since entities and default attributes allow XML bombs. Overlong tags, deep nesting and too many element names
are refused too, since the parser would keep them in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from xml.parsers import expat

from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import Languages
from nmt_prep.corpora.reader import PairBatch, PairBuilder, Reader
from nmt_prep.errors import CorpusError
from nmt_prep.lines.blocks import Fault
from nmt_prep.lines.chunks import Chunk, decoded, unreadable

CHUNK_BYTES = 1 << 16
"""Size in bytes of the chunks in which a document is parsed."""

_LONGEST_TOKEN = 4 << 20
_DEEPEST = 200
_MOST_NAMES = 10_000


class Document(ABC):
    """Base class of the XML formats: expat calls ``start`` and ``end``, which add pairs to the builder.

    Attributes:
        root: name of the root element.
        codes: names of elements inside a text whose content does not belong to the text.
        fault: fault of the last collected text, or 0.
    """

    root: ClassVar[str]
    codes: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, corpus: Corpus, languages: Languages, path: Path, builder: PairBuilder) -> None:
        self.corpus = corpus
        self.languages = languages
        self.path = path
        self.builder = builder
        self.fault = 0
        self.parser = expat.ParserCreate("utf-8" if "encoding" in corpus.model_fields_set else None)
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
        return "".join(self._pieces)

    def check(self, fed: int) -> None:
        """Checks that the document needs no unbounded memory; ``fed`` is the number of bytes parsed so far."""
        if fed - self.parser.CurrentByteIndex > _LONGEST_TOKEN:
            raise self.error(f"a tag or comment of more than {_LONGEST_TOKEN} bytes is refused")
        if len(self.parser.intern) > _MOST_NAMES:
            raise self.error(f"more than {_MOST_NAMES} different element names are refused")
        if self._gathering and sum(map(len, self._pieces)) > self.corpus.max_line_bytes:
            self._pieces.clear()
            self.fault = Fault.TOO_LONG

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name.rpartition(":")[2].lower() != self.root:
            raise self.error(f"begins with <{name[:100]}>, not with <{self.root}>; correct format in the config")
        if self._depth > _DEEPEST:
            raise self.error(f"elements nested more than {_DEEPEST} deep are refused")
        if not self._gathering:
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
            raise self.error("a DOCTYPE with an internal subset is refused: remove the part from [ to ]")

    def _skipped_entity(self, name: str, is_parameter: int) -> None:
        raise self.error(f"the entity &{name}; is not defined; write the character itself")


class XmlReader(Reader):
    """Reads one XML file.

    Attributes:
        document: the format of the file.
    """

    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"languages", "encoding", "max_line_bytes"})
    multilingual: ClassVar[bool] = True
    document: ClassVar[type[Document]]

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of the document; before an error, the pairs read so far.

        Raises:
            AlignmentError: the sides do not match.
            InvalidTextError: the file is not text in the encoding of the corpus.
            CorpusError: the document is not well-formed, or exceeds a limit.
        """
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
            yield from builder.rest()  # for an inspection of the beginning of a file
            raise
        yield from builder.rest()

    def _chunks(self, path: Path) -> Iterator[Chunk]:
        if "encoding" in self.corpus.model_fields_set:
            return decoded(_raw_chunks(path), self.policy("both"), path, self.counts)
        return _raw_chunks(path)


def matches(wanted: str, tag: str) -> int:
    """Returns how well a tag matches the wanted language: 2 if equal, 1 for a variant (en-US for en), 0 otherwise."""
    wanted, tag = wanted.lower().replace("_", "-"), tag.lower().replace("_", "-")
    return 2 if tag == wanted else int(tag.startswith(f"{wanted}-"))


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
        raise CorpusError(
            f"{document.path}:{error.lineno}: not well-formed XML at column {error.offset + 1} "
            f"({expat.ErrorString(error.code)}); the file is damaged or truncated: repair it or fetch it again"
        ) from error
    except (ValueError, LookupError) as error:
        raise CorpusError(
            f"{document.path}: the encoding in its first line cannot be used ({error}); set encoding in the config"
        ) from error
