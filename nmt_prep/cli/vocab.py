"""The commands encode, decode and vocab: text to IDs and back, and facts about a vocabulary.

Errors in the text name its line and column.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from nmt_prep.base.errors import CorpusError, EncodeError, VocabularyError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import STANDARD_INPUT, STANDARD_OUTPUT, ThreadsOption, check_outputs
from nmt_prep.cli.terminal import open_console, plain_table
from nmt_prep.cli.text_stream import InputLines, input_lines, write_lines

with delayed_imports():
    from nmt_prep import subwords
    from nmt_prep.base import columns
    from nmt_prep.reporting import report_tables
    from nmt_prep.subwords import comparison, frame, piece_text

if TYPE_CHECKING:
    from nmt_prep.base.columns import Ragged
    from nmt_prep.subwords import Tokenizer
    from nmt_prep.subwords.tokenizer import IdLayout


_ID, _PIECE = re.compile(r"\S+"), re.compile("[^ ]+")

VocabOption = Annotated[Path, typer.Option("--vocab", metavar="FILE", help="Vocabulary file of any tokenizer type.")]
FormOption = Annotated[
    Literal["ids", "pieces"], typer.Option("--as", help="Form of encoded text: ID lines or piece lines.")
]
LayoutOption = Annotated[
    Literal["sentencepiece", "fairseq"],
    typer.Option("--id-layout", help="ID layout of a SentencePiece model: sentencepiece or fairseq."),
]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Suffix of pieces that do not end a word, for codes; @@ by default.")
]
_LONGEST = 10  # Number of the longest pieces that are shown

_DOCUMENTS = "The piece between segments of a document: write one line per segment."
_LIKE = "File with the encoded sources: write as many lines as each source has segments."
_VOCABULARY = "For codes: a vocabulary with counts; pieces that it lacks are split again."
_THRESHOLD = "Minimum piece count in --vocabulary."
_GLOSSARY = "Regular expression of text that stays whole, for codes; may be repeated."
_TEXT = "Also show how the vocabularies divide this text: lines, or sides in the columns of a .tsv file."
_LANGUAGES = "Names of the columns of --text, such as en-de; source-target by default."
_TAG = "A piece, such as <2de>, to put before the IDs of each line."


def encode(
    vocab: VocabOption,
    form: FormOption = "ids",
    tag: Annotated[str | None, typer.Option(metavar="PIECE", help=_TAG)] = None,
    id_layout: LayoutOption = "sentencepiece",
    vocabulary: Annotated[Path | None, typer.Option(metavar="FILE", help=_VOCABULARY)] = None,
    threshold: Annotated[int | None, typer.Option(metavar="N", min=0, help=_THRESHOLD)] = None,
    glossary: Annotated[list[str] | None, typer.Option(metavar="REGEX", help=_GLOSSARY)] = None,
    separator: SeparatorOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Encode the lines of standard input to standard output, without sos or eos."""
    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab, "--vocabulary": vocabulary})
    if threshold is not None and vocabulary is None:
        raise typer.BadParameter("--threshold needs --vocabulary, a file with the counts of pieces")
    codes = {"vocabulary": vocabulary, "threshold": threshold, "glossaries": glossary, "separator": separator}
    tokenizer = _loaded(vocab, id_layout, {key: value for key, value in codes.items() if value is not None})
    try:
        around = frame.Frame.of(tokenizer, tag, eos=False)
    except VocabularyError as error:
        raise VocabularyError(f"--tag: {vocab}: {error}") from error
    written: Callable[[Ragged], pa.Array] = piece_text.id_lines
    if form == "pieces":
        written = piece_text.PieceText(tokenizer).lines

    def encoded(text: pa.Array) -> pa.Array:
        spells = form == "pieces" and isinstance(subwords.inner_of(tokenizer), subwords.SubwordNMTTokenizer)
        pieces = subwords.segmented(tokenizer, text, threads) if spells else None
        if pieces is not None:
            return pieces if tag is None else columns.concatenated(tag, pieces, between=" ")
        return written(around.around(tokenizer.encode_batch(text, threads)))

    for lines in input_lines():
        write_lines(convert(encoded, lines))


