from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import ConfigError, OutputError, RecordsError
from nmt_prep.training.outputs.output_pairs import IdPairs
from tests.corpus import lines_of, pair, tree, write_corpus
from tests.reference.mmap import read_fairseq
from tests.training.outputs.runs import output_config, run_outputs

RAW = {"kind": "text", "name": "raw", "pieces": False}
BOTH = ({"kind": "text"}, RAW)


def test_nothing_is_written_unless_asked(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    outcomes = nmt_prep.run(output_config(tmp_path))
    assert "outputs" not in [outcome.stage for outcome in outcomes]
    assert not (tmp_path / "run" / "outputs").exists()


def test_a_missing_glossary_ends_a_run_before_its_stages(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    output = {"kind": "huggingface", "rows": "messages", "prompt": "{glossary}{source}", "glossary": "none.tsv"}
    with pytest.raises(
        ConfigError, match=r"^outputs\.huggingface\.glossary: .*/none\.tsv: the glossary cannot be read"
    ):
        nmt_prep.plan(output_config(tmp_path, output))


def test_a_second_run_does_nothing_and_a_changed_output_encodes_nothing(tmp_path: Path) -> None:
    def ran(*outputs: dict[str, Any]) -> list[str]:
        outcomes = nmt_prep.run(output_config(tmp_path, *outputs))
        return [outcome.stage for outcome in outcomes if outcome.ran]

    write_corpus(tmp_path)
    ran(*BOTH)
    first = tree(tmp_path / "run" / "outputs")
    assert ran(*BOTH) == []
    assert ran({"kind": "text", "shards": {"train": 2}}) == ["outputs", "report"]
    assert not (tmp_path / "run" / "outputs" / "raw").exists()
    assert ran(*BOTH) == ["outputs", "report"]
    assert tree(tmp_path / "run" / "outputs") == first


def test_an_output_in_the_order_of_the_corpora(tmp_path: Path) -> None:
    ordered = [{**RAW, "order": "corpus", "shards": {"train": 2}}, {"kind": "text", "order": "corpus"}]
    ids = [{"kind": "fairseq", "order": "corpus"}, {"kind": "megatron", "order": "corpus", "pair": "{source} {target}"}]
    directory = run_outputs(tmp_path, *ordered, *ids, vocab={"kind": "byte_bpe", "size": 300, "shared": True})
    lines = [line for path in sorted(directory.glob("raw/train-*.en")) for line in lines_of(path)]
    assert lines == [pair(number)[0] for number in range(60)]
    made = [line for path in sorted(directory.glob("text/train-*.en")) for line in lines_of(path)]
    assert [line.replace(" ", "").replace("Ġ", " ") for line in made] == [
        line.encode().decode("latin-1") for line in lines
    ]
    sequences = [
        each
        for path in sorted(directory.glob("fairseq/train*.en.idx"))
        for each in read_fairseq(path.with_suffix(""))[0]
    ]
    assert [len(sequence) for sequence in sequences] == [len(line.split(" ")) + 1 for line in made]
    weighted = {"name": "x", "url": "x.tsv", "scores": {"w": 2}}
    with pytest.raises(ConfigError, match=r"outputs.0.order: documents and weights come in the order of the records"):
        output_config(tmp_path, ordered[1], splits={"train": [weighted]}, weight={"from": "score:w"})


def test_memory_and_workers_do_not_change_the_files(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    trees = []
    for number, (workers, memory) in enumerate(((1, "2GB"), (3, "256MB"))):
        config = output_config(tmp_path, *BOTH, run=f"run{number}", engine={"memory": memory})
        nmt_prep.run(config, workers=workers, until="outputs")
        trees.append(tree(tmp_path / f"run{number}" / "outputs"))
    assert trees[0] == trees[1]


def test_the_outputs_of_a_user_are_not_replaced(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    mine = tmp_path / "run" / "outputs" / "text" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(OutputError, match="outputs"):
        nmt_prep.run(output_config(tmp_path, {"kind": "text"}))
    assert mine.read_text() == "mine"


def test_a_shard_that_lacks_pairs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = IdPairs.batches
    monkeypatch.setattr(IdPairs, "batches", lambda self: list(whole(self))[1:])
    with pytest.raises(RecordsError, match=r"0 pairs were read, but the shard has 20"):
        run_outputs(tmp_path, {"kind": "text"})


def test_outputs_are_published(tmp_path: Path) -> None:
    publish = {"url": f"file://{tmp_path}/copy"}
    write_corpus(tmp_path)
    nmt_prep.run(output_config(tmp_path, {"kind": "text"}, publish=publish))
    assert tree(tmp_path / "copy" / "outputs") == tree(tmp_path / "run" / "outputs")
    shutil.rmtree(tmp_path / "copy")
    nmt_prep.run(output_config(tmp_path, {"kind": "text"}, publish={**publish, "stages": ["outputs"]}))
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["nmt_prep-manifest.json", "outputs"]
    listed = json.loads((tmp_path / "copy" / "nmt_prep-manifest.json").read_text())["files"]
    assert "outputs/text/train-00000-of-00003.en" in listed


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        ([{"kind": "txt"}], "outputs.0.kind: found the text 'txt'; did you mean 'text'? allowed: "),
        ([{"name": "x"}], "outputs.0.kind: this key is required, as each of them has a kind"),
        (
            [{"kind": "text"}, {"kind": "text"}],
            "outputs.1.name: outputs.0 is written to outputs/text already; give one",
        ),
        ([{"kind": "text", "shards": {"tset": 3}}], "outputs.0.shards.tset: there is no split 'tset'; the splits are"),
        ([{"kind": "text", "shards": {"train": 0}}], "outputs.0.shards.train: found the number 0; allowed: "),
        ([{"kind": "text", "piece": True}], "outputs.0.piece: unknown key; did you mean 'pieces'?"),
        ([{"kind": "text", "name": "../x"}], "outputs.0.name: found the text '../x'; allowed: letters"),
    ],
)
def test_invalid_outputs(tmp_path: Path, outputs: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        output_config(tmp_path, *outputs)
    assert problem in str(caught.value)


def test_the_section_input_makes_no_output_again(tmp_path: Path) -> None:
    def ran(*outputs: dict[str, Any], **changes: Any) -> dict[str, str]:
        config = output_config(tmp_path, *outputs, **changes)
        return {outcome.stage: outcome.reason for outcome in nmt_prep.run(config) if outcome.ran}

    write_corpus(tmp_path, 60)
    fairseq = {"kind": "fairseq"}
    ran(fairseq)
    assert "outputs" not in ran(fairseq, input={"batch_tokens": 100})
