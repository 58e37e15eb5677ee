"""The commands encode and decode: filters from standard input to standard output, one block of lines at a time.

Errors in the text name its line and column.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import pyarrow as pa
import typer

from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.options import STANDARD_INPUT, STANDARD_OUTPUT, ThreadsOption, check_outputs
from nmt_prep.cli.text_stream import InputLines, input_lines, write_lines
from nmt_prep.errors import EncodeError, VocabularyError

with delayed_imports():
    from nmt_prep import subwords
    from nmt_prep.subwords import frame, piece_text

if TYPE_CHECKING:
    from nmt_prep.columns import Ragged

_ID, _PIECE = re.compile(r"\S+"), re.compile("[^ ]+")

VocabOption = Annotated[Path, typer.Option("--vocab", metavar="FILE", help="Vocabulary file of any dialect.")]
FormOption = Annotated[
    Literal["ids", "pieces"], typer.Option("--as", help="Form of encoded text: lines of ids or of pieces.")
]
LayoutOption = Annotated[
    Literal["sentencepiece", "fairseq"], typer.Option("--id-layout", help="Numbering of a SentencePiece model.")
]
_TAG = "A piece, such as <2de>, to put before the ids of each line."


def encode(
    vocab: VocabOption,
    form: FormOption = "ids",
    tag: Annotated[str | None, typer.Option(metavar="PIECE", help=_TAG)] = None,
    id_layout: LayoutOption = "sentencepiece",
    threads: ThreadsOption = None,
) -> None:
    """Encode the lines of standard input to standard output, without sos or eos."""
    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab})
    tokenizer = subwords.load_tokenizer(vocab, id_layout=id_layout)
    try:
        around = frame.Frame.of(tokenizer, tag, eos=False)
    except VocabularyError as error:
        raise VocabularyError(f"--tag: {vocab}: {error}") from error
    written: Callable[[Ragged], pa.Array] = piece_text.id_lines
    if form == "pieces":
        written = piece_text.PieceText(tokenizer).lines
    for lines in input_lines():
        write_lines(convert(lambda text: written(around.around(tokenizer.encode_batch(text, threads))), lines))


def decode(vocab: VocabOption, form: FormOption = "ids", id_layout: LayoutOption = "sentencepiece") -> None:
    """Decode lines of ids, or of pieces, from standard input to standard output."""
    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab})
    tokenizer = subwords.load_tokenizer(vocab, id_layout=id_layout)
    read: Callable[[list[str]], Ragged] = piece_text.id_rows
    if form == "pieces":
        read = piece_text.PieceText(tokenizer).rows

    def decoded(lines: pa.Array) -> pa.Array:
        return pa.array(tokenizer.decode_batch(read(lines.to_pylist())), pa.large_string())

    for lines in input_lines():
        write_lines(convert(decoded, lines, word=_PIECE if form == "pieces" else _ID))


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