def _loaded(vocab: Path, id_layout: IdLayout, codes: dict[str, Any]) -> Tokenizer:
    """Loads a vocabulary; of codes with the given options."""
    if codes:
        return subwords.SubwordNMTTokenizer.load(vocab, **codes)
    return subwords.load_tokenizer(vocab, id_layout=id_layout)


def decode(
    vocab: VocabOption,
    form: FormOption = "ids",
    id_layout: LayoutOption = "sentencepiece",
    documents: Annotated[str | None, typer.Option(metavar="PIECE", help=_DOCUMENTS)] = None,
    like: Annotated[Path | None, typer.Option(metavar="FILE", help=_LIKE)] = None,
    separator: SeparatorOption = None,
) -> None:
    """Decode lines of IDs or pieces from standard input to standard output, without padding, sos and eos."""
    if like is not None and documents is None:
        raise typer.BadParameter("--like needs --documents, the piece between two segments")
    check_outputs(STANDARD_OUTPUT, {**STANDARD_INPUT, "--vocab": vocab, "--like": like})
    tokenizer = _loaded(vocab, id_layout, {} if separator is None else {"separator": separator})
    inner = subwords.inner_of(tokenizer)
    read: Callable[[list[str]], Ragged] = piece_text.id_rows
    if form == "pieces":
        read = piece_text.PieceText(tokenizer).rows
    try:
        border = None if documents is None else tokenizer.piece_id(documents)
    except VocabularyError as error:
        raise VocabularyError(f"--documents: {vocab}: {error}") from error

    silent = {number for number in (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) if number is not None}

    def decoded(lines: pa.Array) -> pa.Array:
        if form == "pieces" and border is None and isinstance(inner, subwords.SubwordNMTTokenizer):
            joined = inner.join(lines)  # also pieces without an ID
            return tokenizer.undone(joined) if isinstance(tokenizer, subwords.WordsTokenizer) else joined
        rows = read(lines.to_pylist()).without(silent - {border})
        if border is None:
            return pa.array(tokenizer.decode_batch(rows), pa.large_string())
        segments, counts = rows.divided(border)
        texts = iter(tokenizer.decode_batch(segments))
        # In text, the piece has a space on either side.
        lines_of = (text.replace("\n", " ").strip(" ") for text in texts)
        joined = ("\n".join(islice(lines_of, count)) for count in counts.tolist())
        return pa.array(joined, pa.large_string())

    word = str(border)
    if form == "pieces" and border is not None:
        word = piece_text.PieceText(tokenizer).words()[border]
    models = None if like is None else (line for lines in input_lines(like) for line in lines.text.to_pylist())
    number = 1
    for lines in input_lines():
        windows = convert(decoded, lines, word=_PIECE if form == "pieces" else _ID)
        number += len(windows)
        if models is not None:
            counts = [line.split(" ").count(word) + 1 for line in islice(models, len(windows))]
            if len(counts) < len(windows):
                raise CorpusError(f"{like}: it ends before line {lines.first + len(counts)} of {lines.name}")
            windows = pa.array(map(_with_segments, windows.to_pylist(), counts), pa.large_string())
        write_lines(windows)
    if models is not None and next(models, None) is not None:
        raise CorpusError(f"standard input ends before line {number} of {like}")


def _with_segments(window: str, count: int) -> str:
    """Returns a window as ``count`` lines: further lines are joined to the last, and missing lines are empty."""
    lines = window.split("\n")
    kept = [*lines[: count - 1], " ".join(lines[count - 1 :])]
    return "\n".join([*kept, *[""] * (count - len(kept))])


