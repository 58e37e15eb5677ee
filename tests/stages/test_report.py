from __future__ import annotations

import json
from pathlib import Path

import nmt_prep
from tests.corpus import corpus_config, write_corpus


def test_the_report_in_words(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    nmt_prep.run(corpus_config(tmp_path / "run"), base_dir=tmp_path)
    lines = (tmp_path / "run" / "report" / "summary.txt").read_text("utf-8").splitlines()
    assert lines[:8] == [
        "small: en → zh",
        "",
        "corpora",
        "  train/x: 301 pairs in, 300 out, dropped: empty_target 1",
        "  dev/y: 20 pairs in, 20 out, dropped: none",
        "",
        "vocabularies",
        "  source: 112 pieces, t2t, vocab.small.200.subwords.en",
    ]
    warning = (
        "the source vocabulary has 112 pieces, but 200 were asked for (vocab.size): the sample gives no more; "
        "sample more text (sample.bytes_per_corpus) or ask for fewer"
    )
    assert lines[lines.index("warnings") + 1] == f"  {warning}"
    assert json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())["warnings"][0] == {
        "code": "small_vocabulary",
        "text": warning,
        "corpus": None,
        "split": None,
        "side": "source",
        "value": 112.0,
        "share": None,
    }
    assert lines[-2].startswith("  train: 300 pairs in 3 shards, ")
    assert lines[-1].startswith("  dev: 20 pairs in 1 shard, ")
