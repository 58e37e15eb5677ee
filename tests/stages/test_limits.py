"""Limits of pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError, CleaningError
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.runs.lineage import CorpusRows
from nmt_prep.runs.viewing import Wanted, chosen
from nmt_prep.stages import STAGES
from nmt_prep.stages.limits import Limits
from nmt_prep.stages.pair_files import pair_files
from nmt_prep.text.chain import Chain, Changed
from tests.corpus import lines_of, tree
from tests.stages.runs import config_of

PIECES = [(1, 1), (3, 2), (2, 5), (7, 6), (4, 4), (1, 2), (2, 2), (5, 5)]  # pieces of each pair


def config(directory: Path, limits: dict[str, Any], **more: Any) -> Any:
    """Returns a config of words of one piece, with every fourth pair held out."""
    for side, number in (("en", 0), ("zh", 1)):
        text = [" ".join(["xy" * 8] * pieces[number]) for pieces in PIECES]
        (directory / f"x.{side}").write_text("".join(f"{line}\n" for line in text))
    held = {"hold_out": {"every": 4, "split": "valid", "duplicates": "keep"}}
    train = {"name": "x", "url": {"source": "x.en", "target": "x.zh"}, **held}
    (directory / "t.en").write_text("xy " * 9)
    test = {"name": "t", "url": {"source": "t.en", "target": "t.en"}}
    vocab = {"kind": "subword_nmt", "merges": 40, "shared": True}
    return config_of(directory, train, splits={"test": [test]}, limits={"pieces": limits}, vocab=vocab, **more)


@pytest.mark.parametrize(
    ("limits", "train", "valid"),
    [
        ({"max": 5}, [0, 1, 2, 4, 5, 6], [7]),
        ({"ratio": 1.5}, [0, 1, 4, 6], [3, 7]),  # a ratio equal to the limit stays
        ({"min": 2, "max": 6, "ratio": None}, [1, 2, 4, 6], [7]),
        ({"max": 3}, [0, 1, 5, 6], []),
    ],
)
def test_train_and_what_is_held_out_of_it_are_limited(
    tmp_path: Path, limits: dict[str, Any], train: list[int], valid: list[int]
) -> None:
    made = config(tmp_path, limits, clean={"preset": "none", "rejects": "all"}, outputs=[{"kind": "text"}])
    nmt_prep.run(made)
    outputs = outputs_in(made.run_dir, STAGES, made)
    dropped = {*range(8)} - {*train, *valid}
    for split, rows in (("train", train), ("valid", valid)):
        parts = pair_files(outputs)[split]
        assert [row for part in parts for batch in part.batches() for row in batch["row"].to_pylist()] == rows
        assert len(lines_of(tmp_path / "run" / "outputs" / "text" / f"{split}-00000-of-00001.en")) == len(rows)
    for row in dropped:
        split = "valid" if row in (3, 7) else "train"
        finder = CorpusRows(outputs, split, "x")
        with pytest.raises(ArgumentError, match=f"row {row} of x was dropped by limits: limits/pieces, "):
            finder.find(pair_files(outputs)[split], row)
    flow = json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())["flow"]
    reasons = [drop for split in flow.values() for drop in split.get("x", split.get("t"))["drops"]]
    assert sum(drop["pairs"] for drop in reasons if drop["reason"] == "limits/pieces") == len(dropped)
    assert {split: counts["x"].pairs_out for split, counts in outputs.read(Limits).corpora.items()} == {
        "train": len(train),
        "valid": len(valid),
    }


def test_workers_do_not_change_the_files_and_nothing_left_is_an_error(tmp_path: Path) -> None:
    trees = []
    for workers in (1, 3):
        made = config(tmp_path, {"max": 5}, output_dir=str(tmp_path / f"run{workers}"))
        nmt_prep.run(made, workers=workers, until="limits")
        trees.append([tree(made.run_dir / name) for name in ("limited", "rejected_pieces")])
    assert trees[0] == trees[1]
    assert [*trees[0][1]] == ["valid/part-x.parquet"]
    with pytest.raises(CleaningError, match=r"limits.pieces drops all 6 pairs of splits.train.x; raise max"):
        nmt_prep.run(config(tmp_path, {"min": 8}), until="limits")


def test_steps_of_words_run_once_and_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, apply, trees = [0], Chain.apply, []

    def counted(self: Chain, lines: Any, threads: int = 1) -> Changed:
        seen[-1] += len(lines) * any(step.spec[0] == "nfc" for step in self.steps)
        return apply(self, lines, threads)

    monkeypatch.setattr(Chain, "apply", counted)
    for side, end in (("en", " "), ("zh", "\u3000")):
        (tmp_path / f"x.{side}").write_text("".join(f" {side} Cafe\u0301 {number % 7}{end}\n" for number in range(60)))
    train = {"name": "x", "url": {"source": "x.en", "target": "x.zh"}, "hold_out": {"every": 9, "duplicates": "keep"}}
    vocab = {"kind": "subword_nmt", "merges": 10, "words": ["nfc", {"truecase": "train"}, "lowercase"]}
    more = {"outputs": [{"kind": "text", "order": "corpus"}], "sample": {"bytes_per_corpus": "all"}, "vocab": vocab}
    own = {"preset": "none", "overrides": {"x": {"rules": {"limits/tokens": {"words": {"source": ["lowercase"]}}}}}}
    cases = [({}, None), ({"tokens": {}}, None), ({"tokens": {}, "pieces": {}}, None), ({"tokens": {}}, own)]
    for limits, clean in cases:
        run = str(tmp_path / f"run{len(trees)}")
        made = config_of(tmp_path, train, limits=limits, clean=clean, output_dir=run, **more)
        nmt_prep.run(made)
        files = [tree(made.run_dir / name) for name in ("records", "vocab", "outputs")]
        trees.append({**files[0], **files[1], **files[2], "dataset.json": "", "text/output.json": ""})
        seen.append(0)
        shown = next(chosen(made, None, Wanted("train", None, None, None, 1, None, pieces=False)))
        assert [*shown] == ["corpus", "row", "source", "target"]
    assert trees[0] == trees[1] == trees[2] == trees[3]
    assert seen[1:3] == [2 * (60 + 2 * 6), 2 * (60 + 3 * 6)]  # words of the six pairs that are held out are not kept
