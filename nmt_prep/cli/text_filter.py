"""Encodes and decodes standard input to standard output, one block of lines at a time; shows vocabularies."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from nmt_prep.cli.streams import READER_GONE
from nmt_prep.cli.terminal import open_console
from nmt_prep.cli.text_input import InputLines, convert, input_lines
from nmt_prep.columns import Ragged, joined_lines
from nmt_prep.errors import OutputError, VocabularyError
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
        _write(convert(lambda text: written(frame.around(tokenizer.encode_batch(text, threads))), lines))


def decode_stream(vocab: Path, *, as_pieces: bool, id_layout: IdLayout) -> None:
    """Writes a line of text for each line of ids or pieces."""
    tokenizer = load_tokenizer(vocab, id_layout=id_layout)
    read: Callable[[list[str]], Ragged] = PieceText(tokenizer).rows if as_pieces else id_rows

    def decoded(lines: pa.Array) -> pa.Array:
        return pa.array(tokenizer.decode_batch(read(lines.to_pylist())), pa.large_string())

    for lines in input_lines():
        _write(convert(decoded, lines, word=_PIECE if as_pieces else _ID))


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


def _write(lines: pa.Array) -> None:
    rest = joined_lines(lines)
    try:
        while rest:
            rest = rest[os.write(1, rest) :]
    except BrokenPipeError:
        raise SystemExit(READER_GONE) from None
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror}") from error
