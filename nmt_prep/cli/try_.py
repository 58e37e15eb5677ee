"""The command try: a page that shows what the rules of a config do with a sample of its corpora."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cli.delayed import delayed_imports
from nmt_prep.cli.options import ConfigArgument, SetOption, check_outputs, files_of_run, load_config
from nmt_prep.cli.terminal import open_console, print_remark

with delayed_imports():
    from nmt_prep.trial import data, page


def try_(
    config: ConfigArgument,
    overrides: SetOption = None,
    sample: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of pairs in all; at least 500 of each corpus, or all of it.")
    ] = 5000,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page there, and do not open it in a browser.", dir_okay=False),
    ] = None,
) -> None:
    """Show what the cleaning rules do with a sample of each corpus, on a page with limits to move.

    The page is one file that needs no network. Without a run, the corpora are read where they are.
    """
    checked = load_config(config, overrides)
    check_outputs({"--output": output}, files_of_run(checked))
    made = page.render(data.trial_data(checked, sample))
    path = output or Path(tempfile.mkdtemp(prefix="nmt-prep-try-")) / f"{checked.name}.html"
    with atomic_write(path) as beside, writing(path):
        beside.write_text(made, "utf-8")
    open_console().print(f"page: {path.absolute()}", soft_wrap=True)
    if output is None and not webbrowser.open(path.absolute().as_uri()):
        print_remark(f"no browser was found; the page is {path}")
