"""Unusual separators in every position of a line, from the files to the records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import nmt_prep
from nmt_prep.runs.checks import check_config
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpora.formats.test_alignment import SEPARATORS


def test_pairs_stay_pairs_up_to_the_records(tmp_path: Path) -> None:
    texts = [
        "".join((f"ab{number}"[:at], separator, f"ab{number}"[at:]))
        for number, separator in enumerate(SEPARATORS)
        for at in (1, 2)
    ]
    pairs = [(text, f"source {number}") for number, text in enumerate(texts)]
    pairs += [(f"target {number}", text) for number, text in enumerate(texts)]
    for name, side in zip(("x.en", "x.zh"), zip(*pairs, strict=True), strict=True):
        content = "".join(f"{line}\n" for line in side).encode()
        assert content.count(b"\n") == len(pairs) == 40
        (tmp_path / name).write_bytes(content)
    config = {
        "name": "odd",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(tmp_path / "run"),
        "seed": 1,
        "splits": {"train": [{"name": "x", "url": {"source": "x.en", "target": "x.zh"}}]},
        "vocab": {"size": 100},
    }
    nmt_prep.run(check_config(config, "test config").within(tmp_path))
    root = tmp_path / "run"
    source, target = (nmt_prep.load_tokenizer(path) for path in sorted((root / "vocab").glob("*.subwords.*")))
    [shard] = (root / "records").glob("odd-train-*")
    rows = zip(*(ids.to_lists() for ids in read_shard(shard)), strict=True)
    found = [(source.decode(inputs[:-1]), target.decode(targets[:-1])) for inputs, targets in rows]
    assert Counter(found) == Counter(pairs)
