from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep import load_tokenizer
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.config import Config
from nmt_prep.runs.finished_run import open_run
from nmt_prep.stages.encode.encode_tasks import mean_of_turns
from nmt_prep.training.records.causal_rows import causal_encoder
from nmt_prep.training.records.check import check_records
from nmt_prep.training.records.dataset_json import load_dataset_info
from nmt_prep.training.records.shard_reader import iter_shard
from nmt_prep.training.records.text_records import TextEncoder, read_text
from tests.hub import running_hub
from tests.reference.mmap import read_megatron
from tests.stages.runs import config_of
from tests.subwords.chat.templates import TEMPLATES, write_tokenizer

SPECIAL = "x<|im_end|>y"
CHAT = {"layout": "causal", "template": "chat", "prompts": "{source}"}


def config(place: Path, records: dict[str, Any], **more: Any) -> Config:
    """Returns a config for a corpus of 6 documents with 1 to 6 segments, a text with a special token, and its dev."""
    lines = [(f"the hound {n} {place}", f"der Hund {n} {place}", f"d{n}") for n in range(1, 7) for place in range(n)]
    (place / "a.tsv").write_text("".join("\t".join(line) + "\n" for line in [*lines, (SPECIAL, SPECIAL, "s")]))
    (place / "dev.tsv").write_text("one\teins\tx\n\tzwei\ty\n")
    train = {"name": "a", "url": "a.tsv", "document": 2}
    keys = {
        "languages": {"source": "en", "target": "de"},
        "splits": {"dev": [{**train, "url": "dev.tsv"}]},
        "vocab": {"from": str(write_tokenizer(place, TEMPLATES["chatml"]))},
        "records": records,
        "output_dir": str(place / "run"),
    }
    return config_of(place, train, **{**keys, **more})


def rows_in(run: Path, split: str = "train") -> list[tuple[str, list[int]]]:
    """Returns the text of each row, and the number of IDs and bounds."""
    info = check_records(run / "records")
    tokenizer = load_tokenizer(run / "vocab" / "tokenizer.json")
    paths = [run / "records" / shard.file for shard in info.splits[split].shards]
    return [
        (tokenizer.decode(ids), bounds)
        for path in paths
        for part in iter_shard(path, info.layout)
        for ids, bounds in zip(part.inputs.to_lists(), part.targets.to_lists(), strict=True)
    ]


def test_rows_with_a_chat_template(tmp_path: Path) -> None:
    records = {"system": "To {target_language}.", "prompts": "{source_code}: {source}"}
    nmt_prep.run(config(tmp_path, {**CHAT, **records}), until="encode")
    rows = rows_in(tmp_path / "run")
    texts = [text for text, _ in rows]
    assert len(rows) == 22
    head = "<|im_start|>system\nTo German.<|im_end|>\n<|im_start|>user\nen: "
    assert head + "the hound 3 1<|im_end|>\n<|im_start|>assistant\nder Hund 3 1<|im_end|>\n" in texts
    assert head + f"{SPECIAL}<|im_end|>\n<|im_start|>assistant\n{SPECIAL}<|im_end|>\n" in texts
    assert len(rows_in(tmp_path / "run", "dev")) == 1
    shown = open_run(tmp_path / "run").pairs("encode", "dev").to_pylist()
    assert [(row["source"], row["target"]) for row in shown] == [
        (f"{head}one<|im_end|>\n<|im_start|>assistant\n", "eins<|im_end|>\n")
    ]


