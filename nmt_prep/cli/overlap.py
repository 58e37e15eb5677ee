"""Defines the command overlap, which compares two files of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.cli.common import interruptible
from nmt_prep.cli.terminal import json_line, open_console
from nmt_prep.cli.text import ThreadsOption
from nmt_prep.runtime import available_cores

if TYPE_CHECKING:
    from nmt_prep.config import Languages

_HELP = "Pairs: TSV or another format that the suffix tells, or lines of text; may be compressed."
_FIRST, _SECOND = (
    typer.Argument(metavar=name, help=_HELP, show_default=False, exists=True, dir_okay=False, readable=False)
    for name in ("FIRST", "SECOND")
)


def overlap(
    first: Annotated[Path, _FIRST],
    second: Annotated[Path, _SECOND],
    coverage: Annotated[
        float,
        typer.Option(
            "--coverage", min=0.01, max=1, help="A pair of FIRST contains one of SECOND with this share of its n-grams."
        ),
    ] = 0.7,
    whole: Annotated[
        bool, typer.Option("--whole", help="Compare only whole sides, which takes less memory, and no n-grams.")
    ] = False,
    languages: Annotated[
        str | None,
        typer.Option(
            "--languages",
            metavar="SOURCE-TARGET",
            help="The languages to read, such as en-de, in formats that may have several (tmx, xliff, xml).",
            show_default=False,
        ),
    ] = None,
    examples: Annotated[int, typer.Option("-n", min=0, metavar="N", help="The number of examples of each kind.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead.")] = False,
    threads: ThreadsOption = None,
) -> None:
    """Compare two corpora, or a corpus and a test set: how many pairs of each are in the other.

    SECOND is held in memory: give the smaller file last.
    """
    from nmt_prep.cleaning.decontamination.overlap import lines_of, overlap_of  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.typed_json import as_json as plain  # noqa: PLC0415  (loads pydantic)

    read = _languages(languages, (first, second))
    with interruptible("interrupted"):
        found = overlap_of(
            first, second, read, None if whole else coverage, examples=examples, threads=threads or available_cores()
        )
    console = open_console()
    if as_json:
        console.print(json_line(plain(found)), soft_wrap=True)
        return
    for line in lines_of(found):
        console.print(line, soft_wrap=True)
    for example in found.examples:
        console.print(f"\n{example.kind} {example.share:.0%}, lines {example.line[0]} and {example.line[1]}")
        for sides in (example.a, example.b):
            console.print("  " + " | ".join(filter(None, sides)), soft_wrap=True)


def _languages(given: str | None, files: tuple[Path, Path]) -> Languages:
    """Returns the languages to read.

    Raises:
        BadParameter: they are malformed, or missing although a file needs them.
    """
    from nmt_prep.cleaning.decontamination.reading import needs_languages  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.config import Languages  # noqa: PLC0415  (loads pydantic)

    if given is None:
        for file in files:
            if needs_languages(file):
                raise typer.BadParameter(f"{file} may have several languages: name two with --languages, such as en-de")
        return Languages(source="und", target="und")
    source, _, target = given.partition("-")
    try:
        return Languages(source=source, target=target)
    except ValueError:
        raise typer.BadParameter(f"--languages {given!r}: expected two language tags, such as en-de") from None
