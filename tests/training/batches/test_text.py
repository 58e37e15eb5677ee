"""Records of layout text: the IDs that loaders make of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError, RecordsError
from nmt_prep.runs.checks import check_config
from nmt_prep.training.batches.source import BatchSource
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.text_records import TextEncoder, read_text

SUBWORDS = {"source": {"dropout": 0.3}, "target": {"dropout": 0.2}}
WORDS = ["the", "red", "blue", "house", "garden", "stands", "behind", "a", "small", "old", "tree", "near", "river"]

CONFIG: dict[str, Any] = {
    "name": "t",
    "languages": {"source": "en", "target": "de"},
    "seed": 1,
    "splits": {
        "train": [
            {"name": "a", "url": {"source": "a.en", "target": "a.de"}},
            {"name": "b", "url": {"source": "b.en", "target": "b.de"}, "tag": {"source": "<b>"}},
        ],
        "dev": [{"name": "dev", "url": {"source": "b.en", "target": "b.de"}}],
    },
    "vocab": {"kind": "sentencepiece", "model_type": "bpe", "size": 120, "reserved": ["<b>"]},
    "align": {"pairs": 1000, "splits": ["train"]},
}


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
    for layout in ("chunk", "text"):
        records = {"layout": layout, "shards": {"train": 3}}
        config = {**CONFIG, "output_dir": str(directory / layout), "records": records}
        nmt_prep.run(check_config(config, "test config").within(directory))
    return {layout: directory / layout for layout in ("chunk", "text")}


def rows(run: Path, split: str = "train", **options: Any) -> list[Any]:
    batches = nmt_prep.read_records(run, split, corpus_ids=True, **{"batch_tokens": 300, "seed": 2} | options)
    return [(b.source.to_lists(), b.target.to_lists(), b.corpora.tolist()) for b in batches if b.corpora is not None]


@pytest.mark.parametrize(
    "options", [{"split": "train"}, {"split": "dev"}, {"weights": {"a": 0.5, "b": 2.25}}], ids=["train", "dev", "mixed"]
)
def test_batches_are_those_of_chunks(runs: dict[str, Path], options: dict[str, Any]) -> None:
    assert rows(runs["text"], **options) == rows(runs["chunk"], **options)


def test_subwords_differ_from_epoch_to_epoch_alone(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = rows(runs["text"], subwords=SUBWORDS)
    monkeypatch.setattr("nmt_prep.subwords.sentencepiece.tokenizer.available_cores", lambda: 5)
    assert rows(runs["text"], subwords=SUBWORDS) == first
    assert rows(runs["text"], subwords=SUBWORDS, epoch=1) != first
    assert rows(runs["text"]) != first
    for source, target, _ in first:
        assert len(source) * max(*map(len, source), *map(len, target)) <= 300


def test_buckets_hold_pairs_whose_lengths_were_not_known(runs: dict[str, Path]) -> None:
    options: dict[str, Any] = {"subwords": {"source": {"dropout": 0.9}}, "bucketing": "optimal"}
    pairs = [pair for batch in rows(runs["text"], **options, max_length=80) for pair in batch[0]]
    assert (len(pairs), max(map(len, pairs)) > max(len(pair) for batch in rows(runs["text"]) for pair in batch[0])) == (
        *(1100, True),
    )
    with pytest.raises(ArgumentError, match="not text without a prompt; set"):
        nmt_prep.read_records(runs["text"], "train", features="causal")
    with pytest.raises(ArgumentError, match="buckets need max_length if the lengths are known only after encoding"):
        rows(runs["text"], **options, max_length=None)


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


def test_batches_of_a_number_of_pairs_are_skipped_without_encoding(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {
        "subwords": SUBWORDS,
        "batch_tokens": None,
        "batch_size": 7,
        "bucketing": "window",
        "max_length": None,
    }
    whole = rows(runs["text"], **options)
    assert rows(runs["text"], skip_batches=100, **options) == whole[100:]
    monkeypatch.setattr(TextEncoder, "pairs", lambda *_: pytest.fail("it encodes"))
    assert rows(runs["text"], skip_batches=len(whole), **options) == []


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
    found = [(batch.source_sequence_length.numpy().tolist(), batch.corpora.numpy().tolist()) for batch in dataset]
    assert found == [([len(row) for row in source], corpora) for source, _, corpora in expected]


@pytest.mark.parametrize(
    ("subwords", "message"),
    [
        (3, "subwords is 3; give a mapping such as"),
        ({"source": {"alpha": 0.5}}, r"subwords\.source: this is a bpe model"),
        ({"en": {"dropout": 0.5}}, "subwords names the side 'en'; the sides are source and target"),
        ({"target": {"drop": 0.5}}, r"subwords\.target is \{'drop': 0\.5\}; give a mapping with"),
        ({"target": {"dropout": 2.0}}, r"subwords\.target: dropout 2\.0"),
    ],
)
def test_options_that_the_vocabulary_lacks_are_refused(runs: dict[str, Path], subwords: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rows(runs["text"], subwords=subwords)


def test_subwords_are_for_text_and_train(runs: dict[str, Path]) -> None:
    with pytest.raises(ArgumentError, match="need records of layout text, not chunk"):
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


@pytest.mark.parametrize("training", [None, {"modifiers": [{"UpperCase": 0.5}]}])
def test_a_shard_that_is_replaced_while_it_is_read(runs: dict[str, Path], tmp_path: Path, training: Any) -> None:
    run = Path(shutil.copytree(runs["text"], tmp_path / "run"))
    source = BatchSource(run, "train", batch_tokens=300, training=training)
    path = min((run / "records").glob("t-train-*"))
    beside = tmp_path / "other"
    beside.write_bytes(path.read_bytes().replace(b"garden", b"gerden"))
    beside.replace(path)
    with pytest.raises(RecordsError, match=f"{path}: was changed while it was read; begin again from a saved state"):
        list(source)


STAGES = {
    "stages": [
        {"name": "first", "mix": {"a": 3.0, "b": 1.0}, "until": {"rows": 1500}},
        {"name": "last", "mix": {"b": 1.0}, "until": {"b": 3}, "modifiers": [{"UpperCase": 0.5}, {"Merge": 0.1}]},
    ]
}


def test_epochs_are_parts_of_the_stream(runs: dict[str, Path]) -> None:
    """An epoch has as many rows as the split has pairs, and the last one ends with the last stage."""
    epochs = [rows(runs["text"], training=STAGES, epoch=epoch) for epoch in range(4)]
    corpora = [[corpus for *_, listed in epoch for corpus in listed] for epoch in epochs]
    assert len(corpora[0]) == 1100
    assert 0.7 < corpora[0].count(0) / 1100 < 0.8
    assert set(corpora[2]) == {1}
    assert len(corpora[2]) < 1100  # the stages end, and pairs are merged
    assert corpora[3] == []
    parts = [rows(runs["text"], training=STAGES, rank=rank, world_size=2, epoch=1) for rank in range(2)]
    assert [sum(len(batch[0]) for batch in part) for part in parts] == [502, 503]
    pairs = [pair for part in parts for batch in part for pair in zip(*batch, strict=True)]
    assert sorted(pairs) == sorted(pair for batch in epochs[1] for pair in zip(*batch, strict=True))
    assert rows(runs["text"], training=STAGES, epoch=1, skip_batches=3) == epochs[1][3:]


def test_modifiers_and_subwords_together(runs: dict[str, Path]) -> None:
    plain = {"modifiers": [{"UpperCase": 0.5}]}
    upper = rows(runs["text"], training=plain)
    tokenizer = nmt_prep.load_tokenizer(next((runs["text"] / "vocab").glob("*.model")))
    unknown = [tokenizer.unk_id in source for batch in upper for source in batch[0]]  # it has no capitals
    assert 0.4 < sum(unknown) / len(unknown) < 0.6
    sampled = rows(runs["text"], training={**plain, "subwords": SUBWORDS})
    assert sampled == rows(runs["text"], training=plain, subwords=SUBWORDS)
    assert sampled != upper
    assert rows(runs["text"], training={"subwords": SUBWORDS}) == rows(runs["text"], subwords=SUBWORDS)


def test_tensorflow_gets_the_same_stages(runs: dict[str, Path]) -> None:
    pytest.importorskip("tensorflow")
    dataset = nmt_prep.make_dataset(
        runs["text"], "train", batch_tokens=300, seed=2, training=STAGES, epoch=1, corpus_ids=True
    )
    expected = rows(runs["text"], training=STAGES, epoch=1)
    assert [batch.corpora.numpy().tolist() for batch in dataset] == [corpora for *_, corpora in expected]


def test_the_training_of_a_config_is_the_default(runs: dict[str, Path]) -> None:
    """It takes a run to note it, which makes no stage again."""
    directory = runs["text"].parent
    file = runs["text"] / "training.json"
    config = {**CONFIG, "output_dir": str(runs["text"]), "training": {"subwords": SUBWORDS}}
    config["records"] = {"layout": "text", "shards": {"train": 3}}
    outcomes = nmt_prep.run(check_config(config, "test config").within(directory))
    try:
        assert [outcome.stage for outcome in outcomes if outcome.ran] == []
        assert rows(runs["text"]) == rows(runs["text"], subwords=SUBWORDS, training=None)
        assert rows(runs["text"], subwords=None) == rows(runs["chunk"])
        assert rows(runs["text"], "dev") == rows(runs["chunk"], "dev")
    finally:
        file.unlink()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"training": STAGES, "weights": {"a": 2}}, "the training stages mix the corpora, so weights cannot"),
        ({"training": {"stages": [{"name": "x"}]}}, r"training: stages\.0\.mix: Field required"),
        ({"training": STAGES, "shuffle": False}, "shuffle=False cannot be combined with stages and modifiers"),
    ],
)
def test_wrong_training(runs: dict[str, Path], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        list(nmt_prep.read_records(runs["text"], "train", **options))
