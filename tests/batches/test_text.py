"""Records of layout text: the ids that loaders make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nmt_prep
from nmt_prep.batches.source import BatchSource
from nmt_prep.checks import check_config
from nmt_prep.errors import ArgumentError, RecordsError
from nmt_prep.records.check import check_records
from nmt_prep.records.text import read_text

SUBWORDS = {"source": {"dropout": 0.3}, "target": {"dropout": 0.2}}
WORDS = ["the", "red", "blue", "house", "garden", "stands", "behind", "a", "small", "old", "tree", "near", "river"]


def sentence(number: int, words: int) -> str:
    return " ".join(WORDS[(number * 7 + word * (1 + number % 5)) % len(WORDS)] for word in range(words))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same two corpora, one with a tag, in layouts chunk and text."""
    directory = tmp_path_factory.mktemp("text")
    for corpus, count in (("a", 700), ("b", 400)):
        for side, words in (("en", 5), ("de", 3)):
            lines = (sentence(number, words + number % 9) for number in range(count))
            (directory / f"{corpus}.{side}").write_text("".join(f"{line} {corpus}\n" for line in lines))
    train = [
        {"name": "a", "url": {"source": "a.en", "target": "a.de"}},
        {"name": "b", "url": {"source": "b.en", "target": "b.de"}, "tag": {"source": "<b>"}},
    ]
    dev = [{"name": "dev", "url": {"source": "b.en", "target": "b.de"}}]
    for layout in ("chunk", "text"):
        config = {
            "name": "t",
            "languages": {"source": "en", "target": "de"},
            "output_dir": str(directory / layout),
            "seed": 1,
            "splits": {"train": train, "dev": dev},
            "vocab": {"kind": "sentencepiece", "model_type": "bpe", "size": 120, "reserved": ["<b>"]},
            "records": {"layout": layout, "shards": {"train": 3}},
            "align": {"pairs": 1000, "splits": ["train"]},
        }
        nmt_prep.run(check_config(config, "test config").within(directory))
    return {layout: directory / layout for layout in ("chunk", "text")}


def rows(run: Path, split: str = "train", **options: Any) -> list[Any]:
    batches = nmt_prep.read_records(run, split, corpus_ids=True, batch_tokens=300, seed=2, **options)
    return [(b.source.to_lists(), b.target.to_lists(), b.corpora.tolist()) for b in batches if b.corpora is not None]


@pytest.mark.parametrize("split", ["train", "dev"])
def test_batches_are_those_of_chunks(runs: dict[str, Path], split: str) -> None:
    assert rows(runs["text"], split) == rows(runs["chunk"], split)


def test_corpora_are_mixed_as_in_chunks(runs: dict[str, Path]) -> None:
    weights = {"a": 0.5, "b": 2.25}
    assert rows(runs["text"], weights=weights) == rows(runs["chunk"], weights=weights)


def test_subwords_differ_from_epoch_to_epoch_alone(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = rows(runs["text"], subwords=SUBWORDS)
    monkeypatch.setattr("nmt_prep.subwords.sentencepiece.tokenizer.available_cores", lambda: 5)
    assert rows(runs["text"], subwords=SUBWORDS) == first
    assert rows(runs["text"], subwords=SUBWORDS, epoch=1) != first
    assert rows(runs["text"]) != first
    for source, target, _ in first:
        assert len(source) * max(*map(len, source), *map(len, target)) <= 300


def test_sampled_batches_resume_and_are_divided(runs: dict[str, Path]) -> None:
    whole = rows(runs["text"], subwords=SUBWORDS, epoch=3)
    for done in (1, len(whole) // 2, len(whole)):
        assert rows(runs["text"], subwords=SUBWORDS, epoch=3, skip_batches=done) == whole[done:]
    parts = [
        rows(runs["text"], subwords=SUBWORDS, epoch=3, rank=rank, world_size=3, equal_batches="split")
        for rank in range(3)
    ]
    assert len({len(part) for part in parts}) == 1
    pairs = [pair for part in [whole, *parts] for batch in part for pair in zip(*batch, strict=True)]
    assert sorted(pairs[:1100]) == sorted(pairs[1100:])


def test_a_state_keeps_the_subwords(runs: dict[str, Path]) -> None:
    source = BatchSource(runs["text"], "train", subwords=SUBWORDS)
    next(iter(source))
    state = source.state_dict()
    with pytest.raises(ArgumentError, match="the state was saved with subwords"):
        BatchSource(runs["text"], "train").load_state_dict(state)
    BatchSource(runs["text"], "train", subwords=SUBWORDS).load_state_dict(state)


def test_tensorflow_gets_the_same_batches(runs: dict[str, Path]) -> None:
    pytest.importorskip("tensorflow")
    dataset = nmt_prep.make_dataset(runs["text"], "train", batch_tokens=300, seed=2, subwords=SUBWORDS, corpus_ids=True)
    expected = rows(runs["text"], subwords=SUBWORDS)
    assert [batch.corpora.numpy().tolist() for batch in dataset] == [corpora for *_, corpora in expected]
    lengths = [batch.source_sequence_length.numpy().tolist() for batch in dataset]
    assert lengths == [[len(row) for row in source] for source, *_ in expected]


@pytest.mark.parametrize(
    ("subwords", "message"),
    [
        ({"source": {"alpha": 0.5}}, r"subwords\.source: this is a bpe model"),
        ({"en": {"dropout": 0.5}}, "subwords names the side 'en'; the sides are source and target"),
        ({"target": {"drop": 0.5}}, r"subwords\.target is \{'drop': 0\.5\}; give a mapping with"),
        ({"target": {"dropout": 2.0}}, r"subwords\.target: dropout 2\.0"),
    ],
)
def test_options_that_the_vocabulary_lacks_are_refused(
    runs: dict[str, Path], subwords: dict[str, dict[str, float]], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        rows(runs["text"], subwords=subwords)


def test_subwords_are_for_text_and_train(runs: dict[str, Path]) -> None:
    with pytest.raises(ArgumentError, match="not for records of layout chunk"):
        rows(runs["chunk"], subwords=SUBWORDS)
    with pytest.raises(ArgumentError, match="not for split dev"):
        rows(runs["text"], "dev", subwords=SUBWORDS)


def test_a_shard_is_an_arrow_file(runs: dict[str, Path]) -> None:
    paths = sorted((runs["text"] / "records").glob("t-train-*"))
    tables = [pa.ipc.open_file(str(path)).read_all() for path in paths]
    assert tables[0].schema.names == ["source", "target", "corpus", "links"]
    corpora = pa.concat_tables(tables)["corpus"].to_pylist()
    assert sorted(corpora) == [0] * 700 + [1] * 400
    assert corpora != sorted(corpora)
    assert read_text(paths[0], 250, 20).to_pylist() == tables[0].to_pylist()[250:270]


def test_a_damaged_shard_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    path = min((runs["text"] / "records").glob("t-train-*"))
    copy = tmp_path / "shard"
    whole = path.read_bytes()
    copy.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RecordsError, match=f"{copy}: cannot be read: .*; restore the file or encode again"):
        read_text(copy, 0, 10)
    copy.write_bytes(whole.replace(b"garden", b"gard\xff\xff"))
    with pytest.raises(RecordsError, match=r"cannot be read: .*UTF8"):
        read_text(copy, 0, 300)
    with pytest.raises(RecordsError, match="of 10 pairs from 365 on"):
        read_text(path, 365, 10)
    check_records(runs["text"] / "records")
