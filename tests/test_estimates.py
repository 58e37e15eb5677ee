from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.config import Config
from nmt_prep.estimates import (
    CorpusSize,
    Machines,
    StageEstimate,
    advice,
    estimate,
    given_corpora,
    peak_disk,
    sample_bytes,
)
from nmt_prep.pipeline.measured import StageNote, kind_of, machine_name, save_note
from tests.corpus import corpus_config

GIGABYTE = [CorpusSize("train", 1e9)]


def config(**changes: Any) -> Config:
    plain = {"train": [{"name": "x", "format": "plain", "url": {"source": "x.en", "target": "x.zh"}}]}
    return corpus_config(Path("run"), **{"splits": plain, "records": {"shards": {"train": 4}}, **changes})


def predicted(
    corpora: list[CorpusSize] | None = None, workers: int = 4, cores: int = 4, **settings: Any
) -> dict[str, StageEstimate]:
    checked = config(**settings)
    machines = Machines(workers, cores, checked.engine.memory)
    return {stage.stage: stage for stage in estimate(checked, corpora or GIGABYTE, machines)}


def note(stage: str, rounds: dict[str, tuple[float, int]], *, of: dict[str, Any] | None = None, **changes: Any) -> None:
    """Notes a run over 100 MB; ``rounds`` has the seconds and the number of tasks of each round."""
    facts = {"machine": machine_name(), "made": "2026-01-31", "text": 10**8, "sample": 10**7, "workers": 2, "rest": 0.0}
    measured = {name: {"seconds": seconds, "tasks": tasks} for name, (seconds, tasks) in rounds.items()}
    more = {"rounds": measured, "written": 0, "scratch": 0, "memory": None}
    noted = StageNote.model_validate({**facts, **more, **changes})
    save_note(kind_of(stage, config(**(of or {}))), noted)


def test_rounds_are_scaled_by_text_and_workers() -> None:
    note("encode", {"encode": (2.0, 2), "shuffle": (3.0, 4)}, rest=0.5, written=4 * 10**7, scratch=10**8)
    found = predicted()["encode"]
    start = 0.1  # of each round, and of what comes outside of rounds
    assert found.seconds == pytest.approx(3 * start + 1.9 * 10 * 2 / 4 + 2.9 * 10 * 2 / 4 + 0.4 * 10)
    assert (found.output, found.scratch, found.origin) == (4e8, 1e9, "measured 2026-01-31 on 100 MB")
    same = predicted([CorpusSize("train", 1e8)])["encode"].seconds
    assert same == pytest.approx(2.0 + start + 2.9 * 2 / 4 + 0.5)  # two tasks, two busy
    note("report", {}, rest=0.06, text=10**9)
    assert predicted([CorpusSize("train", 1e8)])["report"].seconds == 0.06


def test_text_that_is_copied_takes_longer_to_compile() -> None:
    note("compile", {"compile": (2.1, 2)}, written=10**7)
    copied, named = (predicted([CorpusSize("train", 1e9, copied=each)], workers=2)["compile"] for each in (True, False))
    assert (copied.seconds, named.seconds) == (pytest.approx(20.1), pytest.approx(8.1))
    note("compile", {"compile": (2.1, 2)}, text=10**9)
    found = predicted([CorpusSize("train", 1e8, copied=True), CorpusSize("train", 8e8)], workers=2)["compile"]
    assert found.seconds == pytest.approx(0.1 + 2.0 * (0.9 + 0.15))


def test_lines_that_a_sample_leaves_out_are_counted() -> None:
    note("sample", {"sample": (2.1, 2)})
    (size,) = {sample_bytes(config(), GIGABYTE)}
    found = predicted(workers=2)["sample"].seconds
    assert found == pytest.approx(0.1 + 2.0 * (size + 1e9 / 20) / (10**7 + 10**8 / 20))


def test_rounds_that_learn_are_scaled_by_pairs() -> None:
    learning: dict[str, Any] = {"align": {"pairs": 1_000_000}}
    note("align", {"align-start": (3.0, 1), "align-1": (6.0, 2), "align": (2.0, 4)}, of=learning)
    # 100 MB are 666,667 pairs, of at most a million
    assert predicted(**learning, workers=2)["align"].seconds == pytest.approx(0.3 + 2.9 * 1.5 + 5.9 * 1.5 + 1.9 * 10)
    assert predicted([CorpusSize("train", 1e10)], **learning, workers=2)["align"].seconds == pytest.approx(
        0.3 + 8.8 * 1.5 + 190
    )
    cleaning: dict[str, Any] = {"clean": {"rules": {"translation": {"pairs": 10_000}}}}
    note("clean", {"clean": (1.0, 2), "translation-1": (6.0, 2), "translation-scores": (1.0, 2)}, of=cleaning)
    assert predicted(**cleaning, workers=2)["clean"].seconds == pytest.approx(9.1 + 6.0 + 9.1)
    assert predicted(clean={})["clean"].origin == ""


