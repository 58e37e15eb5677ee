"""The `try` command: a page that shows what a config's rules do with a sample of its corpora."""

from __future__ import annotations

import tempfile
import time
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.base.artefacts import atomic_write, writing
from nmt_prep.base.errors import NmtPrepError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import ConfigArgument, SetOption, check_outputs, files_of_run, load_config
from nmt_prep.cli.terminal import open_console, print_error, print_remark

with delayed_imports():
    from nmt_prep.runs.trial import changes, data
    from nmt_prep.runs.trial import trial_page as page

if TYPE_CHECKING:
    from nmt_prep.config import Config

_PAUSE = 0.3  # Seconds between checks of the config for changes


def try_(
    config: ConfigArgument,
    overrides: SetOption = None,
    sample: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Pairs in total; at least 500 per corpus, or the whole corpus."),
    ] = 5000,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page there, and do not open it in a browser.", dir_okay=False),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judgments that the page exported, to suggest thresholds.", exists=True),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write the page again when the config changes.")] = False,
    apply: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the changes of the page (YAML) into the config, and show nothing.", exists=True
        ),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="With --apply, accept rules that run a program or a Python function.")
    ] = False,
) -> None:
    """Show what the cleaning rules do with a sample of each corpus, on a page with movable thresholds.

    The page is one file that needs no network. Without a run, the corpora are read where they are.
    """
    console = open_console()
    if apply is not None:
        if overrides or output or judged or watch:
            raise typer.BadParameter("--apply changes the config, and can only be combined with --allow-code")
        keys = changes.apply_changes(config, apply, allow_code=allow_code)
        console.print(
            f"changed in {config}: {', '.join(keys)}" if keys else f"{config} has these values already", soft_wrap=True
        )
        return
    if allow_code:
        raise typer.BadParameter("--allow-code needs --apply")
    checked = load_config(config, overrides)
    check_outputs({"--output": output}, files_of_run(checked) | ({} if judged is None else {"--judged": judged}))
    path = (output or Path(tempfile.mkdtemp(prefix="nmt-prep-try-")) / f"{checked.name}.html").absolute()
    seen = config.stat().st_mtime_ns
    _write(path, checked, sample, judged)
    console.print(f"page: {path}", soft_wrap=True)
    if output is None and not webbrowser.open(path.as_uri()):
        print_remark(f"no browser was found; the page is {path}")
    while watch:
        time.sleep(_PAUSE)
        with suppress(OSError):
            if (now := config.stat().st_mtime_ns) != seen:
                seen = now
                try:
                    _write(path, load_config(config, overrides), sample, judged)
                    console.print("the config has changed, and so has the page: reload it", soft_wrap=True)
                except NmtPrepError as error:
                    print_error(str(error))


def _write(path: Path, config: Config, sample: int, judged: Path | None) -> None:
    judgements = {} if judged is None else page.read_judgements(judged)
    made = data.trial_data(config, sample, judgements)
    made["judged"] = page.judged_pairs(judgements, made)
    with atomic_write(path) as beside, writing(path):
        beside.write_text(page.render(made), "utf-8")
