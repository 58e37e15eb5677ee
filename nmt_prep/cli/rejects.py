"""The `rejects` command: pairs that cleaning dropped, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.table import Table

from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.shared_options import ConfigArgument, CorpusOption, JsonOption, SetOption, load_config
from nmt_prep.cli.terminal import json_line, open_console, print_remark
from nmt_prep.pipeline.stage import outputs_in

with delayed_imports():
    from nmt_prep import corpora
    from nmt_prep.cleaning import rejects as dropped
    from nmt_prep.runs import viewing
    from nmt_prep.stages import clean, limits

if TYPE_CHECKING:
    from nmt_prep.config import Config


def rejects(
    config: ConfigArgument,
    overrides: SetOption = None,
    rule: Annotated[str | None, typer.Option(metavar="RULE", help="Only pairs dropped by this rule.")] = None,
    corpus: CorpusOption = None,
    split: Annotated[str | None, typer.Option(metavar="SPLIT", help="Only pairs of this split.")] = None,
    number: Annotated[int, typer.Option("-n", min=1, help="The number of pairs to show.")] = 20,
    near: Annotated[
        bool, typer.Option("--near", help="Show those closest to the threshold instead of a random choice.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show pairs that cleaning dropped, side by side, with the rule, the value and the threshold."""
    checked = load_config(config, overrides)
    rows = _chosen(checked, {"split": split, "corpus": corpus, "rule": rule}, number, near=near)
    console = open_console()
    if not rows:
        print_remark("no dropped pair matches")
    elif as_json:
        for row in rows:
            console.print(json_line(row), soft_wrap=True)
    else:
        console.print(_table(rows))


def _chosen(config: Config, wanted: Mapping[str, str | None], number: int, *, near: bool) -> list[dict[str, Any]]:
    """Returns dropped pairs, best first, with the columns of rejected pairs and the column ``split``.

    With ``near``, these are the pairs whose values are closest to the threshold; otherwise, the smallest hashes.
    """
    best: pa.Table | None = None
    for split, path in _files(config, wanted):
        for batch in corpora.iter_pairs(path):
            table = pa.Table.from_batches([batch])
            for column in ("corpus", "rule"):
                if wanted[column] is not None:
                    table = table.filter(pc.equal(table[column].cast(pa.string()), wanted[column]))
            if len(table):
                keys = pa.array(dropped.distances(table)) if near else _hashes(table, config.seed)
                table = table.append_column("split", pa.array([split] * len(table))).append_column("key", keys)
                tables = [table] if best is None else [best, table]
                best = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
                best = best.sort_by("key")[:number]
    rows: list[dict[str, Any]] = [] if best is None else best.drop_columns(["key"]).to_pylist()
    return rows


def _files(config: Config, wanted: Mapping[str, str | None]) -> Iterator[tuple[str, Path]]:
    """Yields the splits and files with rejected pairs to look at; raises the same errors as :func:`_chosen`."""
    limited = config.limits.pieces is not None
    if config.clean is None and not limited:
        raise ArgumentError("the config has no section clean, so nothing is dropped by rules")
    if config.clean is not None and config.clean.rejects == "none":
        raise OutputError("the config says clean.rejects: none; set it to sample or all, and run again")
    outputs = outputs_in(config.run_dir, [clean.Clean, limits.Limits])
    viewing.require(outputs, *([] if config.clean is None else [clean.Clean]), *([limits.Limits] if limited else []))
    cleaned = outputs.read(clean.Clean) if config.clean is not None else None
    counted = [cleaned.untranslated, cleaned.corpora] if cleaned is not None else []
    counted += [outputs.read(limits.Limits).corpora] if limited else []
    counts = [(split, name, each) for corpora in counted for split, of in corpora.items() for name, each in of.items()]
    known = {
        "split": {split for split, _, _ in counts},
        "corpus": {name for _, name, _ in counts},
        "rule": {rule for _, _, each in counts for rule in each.dropped},
    }
    for what, name in wanted.items():
        if name is not None and name not in known[what]:
            there = ", ".join(sorted(known[what]))
            raise ArgumentError(f"--{what} {name}: nothing was cleaned with that {what} (there is {there})")
    for split, path in limits.rejected_files(outputs):
        if wanted["split"] in (None, split):
            yield split, path


def _hashes(table: pa.Table, seed: int) -> pa.Array:
    """Returns keys for a random choice of pairs, which depend on each pair's corpus and row."""
    rows = np.asarray(table.column("row").to_numpy(), np.int64)
    keys = np.zeros(len(table), np.uint64)
    names = table.column("corpus").cast(pa.string())
    for corpus in pc.unique(names).to_pylist():
        inside = np.asarray(pc.equal(names, corpus).to_numpy(zero_copy_only=False), np.bool_)
        keys[inside] = dropped.sample_keys(rows[inside], seed, corpus)
    return pa.array(keys)


def _table(rows: list[dict[str, Any]]) -> Table:
    """Returns dropped pairs as a table, with what failed, and the pairs that were kept instead, if there are any."""
    table = Table(box=None, pad_edge=False)
    compared = any(row["kept_row"] is not None for row in rows)
    told = any(row["unanswered"] is not None for row in rows)
    for name in ("corpus", "row", "rule", "failed", "value", "threshold", *(("kept",) if compared else ())):
        table.add_column(name, no_wrap=True, justify="right" if name in ("row", "value", "threshold") else "left")
    for name in (*(("unanswered",) if told else ()), "source", "target"):
        table.add_column(name, ratio=1)
    for row in rows:
        numbers = ["" if row[name] is None else f"{row[name]:.4g}" for name in ("value", "threshold")]
        kept = ["" if row["kept_row"] is None else f"{row['kept_corpus']} {row['kept_row']:,}"] if compared else []
        words = [row["unanswered"]] if told else []
        begin = (row["corpus"], f"{row['row']:,}", row["rule"], row["column"])
        table.add_row(*begin, *numbers, *kept, *words, row["source"], row["target"])
    return table
