"""Records of documents: whole documents are shuffled, and loaders join their segments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError, ConfigError, VocabularyError
from nmt_prep.config import Config
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.runs.lineage import Lineage
from nmt_prep.stages import STAGES
from nmt_prep.subwords import Tokenizer
from nmt_prep.training.batches import BatchSource, read_records
from nmt_prep.training.batches.batch_reader import IdBatch
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpus import tree
from tests.reference.mmap import read_fairseq, read_megatron
from tests.stages.runs import config_of

SIZES = [1 + number * 7 % 23 for number in range(80)]
"""Segments of each document."""


@pytest.fixture(autouse=True)
def corpora(tmp_path: Path) -> None:
    rows = [(number, place) for number, size in enumerate(SIZES) for place in range(size)]
    lines = [f"a {number} {place}\tb {number} {place}\tdoc {number}\n" for number, place in rows]
    (tmp_path / "a.tsv").write_text("".join(lines))
    (tmp_path / "b.tsv").write_text("".join(f"c {number}\td {number}\n" for number in range(150)))
    dev = [line.replace("a", "x").replace("b", "y") for line in lines[:100]]
    (tmp_path / "dev.tsv").write_text("".join(dev))


def config(directory: Path, run: str = "run", **more: Any) -> Config:
    train = [{"name": "a", "url": "a.tsv", "document": 2}, {"name": "b", "url": "b.tsv"}]
    data = {
        "splits": {"dev": [{"name": "dev", "url": "dev.tsv", "document": 2}]},
        "vocab": {"kind": "byte_bpe", "size": 300, "shared": True, "reserved": ["<sep>"]},
        "documents": {"separator": "<sep>", "max_tokens": 100, "max_segments": 6},
        "records": {"shards": {"train": 3}, "layout": "chunk"},
        "output_dir": str(directory / run),
    }
    return config_of(directory, *train, **{**data, **more})


def tokenizer_of(directory: Path) -> Tokenizer:
    return nmt_prep.load_tokenizer(next((directory / "run" / "vocab").glob("*.tokenizer.json")))


def texts(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    """Returns the segments of a row."""
    segments: list[list[int]] = [[]]
    separator = tokenizer.piece_id("<sep>")
    assert ids[-1] == tokenizer.eos_id
    for number in ids[:-1]:
        if number == separator:
            segments.append([])
        else:
            segments[-1].append(number)
    return [tokenizer.decode(segment) for segment in segments]


def sources(tokenizer: Tokenizer, shard: Path) -> list[str]:
    inputs, _ = read_shard(shard, "chunk")
    return [tokenizer.decode(row[:-1]) for row in inputs.to_lists()]


def rows_of(tokenizer: Tokenizer, batches: Iterator[IdBatch]) -> Iterator[list[str]]:
    for batch in batches:
        assert batch.segments is not None
        for source, target, count in zip(batch.source.to_lists(), batch.target.to_lists(), batch.segments, strict=True):
            segments = texts(tokenizer, source)
            translated = str.maketrans("acx", "bdy")
            assert texts(tokenizer, target) == [text.translate(translated) for text in segments]
            assert len(segments) == count
            assert max(len(source), len(target)) <= 100
            yield segments


@pytest.mark.parametrize("layout", ["example", "chunk", "text"])
def test_each_segment_is_a_target_once_in_an_epoch(tmp_path: Path, layout: str) -> None:
    nmt_prep.run(config(tmp_path, records={"layout": layout, "shards": {"train": 3}}), until="encode")
    run, tokenizer = tmp_path / "run", tokenizer_of(tmp_path)
    expected = Counter([f"a {n} {place}" for n, size in enumerate(SIZES) for place in range(size)])
    expected += Counter(f"c {number}" for number in range(150))
    seen = []
    for epoch, processes in ((0, 1), (0, 3), (1, 1)):
        options: dict[str, Any] = {"batch_tokens": 400, "epoch": epoch, "world_size": processes}
        parts = [read_records(run, "train", rank=rank, **options) for rank in range(processes)]
        rows = [row for part in parts for row in rows_of(tokenizer, part)]
        assert Counter(text for row in rows for text in row) == expected
        for row in (row for row in rows if len(row) > 1):
            kind, number, place = row[0].split()
            assert row == [f"{kind} {number} {int(place) + step}" for step in range(len(row))]
        assert 50 < sum(len(row) > 1 for row in rows) < 250
        seen.append(sorted(rows))
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_the_order_of_documents(tmp_path: Path) -> None:
    made = config(tmp_path)
    outcomes = {outcome.stage: outcome for outcome in nmt_prep.run(made)}
    assert outcomes["encode"].counts.other["documents"] == len(SIZES) + 150 + 9  # nine in dev
    tokenizer, records = tokenizer_of(tmp_path), tmp_path / "run" / "records"
    shards = sorted(records.glob("t-train-*"))
    order = [text for path in shards for text in sources(tokenizer, path)]
    documents = [text.split()[1] if text.startswith("a") else text for text in order]
    assert len(order) == sum(SIZES) + 150
    changes = 1 + sum(one != other for one, other in pairwise(documents))
    assert changes == len(SIZES) + 150  # pairs of a document are together
    assert [text for text in order if text.startswith("a 5 ")] == [f"a 5 {place}" for place in range(SIZES[5])]
    assert documents != sorted(documents)
    columns = sorted((records / "index").glob("t-train-*.document"))
    continues = [int(value) for path in columns for value in np.fromfile(path, "u1")]
    assert continues == [int(not text.startswith("c") and text.split()[2] != "0") for text in order]
    [dev] = records.glob("t-dev-*")
    assert sources(tokenizer, dev) == [line.split("\t")[0] for line in (tmp_path / "dev.tsv").read_text().splitlines()]
    seen = nmt_prep.open_run(tmp_path / "run").pairs("encode", first=100)
    assert [seen.column(name).to_pylist() for name in ("source", "continues")] == [order[:100], continues[:100]]
    lineage = Lineage(outputs_in(made.run_dir, STAGES, made), "train")
    for record in (0, 17, len(order) - 1):
        assert lineage.trace(record).source == order[record]
    summary = json.loads((tmp_path / "run" / "report" / "summary.json").read_text())
    train = summary["segments"]["train"]
    assert (train["documents"], train["longest"], train["sampled"]) == (len(SIZES) + 150, 23, sum(SIZES) + 150)
    assert dict(train["sizes"]) == Counter(SIZES) + Counter({1: 150})
    batches = [*read_records(tmp_path / "run", "train")]
    assert summary["batches"]["train"][0]["pairs"] == train["rows"] == sum(len(batch.source) for batch in batches)
    assert train["joined"] == sum(int(batch.segments[batch.segments > 1].sum()) for batch in batches)  # type: ignore[index]
    info = json.loads((records / "dataset.json").read_text())
    assert info["columns"] == ["document"]
    assert info["documents"] == {
        "source_separator": tokenizer.piece_id("<sep>"),
        "target_separator": tokenizer.piece_id("<sep>"),
        "max_tokens": 100,
        "max_segments": 6,
        "share": 0.5,
        "context": None,
    }


def test_a_row_that_cleaning_dropped_ends_the_window(tmp_path: Path) -> None:
    lines = (tmp_path / "a.tsv").read_text().splitlines(keepends=True)
    first = sum(SIZES[:9])
    lines[first + 4] = "a 9 4\t" + "b " * 500 + "\tdoc 9\n"
    (tmp_path / "a.tsv").write_text("".join(lines))
    settings = {"separator": "<sep>", "max_tokens": 100, "share": 1}
    clean = {"preset": "none", "rules": {"length": {"max": 100, "unit": "word"}}}
    nmt_prep.run(config(tmp_path, documents=settings, clean=clean), until="encode")
    rows = [*rows_of(tokenizer_of(tmp_path), read_records(tmp_path / "run", "train", batch_size=8))]
    inside = [row for row in rows if row[0].startswith("a 9 ")]
    places = sorted([int(text.split()[2]) for text in row] for row in inside)
    assert sorted(place for row in places for place in row) == [n for n in range(SIZES[9]) if n != 4]
    assert not [row for row in places if row[0] < 4 < row[-1]]


@pytest.mark.parametrize("layout", ["chunk", "text"])
def test_duplicates_stay_as_context_of_their_document(tmp_path: Path, layout: str) -> None:
    again = {(4, 0), (4, 3), (9, 2), (9, 3), (9, 15), (12, 1), (30, 0), (30, 2), (30, 3)}
    rows = [(number, place) for number, size in enumerate(SIZES) for place in range(size)]
    lines = [f"a {row[0]} {row[1]}" if row not in again else "a thank you" for row in rows]
    both = [f"{text}\t{text.replace('a', 'b', 1)}\tdoc {row[0]}\n" for text, row in zip(lines, rows, strict=True)]
    (tmp_path / "a.tsv").write_text("".join(both))
    settings = {"separator": "<sep>", "max_tokens": 100, "max_segments": 6, "share": 0.8}
    nmt_prep.run(
        config(
            tmp_path,
            splits={"train": [{"name": "a", "url": "a.tsv", "document": 2}]},
            clean={"preset": "none", "dedup": {"pair": "exact"}},
            records={"layout": layout, "shards": {"train": 3}},
            documents=settings,
            outputs=[{"kind": "text", "pieces": False, "vocab": []}],
        ),
        until="outputs",
    )
    run, tokenizer = tmp_path / "run", tokenizer_of(tmp_path)
    assert SIZES[4] == 6
    info = json.loads((run / "records" / "dataset.json").read_text())
    assert info["splits"]["train"]["pairs"] == sum(SIZES) - len(again) + 1
    expected = Counter([text for text in lines if text != "a thank you"] + ["a thank you"])
    for processes in (1, 2):
        parts = [read_records(run, "train", batch_size=8, rank=rank, world_size=processes) for rank in range(processes)]
        found, contexts = Counter[str](), 0
        for batch in (batch for part in parts for batch in part):
            assert batch.segments is not None
            assert batch.ignored is not None
            columns = batch.source.to_lists(), batch.target.to_lists(), batch.ignored.to_lists(), batch.segments
            for source, target, ignored, segments in zip(*columns, strict=True):
                kept = target.copy()
                for begin, end in zip(ignored[::2], ignored[1::2], strict=True):
                    assert tokenizer.decode(target[begin : end - 1]) == "b thank you"
                    kept[begin:end] = [-1] * (end - begin)
                learned = texts(tokenizer, [number for number in kept if number >= 0])
                assert len(learned) == segments
                found.update(text.replace("b", "a", 1) for text in learned)
                windows = texts(tokenizer, source)
                assert len(windows) == segments + len(ignored) // 2
                assert "\n".join(windows) in "\n".join(lines)
                contexts += len(ignored) // 2
        assert found == expected
        assert 2 <= contexts <= len(again) - 1
    found = Counter(text for row in joined_lines(tmp_path, "text", "en") for text in row)
    assert found == expected  # a line does not tell what is context


def test_bytes_do_not_depend_on_workers(tmp_path: Path) -> None:
    for run, workers in (("one", 1), ("two", 2)):
        nmt_prep.run(config(tmp_path, run, engine={"kind": "local", "workers": workers}), until="encode")
    assert tree(tmp_path / "one" / "records") == tree(tmp_path / "two" / "records")


def test_an_epoch_resumes_at_any_batch(tmp_path: Path) -> None:
    nmt_prep.run(config(tmp_path), until="encode")
    options: dict[str, Any] = {"batch_tokens": 300, "equal_batches": "split", "world_size": 2, "rank": 1}
    whole = [batch.target.values.tolist() for batch in BatchSource(tmp_path / "run", "train", **options)]
    for step in (0, 1, 5, len(whole)):
        source = BatchSource(tmp_path / "run", "train", **options)
        source.load_state_dict({**source.state_dict(), "batches": step})
        assert [batch.target.values.tolist() for batch in source] == whole[step:]
    for bucketing in ("optimal", "t2t"):
        buckets = [*read_records(tmp_path / "run", "train", batch_tokens=300, bucketing=bucketing, max_length=None)]
        assert sum(int(batch.segments.sum()) for batch in buckets if batch.segments is not None) == sum(SIZES) + 150
    packed = [*read_records(tmp_path / "run", "train", batch_size=4, packed=True)]
    assert sum(int(batch.segments.sum()) for batch in packed if batch.segments is not None) == sum(SIZES) + 150
    alone = [*read_records(tmp_path / "run", "train", batch_size=4, documents=False)]
    assert sum(len(batch.source) for batch in alone) == sum(SIZES) + 150


def test_only_dataset_json_changes_with_the_windows(tmp_path: Path) -> None:
    nmt_prep.run(config(tmp_path), until="encode")
    before = tree(tmp_path / "run" / "records")
    changed = config(tmp_path, documents={"separator": "<sep>", "context": {"source": 2, "target": 1}, "share": 1})
    nmt_prep.run(changed, until="encode")
    after = tree(tmp_path / "run" / "records")
    assert [name for name in before if before[name] != after[name]] == ["dataset.json"]
    tokenizer, whole, cut = tokenizer_of(tmp_path), 0, 0
    for batch in read_records(tmp_path / "run", "train", batch_size=16):
        assert batch.context is not None
        rows = zip(batch.source.to_lists(), batch.target.to_lists(), batch.context.tolist(), strict=True)
        for source, target, context in rows:
            of_source, of_target = texts(tokenizer, source), texts(tokenizer, target)
            places = [int(text.split()[-1]) for text in of_target]
            if of_source[0].startswith("a"):
                wanted = min(places[-1] + 1, 3), min(places[-1] + 1, 2)
                lengths = len(of_source), len(of_target)
                assert lengths[0] <= wanted[0]
                assert lengths[1] <= wanted[1]
                whole, cut = whole + (lengths == wanted), cut + (lengths != wanted)
            assert texts(tokenizer, target[context:]) == of_target[-1:]
    assert (whole + cut, cut < 12) == (sum(SIZES), True)  # some documents go on in another block of records


def test_windows_need_room_pieces_and_loaders_that_join(tmp_path: Path) -> None:

    def documents(**options: Any) -> Config:
        return config(tmp_path, documents={"separator": "<sep>", **options})

    with pytest.raises(ConfigError, match=r"documents\.max_tokens is 300, and loaders skip rows of more than inp"):
        documents(max_tokens=300)
    with pytest.raises(ConfigError, match=r"documents\.separator: '<x>' is not a piece of the vocabulary; add it to v"):
        documents(separator="<x>")
    with pytest.raises(ConfigError, match=r"documents: no corpus has documents; give the key document to one"):
        config(tmp_path, splits={"train": [{"name": "b", "url": "b.tsv"}]})
    with pytest.raises(ConfigError, match=r"documents: records of layout packed hold no documents"):
        config(tmp_path, records={"layout": "packed"})
    with pytest.raises(ConfigError, match=r"context needs segments on one side at least"):
        documents(context={})
    with pytest.raises(VocabularyError, match=r"^documents\.separator: words at the start of a text have other pieces"):
        nmt_prep.run(documents(separator="space"))
    nmt_prep.run(documents(max_tokens=100))
    with pytest.raises(ArgumentError, match=r"^max_length 50 would skip windows, which have up to 100 IDs; raise"):
        read_records(tmp_path / "run", "train", max_length=50)
    with pytest.raises(ArgumentError, match=r"^corpora of records with documents cannot be mixed or chosen; set docum"):
        read_records(tmp_path / "run", "train", temperature=2)


def joined_lines(directory: Path, name: str, suffix: str) -> list[list[str]]:
    paths = sorted((directory / "run" / "outputs" / name).glob(f"train-*.{suffix}"))
    return [line.split(" <sep> ") for path in paths for line in path.read_text().splitlines()]


def test_outputs_hold_the_windows_of_the_first_epochs(tmp_path: Path) -> None:
    lines = (tmp_path / "a.tsv").read_text().splitlines()
    weights = [f"{line}\t{int(line.split()[2].split(chr(9))[0]) / 4}\n" for line in lines]
    (tmp_path / "a.tsv").write_text("".join(weights))
    train = [{"name": "a", "url": "a.tsv", "document": 2, "scores": {"w": 3}}, {"name": "b", "url": "b.tsv"}]
    outputs = [
        {"kind": "text", "pieces": False, "vocab": []},
        {"kind": "text", "name": "other", "pieces": False, "vocab": [], "shards": {"train": 4}},
        {"kind": "huggingface", "rows": "ids"},
    ]
    settings = {"separator": "<sep>", "max_tokens": 100, "max_segments": 6, "epochs": 2}
    nmt_prep.run(
        config(tmp_path, splits={"train": train}, outputs=outputs, weight={"from": "score:w"}, documents=settings),
        until="outputs",
    )
    run, tokenizer = tmp_path / "run", tokenizer_of(tmp_path)
    expected = [
        row
        for epoch in range(2)
        for row in rows_of(tokenizer, read_records(run, "train", batch_size=9, seed=1, epoch=epoch))
    ]
    assert sorted(joined_lines(tmp_path, "text", "en")) == sorted(expected)
    for name in ("text", "other"):  # windows end where the shards of an output do
        lines = [text for row in joined_lines(tmp_path, name, "en") for text in row]
        assert Counter(lines) == Counter(text for row in expected for text in row)
    for row, [weight] in zip(
        joined_lines(tmp_path, "text", "en"), joined_lines(tmp_path, "text", "weight"), strict=True
    ):
        places = [int(text.split()[2]) / 4 if text.startswith("a") else 1 for text in row]
        assert float(weight) == pytest.approx(sum(places) / len(places))
    ids = [pq.read_table(path)["input_ids"].to_pylist() for path in (run / "outputs" / "huggingface").glob("*.parquet")]
    assert sorted(texts(tokenizer, row) for table in ids for row in table) == sorted(expected)


def test_binary_files_count_the_windows(tmp_path: Path) -> None:
    vocab = {"kind": "byte_bpe", "size": 300, "shared": True, "reserved": ["<sep>"]}
    outputs = [{"kind": kind, "shards": {"train": 1}} for kind in ("megatron", "fairseq")]
    nmt_prep.run(config(tmp_path, vocab=vocab, outputs=outputs), until="outputs")
    directory = tmp_path / "run" / "outputs"
    sequences, documents, _ = read_megatron(directory / "megatron" / "train-00000-of-00001")
    held = json.loads((directory / "megatron" / "output.json").read_bytes())["splits"]["train"]["pairs"]
    assert (len(sequences), documents) == (held, [*range(held + 1)])
    assert len(read_fairseq(directory / "fairseq" / "train.en-zh.en")[0]) == held < sum(SIZES) + 150


def test_lines_with_empty_lines_between_documents(tmp_path: Path) -> None:
    options = {"kind": "text", "pieces": False, "vocab": [], "documents": "lines"}
    nmt_prep.run(config(tmp_path, outputs=[options]), until="outputs")
    files = sorted((tmp_path / "run" / "outputs" / "text").glob("train-*.en"))
    held = [text.rstrip("\n").split("\n") for path in files for text in path.read_text().split("\n\n")]
    segments = Counter(f"a {n} {place}" for n, size in enumerate(SIZES) for place in range(size))
    assert Counter(text for document in held for text in document) == segments + Counter(f"c {n}" for n in range(150))
    assert {document[0].split()[1] for document in held if document[0].startswith("a")} == set(map(str, range(80)))
    assert all(len({text.split()[1] for text in document}) == 1 for document in held)
    assert len(held) <= len(SIZES) + 150 + 2
    sources, targets = (path.read_text().split("\n") for path in (files[0], files[0].with_suffix(".zh")))
    assert [not text for text in sources] == [not text for text in targets]
    for keys in (["pieces"], ["corpus"], ["pieces", "corpus"]):
        with pytest.raises(ConfigError, match=f"documents: lines are only text; set {' and '.join(keys)} to false, or"):
            config(tmp_path, outputs=[{**options, **dict.fromkeys(keys, True)}])
    with pytest.raises(ConfigError, match=r"documents: lines are for the section documents, which the config lacks"):
        config(tmp_path, outputs=[options], documents=None)


def test_chat_rows_have_the_context_in_the_prompt(tmp_path: Path) -> None:
    chat = {"kind": "huggingface", "rows": "chat", "prompts": ["In Chinese: {source}"]}
    settings = {"separator": "<sep>", "context": {"source": 1, "target": 2}, "share": 1}
    apart = {**chat, "name": "apart", "rows": "prompt_only", "prompts": "{document context}|{source}"}
    nmt_prep.run(config(tmp_path, documents=settings, outputs=[chat, apart]), until="outputs")
    files = (tmp_path / "run" / "outputs" / "huggingface").glob("dev-*.parquet")
    [rows] = [pq.read_table(path)["messages"].to_pylist() for path in files]
    [path] = (tmp_path / "run" / "outputs" / "apart").glob("dev-*.parquet")
    rows_apart = pq.read_table(path).to_pylist()
    assert rows_apart[0] == {"prompt": "|x 0 0", "reference": "y 0 0"}
    assert rows_apart[3] == {"prompt": "x 1 1|x 1 2", "reference": "y 1 2"}
    found = [[message["content"] for message in row] for row in rows]
    assert found[0] == ["In Chinese: x 0 0", "y 0 0"]
    assert found[3] == ["In Chinese: x 1 1 <sep> x 1 2\ny 1 0 <sep> y 1 1", "y 1 2"]
    assert [answer for _, answer in found] == [
        line.split("\t")[1] for line in (tmp_path / "dev.tsv").read_text().splitlines()
    ]


def test_a_line_of_joined_segments_has_one_tag(tmp_path: Path) -> None:
    train = [
        {"name": "a", "url": "a.tsv", "document": 2, "tag": {"source": "<a>"}},
        {"name": "b", "url": "b.tsv", "tag": {"source": "<bb>", "target": "<cc>"}},
    ]
    vocab = {"kind": "byte_bpe", "size": 300, "shared": True, "reserved": ["<sep>", "<a>", "<bb>", "<cc>"]}
    text = {"kind": "text", "pieces": False, "vocab": []}
    nmt_prep.run(config(tmp_path, splits={"train": train}, vocab=vocab, outputs=[text]), until="outputs")
    lines = joined_lines(tmp_path, "text", "en")
    assert {line[0].split()[0] for line in lines} == {"<a>", "<bb>"}
    assert {text.split()[0] for line in lines for text in line[1:]} == {"a"}
    assert {text.split()[0] for line in joined_lines(tmp_path, "text", "zh") for text in line} == {"b", "<cc>"}


def linked_lines(run: Path, name: str) -> list[tuple[list[str], list[str], str]]:
    """Returns the segments of both sides of each line, and its links."""
    paths = sorted((run / "outputs" / name).glob("train-*"))
    columns = [line.split("\t") for path in paths for line in path.read_text().splitlines()]
    return [(source.split(" <sep> "), target.split(" <sep> "), links) for source, target, links in columns]


@pytest.mark.parametrize("context", [None, {"source": 2, "target": 1}])
def test_links_are_shifted_to_their_segments(tmp_path: Path, context: dict[str, int] | None) -> None:
    names = ["bar", "kit", "dol", "gam", "lun", "sep", "tir", "mok"]
    words = [f"{first}{second}" for first in names for second in names]
    texts = [[*words[(at := number * 7 % 64) : at + 1 + number % 5], words[number % 61]] for number in range(120)]
    pairs = ((" ".join(text), " ".join(word[::-1] for word in reversed(text))) for text in texts)
    rows = (f"{source}\t{target}\tdoc {number // 8}\n" for number, (source, target) in enumerate(pairs))
    (tmp_path / "a.tsv").write_text("".join(rows))
    marian = {"kind": "marian", "alignments": True}
    more: dict[str, Any] = {
        "splits": {"train": [{"name": "a", "url": "a.tsv", "document": 2}]},
        "vocab": {"kind": "sentencepiece", "size": 60, "shared": True, "reserved": ["<sep>"]},
        "outputs": [{**marian, "pieces": True}, {**marian, "name": "raw", "pieces": False}],
        "align": {},
    }
    settings = {"separator": "<sep>", "max_tokens": 200, **({"context": context} if context else {})}
    nmt_prep.run(config(tmp_path, documents={**settings, "share": 0}, **more), until="outputs")
    run = tmp_path / "run"
    alone = {name: linked_lines(run, name) for name in ("marian", "raw")}
    nmt_prep.run(config(tmp_path, documents={**settings, "share": 1}, **more), until="outputs")
    tokenizer = nmt_prep.load_tokenizer(next((run / "vocab").glob("*.model")))
    for name, added in (("marian", 1), ("raw", 2)):  # in text, a space before the separator is a piece
        links = {
            (source[0], target[0]): [link.split("-") for link in each.split()] for source, target, each in alone[name]
        }

        def size(segments: list[str], name: str = name, added: int = added) -> int:
            of_segments = (len(text.split() if name == "marian" else tokenizer.encode(text)) for text in segments)
            return sum(of_segments) + added * len(segments)

        joined = linked_lines(run, name)
        assert max(len(source) for source, _, _ in joined) > 2
        for sources, targets, found in joined:
            expected = []
            for place in range(-min(len(sources), len(targets)), 0):
                before = size(sources[:place]), size(targets[:place])
                pair = links[sources[place], targets[place]]
                expected += [f"{int(source) + before[0]}-{int(target) + before[1]}" for source, target in pair]
            assert found.split() == expected
