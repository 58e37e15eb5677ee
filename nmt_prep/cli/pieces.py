"""The `pieces` command: the vocabulary file of a trainer from segmented text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import STANDARD_INPUT, STANDARD_OUTPUT, check_outputs
from nmt_prep.cli.text_stream import input_lines, write_text

with delayed_imports():
    from nmt_prep.training.outputs import piece_lists

Trainer = Literal[
    "fairseq", "joey", "marian", "opennmt_py", "opennmt_tf", "sockeye", "subword_nmt", "tensorflow_nmt", "thumt"
]


def pieces(
    texts: Annotated[
        list[Path] | None, typer.Argument(metavar="TEXT", help="Text files; by default, standard input.")
    ] = None,
    trainer: Annotated[Trainer, typer.Option("--as", help="The trainer whose file is written.")] = "subword_nmt",
    least: Annotated[int, typer.Option(metavar="N", min=1, help="Skip pieces that occur fewer than N times.")] = 1,
    most: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Write the N most frequent pieces; fairseq and marian count special pieces too."
        ),
    ] = None,
    multiple: Annotated[
        int, typer.Option(metavar="N", min=1, help="With --as sockeye: fill the file up to a multiple of N.")
    ] = 1,
) -> None:
    """Write to standard output the vocabulary file that a trainer makes from segmented text.

    Segmented text has a space between two pieces, as nmt-prep encode --as pieces and subword-nmt write it.
    """
    paths: list[Path | None] = [*texts] if texts else [None]
    check_outputs(STANDARD_OUTPUT, {str(path): path for path in paths if path is not None} or STANDARD_INPUT)
    counts = piece_lists.count_pieces(lines.text for path in paths for lines in input_lines(path))
    write_text(memoryview(piece_lists.piece_list(trainer, counts, piece_lists.Limits(least, most, multiple)).encode()))
