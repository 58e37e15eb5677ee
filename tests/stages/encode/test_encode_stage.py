from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep import load_tokenizer
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.config import Config
from nmt_prep.stages.encode import encode_tasks
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.vocab import vocab_training as training
from nmt_prep.subwords import T2TTokenizer, facts
from nmt_prep.subwords.facts import describe_vocabulary
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.dataset_json import InputInfo, load_dataset_info
from nmt_prep.training.records.shard_reader import read_shard
from nmt_prep.training.records.writer import SpillWriter
from tests.corpus import corpus_config, lines_of, run_corpus, tree, write_corpus


@pytest.fixture(scope="module")
def up_to_vocab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the corpus and a run whose stages up to vocab are complete."""
    return run_corpus(tmp_path_factory.mktemp("up_to_vocab"), "vocab")


@pytest.fixture
def place(up_to_vocab: Path, tmp_path: Path) -> Path:
    return shutil.copytree(up_to_vocab, tmp_path / "place")


def another(place: Path, name: str) -> Path:
    """Returns the directory of another run with the same stages up to vocab."""
    return shutil.copytree(place / "run", place / name)


def test_dataset_json_describes_the_shards(place: Path) -> None:
    nmt_prep.run(corpus_config(place / "run"), workers=2, until="encode")
    info = check_records(place / "run" / "records")
    assert (info.name, info.layout, info.seed) == ("small", "example", 1)
    assert [corpus.model_dump() for corpus in info.corpora["train"]] == [{"name": "x", "pairs": 300}]
    assert [shard.pairs for shard in info.splits["train"].shards] == [100, 100, 100]
    assert info.splits["dev"].pairs == 20
    assert info.vocab.source.file == "../vocab/vocab.small.200.subwords.en"
    longest = 0
    for shard in info.splits["train"].shards:
        inputs, targets = read_shard(place / "run" / "records" / shard.file)
        assert (len(inputs.values), len(targets.values)) == (shard.source_tokens, shard.target_tokens)
        longest = max(longest, int(inputs.lengths.max()), int(targets.lengths.max()))
    assert info.splits["train"].max_lengths[-1][0] == longest


def test_more_shards_than_pairs(place: Path) -> None:
    write_corpus(place, pairs=3, dev=1)
    nmt_prep.run(corpus_config(place / "run", records={"shards": {"train": 7, "dev": 2}}), until="encode")
    info = check_records(place / "run" / "records")
    assert sorted(shard.pairs for shard in info.splits["train"].shards) == [0, 0, 0, 0, 1, 1, 1]


def test_the_number_of_buckets_changes_no_byte(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = another(place, "small")
    nmt_prep.run(corpus_config(place / "run"), until="encode")
    monkeypatch.setattr(encode_tasks, "_SMALLEST_BUFFER", 500)
    monkeypatch.setattr("nmt_prep.pipeline.engines.engine.BASE_MEMORY", 10**12)
    nmt_prep.run(corpus_config(small), until="encode")
    assert tree(place / "run") == tree(place / "small")


def test_spill_files_of_an_interrupted_run_keep_their_buckets(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nmt_prep.run(corpus_config(another(place, "undisturbed")), until="encode")

    def fail(*arguments: object) -> object:
        raise nmt_prep.NmtPrepError("power")

    with monkeypatch.context() as patch:
        patch.setattr(encode_tasks, "write_shards", fail)
        patch.setattr(encode_tasks, "_SMALLEST_BUFFER", 500)
        patch.setattr("nmt_prep.pipeline.engines.engine.BASE_MEMORY", 10**12)
        with pytest.raises(nmt_prep.NmtPrepError, match="power"):
            nmt_prep.run(corpus_config(place / "run"), until="encode")
    nmt_prep.run(corpus_config(place / "run"), until="encode")
    assert tree(place / "run") == tree(place / "undisturbed")


def test_a_vocabulary_that_differs_from_its_manifest_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = T2TTokenizer.train(["something else"], 100)
    monkeypatch.setattr(facts, "_loaded", inspect.unwrap(facts._loaded))  # which may hold the vocabulary
    monkeypatch.setattr(T2TTokenizer, "load", lambda path: other)
    with pytest.raises(VocabularyError, match="does not match its recorded fingerprint"):
        nmt_prep.run(corpus_config(place / "run"))


def test_layouts_hold_the_same_pairs(place: Path) -> None:
    found = {}
    for layout in ("example", "chunk", "packed"):
        run = another(place, layout)
        records = {"shards": {"train": 3}, "layout": layout, "row_length": 64}
        nmt_prep.run(corpus_config(run, records=records), workers=2, until="encode")
        info = check_records(run / "records")
        assert (info.layout, info.row_length) == (layout, 64 if layout == "packed" else None)
        sides = [read_shard(run / "records" / shard.file, info.layout) for shard in info.splits["train"].shards]
        found[layout] = [list(zip(a.to_lists(), b.to_lists(), strict=True)) for a, b in sides]
    assert found["example"] == found["chunk"]
    assert list(map(sorted, found["packed"])) == list(map(sorted, found["chunk"]))


@pytest.mark.tensorflow
def test_tensorflow_reads_the_shards_without_nmt_prep(place: Path) -> None:
    import tensorflow as tf

    nmt_prep.run(corpus_config(place / "run"), until="encode")
    directory = place / "run" / "records"
    names = [str(directory / shard.file) for shard in load_dataset_info(directory).splits["train"].shards]
    features = {name: tf.io.VarLenFeature(tf.int64) for name in ("inputs", "targets")}
    found = []
    for batch in tf.data.TFRecordDataset(names).batch(64):
        parsed = tf.io.parse_example(batch, features)
        sides = (tf.RaggedTensor.from_sparse(parsed[name]).to_list() for name in ("inputs", "targets"))
        found += list(zip(*sides, strict=True))
    expected = []
    for name in names:
        inputs, targets = read_shard(name)
        expected += list(zip(inputs.to_lists(), targets.to_lists(), strict=True))
    assert found == expected
    assert len(found) == 300


def test_changed_input_options_rewrite_only_dataset_json(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anew = another(place, "anew")
    nmt_prep.run(corpus_config(place / "run"))
    shards = {path: path.read_bytes() for path in (place / "run" / "records").rglob("small-*")}
    info = load_dataset_info(place / "run" / "records")
    assert info.input == InputInfo(batch_tokens=4096, max_length=256)
    changed = corpus_config(place / "run", input={"max_length": 64})
    assert [step.reason for step in nmt_prep.plan(changed) if step.stage == "encode"] == [
        "config input.max_length changed 256 → 64"
    ]
    with monkeypatch.context() as patch:
        patch.setattr(Encode, "work", None)
        nmt_prep.run(changed)
    renewed = check_records(place / "run" / "records")
    assert renewed == info.model_copy(update={"input": InputInfo(batch_tokens=4096, max_length=64)})
    assert {path: path.read_bytes() for path in shards} == shards
    assert all(step.fresh for step in nmt_prep.plan(changed))
    nmt_prep.run(corpus_config(anew, input={"max_length": 64}))
    assert tree(place / "run") == tree(anew)


def test_a_licence_rewrites_only_dataset_json_and_the_report(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def licensed(name: str, licence: str | None) -> Config:
        train = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "licence": licence}
        dev = {"name": "y", "url": "dev.tgz", "source": "d/x.en.sgm", "target": "d/x.zh.sgm"}
        return corpus_config(place / name, splits={"train": [train], "dev": [dev]})

    anew = another(place, "anew")
    nmt_prep.run(licensed("run", None))
    records = place / "run" / "records"
    assert b"licence" not in (records / "dataset.json").read_bytes()
    info = load_dataset_info(records)
    changes = " is new", '.train.x changed "CC0-1.0" → "CC-BY-4.0"'
    for licence, change in zip(("CC0-1.0", "CC-BY-4.0"), changes, strict=True):
        config = licensed("run", licence)
        assert [(step.stage, step.reason) for step in nmt_prep.plan(config) if not step.fresh] == [
            ("encode", f"config licences{change}"),
            ("report", f"follows encode; config licences{change}"),
        ]
        with monkeypatch.context() as patch:
            patch.setattr(Encode, "work", None)
            nmt_prep.run(config)
    renewed = check_records(records)
    assert [corpus.licence for corpus in (*renewed.corpora["train"], *renewed.corpora["dev"])] == ["CC-BY-4.0", None]
    assert renewed.model_copy(update={"corpora": info.corpora}) == info
    nmt_prep.run(licensed("anew", "CC-BY-4.0"))
    assert tree(place / "run") == tree(anew)


def test_damaged_shards_are_not_kept_when_input_options_change(place: Path) -> None:
    nmt_prep.run(corpus_config(place / "run"), until="encode")
    shard = place / "run" / "records" / "small-train-00001-of-00003"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    nmt_prep.run(corpus_config(place / "run", input={"max_length": 64}), until="encode")
    assert shard.read_bytes() == content


TAGS = ["<2zh>", "<2en>"]
SENTENCEPIECE = {"kind": "sentencepiece", "size": 60, "model_type": "bpe"}
VOCABULARIES: dict[str, dict[str, Any]] = {
    "t2t": {"size": 120, "reserved": TAGS},
    "byte_bpe": {"kind": "byte_bpe", "size": 300, "reserved": TAGS, "shared": True},
    "sentencepiece": {**SENTENCEPIECE, "reserved": TAGS, "options": {"hard_vocab_limit": False}},
    "control": {**SENTENCEPIECE, "shared": True, "options": {"hard_vocab_limit": False, "control_symbols": TAGS}},
}
PLAIN = [("the cat sat", "猫坐"), ("see <2zh> here", "看<2zh>"), ("a mat", "垫子")] * 10
TAGGED = [("a dog ran", "狗跑"), ("a tag <2zh> too", "标签<2zh>")] * 10


def config_of(place: Path, vocab: dict[str, Any], tag: dict[str, str] | None, run: str = "run") -> Config:
    for name, pairs in (("p", PLAIN), ("t", TAGGED)):
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (place / f"{name}.tsv").write_text(text, encoding="utf-8")
    plain, tagged = ({"name": name, "url": f"{name}.tsv"} for name in "pt")
    splits = {"train": [plain, {**tagged, **({"tag": tag} if tag else {})}]}
    records, outputs = {"shards": {"train": 2}}, [{"kind": "text"}]
    return corpus_config(place / run, splits=splits, vocab=vocab, records=records, outputs=outputs)


def rows(run: Path) -> tuple[list[list[int]], list[list[int]]]:
    """Returns all rows of both sides."""
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for shard in check_records(run / "records").splits["train"].shards:
        for side, read in zip(sides, read_shard(run / "records" / shard.file), strict=True):
            side.extend(read.to_lists())
    return sides


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_a_tag_is_encoded_as_its_piece(tmp_path: Path, kind: str) -> None:
    nmt_prep.run(config_of(tmp_path, VOCABULARIES[kind], {"source": "<2zh>"}), until="outputs")
    run = tmp_path / "run"
    info = load_dataset_info(run / "records")
    source, target = (load_tokenizer(run / "records" / side.file) for side in (info.vocab.source, info.vocab.target))
    tag = source.piece_id("<2zh>")
    expected = [[*source.encode_batch([line]).to_lists()[0], source.eos_id] for line, _ in PLAIN]
    expected += [[tag, *source.encode_batch([line]).to_lists()[0], source.eos_id] for line, _ in TAGGED]
    inputs, targets = rows(run)
    assert sorted(inputs) == sorted(expected)
    assert sorted(targets) == sorted(
        [*target.encode_batch([line]).to_lists()[0], target.eos_id] for _, line in PLAIN + TAGGED
    )
    # The string <2zh> in a corpus is text, unless it is a user-defined symbol of SentencePiece.
    assert sum(row.count(tag) for row in inputs) == (20 + 10 + 10 if kind == "sentencepiece" else 20)
    assert info.splits["train"].source_tokens == sum(map(len, expected))

    exported = [line for n in range(2) for line in lines_of(run / "outputs/text" / f"train-{n:05d}-of-00002.en")]
    piece = source.pieces[tag]
    assert sorted(line.split(" ")[0] == piece for line in exported) == [False] * len(PLAIN) + [True] * len(TAGGED)
    assert piece in lines_of(run / "outputs/text/vocab.en")


def test_dataset_json_and_report_name_the_tags(tmp_path: Path) -> None:
    nmt_prep.run(config_of(tmp_path, VOCABULARIES["t2t"], {"source": "<2zh>", "target": "<2en>"}))
    written = json.loads((tmp_path / "run" / "records" / "dataset.json").read_bytes())["corpora"]["train"]
    tags = {"source": "<2zh>", "target": "<2en>"}
    assert written == [{"name": "p", "pairs": 30}, {"name": "t", "pairs": 20, "tag": tags}]
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())["corpora"]["train"]
    assert ("tag" in summary["p"], summary["t"]["tag"]) == (False, tags)
    lines = (tmp_path / "run" / "report" / "summary.txt").read_text("utf-8").splitlines()
    shown = "source tag <2zh>; target tag <2en>"
    assert [line.endswith(shown) for line in lines if line.startswith("train/")] == [False, True]


def test_another_tag_encodes_again_and_compiles_nothing(tmp_path: Path) -> None:
    def ran(tag: dict[str, str] | None) -> list[str]:
        outcomes = nmt_prep.run(config_of(tmp_path, VOCABULARIES["t2t"], tag))
        return [outcome.stage for outcome in outcomes if outcome.ran]

    ran(None)
    untagged = tree(tmp_path / "run" / "records")
    [*_, encode, _, _] = nmt_prep.plan(config_of(tmp_path, VOCABULARIES["t2t"], {"source": "<2zh>"}))
    assert (encode.stage, encode.reason) == ("encode", "config splits.train.t.tag is new")
    assert ran({"source": "<2zh>"}) == ["encode", "outputs", "report"]
    tagged = tree(tmp_path / "run" / "records")
    assert ran({"source": "<2en>"}) == ["encode", "outputs", "report"]
    assert ran(None) == ["encode", "outputs", "report"]
    assert tree(tmp_path / "run" / "records") == untagged != tagged


def test_a_tag_without_a_piece_ends_the_run_before_any_row_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("a row was encoded")

    config = config_of(tmp_path, VOCABULARIES["t2t"], {"target": "<2zh>"})
    # As from a trainer that does not create the piece.
    monkeypatch.setattr(training, "describe_vocabulary", lambda *given: describe_vocabulary(*given[:3], []))
    monkeypatch.setattr(SpillWriter, "__init__", never)
    with pytest.raises(VocabularyError) as caught:
        nmt_prep.run(config)
    assert str(caught.value) == (
        "splits.train.t.tag.target: '<2zh>' is not a piece of vocab.small.120.subwords.zh; add it to vocab.reserved"
    )


@pytest.mark.parametrize(
    "vocab",
    [
        {"size": 100},
        {"kind": "byte_bpe", "size": 300, "reserved": ["<2zh", "2zh>"]},
        {"kind": "sentencepiece", "options": {"control_symbols": "<2en>,<2de>"}},
    ],
)
def test_a_tag_that_is_not_reserved_is_a_config_error(tmp_path: Path, vocab: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"splits\.train\.t\.tag\.source is '<2zh>', which is not in vocab\.reserved"):
        config_of(tmp_path, vocab, {"source": "<2zh>"})


def test_a_single_string_as_control_symbols(tmp_path: Path) -> None:
    vocab = {"kind": "sentencepiece", "options": {"control_symbols": "<2en>,<2zh>"}}
    [_, corpus] = config_of(tmp_path, vocab, {"source": "<2zh>"}).splits["train"]
    assert corpus.tags == {"source": "<2zh>"}
