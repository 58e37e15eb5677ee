"""Reads pairs of documents from single files, table rows or a long text, and divides them into sentences.

All readers hold one document at a time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nmt_prep.base.errors import CorpusError, InvalidTextError
from nmt_prep.base.file_kinds import is_html
from nmt_prep.base.runtime import needed_extra
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.sentences.search import Beads
from nmt_prep.config.corpus import paths_of, value_at
from nmt_prep.config.documents import DocumentFormat, Documents, Splitting
from nmt_prep.text.blocks import TextPolicy, blank_lines, iter_blocks, read_text, spans

Files: TypeAlias = Mapping[str, Path]  # The files that are read together: one for each side, or `both`

Named: TypeAlias = tuple[str, str]  # The name and text of a document on one side

Raw: TypeAlias = tuple[str, str, str]  # The name and both texts of a document

_WITHOUT_SPACES = frozenset({"zh", "yue", "ja", "th", "lo", "km", "my", "bo"})
"""Languages whose sentences are joined without a space."""

MOST_TIMES = 10  # Sides whose sizes differ by this factor are not translations of each other
PLAIN = TextPolicy(crlf="strip", mark="strip")  # UTF-8, with line ends of any system

_EXTRA = "documents"


def joint_of(language: str) -> str:
    """Returns the text between two sentences of a language."""
    return "" if language.split("-", maxsplit=1)[0].lower() in _WITHOUT_SPACES else " "


def read_documents(name: str, files: Files, options: Documents, policies: Mapping[str, TextPolicy]) -> Iterator[Raw]:
    """Yields the documents in some files; ``policies`` say how each file's bytes become lines."""
    if not options.has_rows and options.divider is None:
        source, target = (read_document(files[side], options.format, policies[side]) for side in SIDES)
        yield name, source, target
    elif "both" in files:
        places = [options.source, options.target, *([] if options.id is None else [options.id])]
        rows = _rows(files["both"], options.format, places, policies["both"])
        named = ((row[2] if len(row) > 2 else f"{number}", row) for number, row in enumerate(rows))
        for document, group in groupby(named, lambda pair: pair[0]):
            texts = [row for _, row in group]
            yield document, "\n".join(row[0] for row in texts), "\n".join(row[1] for row in texts)
    else:
        yield from _matched(files, *(_one_side(files[side], options, policies[side]) for side in SIDES))


def _matched(files: Files, source: Iterator[Named], target: Iterator[Named]) -> Iterator[Raw]:
    for number, pair in enumerate(zip_longest(source, target)):
        names = [document and document[0] for document in pair]
        if pair[0] is None or pair[1] is None or names[0] != names[1]:
            first, second = ("no document" if name is None else repr(name) for name in names)
            raise CorpusError(
                f"document {number + 1} is {first} in {files['source']}, but {second} in {files['target']}; both files "
                "need the same documents in the same order"
            )
        yield pair[0][0], pair[0][1], pair[1][1]


def _one_side(path: Path, options: Documents, policy: TextPolicy) -> Iterator[Named]:
    if options.divider is None:
        rows = _rows(path, options.format, [options.id, options.text], policy)
        for name, group in groupby(rows, lambda row: row[0]):
            yield name, "\n".join(row[1] for row in group)
        return
    divider, number, divided = re.compile(options.divider), 0, False
    for divides, lines in groupby(_lines(path, policy), lambda line: divider.fullmatch(line) is not None):
        if not divides and (text := "\n".join(lines)).strip():
            yield f"{number}", text
            number += 1
        divided |= divides
    if not divided:
        raise CorpusError(
            f"{path}: no line matches documents.divider ({options.divider}); correct it, or remove it if the file "
            "is one document"
        )


def read_document(path: Path, kind: DocumentFormat, policy: TextPolicy) -> str:
    """Returns a file's text, without a byte order mark and carriage returns before newlines."""
    text = read_text(path, policy, Counter())
    if kind != "html" and is_html(path, text):
        advice = "set documents.format to html in the config, or give --format html"
        raise CorpusError(f"{path} is an HTML page, whose tags would be taken as text; {advice}")
    return text.replace("\r\n", "\n").removesuffix("\n")


