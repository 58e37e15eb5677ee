from __future__ import annotations

import json
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.base.errors import VocabularyError
from nmt_prep.stages.report import Report
from nmt_prep.subwords import ByteBPETokenizer
from tests.corpus import corpus_config, write_corpus


def test_the_report_compares_the_vocabulary_with_others(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    ByteBPETokenizer.train(["a"], 258).save(tmp_path / "other.tokenizer.json")
    config = corpus_config(tmp_path / "run", vocab={"size": 200, "compare": [str(tmp_path / "other.tokenizer.json")]})
    nmt_prep.run(config)
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())
    own, other = summary["comparison"].values()
    assert [*summary["comparison"]] == ["of the run", str(tmp_path / "other.tokenizer.json")]
    assert own["source (en)"]["pieces"] == summary["pieces"]["source"]["tokens"]
    mean = summary["lengths"]["train"]["means"]["source"]["char"]
    assert round(other["source (en)"]["characters"] / 300, 3) == mean
    assert (other["source (en)"]["characters"], other["source (en)"]["pieces"]) == (8867, 8954)
    assert other["target (zh)"]["size"] == 258
    (tmp_path / "other.tokenizer.json").write_text("{")
    with pytest.raises(VocabularyError, match=r"vocab\.compare\.0: .*other\.tokenizer\.json is not valid JSON"):
        nmt_prep.run(corpus_config(tmp_path / "new", vocab={"size": 200, "compare": [config.vocab.compare[0][0]]}))
    assert not (tmp_path / "new" / "compiled").exists()  # the check comes before any work


def test_a_section_without_keys_is_a_setting(tmp_path: Path) -> None:
    config = corpus_config(tmp_path, align={}, sample={"made": True})
    settings = Report().settings(config)
    assert (settings["align"], settings["sample.made"]) == ({}, True)


def test_the_report_in_words(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    fixes = [{"replace": {"pattern": "absent", "label": each}} for each in "ba"]
    clean = {"preset": "none", "fix": {"target": fixes, "source": fixes}}
    nmt_prep.run(corpus_config(tmp_path / "run", clean=clean))
    lines = (tmp_path / "run" / "report" / "summary.txt").read_text("utf-8").splitlines()
    assert lines[0] == "small: en → zh"
    assert lines[1].startswith("nmt_prep:0.1.0|pair:en-zh|train:300.")
    table = [line.split() for line in lines[lines.index("") :]]
    assert ["train/x", "301", "300", "99.7%"] in [line[:4] for line in table]
    assert ["dev/y", "20", "20", "100.0%"] in [line[:4] for line in table]
    assert ["train/x", "reading", "empty_target", "1", "0.3%"] in table
    assert ["pieces", "111"] in [line[:2] for line in table]
    repaired = ["b.target", "a.target", "b.source", "a.source"]  # in the config's order
    assert [line[-2] for line in table[table.index(["repaired", "text", "fix", "lines"]) + 1 :][:4]] == repaired
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())
    assert [*summary["flow"]["train"]["x"]["fixed"]] == [*summary["clean"]["train"]["x"]["altered"]] == repaired
    warning = (
        "the source vocabulary has 111 pieces, but 200 were requested (vocab.size): the sample gives no more; "
        "sample more text (sample.bytes_per_corpus) or request fewer"
    )
    assert lines[3] == f"warning: {warning}"
    assert summary["warnings"][0] == {
        "code": "small_vocabulary",
        "text": warning,
        "corpus": None,
        "split": None,
        "side": "source",
        "value": 111.0,
        "share": None,
        "stage": "vocab",
    }
    assert lines[-2].split()[:3] == ["train", "300", "3"]
    assert lines[-1].split()[:3] == ["dev", "20", "1"]
    assert max(map(len, lines[2:])) < 200