def test_training_takes_one_process_and_sublinear_time() -> None:
    note("vocab", {"count": (1.0, 1), "train": (3.0, 1)}, memory=10**8)
    few, many = predicted(workers=1)["vocab"], predicted(workers=64, cores=64)["vocab"]
    growth, parts = sample_bytes(config(), GIGABYTE) / 1e7, 1e9 / (64 << 20)
    assert few.seconds == pytest.approx(0.2 + 0.9 * growth + 2.9 * growth**0.85)
    assert many.seconds == pytest.approx(0.2 + 0.9 * growth / parts + 2.9 * growth**0.85 / parts)
    assert few.memory == 200_000_000 + int(1e8 * growth**0.85)


def test_what_was_not_measured_comes_last() -> None:
    note("encode", {"encode": (2.0, 2)})
    found = predicted(clean={})
    assert list(found) == ["download", "encode", "extract", "compile", "clean", "sample", "vocab", "report"]
    assert [stage.origin for stage in found.values()][2:] == [""] * 6


def test_the_run_over_the_most_similar_amount_is_used() -> None:
    note("compile", {"compile": (7.0, 2)}, text=2 * 10**9)
    note("compile", {"compile": (1.0, 2)}, text=2 * 10**7)
    note("compile", {"compile": (8.0, 2)}, text=2 * 10**9)
    note("compile", {"compile": (9.0, 2), "recount": (4.0, 2)}, text=2 * 10**10, rest=None)
    assert predicted(workers=2)["compile"].seconds == pytest.approx(0.2 + 6.9 / 2 + 3.9 / 20)


def test_a_stage_that_never_ended() -> None:
    note("compile", {"lines": (4.0, 2)}, rest=None)
    found = predicted(workers=2)["compile"]
    assert (found.seconds, found.output, found.origin) == (39.1, 0.0, "measured 2026-01-31 on 100 MB, not to its end")
    copied = predicted([CorpusSize("train", 1e9, copied=True)], workers=2)["compile"]  # as the text of the note may be
    assert copied.seconds == found.seconds


def test_memory_grows_with_the_workers_of_a_machine() -> None:
    note("encode", {"encode": (2.0, 8)}, memory=800_000_000, workers=4)
    assert predicted(workers=8, cores=8)["encode"].memory == 200_000_000 + 1_600_000_000
    assert predicted(workers=8, cores=2)["encode"].memory == 200_000_000 + 800_000_000


def test_the_sample_is_bounded_by_its_budget() -> None:
    budget = {"bytes_per_corpus": 1_000_000}
    assert sample_bytes(config(sample=budget), GIGABYTE) == pytest.approx(1.1e6 + 5e8 / 251)
    assert sample_bytes(config(sample=budget), [CorpusSize("train", 2e5)]) == 2e5
    assert sample_bytes(config(), [CorpusSize("dev", 2e5)]) == 1


def test_disk_at_once() -> None:
    stages = [StageEstimate("a", scratch=5, output=3), StageEstimate("b", scratch=1, output=2)]
    assert peak_disk(stages) == 8


def test_machines() -> None:
    assert Machines(512, 32, 64_000_000_000).count == 16


def test_no_advice_if_nothing_is_wrong(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "2GB"}, records={"shards": {"train": 4}})
    machines = Machines(4, 4, 2_000_000_000)
    found = estimate(checked, given_corpora(checked, 100_000), machines)
    assert list(advice(checked, found, machines, 100_000)) == []


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ({"translation": {}}, "clean.rules.translation.pairs"),
        ({"adequacy": {}}, "clean.rules.adequacy.pairs"),
        ({"translation": {"pairs": 100_000}, "adequacy": {"pairs": 900_000}}, "clean.rules.adequacy.pairs"),
        ({"translation": {}, "adequacy": {}}, "clean.rules.translation.pairs and clean.rules.adequacy.pairs"),
    ],
)
def test_advice_names_the_rule_that_learns(tmp_path: Path, rules: dict[str, Any], options: str) -> None:
    clean = {"preset": "none", "rules": rules}
    checked = corpus_config(tmp_path / "run", engine={"memory": "300MB"}, records={"shards": {"train": 4}}, clean=clean)
    (sentence,) = advice(checked, [StageEstimate("clean")], Machines(4, 4, 300_000_000), 10**9)
    assert sentence.endswith(f"clean stops with an error; raise engine.memory, or lower {options}")


def test_advice(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "300MB"}, records={"shards": {"train": 4}}, align={})
    found = [
        StageEstimate("vocab", memory=400_000_000),
        StageEstimate("align"),
        StageEstimate("encode", memory=350_000_000, output=1e18),
    ]
    text = "\n".join(advice(checked, found, Machines(64, 32, 300_000_000), 10**12))
    assert "building a vocabulary takes about 400.0 MB of memory on one machine, but engine.memory is 300.0 MB" in text
    assert "vocab stops with an error; raise engine.memory, or lower sample.bytes_per_corpus (now 100,000,000)" in text
    assert (
        "learning word alignment from 1,000,000 pairs takes about 787.2 MB of memory, but engine.memory is 300.0 MB: "
        "align stops with an error; raise engine.memory, or lower align.pairs"
    ) in text
    assert "encode takes about 350.0 MB on a machine, more than engine.memory gives it; use fewer workers" in text
    assert f"are needed below {tmp_path / 'run'}, where " in text
    assert "4 shards are 4 tasks for 64 workers; raise records.shards.train" in text
