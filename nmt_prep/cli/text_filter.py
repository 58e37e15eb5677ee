"""Text through a vocabulary, from standard input to standard output, a block of lines at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from nmt_prep.columns import Ragged, joined_lines
from nmt_prep.corpora.lines import iter_lines
from nmt_prep.subwords import Tokenizer, load_tokenizer
from nmt_prep.subwords.piece_text import PieceText, id_lines, id_rows

IdLayout: TypeAlias = Literal["sentencepiece", "fairseq"]

_STANDARD_INPUT = Path("/dev/stdin")
_LONGEST = 10


def encode_stream(vocab: Path, *, as_pieces: bool, id_layout: IdLayout, threads: int | None) -> None:
    """Writes a line of ids, or of pieces, for each line of standard input."""
    tokenizer = load_tokenizer(vocab, id_layout=id_layout)
    written: Callable[[Ragged], pa.Array] = PieceText(tokenizer).lines if as_pieces else id_lines
    for lines in iter_lines(_STANDARD_INPUT):
        _write(written(tokenizer.encode_batch(lines, threads)))


def decode_stream(vocab: Path, *, as_pieces: bool, id_layout: IdLayout) -> None:
    """Writes a line of text for each line of ids, or of pieces."""
    tokenizer = load_tokenizer(vocab, id_layout=id_layout)
    read: Callable[[list[str]], Ragged] = PieceText(tokenizer).rows if as_pieces else id_rows
    for lines in iter_lines(_STANDARD_INPUT):
        _write(pa.array(tokenizer.decode_batch(read(lines.to_pylist())), pa.large_string()))


def show_vocabulary(path: Path, text: Path | None, *, id_layout: IdLayout) -> None:
    """Prints what a vocabulary is, and what it makes of a text."""
    tokenizer = load_tokenizer(path, id_layout=id_layout)
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
        for name, value in _coverage(tokenizer, iter_lines(text)):
            table.add_row(name, value)
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200).print(table)


def _coverage(tokenizer: Tokenizer, batches: Iterator[pa.Array]) -> Iterator[tuple[str, str]]:
    lines = characters = ids = unknown = 0
    used: set[int] = set()
    for batch in batches:
        rows = tokenizer.encode_batch(batch)
        lines += len(batch)
        characters += pc.sum(pc.utf8_length(batch)).as_py() or 0
        ids += len(rows.values)
        unknown += 0 if tokenizer.unk_id is None else int((rows.values == tokenizer.unk_id).sum())
        used.update(pc.unique(pa.array(rows.values)).to_pylist())
    yield "lines", f"{lines:,}"
    yield "characters", f"{characters:,}"
    yield "ids", f"{ids:,} ({characters / max(ids, 1):.2f} characters an id, {ids / max(lines, 1):.1f} ids a line)"
    yield "unknown", f"{unknown:,} ({100 * unknown / max(ids, 1):.3f}% of ids)"
    yield "pieces used", f"{len(used):,} of {len(tokenizer):,}"


def _write(lines: pa.Array) -> None:
    rest = joined_lines(lines)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]
