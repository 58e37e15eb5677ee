"""Defines the commands encode, decode and vocab; :mod:`nmt_prep.cli.text_filter` does the work."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.cli.overwriting import STANDARD_INPUT, STANDARD_OUTPUT, check_outputs


class Form(StrEnum):
    """Form of encoded text."""

    IDS = "ids"
    PIECES = "pieces"


class Layout(StrEnum):
    """Numbering of a SentencePiece model."""

    SENTENCEPIECE = "sentencepiece"
    FAIRSEQ = "fairseq"


VocabOption = Annotated[Path, typer.Option("--vocab", metavar="FILE", help="Vocabulary file of any dialect.")]
FormOption = Annotated[Form, typer.Option("--as", help="Form of encoded text: lines of ids or of pieces.")]
LayoutOption = Annotated[Layout, typer.Option("--id-layout", help="Numbering of a SentencePiece model.")]
TagOption = Annotated[
    str | None,
    typer.Option("--tag", metavar="PIECE", help="A piece, such as <2de>, to put before the ids of each line."),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads; by default, one per core.")
]


def encode(
    vocab: VocabOption,
    form: FormOption = Form.IDS,
    tag: TagOption = None,
    id_layout: LayoutOption = Layout.SENTENCEPIECE,
    threads: ThreadsOption = None,
) -> None:
    """Encode the lines of standard input to standard output, without sos or eos."""
    from nmt_prep.cli.text_filter import encode_stream  # noqa: PLC0415  (loads pyarrow)

    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab})
    encode_stream(vocab, tag=tag, as_pieces=form is Form.PIECES, id_layout=id_layout.value, threads=threads)


def decode(vocab: VocabOption, form: FormOption = Form.IDS, id_layout: LayoutOption = Layout.SENTENCEPIECE) -> None:
    """Decode lines of ids, or of pieces, from standard input to standard output."""
    from nmt_prep.cli.text_filter import decode_stream  # noqa: PLC0415  (loads pyarrow)

    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab})
    decode_stream(vocab, as_pieces=form is Form.PIECES, id_layout=id_layout.value)


def vocab(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Vocabulary file of any dialect, or the output directory of a run.", show_default=False
        ),
    ],
    text: Annotated[
        Path | None, typer.Option("--text", metavar="FILE", help="Also show the coverage of this text.")
    ] = None,
    id_layout: LayoutOption = Layout.SENTENCEPIECE,
) -> None:
    """Show a vocabulary, or those of a run: size, special ids, longest pieces, and the coverage of a text."""
    from nmt_prep.cli.text_filter import show_vocabulary  # noqa: PLC0415  (loads pyarrow)

    show_vocabulary(path, text, id_layout=id_layout.value)