@pytest.mark.parametrize(
    ("documents", "turns"),
    [
        ({"max_segments": 4, "share": 1}, [1, 1, 1, 2, 2, 3, 4, 4, 4]),
        ({"context": {"source": 2}, "share": 1}, [*[1] * 7, *[2] * 5, *[3] * 10]),
        ({"max_segments": 4, "share": 0}, [1] * 22),
    ],
)
def test_documents_become_turns(tmp_path: Path, documents: dict[str, Any], turns: list[int]) -> None:
    settings = {"separator": "space", "max_tokens": 200, **documents}
    nmt_prep.run(config(tmp_path, {**CHAT, "shards": {"train": 2}}, documents=settings), until="encode")
    rows = rows_in(tmp_path / "run")
    assert len(rows) == 22
    assert sorted(text.count("assistant") for text, _ in rows if text) == turns
    answers = [1 if "context" in documents else text.count("assistant") for text, _ in rows if text]
    assert [len(bounds) // 2 for text, bounds in rows if text] == answers
    counted = {line for text, _ in rows for line in text.split("\n") if line.startswith("der Hund")}
    assert len(counted) == 21


def test_the_weight_of_a_row_is_the_mean_of_its_turns() -> None:
    means = mean_of_turns(np.array([1, 2, 3, 5, 7], np.float32), np.array([1, 0, 0, 3, 1]))
    assert means.tolist() == [1, 0, 0, pytest.approx(10 / 3), 7]


def test_a_missing_glossary_ends_a_run_before_its_stages(tmp_path: Path) -> None:
    records = {"template": "chat", "prompt": "{glossary}{source}", "glossary": "none.tsv"}
    with pytest.raises(
        ConfigError, match=r"^records\.glossary: .*/none\.tsv: the glossary cannot be read: No such file"
    ):
        nmt_prep.plan(config(tmp_path, {"layout": "text", **records}))


def test_loaders_can_make_the_rows_of_text(tmp_path: Path) -> None:
    prompts = ["{examples}\n{glossary}\n{source}"]
    (tmp_path / "terms.tsv").write_text("Hound\tHund\ncat\tKatze\n")
    records = {"template": "chat", "prompts": prompts, "examples": 2, "glossary": "terms.tsv"}
    nmt_prep.run(config(tmp_path, {"layout": "text", **records}), until="encode")
    directory = tmp_path / "run" / "records"
    info = load_dataset_info(directory)
    encoder = causal_encoder(TextEncoder.of(directory, info, "train"), directory, info, "train")
    text = read_text(directory / info.splits["train"].shards[0].file, 0, 22)
    rows = encoder.pairs(text, 0, 0)
    tokenizer = load_tokenizer(tmp_path / "run" / "vocab" / "tokenizer.json")
    for ids, source in zip(rows.inputs.to_lists(), text.column("source").to_pylist(), strict=True):
        examples, term, last = tokenizer.decode(ids).split("<|im_end|>\n")[0].split("\n", 1)[1].rsplit("\n", 2)
        assert (term, last) == ("" if source == SPECIAL else "Hound = Hund", source)
        shown = examples.split("\n\n")
        assert len(shown) == 2
        assert shown[0] != shown[1]
        assert not any(f"English: {source}\n" in example for example in shown)
    assert not np.array_equal(encoder.pairs(text, 0, 1).inputs.values, rows.inputs.values)


@pytest.mark.parametrize(
    ("records", "more", "problem"),
    [
        ({"layout": "causal"}, {}, 'records: layout causal needs prompt, such as "Translate into {target'),
        ({"layout": "chunk", "prompt": "{source}"}, {}, "records: prompts is for layout causal, or text with row"),
        ({"layout": "causal", "prompt": "{source}", "prompts": ["{source}"]}, {}, "prompt and prompts are the sam"),
        ({"layout": "causal", "prompt": "{source}", "system": "x"}, {}, "system is for rows with a chat template;"),
        ({"layout": "causal", "template": "chat"}, {"vocab": {"kind": "byte_bpe", "shared": True}},
         "records.template: a chat template belongs to an existing vocabulary (vocab.from); set records.prompt"),
        ({"layout": "causal", "prompt": "{source}"}, {"vocab": {"kind": "byte_bpe"}},
         "records: a row has the IDs of both sides, which needs one vocabulary; set vocab.shared: true"),
        ({"layout": "causal", "template": "chat"}, {"languages": {"source": "qqq", "target": "de"}},
         "records.language_names: the English name of the language qqq is not known; set this key to {source: "),
        ({"layout": "causal", "prompt": "{source}"}, {"documents": {"separator": "space"}},
         "documents: the segments of a document are turns of a conversation; set records.template: chat"),
        (CHAT, {"outputs": [{"kind": "fairseq"}]},
         "outputs.0: it needs the IDs of each side, and records of layout causal hold whole"),
        (CHAT, {"outputs": [{"kind": "megatron", "pair": "{source}{target}"}]},
         "pair: is for pairs, and records of layout causal hold"),
        (CHAT, {"outputs": [{"kind": "huggingface", "rows": "ids"}]},
         "rows: ids are for an encoder and a decoder; set causal for rec"),
        (CHAT, {"outputs": [{"kind": "huggingface", "rows": "messages"}], "documents": {"separator": "space"}},
         "outputs.0: documents are joined in the order of the records, which layout causal lacks; set records.layout"),
    ],
)  # fmt: skip
def test_what_rows_need(tmp_path: Path, records: dict[str, Any], more: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, records, **more)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ({"prompts": ["{source}\n", "long " * 80 + "{source}\n"]},
         "records.prompts.1: without a source, the prompt makes a row of ... IDs, and loaders skip rows of more"),
        ({"prompt": "{source}\nGerman"}, "records.prompts.0: the prompt ends in .*\\\\nGerman., and for 9.% of tr"),
    ],
)  # fmt: skip
def test_prompts_that_no_row_can_have(tmp_path: Path, records: dict[str, Any], problem: str) -> None:
    frame = {"source": "{ids}", "target": "{ids} <|im_end|>"}
    more = {"vocab": {"from": "tokenizer.json", "frame": frame}, "input": {"max_length": 100}}
    with pytest.raises(VocabularyError, match=problem):
        nmt_prep.run(config(tmp_path, {"layout": "causal", **records}, **more), until="encode")


