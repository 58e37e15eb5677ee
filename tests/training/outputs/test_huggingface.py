from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from nmt_prep.base.digests import digest_of
from nmt_prep.training.outputs import output_files as files
from nmt_prep.training.outputs.huggingface import card_config, size_category
from nmt_prep.training.outputs.output_files import parquet_file
from nmt_prep.training.prompts import drawn
from tests.corpus import pair
from tests.training.outputs.runs import SENTENCEPIECE, recorded_ids, run_outputs


def table(directory: Path, split: str = "train", shards: int = 3) -> pa.Table:
    paths = [directory / f"{split}-{n:05d}-of-{shards:05d}.parquet" for n in range(shards)]
    return pa.concat_tables([pq.read_table(path) for path in paths])


def test_translations(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "huggingface", "corpus": True}, vocab={"size": 200})
    rows = table(outputs / "huggingface")
    assert sorted((row["en"], row["zh"]) for row in rows["translation"].to_pylist()) == sorted(map(pair, range(60)))
    assert rows["corpus"].to_pylist() == ["x"] * 60
    assert rows.schema.field("translation").type == pa.struct([("en", pa.string()), ("zh", pa.string())])
    assert json.loads(rows.schema.metadata[b"huggingface"])["info"]["features"] == {
        "translation": {"languages": ["en", "zh"], "_type": "Translation"},
        "corpus": {"dtype": "string", "_type": "Value"},
    }


def test_ids_are_those_of_the_records(tmp_path: Path) -> None:
    outputs = run_outputs(tmp_path, {"kind": "huggingface", "rows": "ids"}, vocab=SENTENCEPIECE)
    rows, (sources, targets) = table(outputs / "huggingface"), recorded_ids(tmp_path / "run")
    assert rows["input_ids"].to_pylist() == sources
    assert rows["labels"].to_pylist() == targets
    assert rows["length"].to_pylist() == [len(row) for row in sources]
    assert [str(field.type) for field in rows.schema] == ["list<element: int32>", "list<element: int32>", "int32"]
    vocabularies = {"source.spm", "target.spm", "vocab.json", "target_vocab.json", "tokenizer_config.json"}
    others = {path.name for path in (outputs / "huggingface").iterdir() if path.suffix != ".parquet"}
    assert others == vocabularies | {"README.md", "output.json"}


def test_conversations(tmp_path: Path) -> None:
    prompts = ["From {source_language}: {source}", "{source} To {target_language}?"]
    chat = {"kind": "huggingface", "rows": "chat", "prompts": prompts}
    again = {**chat, "name": "again", "shards": {"train": 2}, "language_names": {"source": "A", "target": "B"}}
    plain = {"kind": "huggingface", "name": "plain", "shards": {"train": 1}}
    outputs = run_outputs(tmp_path, chat, again, plain, vocab={"size": 200})
    messages = table(outputs / "huggingface")["messages"].to_pylist()
    pairs = table(outputs / "plain", shards=1)["translation"].to_pylist()
    assert [[message["role"] for message in row] for row in messages] == [["user", "assistant"]] * 60
    assert [row[1]["content"] for row in messages] == [row["zh"] for row in pairs]
    choice = drawn(1, "train", 0, 60, [2**31, 2**32])
    filled = [(f"From English: {row['en']}", f"{row['en']} To Chinese?") for row in pairs]
    expected = [both[n] for both, n in zip(filled, choice, strict=True)]
    assert [row[0]["content"] for row in messages] == expected
    others = table(outputs / "again", shards=2)["messages"].to_pylist()  # the prompts do not depend on the shards
    named = [text.replace("From English:", "From A:").replace("Chinese?", "B?") for text in expected]
    assert [row[0]["content"] for row in others] == named


