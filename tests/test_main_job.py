from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.corpora import parts
from nmt_prep.stages.encode import encode_tasks
from nmt_prep.training.records.shard_reader import read_shard
from tests.corpus import corpus_config, pair, tree, write_corpus

STAGES = ["download", "extract", "compile", "sample", "vocab", "encode", "report"]


def small_parts(patch: pytest.MonkeyPatch) -> None:
    """Makes parts so small that each corpus has several, and so each stage several tasks."""
    patch.setattr(parts, "PART_BYTES", 4000)
    patch.setattr(parts, "ROW_GROUP_BYTES", 1000)


@pytest.fixture(autouse=True)
def several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_corpus(tmp_path)
    return tmp_path


def run(place: Path, output: str = "run", workers: int = 2, **changes: Any) -> list[str]:
    """Runs the main job; returns the stages that ran."""
    outcomes = nmt_prep.run(corpus_config(place / output, **changes), workers=workers)
    assert [outcome.stage for outcome in outcomes] == STAGES
    return [outcome.stage for outcome in outcomes if outcome.ran]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the corpus and a finished run, to be copied."""
    directory = tmp_path_factory.mktemp("finished") / "place"
    write_corpus(directory)
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch)
        run(directory)
    return directory


@pytest.fixture
def done(finished: Path, tmp_path: Path) -> Path:
    """Returns a copy of a directory with the corpus and a finished run."""
    return shutil.copytree(finished, tmp_path / "place")


def records(root: Path, split: str = "train") -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for path in sorted((root / "records").glob(f"small-{split}-*")):
        inputs, targets = read_shard(path)
        rows = zip(inputs.to_lists(), targets.to_lists(), strict=True)
        pairs += [(tuple(source), tuple(target)) for source, target in rows]
    return pairs


def test_the_records_decode_to_the_corpus(place: Path) -> None:
    assert run(place) == STAGES
    root = place / "run"
    source = nmt_prep.load_tokenizer(root / "vocab" / "vocab.small.200.subwords.en")
    target = nmt_prep.load_tokenizer(root / "vocab" / "vocab.small.200.subwords.zh")
    for split, numbers in (("train", range(300)), ("dev", range(10**6, 10**6 + 20))):
        found = records(root, split)
        assert all(inputs[-1] == targets[-1] == 1 for inputs, targets in found)
        texts = [(source.decode(inputs[:-1]), target.decode(targets[:-1])) for inputs, targets in found]
        assert Counter(texts) == Counter(pair(number) for number in numbers)
    assert sorted(path.name for path in (root / "records").iterdir()) == [
        "dataset.json",
        "index",
        "small-dev-00000-of-00001",
        "small-train-00000-of-00003",
        "small-train-00001-of-00003",
        "small-train-00002-of-00003",
    ]
    summary = json.loads((root / "report" / "summary.json").read_text("utf-8"))
    assert summary["corpora"]["train"]["x"]["pairs_in"] == 301
    dropped = summary["corpora"]["train"]["x"]["dropped"]
    assert {reason: count for reason, count in dropped.items() if count} == {"empty_target": 1}
    assert summary["splits"]["train"]["pairs"] == 300


def test_a_second_run_does_nothing(done: Path) -> None:
    before = tree(done / "run")
    assert run(done) == []
    for path in done.glob("*.tgz"):
        os.utime(path, (1, 1))
    assert run(done) == []
    assert tree(done / "run") == before


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"records": {"shards": {"train": 2}}}, ["encode", "report"]),
        ({"vocab": {"size": 150}}, ["vocab", "encode", "report"]),
        ({"vocab": {"size": 200, "shared": True}}, ["vocab", "encode", "report"]),
        ({"sample": {"bytes_per_corpus": 100}}, ["sample", "vocab", "encode", "report"]),
        ({"sample": {"bytes_per_corpus": 10**9}}, ["sample", "report"]),
        ({"seed": 2}, ["encode", "report"]),
        ({"engine": {"workers": 1, "memory": "300MB"}}, []),
        ({"input": {"batch_tokens": 100}}, ["encode", "report"]),
        ({"languages": {"source": "en", "target": "zh-CN"}}, ["vocab", "encode", "report"]),
        ({"name": "other"}, ["vocab", "encode", "report"]),
    ],
)
def test_a_change_reruns_exactly_the_affected_stages(done: Path, changes: dict[str, Any], expected: list[str]) -> None:
    assert run(done, **changes) == expected
    run(done, output="fresh", **changes)
    assert tree(done / "run") == tree(done / "fresh")


@pytest.mark.parametrize("workers", [1, 7])
def test_the_bytes_do_not_depend_on_workers_or_memory(done: Path, workers: int) -> None:
    run(done, output="other", workers=workers, engine={"memory": "256MB"})
    assert tree(done / "run") == tree(done / "other")


def test_the_bytes_do_not_depend_on_the_hash_seed(done: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from nmt_prep.corpora import parts; "
        "from tests.test_main_job import run; parts.PART_BYTES = 4000; parts.ROW_GROUP_BYTES = 1000; "
        "run(Path(sys.argv[1]), output=sys.argv[2])"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program, str(done), "seed"], env=environment, check=True)
    assert tree(done / "run") == tree(done / "seed")


def test_another_seed_gives_the_same_pairs_in_another_order(done: Path) -> None:
    run(done, output="other", seed=2)
    first, second = records(done / "run"), records(done / "other")
    assert Counter(first) == Counter(second)
    assert first != second
    assert sum(one == other for one, other in zip(first, second, strict=True)) < 10


def test_the_order_shows_no_trace_of_the_input(tmp_path: Path) -> None:
    count = 4000
    write_corpus(tmp_path, pairs=count)
    run(tmp_path)
    source = nmt_prep.load_tokenizer(tmp_path / "run" / "vocab" / "vocab.small.200.subwords.en")
    numbers = [int(source.decode(inputs[:-1]).split()[-1][:-1]) for inputs, _ in records(tmp_path / "run")]
    assert sorted(numbers) == list(range(count))
    mean = (count - 1) / 2
    variance = (count * count - 1) / 12
    correlation = sum((place - mean) * (number - mean) for place, number in enumerate(numbers)) / count / variance
    assert abs(correlation) < 4 / count**0.5
    neighbours = sum(abs(one - other) == 1 for one, other in pairwise(numbers))
    assert neighbours < 12
    for shard in range(3):
        part = numbers[shard * count // 3 : (shard + 1) * count // 3]
        assert abs(sum(part) / len(part) - mean) < 4 * (variance / len(part)) ** 0.5


def test_a_corpus_added_to_a_split_is_compiled_with_the_others(done: Path) -> None:
    write_corpus(done / "more", pairs=50)
    more = {"name": "z", "url": "more/train.tgz", "source": "t/x.en", "target": "t/x.zh"}
    config = corpus_config(done / "run").model_dump(mode="json", exclude_unset=True)
    assert run(done, splits={**config["splits"], "train": [*config["splits"]["train"], more]}) == STAGES
    assert Counter(records(done / "run")).most_common(1)[0][1] == 2


def test_a_run_resumes_after_an_error(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    calls = 0
    write_shards = encode_tasks.write_shards

    def fail_once(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise nmt_prep.NmtPrepError("disk full")
        return write_shards(*arguments)

    monkeypatch.setattr(encode_tasks, "write_shards", fail_once)
    with pytest.raises(nmt_prep.NmtPrepError, match="disk full"):
        run(done, output="again", workers=1)
    assert run(done, output="again") == ["encode", "report"]
    assert calls == 2 + 1  # small shards of a split are written together
    assert tree(done / "again") == tree(done / "run")
