"""Prints the commands that train on a run: ``nmt-prep recipe``."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

_KINDS = ("marian", "eole", "fairseq", "huggingface", "pytorch")


def recipe(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The output_dir of a finished run.")],
) -> None:
    """Print shell commands that train a translation model with KIND on the outputs of RUN.

    The commands write a config or a script to the current directory and start the trainer, which must be installed:
    nmt-prep recipe marian RUN | sh. The sizes are those of a base transformer; edit what is printed as needed.
    """
    from nmt_prep.recipes import RECIPES  # noqa: PLC0415  (loads pyarrow)

    if kind not in RECIPES:
        near = difflib.get_close_matches(kind, RECIPES, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise typer.BadParameter(f"there is no recipe {kind!r}{hint} (recipes: {', '.join(RECIPES)})")
    sys.stdout.write(RECIPES[kind](run))