def test_tags_are_left_out_of_chat_rows_or_as_the_config_says(tmp_path: Path) -> None:
    corpus = {"name": "x", "url": "train.tgz", "source": "t/x.en", "target": "t/x.zh", "tag": {"source": "<2zh>"}}
    chat = {"kind": "huggingface", "rows": "chat", "prompts": ["{source}"]}
    text, marian = {"kind": "text", "pieces": False, "vocab": []}, {"kind": "marian"}
    named = {"chat": chat, "rows": {"kind": "huggingface"}, "text": text, "marian": marian}
    outputs = [{**output, "name": name} for name, output in named.items()]
    flags = (True, False)
    outputs += [{**output, "name": f"{name}-{tags}", "tags": tags} for name, output in named.items() for tags in flags]
    vocab, records = {**SENTENCEPIECE, "reserved": ["<2zh>"]}, {"shards": {"train": 3}}
    directory = run_outputs(tmp_path, *outputs, splits={"train": [corpus]}, vocab=vocab, records=records)
    parts = {path.name: [*path.glob("train-*")] for path in directory.iterdir()}
    tagged = {name: sum(b"<2zh>" in part.read_bytes() for part in listed) for name, listed in parts.items()}
    expected = {"chat": 0, "rows": 3, "text": 3, "marian": 3}
    assert tagged == expected | {f"{name}-{tags}": 3 * tags for name in named for tags in flags}
    for path in directory.glob("rows*"):
        assert len(table(path)) == 60
    prompts = table(directory / "chat")["messages"].to_pylist()
    assert {row[0]["content"] for row in prompts} == {pair(number)[0] for number in range(60)}


def test_row_groups_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "GROUP_ROWS", 40)
    monkeypatch.setattr(files, "GROUP_BYTES", 1_000)
    values = np.arange(300)
    sizes = np.where(values % 50 < 10, 150, 3)
    schema = pa.schema([("n", pa.int64())])
    for name, cuts in (("a", [0, 300]), ("b", [0, 1, 8, 8, 49, 50, 222, 300])):
        with parquet_file(tmp_path, name, schema) as file:
            for first, last in pairwise(cuts):
                file.add(pa.record_batch([pa.array(values[first:last])], schema=schema), sizes[first:last])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    read = pq.ParquetFile(tmp_path / "a")
    assert read.read()["n"].to_pylist() == values.tolist()
    groups = [read.metadata.row_group(n).num_rows for n in range(read.num_row_groups)]
    assert groups[:4] == [7, 40, 10, 40]
    assert sum(groups) == 300


def test_the_card(tmp_path: Path) -> None:
    splits = {"train": [{"name": "t", "url": "t.tsv", "licence": "CC-BY-4.0"}, {"name": "u", "url": "u.tsv"}]}
    splits["train"].append({"name": "v", "url": "v.tsv", "licence": "see [here](http://x.org)\n# <b>`a`</b> | *b*\\"})
    for name in "tuv":
        (tmp_path / f"{name}.tsv").write_text("one\t一\ntwo\t二\n")
    outputs = run_outputs(tmp_path, {"kind": "huggingface"}, splits=splits, vocab={"size": 120}, records={})
    _, header, text = (outputs / "huggingface" / "README.md").read_text().split("---\n", 2)
    files = json.loads((outputs / "huggingface" / "output.json").read_bytes())["splits"]["train"]["shards"][0]["files"]
    content = digest_of({file["name"]: file["sha256"] for file in files})[:16]
    config = {"config_name": "default", "description": f"content {content}"}
    assert yaml.safe_load(header) == {
        "language": ["en", "zh"],
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": ["n<1K"],
        "configs": [{**config, "data_files": [{"split": "train", "path": "train-*.parquet"}]}],
    }
    assert "| train | 6 | t, u, v |" in text
    assert "- t: CC-BY-4.0\n- u: not stated\n" in text
    assert "- v: see \\[here\\](http://x.org) \\# \\<b\\>\\`a\\`\\</b\\> \\| \\*b\\*\\\\\n" in text
    sizes = {999: "n<1K", 1_000: "1K<n<10K", 5_000_000_000: "1B<n<10B", 10**11: "10B<n<100B"}
    assert {size: size_category(size) for size in sizes} == sizes


