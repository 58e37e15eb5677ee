from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.errors import ConfigError
from nmt_prep.records.check import check_records
from nmt_prep.records.dataset_json import load_dataset_info
from nmt_prep.records.index import index_path
from nmt_prep.records.reader import read_shard
from tests.corpus import corpus_config, tree
from tests.outputs.runs import output_config, recorded_ids, run_outputs

T2T = {"size": 200}


@pytest.mark.parametrize(
    ("layout", "recorded"),
    [
        ("example", "chunk"),
        ("chunk", "example"),
        ("packed", "chunk"),
        *(
            pytest.param(*more, marks=pytest.mark.slow)
            for more in [("example",) * 2, ("chunk",) * 2, ("packed", "example")]
        ),
    ],
)
def test_shards_are_those_of_records_with_the_same_options(tmp_path: Path, layout: str, recorded: str) -> None:
    options = {"layout": layout, "row_length": 40}
    outputs = run_outputs(
        tmp_path,
        {"kind": "tfrecord", "shards": {"train": 2}, **options},
        records={"shards": {"train": 3}, "layout": recorded},
        vocab=T2T,
    )
    config = corpus_config(tmp_path / "other", records={"shards": {"train": 2}, **options}, vocab=T2T)
    nmt_prep.run(config, until="encode")
    for split, shards in (("train", 2), ("dev", 1)):
        for number in range(shards):
            name = f"{split}-{number:05d}-of-{shards:05d}"
            ours, theirs = outputs / "tfrecord" / name, tmp_path / "other" / "records" / f"small-{name}"
            assert ours.read_bytes() == theirs.read_bytes()
            assert index_path(ours).read_bytes() == index_path(theirs).read_bytes()
    check_records(outputs / "tfrecord")
    ours, theirs = (load_dataset_info(path) for path in (outputs / "tfrecord", tmp_path / "other" / "records"))
    assert [shard.model_copy(update={"file": f"small-{shard.file}"}) for shard in ours.splits["train"].shards] == [
        *theirs.splits["train"].shards
    ]
    assert (ours.layout, ours.row_length) == (theirs.layout, theirs.row_length)


def test_loaders_read_the_output(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "tfrecord", "layout": "chunk"}, vocab=T2T)
    batches = list(nmt_prep.read_records(outputs / "tfrecord", "train", batch_tokens=4096, max_length=500))
    ids = sorted(row.tolist() for batch in batches for row in batch.source)
    assert ids == sorted(recorded_ids(tmp_path / "run")[0])


def test_records_are_the_same_with_outputs(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "tfrecord"}, vocab=T2T)
    nmt_prep.run(corpus_config(tmp_path / "plain", vocab=T2T), until="encode")
    assert tree(outputs.parent / "records") == tree(tmp_path / "plain" / "records")
    assert (
        read_shard(outputs / "tfrecord" / "dev-00000-of-00001")[0].to_lists() == recorded_ids(outputs.parent, "dev")[0]
    )


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ({"corpus": True}, "outputs.0.corpus: the records always have the number of each pair's corpus; leave it out"),
        ({"layout": "rows"}, "outputs.0.layout: found the text 'rows'; allowed: example, chunk or packed"),
    ],
)
def test_what_records_cannot_do(tmp_path: Path, output: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        output_config(tmp_path, {"kind": "tfrecord", **output})
    assert problem in str(caught.value)
