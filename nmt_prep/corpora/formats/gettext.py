"""The reader of gettext catalogs in their text form, PO."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from nmt_prep.base.errors import CorpusError
from nmt_prep.config.corpus import text_encoding
from nmt_prep.corpora.reader import PairBatch, PairBuilder, Reader
from nmt_prep.text.blocks import Fault, iter_blocks, text_of
from nmt_prep.text.chunks import raw_chunks

_CHARSET_FIELD = re.compile(r"^content-type:.*?charset=\"?([a-z0-9_.:-]+)", re.IGNORECASE | re.MULTILINE)


def _charset(header: str, path: Path) -> str:
    """Returns the encoding that the header of a catalog states, or UTF-8."""
    charset = _CHARSET_FIELD.search(header)
    if charset is None or charset[1] == "CHARSET":
        return "utf-8"
    name = charset[1]
    try:
        known = text_encoding(name)
    except ValueError as error:
        raise CorpusError(
            f"{path}: its header states the unknown encoding {name}; set encoding in the config"
        ) from error
    return "utf-8" if known == "ascii" else known


def _add_entry(builder: PairBuilder, text: str, plural: str | None, forms: Sequence[str], fault: int) -> None:
    """Adds an entry's pair, and a second pair for its plural, with the last plural form.

    Adds no pair for the header, whose text is empty.
    """
    if not text:
        return
    builder.add(text, forms[0] if forms else None, fault)
    if plural is not None:
        builder.add(plural, forms[-1] if forms else None, fault)


_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(\[[0-9]{1,2}\])?\s*+)?"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class _Entry:
    """An entry that is being read: whether it is fuzzy, and its texts by keyword."""

    fuzzy: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_header(self) -> bool:
        return "msgctxt" not in self.texts and not self._text("msgid")

    @property
    def forms(self) -> list[str]:
        return [self._text(keyword) for keyword in sorted(self.texts) if keyword.startswith("msgstr")]

    def add_to(self, builder: PairBuilder) -> None:
        plural = self._text("msgid_plural") if "msgid_plural" in self.texts else None
        _add_entry(builder, self._text("msgid"), plural, self.forms, Fault.FUZZY if self.fuzzy else 0)

    def _text(self, keyword: str) -> str:
        return "".join(self.texts.get(keyword, ()))


def _entries(lines: Iterable[tuple[str, str]]) -> Iterator[_Entry]:
    """Yields a catalog's entries that are not obsolete, given the place and each line's text."""
    entry, keyword, fuzzy = _Entry(), "", False
    for where, line in lines:
        if not line or line.startswith("#"):
            if line.startswith("#~"):  # the flags before it belong to this obsolete entry
                fuzzy = False
            elif line.startswith(("#,", "#=")):
                fuzzy = fuzzy or "fuzzy" in map(str.strip, line[2:].split(","))
            continue
        new, text = _parsed(line, where)
        # An entry begins with msgctxt, which is optional, or else with msgid. The comment with its flags comes before,
        # when the last entry is still open.
        if new == "msgctxt" or (new == "msgid" and keyword != "msgctxt"):
            if entry.texts:
                yield entry
            entry, fuzzy = _Entry(fuzzy), False
        keyword = new or keyword
        if not keyword:
            raise CorpusError(f"{where}: a text before any msgid; fix the line")
        entry.texts.setdefault(keyword, []).append(text)
    if entry.texts:
        yield entry


_LONGEST_HEAD = 1 << 16


class PoReader(Reader):
    """Reads PO: ``msgid`` is the source side. Fuzzy entries have a fault; obsolete ones and the header are skipped."""

    version: ClassVar[int] = 2
    suffixes: ClassVar[tuple[str, ...]] = (".po", ".pot")
    parts: ClassVar[tuple[str, ...]] = ("both",)
    options: ClassVar[frozenset[str]] = frozenset({"encoding", "max_line_bytes"})

    def pairs(self) -> Iterator[PairBatch]:
        path = self.files["both"]
        builder = PairBuilder(self.corpus.max_line_bytes, path)
        for entry in _entries(self._lines(path)):
            entry.add_to(builder)
            yield from builder.full()
        yield from builder.rest()

    def _lines(self, path: Path) -> Iterator[tuple[str, str]]:
        policy = replace(self.policy("both"), encoding=self._encoding(path))
        for block in iter_blocks(path, policy, self.counts):
            for number in range(len(block.starts)):
                where = f"{path}:{block.first_line + number}"
                if block.faults is not None and block.faults[number]:
                    raise CorpusError(f"{where}: the line is longer than max_line_bytes; this is not a catalog")
                yield where, text_of(block, number).strip(" \t\r")

    def _encoding(self, path: Path) -> str:
        if "encoding" in self.corpus.model_fields_set:
            return self.corpus.encoding_of("both")
        # The header states the encoding in ASCII, so any superset of ASCII can read it: in latin-1 no byte is invalid.
        # Lines that are no PO are left to pairs(), which reports them; the last line may be cut.
        head = bytes(next(raw_chunks(path), b"")[:_LONGEST_HEAD]).removeprefix(codecs.BOM_UTF8).decode("latin-1")
        lines = ((f"{path}:{number}", line.strip(" \t\r")) for number, line in enumerate(head.split("\n"), 1))
        entries = _entries((where, line) for where, line in lines if _LINE.fullmatch(line))
        return _charset(next(("".join(entry.forms) for entry in entries if entry.is_header), ""), path)


def _parsed(line: str, where: str) -> tuple[str, str]:
    """Returns the keyword of a line (empty for a continuation line) and its text."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise CorpusError(f"{where}: not a line of a catalog: {line[:60]!r}; fix it")
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
