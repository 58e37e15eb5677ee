"""Defines the command check.

:mod:`nmt_prep.inspection` looks at the corpora, :mod:`nmt_prep.cli.check_print` prints what it found.
"""

from __future__ import annotations

from typing import Annotated

import typer

from nmt_prep.cli.common import ConfigArgument, SetOption, interruptible


def check(
    config: ConfigArgument,
    overrides: SetOption = None,
    number: Annotated[
        int, typer.Option("-n", min=0, metavar="N", help="The number of pairs of each corpus to show.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Look at the corpora of CONFIG: sizes, members of archives, first pairs, languages. Writes and fetches nothing.

    Local files are read, small ones in full. Of remote files, only parts are read: the first megabyte, and the
    directory of a zip. What an archive does not allow to be seen without fetching it is listed.

    The exit status is 1 if something is wrong that a run would fail with, such as a missing file or member. A language
    that does not fit the config is a warning.
    """
    from nmt_prep.checks import load_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.cli.check_print import print_inspection, print_json  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.inspection import inspect_config  # noqa: PLC0415  (loads pyarrow)

    checked = load_config(config, overrides or ())
    with interruptible("interrupted; nothing was written"):
        found = inspect_config(checked, pairs=number)
    if as_json:
        print_json(config, found)
    else:
        print_inspection(found, checked.languages)
    if any(found.all_problems()):
        raise typer.Exit(1)