def _lines(path: Path, policy: TextPolicy) -> Iterator[str]:
    for block in iter_blocks(path, policy):
        yield from spans(block.data, block.starts, block.ends).to_pylist()


def _rows(path: Path, kind: str, places: Iterable[int | str | None], policy: TextPolicy) -> Iterator[list[str]]:
    wanted = [place for place in places if place is not None]
    if kind == "parquet":
        try:
            with pq.ParquetFile(path) as file:
                names = file.schema_arrow.names
                if strange := [place for place in wanted if not any(at[0] in names for at in paths_of(str(place)))]:
                    raise CorpusError(f"{path}: no field {str(strange[0])!r} (it has {', '.join(names)})")
                columns = sorted({at[0] for place in wanted for at in paths_of(str(place))}.intersection(names))
                batches = file.iter_batches(64, columns=columns, use_threads=False)
                for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
                    yield [_value(row, str(place), f"{path}: row {number}") for place in wanted]
        except (OSError, pa.ArrowException) as error:
            raise CorpusError(f"{path}: not a Parquet file that can be read ({error})") from error
        return
    for number, line in enumerate(_lines(path, policy), 1):
        where = f"{path}:{number}"
        if kind == "jsonl":
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CorpusError(f"{where}: not JSON ({error}); fix the line") from error
            yield [_value(row, str(place), where) for place in wanted]
        else:
            fields = line.split("\t")
            if len(fields) <= max(map(int, wanted)):
                raise CorpusError(f"{where}: {len(fields)} columns, but column {max(map(int, wanted))} is needed")
            yield [fields[int(place)] for place in wanted]


def _value(row: Any, place: str, where: str) -> str:
    try:
        value = value_at(row, place)
    except UnicodeEncodeError:
        raise InvalidTextError(
            f"{where}: {place}: half of a surrogate pair, which is not a character; fix it"
        ) from None
    except KeyError:
        value = None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CorpusError(f"{where}: no text at {place!r}; fix the row, or correct the key in the config")
    return str(value)


def pairs_of_list(path: Path) -> list[tuple[Path, Path]]:
    """Returns the path pairs in a two-column table; relative paths are relative to its directory.

    The source path names the document, so it must be unique.
    """
    pairs: dict[str, str] = {}
    for number, line in enumerate(_lines(path, PLAIN), 1):
        row = line.split("\t")
        if line.strip() and (len(row) != 2 or not all(row)):
            raise CorpusError(f"{path}:{number}: expected two paths with a tab between")
        if row[0] in pairs:
            raise CorpusError(
                f"{path}:{number}: the source {row[0]} is in an earlier line too; put its second target into the list "
                "of another corpus"
            )
        if line.strip():
            pairs[row[0]] = row[1]
    return [(path.parent / source, path.parent / target) for source, target in pairs.items()]


def files_of_directories(source: Path, target: Path) -> dict[str, tuple[Path, Path]]:
    """Returns the files of two directories that have the same names, by name, sorted."""
    try:
        names = [
            {path.name for path in directory.iterdir() if path.is_file() and not path.name.startswith(".")}
            for directory in (source, target)
        ]
    except OSError as error:
        raise CorpusError(f"cannot read the directory {error.filename}: {error.strerror}") from error
    for lacking, directory, other in ((names[0] - names[1], source, target), (names[1] - names[0], target, source)):
        if lacking:
            raise CorpusError(
                f"{directory / min(lacking)} has no counterpart of the same name in {other}; add or remove it"
            )
    for name in sorted(names[0]):
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InvalidTextError(f"the name of {str(source / name)!r} is not UTF-8; rename the file") from error
    if not names[0]:
        raise CorpusError(f"{source} has no files; name directories with one document per file")
    return {name: (source / name, target / name) for name in sorted(names[0])}


