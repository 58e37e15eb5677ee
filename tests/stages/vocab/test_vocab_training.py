"""Vocabularies from samples counted in slices equal those from samples counted as a whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import nmt_prep
from nmt_prep.base.errors import TrainingError
from nmt_prep.config.vocab import ByteBPEVocab, SentencePieceVocab, T2TVocab
from nmt_prep.stages.vocab import vocab_training as training
from nmt_prep.stages.vocab.vocab_training import SampleFile, count_slice, count_tasks
from nmt_prep.subwords.dialect import CountColumns, read_counts, write_counts
from tests.corpus import corpus_config, run_corpus, tree, write_corpus


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SLICE_BYTES", 700)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the corpus and a run up to its sample."""
    return run_corpus(tmp_path_factory.mktemp("sampled"), "sample")


def vocabularies(place: Path, name: str, workers: int = 2, **changes: Any) -> dict[str, str]:
    nmt_prep.run(corpus_config(place / name, **changes), until="vocab", workers=workers)
    return tree(place / name / "vocab")


@pytest.mark.parametrize(
    "options",
    [
        {"size": 200},
        {"size": 200, "shared": True, "reserved": ["<2zh>"]},
        {"kind": "byte_bpe", "size": 400},
        {"kind": "byte_bpe", "size": 300, "shared": True, "pattern": r"\w+|\W"},
    ],
)
def test_slices_change_no_byte(
    sampled: Path, tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sampled, tmp_path, dirs_exist_ok=True)
    for name in ("whole", "one", "three"):
        shutil.copytree(sampled / "run", tmp_path / name)
    expected = vocabularies(tmp_path, "whole", vocab=options)
    monkeypatch.setattr(training, "SLICE_BYTES", 700)
    counted: list[str] = []

    def noting(path: Path, columns: CountColumns) -> None:
        counted.append(path.name)
        write_counts(path, columns)

    monkeypatch.setattr(training, "write_counts", noting)
    assert vocabularies(tmp_path, "one", workers=1, vocab=options) == expected
    assert vocabularies(tmp_path, "three", workers=3, vocab=options) == expected
    tasks = [*(f"count-source-{n:05d}" for n in range(14)), *(f"count-target-{n:05d}" for n in range(12))]
    assert sorted(counted) == sorted(2 * tasks)


@pytest.mark.usefixtures("small_slices")
def test_slices_are_cut_at_line_starts(tmp_path: Path) -> None:
    sample = tmp_path / "source.txt"
    sample.write_bytes(b"".join(b"w%d\n" % number for number in range(400)) + b"x" * 2000 + b"\nlast\n")
    tasks = list(count_tasks([SampleFile("source", sample, sample.stat().st_size)], T2TVocab(), tmp_path))
    assert [(task.start, task.end) for task in tasks] == [
        (0, 700), (700, 1400), (1400, 2100), (2100, 2800), (2800, 3500), (3500, 3896),
    ]  # fmt: skip
    counted: list[list[bytes]] = []
    for task in tasks:
        ticks: list[int] = []
        assert count_slice(task, ticks.append) >= 0
        counted.append(sorted(read_counts(task.output).texts.to_bytes()))
    words = [b"w%d" % number for number in range(400)]
    assert counted == [
        sorted(words[:162]), sorted(words[162:302]), [*sorted(words[302:]), b"x" * 2000], [], [], [b"last"],
    ]  # fmt: skip


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    ("options", "size", "count"),
    [
        (T2TVocab(), 700, 0),
        (T2TVocab(), 701, 2),
        (ByteBPEVocab(kind="byte_bpe"), 701, 2),
        (SentencePieceVocab(kind="sentencepiece"), 701, 0),
    ],
)
def test_only_large_samples_of_counting_dialects_are_sliced(
    tmp_path: Path, options: Any, size: int, count: int
) -> None:
    assert len(list(count_tasks([SampleFile("source", tmp_path / "s", size)], options, tmp_path))) == count


@pytest.mark.usefixtures("small_slices")
def test_counts_that_do_not_fit_in_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path)
    monkeypatch.setattr("nmt_prep.subwords.t2t.training._BYTES_PER_CHARACTER", 10**6)
    with pytest.raises(TrainingError, match=r"tokens of these lines needs [\d,]+ MB .*\(engine\.memory\)"):
        vocabularies(tmp_path, "run")