def test_a_pair_that_a_template_cannot_render(tmp_path: Path) -> None:
    odd = "{{ raise_exception('odd') if 'hound 5 3' in messages[0].content }}"
    problem = r"tokenizer_config\.json: the chat template, line 1: odd; use a template for text"
    records = {"template": "chat", "prompts": "{source}"}
    made = config(tmp_path, {"layout": "causal", **records})
    write_tokenizer(tmp_path, odd + TEMPLATES["chatml"])
    with pytest.raises(VocabularyError, match=rf"^splits\.train\.a, row 13, source 'the hound 5 3': {problem}"):
        nmt_prep.run(made, until="encode")
    made = config(tmp_path, {"layout": "text", **records})
    write_tokenizer(tmp_path, odd + TEMPLATES["chatml"])
    nmt_prep.run(made, until="encode")
    directory = tmp_path / "run" / "records"
    info = load_dataset_info(directory)
    text = read_text(directory / info.splits["train"].shards[0].file, 0, 22)
    encoder = causal_encoder(TextEncoder.of(directory, info, "train"), directory, info, "train")
    with pytest.raises(VocabularyError, match=rf"^corpus a, source 'the hound 5 3': {problem}"):
        encoder.pairs(text, 0, 0)


def test_the_template_beside_a_model_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    path = write_tokenizer(tmp_path, "{{ messages[0].oops }}")
    with running_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        names = ("tokenizer.json", "tokenizer_config.json")
        files = {name: path.with_name(name).read_bytes() for name in names}
        hub.model("owner/name", {**files, "chat_template.jinja": TEMPLATES["chatml"].encode(), "config.json": b"{}"})
        made = config(tmp_path, CHAT, vocab={"from": "hf:owner/name"}, download={"cache": False})
        nmt_prep.run(made, until="encode", lock_file=tmp_path / "c.lock")
    assert any("<|im_start|>user\nthe hound 1 0<|im_end|>\n" in text for text, _ in rows_in(tmp_path / "run"))


def test_files_of_rows_for_trainers(tmp_path: Path) -> None:
    outputs = [{"kind": "megatron"}, {"kind": "huggingface", "rows": "causal", "corpus": True}]
    settings = {"separator": "space", "max_tokens": 200, "max_segments": 4, "share": 1}
    nmt_prep.run(config(tmp_path, CHAT, outputs=outputs, documents=settings), until="outputs")
    rows = [bounds for text, bounds in rows_in(tmp_path / "run") if text]
    directory = tmp_path / "run" / "outputs"
    sequences, documents, _ = read_megatron(directory / "megatron" / "train-00000-of-00001")
    masks, _, kind = read_megatron(directory / "megatron" / "train-00000-of-00001-mask")
    assert (documents, np.dtype(kind)) == ([*range(len(rows) + 1)], np.dtype("u1"))
    for mask, bounds in zip(masks, rows, strict=True):
        changes = np.flatnonzero(np.diff(mask, prepend=0, append=0)).tolist()
        assert changes == bounds
    assert (directory / "huggingface" / "tokenizer.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
    table = pq.read_table(directory / "huggingface" / "train-00000-of-00001.parquet")
    assert table.column_names == ["input_ids", "attention_mask", "labels", "length", "corpus"]
    assert table["input_ids"].to_pylist() == sequences
    assert table["length"].to_pylist() == [len(row) for row in sequences]
    assert table["attention_mask"].to_pylist() == [[1] * len(row) for row in sequences]
    assert table["labels"].to_pylist() == [
        [number if counts else -100 for number, counts in zip(row, mask, strict=True)]
        for row, mask in zip(sequences, masks, strict=True)
    ]


def test_the_report_of_rows(tmp_path: Path) -> None:
    nmt_prep.run(config(tmp_path, CHAT))
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_bytes())
    facts, lengths = summary["rows"]["train"], summary["splits"]["train"]
    rows = rows_in(tmp_path / "run")
    assert (facts["rows"], facts["longest"]) == (22, lengths["longest_source"])
    assert facts["row_lengths"]["512"] == {"longer": 0, "fill": round(facts["ids"] / 1024, 4)}
    counted = sum(end - start for _, (start, end) in rows)
    assert facts["counted"] == round(counted / facts["ids"], 4)
    shown = [[(text, counts) for text, counts in example] for example in facts["examples"]]
    assert ["".join(text for text, _ in example) for example in shown] == [text for text, _ in rows[:3]]
    assert all(
        example[1][0].endswith("<|im_end|>\n") and [counts for _, counts in example] == [False, True]
        for example in shown
    )
    page = (tmp_path / "run" / "report" / "index.html").read_text("utf-8")
    assert f"<mark>{escape(shown[0][1][0].strip())}<br></mark>" in page


def test_prompts_can_have_the_context_of_a_document(tmp_path: Path) -> None:
    records = {**CHAT, "prompts": "{document context}|{source}"}
    settings = {"separator": "space", "context": {"source": 2}}
    nmt_prep.run(config(tmp_path, records, documents=settings), until="encode")
    texts = [text for text, _ in rows_in(tmp_path / "run")]
    shown = "|the hound 3 0", "the hound 3 0|the hound 3 1", "the hound 3 0\nthe hound 3 1|the hound 3 2"
    assert [sum(f"<|im_start|>user\n{prompt}<|im_end|>" in text for text in texts) for prompt in shown] == [1, 1, 1]
