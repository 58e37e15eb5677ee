"""Tags of corpora through the stages, in each dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep import load_tokenizer
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.config import Config
from nmt_prep.stages.vocab import vocab_training as training
from nmt_prep.subwords.facts import describe_vocabulary
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.shard_reader import read_shard
from nmt_prep.training.records.writer import SpillWriter
from tests.corpus import corpus_config, lines_of, tree

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
    assert [line.endswith("source <2zh>; target <2en>") for line in lines if line.startswith("train/")] == [False, True]


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