def test_a_card_names_the_content_of_its_config() -> None:
    config = card_config("text", "outputs/text/", ("train", "dev"), {"train-0": "a1", "dev-0": "b2"})
    files = [{"split": split, "path": f"outputs/text/{split}-*.parquet"} for split in ("train", "dev")]
    assert config == {"config_name": "text", "description": "content dd9bb6fecd6e09d7", "data_files": files}
    other = card_config("text", "outputs/text/", ("train", "dev"), {"train-0": "a1", "dev-0": "b3"})
    assert other["description"] != config["description"]


@pytest.mark.filterwarnings("default")
def test_datasets_never_gives_the_rows_of_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    read = []
    for run, pairs in (("first", 50), ("second", 40), ("first", 30)):
        outputs = run_outputs(tmp_path, {"kind": "huggingface"}, pairs=pairs, run=run)
        data = datasets.load_dataset(str(outputs / "huggingface"), split="train", cache_dir=str(tmp_path / "cache"))
        read.append(sorted(row["en"] for row in data["translation"]))
    assert read == [sorted(pair(number)[0] for number in range(pairs)) for pairs in (50, 40, 30)]


@pytest.mark.parametrize("vocab", [SENTENCEPIECE, {**SENTENCEPIECE, "shared": True}])
@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_datasets_and_transformers_read_the_files(
    tmp_path: Path, vocab: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    transformers = pytest.importorskip("transformers")
    names = ("translation", "chat", "ids")
    wanted = ({"kind": "huggingface", "name": name, "rows": name} for name in names)
    outputs = run_outputs(tmp_path, *wanted, vocab=vocab)
    read = {name: datasets.load_dataset(str(outputs / name), cache_dir=str(tmp_path / "cache")) for name in names}
    for each in read.values():
        assert {split: len(rows) for split, rows in each.items()} == {"train": 60, "dev": 20}
    assert read["translation"]["train"].features["translation"] == datasets.Translation(languages=["en", "zh"])
    tokenizer = transformers.MarianTokenizer.from_pretrained(str(outputs / "ids"))
    for text, ids in zip(read["translation"]["train"]["translation"], read["ids"]["train"], strict=True):
        encoded = tokenizer(text["en"], text_target=text["zh"])
        assert (encoded["input_ids"], encoded["labels"]) == (ids["input_ids"], ids["labels"])


def test_prompts_with_examples_and_terms(tmp_path: Path) -> None:
    (tmp_path / "terms").write_text(f"{pair(7)[0]}\t{pair(7)[1]}\n")
    prompts = {"rows": "prompt_only", "prompts": "{examples}|{glossary}|{source}", "examples": 2}
    rows = {"kind": "huggingface", "glossary": str(tmp_path / "terms"), **prompts}
    directory = run_outputs(tmp_path, rows, {**rows, "name": "again", "shards": {"train": 1}}, vocab={"size": 200})
    texts = table(directory / "huggingface")["prompt"].to_pylist()
    assert texts == table(directory / "again", shards=1)["prompt"].to_pylist()
    parts = [text.split("|") for text in texts]
    assert {source for _, _, source in parts} == {pair(number)[0] for number in range(60)}
    assert [(terms, source) for _, terms, source in parts if terms] == [(" = ".join(pair(7)), pair(7)[0])]
    listed = {f"English: {source}\nChinese: {target}" for source, target in map(pair, range(60))}
    for examples, _, source in parts:
        shown = examples.split("\n\n")
        assert len({*shown}) == 2
        assert {*shown} <= listed
        assert f"English: {source}\n" not in examples
    dev = table(directory / "huggingface", "dev", 1)["prompt"].to_pylist()
    assert all({*text.split("|")[0].split("\n\n")} <= listed for text in dev)
