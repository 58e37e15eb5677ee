"""The `sentences` command: aligns the sentences of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import SIDES
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import STANDARD_OUTPUT, QuietOption, ThreadsOption, check_outputs
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.config import Languages
from nmt_prep.config.corpus import text_encoding
from nmt_prep.config.language_pairs import LanguagePair

with delayed_imports():
    import pyarrow as pa

    from nmt_prep.cleaning import health_warnings as health
    from nmt_prep.cleaning.sentences import aligner
    from nmt_prep.cleaning.sentences import sentence_files as files
    from nmt_prep.cli import text_stream


class _Format(StrEnum):
    """What the files are, or what is written."""

    HTML, TSV, BEADS = "html", "tsv", "beads"


_WARNED = 20  # Maximum number of documents in other languages that are named

_SIDE = "A file, or a directory of files; a line is a sentence unless --split is given."
_SPLIT = "Divide running text into sentences: each line by itself, or text that goes on to the next blank line."
_FORMAT = (
    "html: the files are HTML, not text. tsv or beads: write pairs with a tab, or beads such as [0, 1]:[0]. Give the "
    "option twice for both."
)
_ENCODING = "The encoding of the files, such as latin-1, or of each side, such as utf-8,latin-1."
_OUTPUT = "With directories: where to write the results, one file per document."
_MODEL = "A model of the same languages that nmt-prep align --save wrote; its counts add to those of the documents."
_GOLD = "Beads in vecalign's format: compare with them, and print precision, recall and F1 to standard error."
_LANGUAGES = "The languages, such as zh-en; sentences of languages without spaces are joined without a space."


def sentences(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help=_SIDE, exists=True)],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help=_SIDE, exists=True)],
    languages: Annotated[str, typer.Option(metavar="SOURCE-TARGET", help=_LANGUAGES)],
    formats: Annotated[list[_Format] | None, typer.Option("--format", help=_FORMAT, show_default="tsv")] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME[,NAME]", help=_ENCODING)] = "utf-8",
    output: Annotated[Path | None, typer.Option(metavar="DIRECTORY", help=_OUTPUT, file_okay=False)] = None,
    model: Annotated[Path | None, typer.Option(metavar="FILE", help=_MODEL, exists=True, dir_okay=False)] = None,
    gold: Annotated[Path | None, typer.Option(metavar="FILE", help=_GOLD, exists=True, dir_okay=False)] = None,
    split: Annotated[Literal["paragraphs", "wrapped"] | None, typer.Option(help=_SPLIT)] = None,
    threads: ThreadsOption = None,
    quiet: QuietOption = False,
) -> None:
    """Align the sentences of two documents, or of two directories with equal file names.

    Each line of a file is a sentence, or running text is divided with --split. A word alignment model is learned
    from the documents themselves, from all files of the directories together. A sentence may be aligned with several
    sentences, or with none; sentences aligned with none are in no pair.
    """
    if source.is_dir() != target.is_dir():
        raise typer.BadParameter(f"{source} and {target}: name two files, or two directories")
    if source.is_dir() and output is None:
        raise typer.BadParameter("directories need --output, a directory for the results")
    if source.is_file() and output is not None:
        raise typer.BadParameter("--output is for directories; the result of two files goes to standard output")
    if output is not None and output.exists() and any(output.samefile(side) for side in (source, target)):
        raise typer.BadParameter(f"--output: {output} holds the documents; name another directory")
    if source.is_dir() and gold is not None:
        raise typer.BadParameter("--gold compares one document: name two files")
    try:
        tags = LanguagePair.parse(languages).languages
    except ValueError as error:
        raise typer.BadParameter(f"--languages: {error}") from None
    written = [form for form in formats or () if form != _Format.HTML]
    if len(written) > 1:
        raise typer.BadParameter(f"--format: {' and '.join(written)} cannot both be written; give one of them")
    form = cast("files.Format", written[0].value if written else "tsv")
    encodings = _encodings(encoding)
    check_outputs(STANDARD_OUTPUT, {"SOURCE": source, "TARGET": target, "--gold": gold, "--model": model})
    console = SafeConsole(stderr=True, quiet=quiet)
    with interruptible("interrupted"):
        aligned, level = files.align_files(
            source,
            target,
            tags,
            "html" if _Format.HTML in (formats or ()) else "text",
            encodings,
            split,
            model,
            gold,
            threads or available_cores(),
        )
        for warning in _warnings(source, target, aligned, tags, level):
            console.print(f"warning: {warning}", soft_wrap=True)
        if output is None:
            (document,) = aligned
            text_stream.write_lines(pa.array(document.lines(form), pa.large_string()))
            if gold is not None:
                console.print(files.compared(document), soft_wrap=True)
            return
        for document in aligned:
            files.write_document(document, form, output)
    console.print(f"{len(aligned)} documents are aligned in {output}")


def _encodings(text: str) -> list[str]:
    try:
        names = [*map(text_encoding, text.split(","))]
    except ValueError as error:
        raise typer.BadParameter(f"--encoding {text!r}: {error}; give a name such as latin-1") from None
    if len(names) > 2:
        raise typer.BadParameter(f"--encoding {text!r}: give one encoding, or one for each of the two sides")
    return names * (2 // len(names))


def _warnings(
    source: Path, target: Path, aligned: Sequence[files.AlignedDocument], tags: Languages, level: aligner.Level
) -> Iterator[str]:
    """Yields warnings about documents in other languages, and about text that does not seem to be translated."""
    sides = ((document.name, dict(zip(SIDES, document.sides, strict=True))) for document in aligned)
    found = list(health.document_warnings(sides, tags))
    yield from (f"{name}: {warning}" for name, warning in found[:_WARNED])
    if len(found) > _WARNED:
        yield f"{len(found) - _WARNED:,} more documents seem to be in other languages"
    if level.cut:
        yield aligner.cut_text(level.cut)
    if level.unrelated:
        yield f"{source} and {target} do not seem to translate each other; compare their sides"
