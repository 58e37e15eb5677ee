"""Tests of the batch that is printed at the end of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.cli.preview import batch_preview
from nmt_prep.subwords import load_tokenizer
from tests.corpus import corpus_config

SENTENCEPIECE = {"kind": "sentencepiece", "size": 60, "model_type": "bpe", "shared": True}


@pytest.mark.parametrize(
    "vocab",
    [
        {"size": 120, "shared": True, "reserved": ["<2zh>"]},
        {**SENTENCEPIECE, "options": {"hard_vocab_limit": False, "control_symbols": ["<2zh>"]}},
    ],
    ids=["t2t", "sentencepiece"],
)
def test_tags_are_shown_by_their_names(tmp_path: Path, vocab: dict[str, Any]) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t猫\n" * 20, encoding="utf-8")
    corpus = {"name": "a", "url": "a.tsv", "tag": {"source": "<2zh>"}}
    config = corpus_config(tmp_path / "run", splits={"train": [corpus]}, vocab=vocab)
    nmt_prep.run(config, base_dir=tmp_path)
    [head, ids, source, _, target, *_] = batch_preview(config).splitlines()
    assert head.startswith("a batch: source [")
    [path] = (tmp_path / "run" / "vocab").glob("vocab.small.*")
    assert ids.split()[2] == str(load_tokenizer(path).piece_id("<2zh>"))
    assert (source, target) == ("  source:     <2zh> the cat", "  target:     猫")


@pytest.mark.parametrize("layout", ["example", "chunk", "packed"])
def test_preview_of_every_layout(tmp_path: Path, layout: str) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t猫\n" * 20, encoding="utf-8")
    splits = {"train": [{"name": "a", "url": "a.tsv"}]}
    config = corpus_config(tmp_path / "run", splits=splits, vocab={"size": 120}, records={"layout": layout})
    nmt_prep.run(config, base_dir=tmp_path)
    head, ids, source, _, target, *_ = batch_preview(config).splitlines()
    assert head == f"a batch: source [20, {len(ids.split()[2:])}], target [20, 2], int32"
    assert (source, target) == ("  source:     the cat", "  target:     猫")