def convert(work: Callable[[pa.Array], pa.Array], lines: InputLines, word: re.Pattern[str] | None = None) -> pa.Array:
    """Applies a function to lines; an error gets the line and column of the fault.

    Args:
        word: matches a line's words, to report the column of a faulty word; None to report a character.
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


def vocab(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Vocabulary files of any tokenizer type, or the output directories of runs."
        ),
    ],
    text: Annotated[Path | None, typer.Option(metavar="FILE", help=_TEXT)] = None,
    languages: Annotated[str | None, typer.Option(metavar="L1-L2", help=_LANGUAGES)] = None,
    id_layout: LayoutOption = "sentencepiece",
) -> None:
    """Show the size, special IDs and longest pieces of vocabularies, or compare several on a text."""
    vocabularies = {path: list(_vocabularies(path, id_layout)) for path in paths}
    files = {f"vocabulary {file}": file for listed in vocabularies.values() for _, file, _ in listed}
    check_outputs(STANDARD_OUTPUT, {"--text": text, **files})
    by_columns = text is not None and ".tsv" in text.suffixes
    if len(paths) > 1 and text is None:
        raise typer.BadParameter("--text is needed to compare several vocabularies")
    if languages is not None and not by_columns:
        raise typer.BadParameter("--languages names the columns of a --text whose name ends in .tsv")
    console = open_console()
    for title, file, layout in vocabularies[paths[0]] if len(paths) == 1 else ():
        if title:
            console.print(f"{title}: {file}", soft_wrap=True)
        console.print(_facts(subwords.load_tokenizer(file, id_layout=layout)))
    if text is None:
        return
    names = languages.split("-") if languages else ["source", "target"] if by_columns else []
    short = [path.name for path in paths]
    rows = {
        str(path) if short.count(path.name) > 1 else path.name: _fits(listed, text, names)
        for path, listed in vocabularies.items()
    }
    for made in (report_tables.comparison_table, report_tables.cut_word_table):
        compared = made({"comparison": rows})
        table = plain_table(*(f"{'>' * (at not in compared.left)}{name}" for at, name in enumerate(compared.head)))
        for row in compared.rows:
            table.add_row(*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row))
        console.print(table)


def _fits(listed: list[tuple[str, Path, IdLayout]], text: Path, names: list[str]) -> dict[str, Any]:
    """Measures a vocabulary, or a run's vocabularies by side, on each column, or on the whole text."""
    loaded = [subwords.load_tokenizer(file, id_layout=layout) for _, file, layout in listed]
    of_column = {name: loaded[min(number, len(loaded) - 1)] for number, name in enumerate(names)}
    fitted = of_column or {title or "text": tokenizer for (title, _, _), tokenizer in zip(listed, loaded, strict=True)}
    return {
        name: vars(comparison.TextFit.of(tokenizer, _lines_of(text, names, number)))
        for number, (name, tokenizer) in enumerate(fitted.items())
    }


def _lines_of(text: Path, names: list[str], number: int) -> Iterator[pa.Array]:
    for lines in input_lines(text):
        if not names:
            yield lines.text
            continue
        fields = pc.split_pattern(lines.text, "\t")
        few = pc.index(pc.less(pc.list_value_length(fields), len(names)), True).as_py()
        if few >= 0:
            raise CorpusError(
                f"{lines.name}, line {lines.first + few}: expected {len(names)} columns separated by tabs; "
                "name the columns with --languages, or correct the line"
            )
        yield pc.list_element(fields, number)


def _vocabularies(path: Path, id_layout: IdLayout) -> Iterator[tuple[str, Path, IdLayout]]:
    """Yields the sides, the file and the ID layout of each vocabulary to show."""
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


def _facts(tokenizer: Tokenizer) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("dialect", tokenizer.dialect)
    table.add_row("pieces", f"{len(tokenizer):,}")
    for name in ("pad", "eos", "bos", "unk"):
        number = getattr(tokenizer, f"{name}_id")
        table.add_row(name, "none" if number is None else f"{number} {tokenizer.pieces[number]!r}")
    longest = sorted(tokenizer.pieces, key=lambda piece: (-len(piece), piece))[:_LONGEST]
    table.add_row("longest", "  ".join(map(repr, longest)))
    table.add_row("fingerprint", tokenizer.fingerprint)
    return table
