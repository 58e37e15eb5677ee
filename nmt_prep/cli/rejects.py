"""Shows the pairs that cleaning dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from nmt_prep.checks import load_config
from nmt_prep.cleaning.rejects import distances, sample_keys
from nmt_prep.cli.terminal import json_line, open_console, print_remark
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs
from nmt_prep.errors import ArgumentError, OutputError
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.stages.clean import REJECTED, Clean, CleanOutput
from nmt_prep.typed_json import parse_json_as


@dataclass(frozen=True)
class Wanted:
    """A selection of dropped pairs.

    Attributes:
        rule: rule that dropped the pairs; None for any.
        corpus: corpus of the pairs; None for any.
        split: split of the pairs; None for any.
        number: maximum number of pairs.
        near: true to choose pairs whose values are closest to the threshold; false to choose pairs by hash.
    """

    rule: str | None
    corpus: str | None
    split: str | None
    number: int
    near: bool


def show_rejects(path: Path, overrides: Iterable[str], wanted: Wanted, *, as_json: bool) -> None:
    """Prints dropped pairs as a table, or as JSON lines.

    Raises:
        ArgumentError: there is no such split, corpus or rule.
        OutputError: the run has not cleaned yet, or keeps no rejects.
    """
    config = load_config(path, overrides)
    console = open_console()
    rows = _chosen(config, wanted)
    if not rows:
        print_remark("no dropped pair fits")
        return
    if as_json:
        for row in rows:
            console.print(json_line(row), soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, show_lines=False)
    for name in ("corpus", "row", "rule", "value", "threshold"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("row", "value", "threshold") else "left")
    compared = any(row["kept_row"] is not None for row in rows)
    if compared:
        table.add_column("kept", no_wrap=True)
    table.add_column("source", ratio=1)
    table.add_column("target", ratio=1)
    for row in rows:
        numbers = ["" if row[name] is None else f"{row[name]:.4g}" for name in ("value", "threshold")]
        kept = ["" if row["kept_row"] is None else f"{row['kept_corpus']} {row['kept_row']:,}"] if compared else []
        table.add_row(row["corpus"], f"{row['row']:,}", row["rule"], *numbers, *kept, row["source"], row["target"])
    console.print(table)


def _chosen(config: Config, wanted: Wanted) -> list[dict[str, Any]]:
    """Returns the chosen pairs, best first, with the columns of rejected pairs and the column ``split``."""
    held: list[pa.Table] = []
    for split, path in _files(config, wanted):
        for batch in iter_pairs(path):
            table = _fitting(pa.Table.from_batches([batch]), wanted)
            if len(table):
                keys = pa.array(distances(table)) if wanted.near else _hashes(table, config.seed)
                table = table.append_column("split", pa.array([split] * len(table))).append_column("key", keys)
                held = [pa.concat_tables([*held, table], promote_options="permissive").unify_dictionaries()]
                held = [held[0].sort_by("key")[: wanted.number]]
    rows: list[dict[str, Any]] = held[0].drop_columns(["key"]).to_pylist() if held else []
    return rows


def _files(config: Config, wanted: Wanted) -> Iterator[tuple[str, Path]]:
    """Yields the splits and files of rejected pairs to look at.

    Raises:
        ArgumentError: there is no such split, corpus or rule.
        OutputError: the run has not cleaned yet, or keeps no rejects.
    """
    workspace = Workspace(config.run_dir)
    if config.clean is None:
        raise ArgumentError("the config has no section clean, so nothing is dropped by rules")
    if config.clean.rejects == "none":
        raise OutputError("the config says clean.rejects: none; set it to sample or all, and run again")
    manifest = read_manifest(workspace.manifest(Clean.name))
    if manifest is None:
        raise OutputError(f"nothing is cleaned yet in {workspace.root}; run it --until clean")
    output = parse_json_as(CleanOutput, manifest.details)
    rules = {rule for corpora in output.corpora.values() for counts in corpora.values() for rule in counts.dropped}
    corpora = {name for split in output.corpora.values() for name in split}
    for what, name, known in (
        ("split", wanted.split, output.corpora),
        ("corpus", wanted.corpus, corpora),
        ("rule", wanted.rule, rules),
    ):
        if name is not None and name not in known:
            raise ArgumentError(
                f"--{what} {name}: nothing was cleaned with that {what} (there is {', '.join(sorted(known))})"
            )
    for file in sorted(manifest.files_in(REJECTED)):
        split = file.partition("/")[0]
        if wanted.split in (None, split):
            yield split, workspace.root / REJECTED / file


def _fitting(table: pa.Table, wanted: Wanted) -> pa.Table:
    for column, name in (("rule", wanted.rule), ("corpus", wanted.corpus)):
        if name is not None:
            table = table.filter(pc.equal(table.column(column).cast(pa.string()), name))
    return table


def _hashes(table: pa.Table, seed: int) -> pa.Array:
    rows = np.asarray(table.column("row").to_numpy(), np.int64)
    keys = np.zeros(len(table), np.uint64)
    names = table.column("corpus").cast(pa.string())
    for corpus in pc.unique(names).to_pylist():
        own = np.asarray(pc.equal(names, corpus).to_numpy(zero_copy_only=False), np.bool_)
        keys[own] = sample_keys(rows[own], seed, corpus)
    return pa.array(keys)
