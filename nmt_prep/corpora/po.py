"""Reader of PO, the text form of gettext catalogues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from nmt_prep.corpora.catalogue import add_entry, charset
from nmt_prep.corpora.lines import Fault, iter_blocks
from nmt_prep.corpora.pairs import PairBuilder
from nmt_prep.corpora.pieces import raw_chunks
from nmt_prep.corpora.reader import PairBatch, Reader
from nmt_prep.corpora.table import text_of
from nmt_prep.errors import CorpusError

_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(\[[0-9]{1,2}\])?\s*+)?"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class _Entry:
    """An entry that is being read: its texts by keyword, and true if it is marked as fuzzy."""

    fuzzy: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)

    def add_to(self, builder: PairBuilder) -> None:
        if "msgid" in self.texts:
            joined = {keyword: "".join(texts) for keyword, texts in self.texts.items()}
            forms = [text for keyword, text in sorted(joined.items()) if keyword.startswith("msgstr")]
            fault = Fault.FUZZY if self.fuzzy else 0
            add_entry(builder, joined["msgid"], joined.get("msgid_plural"), forms, fault)


class PoReader(Reader):
    """Reads PO: ``msgid`` is the source side. Drops fuzzy entries; skips obsolete ones and the header."""

    suffixes: ClassVar[tuple[str, ...]] = (".po",)
    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"encoding", "max_line_bytes"})

    def pairs(self) -> Iterator[PairBatch]:
        """Yields the pairs of all entries.

        Raises:
            InvalidTextError: the file is not text in the encoding of its header or the config.
            CorpusError: a line does not belong in a catalogue, or the file cannot be read.
        """
        path = self.files["both"]
        policy = replace(self.policy, encoding=self._encoding(path))
        builder = PairBuilder(self.corpus.max_line_bytes, path)
        entry, keyword, fuzzy = _Entry(), "", False
        for block in iter_blocks(path, policy, self.counts):
            for number in range(len(block.starts)):
                where = f"{path}:{block.first_line + number}"
                if block.faults is not None and block.faults[number]:
                    raise CorpusError(f"{where}: the line is longer than max_line_bytes; this is not a catalogue")
                line = text_of(block, number).strip(" \t\r")
                if not line or line.startswith("#"):
                    fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
                    continue
                new, text = _parsed(line, where)
                if new == "msgctxt" or (new == "msgid" and keyword != "msgctxt"):
                    entry.add_to(builder)
                    entry, fuzzy = _Entry(fuzzy), False
                keyword = new or keyword
                if not keyword:
                    raise CorpusError(f"{where}: a text before any msgid; fix the line")
                entry.texts.setdefault(keyword, []).append(text)
            yield from builder.full()
        entry.add_to(builder)
        yield from builder.rest()

    def _encoding(self, path: Path) -> str:
        if "encoding" in self.corpus.model_fields_set:
            return self.corpus.encoding
        return charset(next(raw_chunks(path), b"")[:65536], path)


def _parsed(line: str, where: str) -> tuple[str, str]:
    """Returns the keyword of a line (empty on a continuation line) and its text."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise CorpusError(f"{where}: not a line of a catalogue: {line[:60]!r}; fix it")
    keyword, form, text = match.groups()
    if "\\" in text:
        text = _ESCAPE.sub(lambda escape: _character(escape, where), text)
    number = int(form[1:-1]) if form else 0
    return (f"msgstr{number:02d}" if keyword == "msgstr" else keyword or ""), text


def _character(escape: re.Match[str], where: str) -> str:
    octal, hexadecimal, letter = escape.groups()
    if letter:
        return _LETTERS.get(letter, letter)
    code = int(octal, 8) if octal else int(hexadecimal, 16)
    if code >= 0x80:
        raise CorpusError(f"{where}: {escape[0]} is a byte, not a character; write the character itself")
    return chr(code)
