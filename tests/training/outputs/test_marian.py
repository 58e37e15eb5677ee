from __future__ import annotations

import json
from pathlib import Path

from nmt_prep import load_tokenizer
from tests.corpus import lines_of, pair
from tests.training.outputs.runs import SENTENCEPIECE, recorded_ids, run_outputs


def rows(directory: Path) -> list[tuple[str, ...]]:
    lines = [line for n in range(3) for line in lines_of(directory / f"train-{n:05d}-of-00003.tsv")]
    return [tuple(line.split("\t")) for line in lines]


def test_text_and_models(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "marian"}, vocab=SENTENCEPIECE)
    directory = outputs / "marian"
    names = {f"train-{n:05d}-of-00003.tsv" for n in range(3)} | {"dev-00000-of-00001.tsv", "output.json"}
    assert {path.name for path in directory.iterdir()} == names | {"vocab.en.spm", "vocab.zh.spm"}
    assert sorted(rows(directory)) == sorted(pair(n) for n in range(60))
    for side, (language, ids) in enumerate(zip(("en", "zh"), recorded_ids(tmp_path / "run"), strict=True)):
        model = load_tokenizer(directory / f"vocab.{language}.spm")
        assert model.encode_batch([row[side] for row in rows(directory)]).to_lists() == [row[:-1] for row in ids]


def test_a_shared_model_is_written_once(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "marian"}, vocab={**SENTENCEPIECE, "shared": True})
    assert [path.name for path in (outputs / "marian").glob("vocab*")] == ["vocab.spm"]


def test_pieces_and_lists_of_other_dialects(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "marian"}, vocab={"size": 200})
    directory = outputs / "marian"
    words = load_tokenizer(next((tmp_path / "run" / "vocab").glob("*.zh"))).words()
    assert [row[1] for row in rows(directory)] == [
        " ".join(words[n] for n in row[:-1]) for row in recorded_ids(tmp_path / "run")[1]
    ]
    listed = lines_of(directory / "vocab.zh.txt")
    assert listed[:3] == ["<unk>", "<s>", "</s>"]
    assert {piece for row in rows(directory) for piece in row[1].split(" ")} <= set(listed)


def test_tabs_become_spaces_and_are_counted(tmp_path: Path) -> None:
    lines = [{"s": "one\ttab", "t": "一"}, {"s": "two", "t": "\t二\t二\t"}, {"s": "three", "t": "三"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    splits = {"train": [{"name": "t", "url": "t.jsonl", "fields": {"source": "s", "target": "t"}}]}
    outputs = run_outputs(
        tmp_path,
        {"kind": "marian"},
        splits=splits,
        records={},
        vocab={**SENTENCEPIECE, "size": 20, "options": {"hard_vocab_limit": False}},
    )
    written = lines_of(outputs / "marian" / "train-00000-of-00001.tsv")
    assert sorted(written) == ["one tab\t一", "three\t三", "two\t二 二"]
    manifest = json.loads((tmp_path / "run" / ".nmt_prep" / "manifests" / "outputs.json").read_text())
    assert manifest["counts"]["other"] == {"marian_files": 1, "marian_tabs_replaced": 2}
