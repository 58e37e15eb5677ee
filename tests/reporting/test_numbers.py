"""Every number of the report is computed again from the artefacts of a run, with Python's own means."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nmt_prep import load_tokenizer, read_records
from nmt_prep.subwords import Tokenizer
from tests.reference import report as twin
from tests.reporting.runs import summary_of

SIDES = ("source", "target")
UNITS = ("piece", "word", "char")


@pytest.fixture(scope="module")
def summary(toy: Path) -> dict[str, Any]:
    return summary_of(toy)


@pytest.fixture(scope="module")
def tokenizers(toy: Path) -> dict[str, Tokenizer]:
    return {
        side: load_tokenizer(next((toy / "vocab").glob(f"*.{end}")))
        for side, end in zip(SIDES, ("en", "zh"), strict=True)
    }


def rows(toy: Path, directory: str, split: str, corpus: str) -> list[dict[str, Any]]:
    found = [
        row for path in sorted((toy / directory / split).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]
    return [row for row in found if row["corpus"] == corpus]


def text_bytes(pairs: list[dict[str, Any]]) -> int:
    return sum(len(row[side].encode()) for row in pairs for side in SIDES)


CORPORA = [("train", "toy"), ("train", "dirty"), ("dev", "toydev")]


@pytest.mark.parametrize(("split", "corpus"), CORPORA)
def test_flow(toy: Path, summary: dict[str, Any], split: str, corpus: str) -> None:
    flow = summary["flow"][split][corpus]
    compiled = rows(toy, "compiled", split, corpus)
    left = rows(toy, "cleaned", split, corpus) if split == "train" else compiled
    rejected = rows(toy, "rejected", split, corpus) if split == "train" else []
    assert flow["compiled"] == {"pairs": len(compiled), "bytes": text_bytes(compiled)}
    assert flow["left"] == {"pairs": len(left), "bytes": text_bytes(left)}
    assert flow["encoded"]["pairs"] == len(left)
    drops = {drop["reason"]: drop for drop in flow["drops"]}
    assert sum(drop["pairs"] for drop in drops.values()) == flow["read"]["pairs"] - len(left)
    for reason, pairs in Counter(row["rule"] for row in rejected).items():
        own = [row for row in rejected if row["rule"] == reason]
        group = {"duplicate_pair": "duplicates", "in_test_set:dev": "test sets"}.get(reason, "rules")
        assert drops.pop(reason) == {"group": group, "reason": reason, "pairs": pairs, "bytes": text_bytes(own)}
    empty = flow["read"]["pairs"] - len(compiled)
    expected = {"group": "reading", "reason": "empty_target", "pairs": empty, "bytes": None}
    assert drops == ({"empty_target": expected} if empty else {})
    assert (len(compiled), empty) == {"toy": (4000, 0), "dirty": (584, 16), "toydev": (200, 0)}[corpus]


def test_duplicates(toy: Path, summary: dict[str, Any]) -> None:
    dropped = [row for corpus in ("toy", "dirty") for row in rows(toy, "rejected", "train", corpus)]
    kept = Counter((row["kept_corpus"], row["kept_row"]) for row in dropped if row["rule"] == "duplicate_pair")
    bins = [*range(2, 10), 17, 33]
    sizes = Counter(max(size for size in bins if size <= 1 + number) for number in kept.values())
    expected = [[*each] for each in sorted(sizes.items())]
    assert expected
    assert summary["duplicates"] == {"train": {"clusters": {"normalized": expected}, "near": None}}


@pytest.mark.parametrize(("split", "corpus"), CORPORA)
def test_lengths(toy: Path, summary: dict[str, Any], tokenizers: dict[str, Tokenizer], split: str, corpus: str) -> None:
    text = summary["text"][split][corpus]
    pairs = rows(toy, "cleaned" if split == "train" else "compiled", split, corpus)
    ids = {side: [tokenizers[side].encode(row[side].strip()) for row in pairs] for side in SIDES}
    assert (text["pairs"], text["sampled"]) == (len(pairs), len(pairs))
    sizes: dict[str, list[tuple[int, int]]] = {
        "piece": list(zip(*(map(len, ids[side]) for side in SIDES), strict=True))
    }
    for unit in ("word", "char"):
        sizes[unit] = [
            (twin.length_of(row["source"].strip(), unit), twin.length_of(row["target"].strip(), unit)) for row in pairs
        ]
    for number, side in enumerate(SIDES):
        with_end = [len(row) + 1 for row in ids[side]]
        assert text["tokens"][side] == summary["flow"][split][corpus]["encoded"][f"{side}_tokens"] == sum(with_end)
        assert text["tokens_by_length"][side] == twin.histogram(map(twin.length_bin, with_end))
        for unit in UNITS:
            own = [pair[number] for pair in sizes[unit]]
            assert text["totals"][side][unit] == sum(own)
            assert text["lengths"][side][unit] == twin.histogram(map(twin.length_bin, own))
    for unit in UNITS:
        assert text["joint"][unit] == twin.cells(sizes[unit])
        assert text["ratios"][unit] == twin.ratio_histogram(sizes[unit])
    longest = sorted(range(len(pairs)), key=lambda row: (-max(sizes["piece"][row]), row))[:3]
    assert [pair["row"] for pair in text["longest"]] == longest
    assert len({pair["row"] for pair in text["examples"]}) == 10
    for pair in [*text["examples"], *text["longest"]]:
        for side in SIDES:
            row = pairs[pair["row"]][side].strip()
            words, number = tokenizers[side].words(), ids[side][pair["row"]]
            assert (pair["text"][side], pair["length"][side]) == (row[:300], len(number))
            assert pair["pieces"][side] == [words[each] for each in number]


def test_lengths_of_all_corpora(summary: dict[str, Any]) -> None:
    one, other = (summary["text"]["train"][name] for name in ("toy", "dirty"))
    both = summary["lengths"]["train"]
    pairs = one["pairs"] + other["pairs"]
    assert (both["pairs"], both["sampled"]) == (pairs, pairs)
    for side in SIDES:
        for unit in UNITS:
            assert both["means"][side][unit] == round(
                (one["totals"][side][unit] + other["totals"][side][unit]) / pairs, 3
            )
            assert sum(both["lengths"][side][unit]) == pairs
    assert both["ratios"]["word"] == [
        a + b for a, b in zip(one["ratios"]["word"], other["ratios"]["word"], strict=True)
    ]
    cells = Counter({(a, b): n for a, b, n in one["joint"]["char"]}) + Counter(
        {(a, b): n for a, b, n in other["joint"]["char"]}
    )
    assert {(a, b): n for a, b, n in both["joint"]["char"]} == cells


@pytest.mark.parametrize("side", SIDES)
def test_pieces(toy: Path, summary: dict[str, Any], tokenizers: dict[str, Tokenizer], side: str) -> None:
    tokenizer, use = tokenizers[side], summary["pieces"][side]
    lines = [row[side].strip() for corpus in ("toy", "dirty") for row in rows(toy, "cleaned", "train", corpus)]
    counts = Counter(number for line in lines for number in tokenizer.encode(line))
    words = tokenizer.words()
    ranked = sorted(range(len(words)), key=lambda number: (-counts[number], number))
    assert (use["split"], use["pieces"], use["tokens"]) == ("train", len(tokenizer), counts.total())
    assert use["unused"] == sum(not counts[number] for number in range(len(words)))
    assert use["singletons"] == sum(count == 1 for count in counts.values())
    assert use["unknown"] is None
    assert use["frequent"] == [[words[number], counts[number]] for number in ranked[:30]]
    assert use["curve"][0] == [1, counts[ranked[0]]]
    assert use["curve"][-1] == [len(counts), counts[ranked[len(counts) - 1]]]
    assert all(counts[ranked[rank - 1]] == count for rank, count in use["curve"])
    longest = sorted((number for number in counts), key=lambda number: (-len(words[number]), number))[:30]
    assert use["longest"] == [[words[number], counts[number]] for number in longest]
    unused = [words[number] for number in range(len(words)) if not counts[number]]
    assert use["unused_pieces"] == [word[:60] for word in unused[:30]]
    alphabet = {" "}.union(*tokenizer.pieces)
    escaped = Counter(character for line in lines for character in line if character not in alphabet)
    assert (use["escaped_kinds"], use["escaped_count"]) == (len(escaped), escaped.total())
    assert dict(use["escaped"]) == dict(escaped.most_common(30))


@pytest.mark.parametrize("split", ["train", "dev"])
def test_batches(toy: Path, summary: dict[str, Any], split: str) -> None:
    estimates = summary["batches"][split]
    assert [each["setting"] for each in estimates] == [
        {},
        {"bucketing": "optimal"},
        {"bucketing": "t2t"},
        {"packed": True},
        {"batch_tokens": 512},
        {"batch_tokens": 2048},
        {"batch_tokens": 4096},
        {"batch_size": 64},
        {"max_length": 64},
        {"max_length": 256},
    ]
    for each in estimates:
        batches = [
            list(zip(batch.source.lengths.tolist(), batch.target.lengths.tolist(), strict=True))
            for batch in read_records(toy, split, **each["setting"])
        ]
        assert each["batches"] == each["batches_per_epoch"] == len(batches)
        assert each["pairs"] == sum(map(len, batches))
        assert each["tokens"] == sum(source + target for batch in batches for source, target in batch)
        if "packed" not in each["setting"]:
            assert each["cells"] == twin.padded_cells(batches)
        assert each["left_out"] == summary["splits"][split]["pairs"] - each["pairs"]
        assert each["sampled_pairs"] == summary["splits"][split]["pairs"]


def test_rejects_nearest_to_the_threshold(toy: Path, summary: dict[str, Any]) -> None:
    for corpus in ("toy", "dirty"):
        rejected = rows(toy, "rejected", "train", corpus)
        assert set(summary["rejects"]["train"][corpus]) == {row["rule"] for row in rejected}
        for reason, pairs in summary["rejects"]["train"][corpus].items():
            own = [row for row in rejected if row["rule"] == reason]

            def distance(row: dict[str, Any]) -> float:
                if row["value"] is None:
                    return float("inf")
                return abs(row["value"] - row["threshold"]) / max(abs(row["threshold"]), 1e-9)

            nearest = sorted(own, key=lambda row: (distance(row), row["row"]))[:5]
            assert [pair["row"] for pair in pairs] == [row["row"] for row in nearest]
            assert [pair["value"] for pair in pairs] == [row["value"] for row in nearest]
            assert [pair["source"] for pair in pairs] == [row["source"][:300] for row in nearest]


def test_rules(summary: dict[str, Any]) -> None:
    rules = summary["rules"]["train"]["dirty"]
    assert rules["score"]["columns"] == {"quality": {"low": 0.05, "high": None, "above": False, "below": False}}
    assert rules["length"]["columns"]["target"]["high"] == 100.0
    assert rules["length"]["options"]["max"] == {"source": 100.0, "target": 100.0}
    [top] = rules["top"]["columns"].values()
    assert 0.5 < top["low"] < 0.6
    assert "score" not in summary["rules"]["train"]["toy"]


def test_provenance(toy: Path, summary: dict[str, Any]) -> None:
    info = json.loads((toy / "records" / "dataset.json").read_bytes())
    origin = summary["provenance"]
    assert origin["records"] == {
        name: [shard["sha256"] for shard in split["shards"]] for name, split in info["splits"].items()
    }
    assert origin["vocabularies"] == {side: info["vocab"][side]["sha256"] for side in SIDES}
    archive = Path(__file__).resolve().parents[2] / "data" / "toy" / "dirty-toy.tsv"
    [dirty] = [file for file in origin["downloads"] if file["file"] == "train/dirty/both"]
    assert dirty["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert dirty["bytes"] == archive.stat().st_size
    assert "output_dir" not in origin["config"]
    assert (origin["config"]["clean"]["rejects"], origin["config"]["seed"]) == ("all", 1)
    fields = dict(field.split(":", 1) for field in summary["signature"].split("|"))
    assert fields["train"].startswith(f"{info['splits']['train']['pairs']}.")
    assert fields["vocab"] == "+".join(
        f"t2t.{info['vocab'][side]['size']}.{info['vocab'][side]['sha256'][:8]}" for side in SIDES
    )
