"""Encodes and decodes standard input to standard output, one block of lines at a time; shows vocabularies.

Errors in the text name its line and column.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from nmt_prep.cli.terminal import open_console
from nmt_prep.cli.text_stream import InputLines, input_lines, write_lines
from nmt_prep.columns import Ragged
from nmt_prep.errors import EncodeError, VocabularyError
from nmt_prep.subwords import Tokenizer, load_tokenizer
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.piece_text import PieceText, id_lines, id_rows
from nmt_prep.subwords.tokenizer import IdLayout

_LONGEST = 10
_ID, _PIECE = re.compile(r"\S+"), re.compile("[^ ]+")


def encode_stream(vocab: Path, *, tag: str | None, as_pieces: bool, id_layout: IdLayout, threads: int | None) -> None:
    """Writes a line of ids or pieces for each line of standard input, starting with the tag if one is given.

    Raises:
        VocabularyError: the vocabulary cannot be loaded, or the tag is not one of its pieces.
    """
    tokenizer = load_tokenizer(vocab, id_layout=id_layout)
    try:
        frame = Frame.of(tokenizer, tag, eos=False)
    except VocabularyError as error:
        raise VocabularyError(f"--tag: {vocab}: {error}") from error
    written: Callable[[Ragged], pa.Array] = PieceText(tokenizer).lines if as_pieces else id_lines
    for lines in input_lines():
        write_lines(convert(lambda text: written(frame.around(tokenizer.encode_batch(text, threads))), lines))


def decode_stream(vocab: Path, *, as_pieces: bool, id_layout: IdLayout) -> None:
    """Writes a line of text for each line of ids or pieces."""
    tokenizer = load_tokenizer(vocab, id_layout=id_layout)
    read: Callable[[list[str]], Ragged] = PieceText(tokenizer).rows if as_pieces else id_rows

    def decoded(lines: pa.Array) -> pa.Array:
        return pa.array(tokenizer.decode_batch(read(lines.to_pylist())), pa.large_string())

    for lines in input_lines():
        write_lines(convert(decoded, lines, word=_PIECE if as_pieces else _ID))


def show_vocabulary(path: Path, text: Path | None, *, id_layout: IdLayout) -> None:
    """Prints the facts of a vocabulary, or of each vocabulary of a run, and their coverage of a text.

    Raises:
        VocabularyError: the file is not a vocabulary, or the directory holds neither a vocabulary nor a run.
    """
    console = open_console()
    for title, file, layout in _vocabularies(path, id_layout):
        if title:
            console.print(f"{title}: {file}", soft_wrap=True)
        console.print(_facts(load_tokenizer(file, id_layout=layout), text))


def _vocabularies(path: Path, id_layout: IdLayout) -> Iterator[tuple[str, Path, IdLayout]]:
    """Yields the sides, the file and the id layout of each vocabulary to show."""
    try:
        described = json.loads((path / "vocab" / "vocab.json").read_bytes())
        files = {side: (path / "vocab" / facts["file"], facts["id_layout"]) for side, facts in described.items()}
    except (FileNotFoundError, NotADirectoryError):
        if (path / "records").is_dir() or (path / ".nmt_prep").is_dir():
            raise VocabularyError(f"the run in {path} has no vocabularies yet; run it --until vocab") from None
        yield "", path, id_layout
        return
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise VocabularyError(
            f"{path / 'vocab' / 'vocab.json'} does not describe vocabularies ({error}); "
            "delete it and run again; the vocab stage writes it"
        ) from None
    for file, layout in dict.fromkeys(files.values()):
        yield " and ".join(side for side in files if files[side] == (file, layout)), file, layout or id_layout


def _facts(tokenizer: Tokenizer, text: Path | None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("dialect", tokenizer.dialect)
    table.add_row("pieces", f"{len(tokenizer):,}")
    for name in ("pad", "eos", "bos", "unk"):
        number = getattr(tokenizer, f"{name}_id")
        table.add_row(name, "none" if number is None else f"{number} {tokenizer.pieces[number]!r}")
    longest = sorted(tokenizer.pieces, key=lambda piece: (-len(piece), piece))[:_LONGEST]
    table.add_row("longest", "  ".join(map(repr, longest)))
    table.add_row("fingerprint", tokenizer.fingerprint)
    if text is not None:
        for name, value in _coverage(tokenizer, input_lines(text)):
            table.add_row(name, value)
    return table


def _coverage(tokenizer: Tokenizer, blocks: Iterator[InputLines]) -> Iterator[tuple[str, str]]:
    lines = characters = ids = unknown = 0
    used: set[int] = set()
    for block in blocks:
        rows = tokenizer.encode_batch(block.text)
        lines += len(block.text)
        characters += pc.sum(pc.utf8_length(block.text)).as_py() or 0
        ids += len(rows.values)
        unknown += 0 if tokenizer.unk_id is None else int((rows.values == tokenizer.unk_id).sum())
        used.update(pc.unique(pa.array(rows.values)).to_pylist())
    yield "lines", f"{lines:,}"
    yield "characters", f"{characters:,}"
    yield "ids", f"{ids:,} ({characters / max(ids, 1):.2f} characters per id, {ids / max(lines, 1):.1f} ids per line)"
    yield "unknown", f"{unknown:,} ({100 * unknown / max(ids, 1):.3f}% of ids)"
    yield "pieces used", f"{len(used):,} of {len(tokenizer):,}"


def convert(work: Callable[[pa.Array], pa.Array], lines: InputLines, word: re.Pattern[str] | None = None) -> pa.Array:
    """Applies a function to lines; an error gets the place of the fault.

    Args:
        work: the function; it must treat each line independently of the others.
        lines: the lines.
        word: matches the words of a line, to report the column of a faulty word; None to report a character.

    Raises:
        EncodeError: the function raised it; the message starts with the place of the fault.
    """
    try:
        return work(lines.text)
    except EncodeError as error:
        for number, line in enumerate(lines.text.to_pylist()):
            fault = _error_of(work, line)
            if fault is not None:
                where = f"{lines.name}, line {lines.first + number}, column {_column(work, line, word)}"
                raise EncodeError(f"{where}: {fault}") from None
        raise EncodeError(f"{lines.name}, from line {lines.first}: {error}") from error


def _column(work: Callable[[pa.Array], pa.Array], line: str, word: re.Pattern[str] | None) -> int:
    """Returns the column of the first word or character that makes a line fail, counted from 1."""
    if word is None:
        return bisect.bisect_left(range(len(line)), True, key=lambda end: _error_of(work, line[:end]) is not None)
    starts = (match.start() for match in word.finditer(line) if _error_of(work, match[0]) is not None)
    return next(starts, 0) + 1


def _error_of(work: Callable[[pa.Array], pa.Array], line: str) -> EncodeError | None:
    try:
        work(pa.array([line], pa.large_string()))
    except EncodeError as error:
        return error
    return None
