"""The `find` command: what catalogs offer for a language pair, as a table, as JSON, or as corpora for a config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich import filesize
from rich.table import Table

from nmt_prep.base.artefacts import as_json as as_json_values
from nmt_prep.base.errors import ConfigError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import JsonOption
from nmt_prep.cli.terminal import json_line, open_console, print_remark
from nmt_prep.config.file import yaml_of
from nmt_prep.config.language_pairs import LanguagePair

with delayed_imports():
    from nmt_prep.corpora.sources import offers

if TYPE_CHECKING:
    from nmt_prep.corpora.sources.offers import Offers

_WIDTH = 140  # columns of the table if standard output is no terminal


def find(
    languages: Annotated[str, typer.Argument(metavar="PAIR", help="Source and target, such as en-de.")],
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Print the corpora as the splits.train section of a config.")
    ] = False,
    versions: Annotated[
        bool, typer.Option("--versions", help="List all versions of each corpus, not only the latest.")
    ] = False,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for OPUS and the hub.")] = 1.2,
    as_json: JsonOption = False,
) -> None:
    """List the corpora that OPUS, mtdata and the Hugging Face Hub offer for PAIR: sizes, licenses, known traps.

    Sizes come from OPUS and the hub. If they do not answer in time, sizes come from mtdata, if it is installed.
    The column "known" names traps: test sets in training corpora, machine-translated, misaligned and duplicated
    corpora, and licenses that forbid a use. With --yaml, test sets and duplicates are comments.
    """
    try:
        pair = LanguagePair.parse(languages).languages
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with interruptible("interrupted"):
        found = offers.find_offers(pair, every_version=versions, wait=wait)
    if not [*found]:
        raise ConfigError(f"no catalog has a corpus for {pair.source}-{pair.target}")
    for remark in found.remarks:
        print_remark(remark)
    console = open_console(log_width=_WIDTH)
    if as_json:
        console.print(json_line(as_json_values(found)), soft_wrap=True)
    elif as_yaml:
        console.print(_yaml(found), soft_wrap=True, end="")
    else:
        console.print(_table(found))


def _table(found: Offers) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for name in ("corpus", "pairs", "size", "licence", "known"):
        table.add_column(name, overflow="fold", justify="right" if name in ("pairs", "size") else "left")
    for offer in found:
        pairs = "" if offer.pairs is None else f"{offer.pairs:,}"
        size = "" if offer.size is None else filesize.decimal(offer.size)
        table.add_row(offer.id, pairs, size, offer.licence or "", offer.known)
    return table


def _yaml(found: Offers) -> str:
    corpora, remarks = found.training_corpora()
    comments = "".join(f"# {remark}\n" for remark in remarks)
    return comments + yaml_of({"splits": {"train": corpora}})
