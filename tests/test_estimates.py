from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def seconds(found: dict[str, StageEstimate]) -> dict[str, float]:
    return {name: round(stage.seconds, 2) for name, stage in found.items()}


def note(kind: str, **changes: Any) -> None:
    facts = {"machine": machine_name(), "made": "2026-01-31", "work": 10**8, "written": 4 * 10**7, "seconds": 2.0}
    save_note(kind, StageNote.model_validate({**facts, "workers": 2, "memory": None, **changes}))


def test_built_in_rates() -> None:
    found = predicted()
    assert seconds(found) == {
        "download": 0.77,
        "extract": 2.86,  # two files of 500 MB, so that there is work for two workers
        "compile": 2.23,
        "sample": 2.92,  # everything is read for a sample of 277 MB
        "vocab": 9.26,
        "encode": 3.85,
        "report": 0.1,
    }
    assert {stage.origin for stage in found.values()} == {"built-in"}
    disk = {stage.stage: (round(stage.scratch / 1e6), round(stage.output / 1e6)) for stage in found.values()}
    assert disk["compile"] == (0, 300)
    assert disk["encode"] == (860, 760)
    assert round(peak_disk(list(found.values())) / 1e6) == 1000 + 300 + 277 + 860 + 760


def test_cleaning_is_estimated_for_the_splits_that_are_cleaned() -> None:
    note("clean-strict-translation", seconds=4.0)
    found = predicted(clean={})
    assert list(found)[2:5] == ["compile", "clean", "sample"]
    assert (round(found["clean"].scratch), found["clean"].output) == (460_000_000, 0.3 * 1e9)  # 24 bytes of 150
    assert predicted(clean={"preset": "none"})["clean"].scratch == 0.0
    limits = {"pair": "exact", "max_targets_per_source": 4, "keep": ["s", "corpus"]}
    assert round(predicted(clean={"preset": "none", "dedup": limits})["clean"].scratch) == 300_000_000 + 426_666_667
    assert (
        predicted(clean={"preset": "none", "rules": {"top": {"score": "s", "keep": 0.5}}})["clean"].scratch == 0.3 * 1e9
    )
    assert predicted(clean={"preset": "strict"})["clean"].seconds == 20.0  # 8 s of one worker for 100 MB
    assert "clean" not in predicted()


def test_rules_that_learn_a_model_take_time() -> None:
    without = predicted(clean={"rules": {"translation": False}}, workers=1)["clean"]
    assert (round(without.seconds, 2), without.learned) == (22.22, 0)  # 1 GB at 45 MB/s
    learning = predicted(clean={}, workers=1)["clean"]
    # and 1 GB at 10 MB/s, and 100,000 pairs of 150 bytes at 3 MB/s
    assert (round(learning.seconds, 2), learning.learned) == (127.22, 100_000)
    given = predicted(clean={"rules": {"translation": {"model": "x.model"}}}, workers=1)["clean"]
    assert (round(given.seconds, 2), given.learned) == (122.22, 0)


def test_alignment_that_was_measured_is_scaled() -> None:
    note("align", seconds=30.0)
    found = predicted(align={}, workers=2)["align"]
    assert (found.seconds, found.origin) == (300.0, "measured 2026-01-31 on 100 MB")


def test_outputs_are_estimated() -> None:
    assert "outputs" not in predicted()
    found = predicted(outputs=[{"kind": "text"}, {"kind": "fairseq"}], workers=1)["outputs"]
    assert round(found.seconds, 2) == 15.38  # twice 1 GB at 130 MB/s
    assert (found.scratch, round(found.output / 1e6), found.origin) == (0.0, 2200, "built-in")
    raw = [{"kind": "text", "pieces": False}, {"kind": "huggingface", "name": "same"}]
    found = predicted(outputs=[*raw, {"kind": "huggingface", "shards": {"train": 9}}], workers=1)["outputs"]
    assert round(found.seconds, 2) == 48.08  # three outputs, of which two share the shuffled text
    assert round(found.scratch / 1e6) == 2500
    linked = {"outputs": [{"kind": "marian", "pieces": True, "alignments": True}], "align": {}}
    assert round(predicted(**linked, workers=1)["outputs"].scratch / 1e6) == 4250


def test_learning_of_alignment_is_estimated() -> None:
    found = predicted(align={}, workers=1)["align"]
    assert round(found.seconds, 2) == 150.0  # 1 GB at 10 MB/s, and a million pairs of 150 bytes at 3 MB/s
    assert (found.memory, found.learned) == (200_000_000 + 140 * 4_194_304, 1_000_000)
    assert predicted([CorpusSize("train", 1.5e6)], align={})["align"].memory == 200_000_000 + 140 * 1_000_000
    given = predicted(align={"model": "x.model"}, workers=1)["align"]
    assert (round(given.seconds, 2), given.memory, given.learned) == (100.0, 260_000_000, 0)
    assert predicted(clean={"preset": "standard"})["clean"].learned == 100_000
    assert predicted(clean={"preset": "light"})["clean"].learned == 0


