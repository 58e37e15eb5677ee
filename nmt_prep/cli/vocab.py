"""The command vocab: facts about vocabularies, and their coverage of a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.encode import LayoutOption
from nmt_prep.cli.terminal import open_console
from nmt_prep.cli.text_stream import InputLines, input_lines
from nmt_prep.errors import VocabularyError

with delayed_imports():
    from nmt_prep import subwords

if TYPE_CHECKING:
    from nmt_prep.subwords import Tokenizer
    from nmt_prep.subwords.tokenizer import IdLayout

_LONGEST = 10
"""Number of pieces that are shown."""


def vocab(
    path: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Vocabulary file of any dialect, or the output directory of a run."),
    ],
    text: Annotated[Path | None, typer.Option(metavar="FILE", help="Also show the coverage of this text.")] = None,
    id_layout: LayoutOption = "sentencepiece",
) -> None:
    """Show a vocabulary, or those of a run: size, special ids, longest pieces, and the coverage of a text."""
    console = open_console()
    for title, file, layout in _vocabularies(path, id_layout):
        if title:
            console.print(f"{title}: {file}", soft_wrap=True)
        console.print(_facts(subwords.load_tokenizer(file, id_layout=layout), text))


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
