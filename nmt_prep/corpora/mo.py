"""Reader of MO, the binary form of gettext catalogues.

Source: the GNU gettext manual, "The Format of GNU MO Files".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from nmt_prep.corpora.catalogue import add_entry, charset
from nmt_prep.corpora.encodings import text_error
from nmt_prep.corpora.lines import read_bytes
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.errors import CorpusError

_MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_CONTEXT_END, _FORM_END = b"\x04", b"\0"


class MoReader(Reader):
    """Reads MO: the original strings are the source side; the header is skipped."""

    suffixes: ClassVar[tuple[str, ...]] = (".mo",)
    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"encoding", "max_line_bytes"})

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all entries, in the order of the file.

        Raises:
            InvalidTextError: a text is not in the encoding of the header or the config.
            CorpusError: the file is not a catalogue, is damaged or too large, or cannot be read.
        """
        path = self.files["both"]
        data = read_bytes(path)
        originals, translations = _tables(data, path)
        encoding = self.corpus.encoding
        if "encoding" not in self.corpus.model_fields_set:
            header = [data[at : at + length] for at, length in translations[:1]]
            encoding = charset(b"".join(header), path)
        builder = PairBuilder(self.corpus.max_line_bytes, path)
        for (place, length), (translated, translated_length) in zip(originals, translations, strict=True):
            key = data[place : place + length]
            start = place + key.find(_CONTEXT_END) + 1
            texts = _texts(data, start, place + length, encoding, path)
            forms = _texts(data, translated, translated + translated_length, encoding, path)
            add_entry(builder, texts[0], texts[1] if len(texts) > 1 else None, forms, 0)
            yield from builder.full()
        yield from builder.rest()


def _tables(data: bytes, path: Path) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns offset and length of each original string and of each translation."""
    order = _MAGIC.get(data[:4])
    if order is None or len(data) < 28:
        raise CorpusError(f"{path} does not begin like an MO catalogue; correct format in the config")
    _, count, *starts = struct.unpack_from(f"{order}4I", data, 4)
    tables: list[list[tuple[int, int]]] = []
    for start in starts:
        if start + 8 * count > len(data):
            raise CorpusError(f"{path}: its tables end beyond the file; it is damaged or truncated: fetch it again")
        numbers = struct.unpack_from(f"{order}{2 * count}I", data, start)
        tables.append(list(zip(numbers[1::2], numbers[::2], strict=True)))
    total = sum(length + 1 for table in tables for _, length in table)
    if any(at + length > len(data) for table in tables for at, length in table) or total > len(data):
        raise CorpusError(f"{path}: its strings end beyond the file or overlap; it is damaged: fetch it again")
    return tables[0], tables[1]


def _texts(data: bytes, start: int, end: int, encoding: str, path: Path) -> list[str]:
    """Returns the plural forms of a string."""
    texts: list[str] = []
    for form in data[start:end].split(_FORM_END):
        try:
            texts.append(form.decode(encoding))
        except UnicodeDecodeError as error:
            raise text_error(path, 1, start + error.start, error, encoding) from None
        start += len(form) + 1
    return texts
