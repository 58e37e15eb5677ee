"""The `overlap` command: which pairs two files share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.base.artefacts import as_json as as_json_values
from nmt_prep.base.runtime import available_cores
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import STANDARD_OUTPUT, JsonOption, ThreadsOption, check_outputs
from nmt_prep.cli.terminal import json_line, open_console
from nmt_prep.config import Languages
from nmt_prep.config.language_pairs import LanguagePair

with delayed_imports():
    from nmt_prep.cleaning import evaluation_segments as segments
    from nmt_prep.cleaning import pair_overlap as comparison

_HELP = "Pairs, as TSV, in another format that the suffix implies, or as lines of text; may be compressed."
_COVERAGE = "Minimum share of the n-grams in a pair of SECOND that a pair of FIRST must contain."
_LANGUAGES = "The languages to read, such as en-de, in formats that may have several (tmx, xliff, xml)."
_FIRST, _SECOND = (
    typer.Argument(metavar=name, help=_HELP, exists=True, dir_okay=False, readable=False)
    for name in ("FIRST", "SECOND")
)


def overlap(
    first: Annotated[Path, _FIRST],
    second: Annotated[Path, _SECOND],
    coverage: Annotated[float, typer.Option(min=0.01, max=1, help=_COVERAGE)] = 0.7,
    whole: Annotated[
        bool, typer.Option("--whole", help="Compare whole sides only, without n-grams, which takes less memory.")
    ] = False,
    languages: Annotated[str | None, typer.Option(metavar="SOURCE-TARGET", help=_LANGUAGES)] = None,
    examples: Annotated[int, typer.Option("-n", min=0, help="Number of examples per kind.")] = 3,
    as_json: JsonOption = False,
    threads: ThreadsOption = None,
) -> None:
    """Compare two corpora, or a corpus and a test set: how many pairs of each are in the other.

    SECOND is held in memory: give the smaller file last.
    """
    check_outputs(STANDARD_OUTPUT, {"FIRST": first, "SECOND": second})
    pair = _languages(languages, first, second)
    threads = threads or available_cores()
    with interruptible("interrupted"):
        result = comparison.overlap_of(
            first, second, pair, None if whole else coverage, examples=examples, threads=threads
        )
    console = open_console()
    if as_json:
        console.print(json_line(as_json_values(result)), soft_wrap=True)
        return
    for line in comparison.lines_of(result):
        console.print(line, soft_wrap=True)
    for example in result.examples:
        console.print(f"\n{example.kind} {example.share:.0%}, lines {example.line[0]} and {example.line[1]}")
        for sides in (example.a, example.b):
            console.print("  " + " | ".join(filter(None, sides)), soft_wrap=True)


def _languages(given: str | None, *files: Path) -> Languages:
    if given is None:
        for file in files:
            if segments.needs_languages(file):
                raise typer.BadParameter(f"{file} may have several languages: name two with --languages, such as en-de")
        return Languages(source="und", target="und")
    try:
        return LanguagePair.parse(given).languages
    except ValueError as error:
        raise typer.BadParameter(f"--languages: {error}") from None