def sentences_of(text: str, split: Splitting, language: str) -> pa.Array:
    """Returns a text's sentences, without blank ones: a ``large_string`` array."""
    if split == "lines":
        lines = pc.split_pattern(pa.array([text], pa.large_string()), "\n").values
        return lines.filter(pa.array(~blank_lines(lines)))
    if split == "wrapped":
        joint = joint_of(language)
        blocks = groupby((line.strip() for line in text.split("\n")), bool)
        text = "\n".join(joint.join(lines) for filled, lines in blocks if filled)
    segment = needed_extra("sentencex", _EXTRA, "dividing running text into sentences").segment
    tag = language.split("-", maxsplit=1)[0].lower()
    parts = (part.strip() for line in text.split("\n") for part in segment(tag, line))
    return pa.array(filter(None, parts), pa.large_string())


def joined(sides: tuple[pa.Array, pa.Array], beads: Beads, languages: tuple[str, str]) -> Iterator[pa.Array]:
    """Yields the text of beads, for each side: a ``large_string`` array."""
    for side, language, column in zip(sides, languages, (0, 2), strict=True):
        lines, joint = side.to_pylist(), joint_of(language)
        bounds = beads[:, column : column + 2].tolist()
        yield pa.array([joint.join(lines[begin:end]) for begin, end in bounds], pa.large_string())


_DEEPEST = 10_000  # Maximum number of open elements per page

_MOST_STEPS = 500_000_000
"""Maximum product of open elements and end tags: the parser may look through all open elements at each end tag."""

_FED = 1 << 16

_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main nav ol optgroup option p plaintext pre "
    "section select summary table tbody td tfoot th thead tr ul xmp"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HIDDEN = frozenset({"head", "link", "meta", "script", "style", "template", "title"})
_AS_WRITTEN = frozenset({"listing", "plaintext", "pre", "xmp"})

_NO_DISPLAY = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f]+")


# The text of HTML pages, a line for each block.
#
# The parser reports tags and text one after the other, and no tree is kept, so that memory does not grow with the depth
# of a page, nor with the sizes of its tables.


class _Lines:
    """Receives what a page consists of, and writes the text that is displayed: blocks end in two newlines."""

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest
        self._text, self._line = StringIO(), StringIO()
        self._depth = 0
        self._hidden_from = 0
        self._as_written = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._deepest:
            raise CorpusError(f"its elements are nested more than {self._deepest:,} deep; remove the page")
        hidden = tag in _HIDDEN or "hidden" in attributes or _NO_DISPLAY.search(attributes.get("style", ""))
        if hidden and not self._hidden_from:
            self._hidden_from = self._depth
        self._as_written += tag in _AS_WRITTEN
        self._edge(tag)

    def end(self, tag: str) -> None:
        self._edge(tag)
        self._as_written -= tag in _AS_WRITTEN
        if self._hidden_from == self._depth:
            self._hidden_from = 0
        self._depth -= 1

    def data(self, text: str) -> None:
        if self._hidden_from:
            return
        if not self._as_written:
            self._line.write(text)
            return
        first, *others = text.split("\n")
        self._line.write(first)
        for line in others:
            self._end_line("\n")
            self._line.write(line)

    def close(self) -> str:
        self._end_line("\n")
        return self._text.getvalue()

    def _edge(self, tag: str) -> None:
        if self._hidden_from:
            return
        if tag in _BLOCKS:
            self._end_line("\n\n")
        elif tag == "br":
            self._end_line("\n")
        elif tag == "q":
            self.data('"')

    def _end_line(self, end: str) -> None:
        if self._line.tell():
            if line := _SPACES.sub(" ", self._line.getvalue()).strip():
                self._text.write(f"{line}{end}")
            self._line = StringIO()


def lines_of_html(text: str) -> str:
    """Returns the displayed text of an HTML page: a line for each block, with an empty line after it."""
    etree = needed_extra("lxml.etree", "documents", "text of HTML")
    lines = _Lines(min(_DEEPEST, _MOST_STEPS // max(text.count("</"), 1)))
    parser = etree.HTMLParser(target=lines, encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    if not text.strip():
        return ""
    data = text.replace("\0", "\ufffd").encode()
    for start in range(0, len(data), _FED):  # an error ends parsing after the data that were fed
        parser.feed(data[start : start + _FED])
    displayed: str = parser.close()
    return displayed