def test_measurements_of_outputs_are_of_the_same_list() -> None:
    chosen = [{"kind": "text", "pieces": False}]
    same = [{**chosen[0], "name": "other", "shards": {"train": 7}}]
    note(kind_of("outputs", config(outputs=chosen)), seconds=4.0, written=10**8)
    found = predicted(outputs=same)["outputs"]
    assert (found.seconds, found.output) == (20.0, 1e9)
    assert predicted(outputs=[{"kind": "text"}])["outputs"].origin == "built-in"


def test_measurements_are_scaled_by_bytes_and_workers() -> None:
    note("compile")
    note("encode-t2t-example", workers=4, memory=800_000_000)
    stages = predicted(workers=8, cores=8)
    assert stages["compile"].seconds == 5.0  # measured: 2 s on 2 workers; here: ten times the bytes on 8
    assert stages["compile"].origin == "measured 2026-01-31 on 100 MB"
    assert stages["encode"].seconds == 10.0
    assert stages["encode"].output == 4e8
    assert stages["encode"].memory == 200_000_000 + 8 * 200_000_000
    assert stages["sample"].origin == "built-in"


def test_files_in_their_places_are_not_copied() -> None:
    corpora = [CorpusSize("train", 1e9, extracted=False, compiled=False), CorpusSize("train", 1e8, compiled=False)]
    note("compile", seconds=90.0)
    note("compile-in-place", seconds=1.0)
    found = predicted(corpora)
    assert (found["extract"].output, found["compile"].output) == (1e8, 0)
    assert found["compile"].seconds == pytest.approx(1.0 * 11 / 2)
    assert predicted([CorpusSize("train", 1e9, extracted=False)])["compile"].output == 4e8


def test_the_measurement_of_the_most_similar_amount_is_used() -> None:
    note("compile", work=2 * 10**9, seconds=7.0)
    note("compile", work=2 * 10**7, seconds=1.0)
    note("compile", work=2 * 10**9, seconds=8.0)
    assert seconds(predicted(workers=2))["compile"] == 4.0


def test_training_takes_one_process_and_sublinear_time() -> None:
    note("vocab-t2t", work=10**7, seconds=3.0, memory=10**8, workers=1)
    few, many = predicted(workers=1), predicted(workers=64, cores=64)
    sample = sample_bytes(config(), GIGABYTE)
    assert few["vocab"].seconds == many["vocab"].seconds == pytest.approx(3.0 * (sample / 1e7) ** 0.85)
    assert few["vocab"].memory == 200_000_000 + int(1e8 * (sample / 1e7) ** 0.85)


def test_the_sample_is_bounded_by_its_budget() -> None:
    budget = {"bytes_per_corpus": 1_000_000}
    assert sample_bytes(config(sample=budget), GIGABYTE) == pytest.approx(1.1e6 + 5e8 / 251)
    assert sample_bytes(config(sample=budget), [CorpusSize("train", 2e5)]) == 2e5
    assert sample_bytes(config(), [CorpusSize("dev", 2e5)]) == 0


def test_an_indivisible_corpus_is_one_task() -> None:
    assert seconds(predicted([CorpusSize("train", 1e9, lines_apart=False)]))["compile"] == 8.93


@settings(deadline=None)
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 64))
def test_more_text_never_takes_less_time(one: int, other: int, workers: int) -> None:
    less, more = (predicted(given_corpora(config(), pairs), workers, 64) for pairs in sorted((one, other)))
    for name in ("download", "extract", "compile", "encode"):
        assert less[name].output <= more[name].output
        assert less[name].scratch <= more[name].scratch
        assert less[name].seconds <= more[name].seconds * (1 + 1e-9)


def test_machines() -> None:
    assert Machines(512, 32, 64_000_000_000).count == 16
    assert Machines(4, 4, 2_200_000_000).share == 500_000_000
    assert Machines(4, 4, 2_200_000_000, dask=True).share == 350_000_000


def test_no_advice_if_nothing_is_wrong(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "2GB"}, records={"shards": {"train": 4}})
    machines = Machines(4, 4, 2_000_000_000)
    assert list(advice(checked, estimate(checked, given_corpora(checked, 100_000), machines), machines)) == []


def test_advice(tmp_path: Path) -> None:
    checked = corpus_config(tmp_path / "run", engine={"memory": "300MB"}, records={"shards": {"train": 4}}, align={})
    machines = Machines(64, 32, 300_000_000)
    found = estimate(checked, given_corpora(checked, 10**12), machines)
    text = "\n".join(advice(checked, found, machines))
    assert "building a vocabulary takes about " in text
    assert "vocab stops with an error; raise engine.memory, or lower sample.bytes_per_corpus (now 100,000,000)" in text
    assert "more than engine.memory gives it; use fewer workers, or raise engine.memory" in text
    assert (
        "learning word alignment from 1,000,000 pairs takes about 787.2 MB of memory, but engine.memory is 300.0 MB: "
        "align stops with an error; raise engine.memory, or lower align.pairs"
    ) in text
    assert f"are needed below {tmp_path / 'run'}, where " in text
    assert "4 shards are 4 tasks for 64 workers; raise records.shards.train" in text
