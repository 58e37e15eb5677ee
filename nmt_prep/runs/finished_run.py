"""Runs in a notebook: their pairs and counts as tables, and their report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from nmt_prep.base.errors import OutputError
from nmt_prep.pipeline.stage import Outputs, outputs_in
from nmt_prep.runs.checks import load_config
from nmt_prep.runs.viewing import Wanted, chosen_in
from nmt_prep.stages import STAGES
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.divide import Divide
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.report import Report
from nmt_prep.training.records.dataset_json import CorpusInfo, load_dataset_info

_ALL = 1 << 62


@dataclass(frozen=True)
class Page:
    """A report's page, which a notebook shows."""

    path: Path  # the file

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text("utf-8"))
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:40rem;border:0"></iframe>'


@dataclass(frozen=True, repr=False)
class Run:
    """A run in its current state on disk."""

    root: Path  # the directory

    def __repr__(self) -> str:
        outputs = outputs_in(self.root, STAGES)
        counts = self.counts.to_pylist()
        pairs: dict[str, int] = {}
        for row in counts:
            numbers = [row[step] for step in ("encoded", "cleaned", "compiled") if row[step] is not None]
            pairs[row["split"]] = pairs.get(row["split"], 0) + numbers[0]
        told = ", ".join(f"{number:,} pairs of {split}" for split, number in pairs.items()) or "no pairs yet"
        return f"Run({str(self.root)!r}: {told}; last stage {list(outputs.manifests)[-1]})"

    @property
    def counts(self) -> pa.Table:
        """Pair count of each corpus after each step, null for steps that the corpus did not take.

        The columns are ``split``, ``corpus``, ``read``, ``compiled``, ``cleaned`` and ``encoded``.
        """
        outputs = outputs_in(self.root, STAGES)
        cleaned = outputs.read(Clean).corpora if Clean.name in outputs.manifests else {}
        encoded = {
            (split, corpus.name): corpus.pairs
            for split, corpora in self._records(outputs).items()
            for corpus in corpora
        }
        rows: list[dict[str, Any]] = []
        for split, corpora in outputs.read(Compile).corpora.items() if Compile.name in outputs.manifests else ():
            for corpus, counts in corpora.items():
                own = cleaned.get(split, {}).get(corpus)
                rows.append(
                    {
                        "split": split,
                        "corpus": corpus,
                        "read": counts.pairs_in,
                        "compiled": counts.pairs_out,
                        "cleaned": None if own is None else own.pairs_out,
                        "encoded": encoded.get((split, corpus)),
                    }
                )
        held_out = outputs.read(Divide).held_out if Divide.name in outputs.manifests else {}
        for (split, corpus), files in held_out.items():
            pairs = sum(file.pairs for file in files)
            rows.append({"split": split, "corpus": corpus, "cleaned": pairs, "encoded": encoded.get((split, corpus))})
        numbers = [(name, pa.int64()) for name in ("read", "compiled", "cleaned", "encoded")]
        return pa.Table.from_pylist(rows, schema=pa.schema([("split", pa.string()), ("corpus", pa.string()), *numbers]))

    @staticmethod
    def _records(outputs: Outputs) -> dict[str, tuple[CorpusInfo, ...]]:
        if Encode.name not in outputs.manifests:
            return {}
        return load_dataset_info(outputs.directory_of(Encode)).corpora

    def pairs(
        self,
        stage: str | None = None,
        split: str = "train",
        *,
        corpus: str | None = None,
        sample: int | None = None,
        seed: int = 0,
        matching: str | None = None,
        first: int | None = None,
    ) -> pa.Table:
        """Returns pairs as a stage left them, as a table; its method ``to_pandas`` returns a DataFrame.

        Args:
            stage: ``compile``, ``clean``, ``divide`` or ``encode``, whose records are decoded, or ``rejected`` for the
                pairs that cleaning dropped; by default, the last stage that has text.
            split: the split.
            corpus: a corpus of the split; None for all.
            sample: pair count to draw at random.
            seed: seed of the sample.
            matching: a regular expression (RE2) that a side must match.
            first: maximum pair count to return without a sample; by default all.

        Raises:
            ArgumentError: there is no such stage, split or corpus.
            NmtPrepError: the stage has not run, or its files are damaged.
        """
        outputs = outputs_in(self.root, STAGES)
        if stage is None:
            cleaned = Clean.name in outputs.manifests and split in outputs.read(Clean).parts
            divided = Divide.name in outputs.manifests and split in outputs.read(Divide).parts
            stage = Divide.name if divided else Clean.name if cleaned else Compile.name
        number = sample if sample is not None else _ALL if first is None else first
        wanted = Wanted(split, corpus, None, matching, number, None if sample is None else seed, pieces=False)
        rows = list(chosen_in(outputs, stage, wanted))
        names = dict.fromkeys(name for row in rows for name in row)  # corpora have different columns
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    @property
    def report(self) -> Page:
        """The report's page, which a notebook shows.

        Raises:
            OutputError: there is none.
        """
        path = self.root / Report.directory / "index.html"
        if not path.is_file():
            raise OutputError(f"{self.root} has no report yet; run its config to the end")
        return Page(path)


def open_run(run: str | os.PathLike[str]) -> Run:
    """Opens an existing run for inspection.

    Args:
        run: the run's directory, or its config.

    Raises:
        ConfigError: the config cannot be read, or is wrong.
        OutputError: there is no run.
    """
    path = Path(run)
    root = load_config(path).run_dir if path.is_file() else path
    if not outputs_in(root, STAGES).manifests:
        raise OutputError(f"{root} is not the directory of a run; nmt_prep.run makes one from a config")
    return Run(root)
