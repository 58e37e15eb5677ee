from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nmt_prep
from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning.dedup import spill
from nmt_prep.config import Config
from nmt_prep.corpora import parts
from nmt_prep.pipeline.drivers import RoundState, Share
from nmt_prep.runs import runner
from nmt_prep.stages.clean import duplicates
from nmt_prep.stages.clean.comparing import PlanTask, plan_ranges
from nmt_prep.stages.clean.parts import PartOutput, PartTask
from tests.conftest import examples
from tests.reference.dedup import Row, deduplicated
from tests.stages.cleaning import cleaned, made_in_three_ways, pairs_below, write
from tests.stages.runs import config_of, manifest, run, run_of

NONE = {"preset": "none", "fix": ["whitespace"], "rejects": "all"}

FIRST = [("Hello, world!", "Hallo Welt"), ("one", "eins"), ("Hello, world!", "Hallo Welt"), ("two", "zwei")]
SECOND = [("hello world", "hallo, welt."), ("two", "zwei"), ("three", "drei")]


def rejected(config: Config) -> list[tuple[Any, ...]]:
    return pairs_below(config, "rejected", "train", "corpus", "row", "rule", "kept_corpus", "kept_row")


def two_corpora(directory: Path, **dedup: Any) -> Config:
    corpora = (write(directory, "a", FIRST), write(directory, "b", SECOND))
    return config_of(directory, *corpora, clean={**NONE, "dedup": dedup})


def test_duplicates_are_dropped_and_name_the_pair_that_stays(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair="exact")
    run(config)
    assert cleaned(config) == [FIRST[0], FIRST[1], FIRST[3], SECOND[0], SECOND[2]]
    assert rejected(config) == [("a", 2, "duplicate_pair", "a", 0), ("b", 1, "duplicate_pair", "a", 3)]
    counts = manifest(config, "clean").counts
    assert (counts.pairs_in, counts.pairs_out) == (7, 5)
    assert counts.dropped == {"empty": 0, "duplicate_pair": 2}
    output = manifest(config, "clean").details
    assert output["overlap"] == {"train": {"a": {"a": 4, "b": 1}, "b": {"a": 1, "b": 3}}}
    assert output["corpora"]["train"]["b"]["pairs_out"] == 2


def test_normalized_duplicates_differ_in_case_and_punctuation(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair="normalized")
    run(config)
    assert cleaned(config) == [FIRST[0], FIRST[1], FIRST[3], SECOND[2]]
    assert ("b", 0, "duplicate_pair", "a", 0) in rejected(config)
    assert manifest(config, "clean").details["overlap"]["train"]["b"] == {"a": 2, "b": 3}


def test_limits_keep_the_best_pairs_of_a_source_and_of_a_target(tmp_path: Path) -> None:
    pairs = [("s", "1"), ("s", "2"), ("s", "2"), ("s", "3"), ("t", "3"), ("u", "3"), ("v", "3")]
    dedup = {"pair": "exact", "max_targets_per_source": 2, "max_sources_per_target": 2}
    config = run_of(tmp_path, write(tmp_path, "c", pairs), clean={**NONE, "dedup": dedup})
    assert cleaned(config) == [("s", "1"), ("s", "2"), ("t", "3"), ("u", "3")]
    assert rejected(config) == [
        ("c", 2, "duplicate_pair", "c", 1),
        ("c", 3, "too_many_targets", "c", 0),
        ("c", 6, "too_many_sources", "c", 4),
    ]
    assert manifest(config, "clean").counts.dropped == {
        "empty": 0,
        "duplicate_pair": 1,
        "too_many_targets": 1,
        "too_many_sources": 1,
    }


def test_vocabulary_lines_stay(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb\na\n")
    vocab = {"name": "v", "url": {"target": "lines"}, "role": "vocab"}
    dedup = {"pair": "exact", "max_targets_per_source": 1}
    config = run_of(tmp_path, write(tmp_path, "c", [("h", "i"), ("h", "j")]), vocab, clean={**NONE, "dedup": dedup})
    assert cleaned(config) == [("h", "i"), *[("", line) for line in "aba"]]
    assert [row[:3] for row in rejected(config)] == [("c", 1, "too_many_targets")]


def scored(directory: Path, name: str, rows: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    (directory / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    columns = {"source": 0, "target": 1}
    return {"name": name, "url": f"{name}.tsv", "format": "tsv", "columns": columns, "scores": {"bicleaner": 2}}


def test_the_best_score_stays_before_the_first_corpus(tmp_path: Path) -> None:
    first = scored(tmp_path, "a", [("x", "y", "0.5"), ("u", "v", ""), ("x", "y", "-1")])
    second = scored(tmp_path, "b", [("x", "y", "0.75"), ("u", "v", "-3"), ("x", "y", "0.75")])
    clean = {**NONE, "rules": {"top": {"score": "bicleaner", "keep": 1.0}}}
    config = run_of(
        tmp_path, first, second, clean={**NONE, "dedup": {"pair": "exact", "keep": ["bicleaner", "corpus"]}}
    )
    assert pairs_below(config, "cleaned", "train", "corpus", "row") == [("b", 0), ("b", 1)]
    config = run_of(tmp_path, first, second, clean={**clean, "dedup": {"pair": "exact"}})
    assert pairs_below(config, "cleaned", "train", "corpus", "row") == [("a", 0), ("b", 1)]


def test_a_score_that_a_corpus_lacks_is_an_error_before_work(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair="exact", keep=["bicleaner", "corpus"])
    with pytest.raises(CleaningError) as error:
        nmt_prep.run(config)
    assert str(error.value).splitlines()[0] == (
        "clean.dedup.keep: the corpus splits.train.a has no score 'bicleaner' (its scores: none); name it below scores "
        "of the corpus, or remove it here"
    )
    assert not (tmp_path / "run" / "compiled").exists()


def test_limits_are_planned_and_listed_as_the_config_asks(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair="off", max_sources_per_target=8)
    assert [step.stage for step in runner.plan(config)][:3] == ["download", "extract", "compile"]
    assert rounds(config, tmp_path) == ["clean-first", "clean", "clean-targets", "clean-dedup"]
    nmt_prep.run(config, until="compile")
    assert rounds(config, tmp_path) == ["clean-first", "clean", "clean-targets", "clean-dedup"]
    config = two_corpora(tmp_path, pair="exact", max_targets_per_source=8)
    names = ["clean-pairs", "clean-pairs-dropped", "clean-sources"]
    assert rounds(config, tmp_path) == ["clean-first", "clean", *names, "clean-dedup"]
    assert rounds(two_corpora(tmp_path, pair="off"), tmp_path) == ["clean-first", "clean"]


def rounds(config: Config, directory: Path) -> list[str]:
    """Returns the names of the rounds of the stage clean, without those that look at the cleaned pairs in the end."""
    (states,) = [stage.rounds for stage in runner.tasks(config) if stage.stage == "clean"]
    names = [state.round for state in states]
    return names[: names.index("clean-look")]


def test_a_round_that_the_config_does_not_need_has_nothing_to_share(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair="exact")
    nmt_prep.run(config, until="compile")
    outcome = runner.run_share(config, Share("clean-first", 0, 1))
    assert outcome.ran == 2
    outcome = runner.run_share(config, Share("clean-pairs", 0, 1))
    assert outcome.ran == 1
    outcome = runner.run_share(config, Share("clean-sources", 0, 1))
    assert (outcome.ran, outcome.state) == (0, RoundState("clean-sources", ()))


def test_memory_that_is_too_small_is_an_error_before_work() -> None:
    pairs = 5_000_000_000
    task = PlanTask("ranges-train", "train", "clean.dedup", pairs, pairs, 2_000_000, 24, 200_000_000)
    assert plan_ranges(task, None).bits == 12
    with pytest.raises(CleaningError) as error:
        plan_ranges(replace(task, pairs=2 * pairs, records=2 * pairs), None)
    assert str(error.value) == (
        "clean.dedup: engine.memory gives 200 MB to each task, but comparing 10,000,000,000 pairs of splits.train "
        "takes 234 MB; raise engine.memory, or use fewer workers"
    )
    with pytest.raises(CleaningError, match="gives 100 MB to each task"):
        plan_ranges(replace(task, memory=100_000_000), None)
    assert plan_ranges(replace(task, pairs=50_000, records=50_000, least=100_000, memory=0), None).bits == 0


def test_parts_that_lose_no_pair_are_not_written_again_for_another_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def noted(task: PartTask) -> PartOutput:
        written.append(task.part.path)
        return PartOutput(task)

    monkeypatch.setattr(duplicates, "PartOutput", noted)
    corpora = (write(tmp_path, "a", FIRST), write(tmp_path, "b", [("four", "vier")]))
    config = config_of(tmp_path, *corpora, clean={**NONE, "dedup": {"pair": "exact"}, "rules": {"translation": {}}})
    run(config, until="clean")  # the rule is left out, since the pairs are too few
    assert [path.name for path in written] == ["part-000-00000-00000.parquet"]
    assert cleaned(config) == [FIRST[0], FIRST[1], FIRST[3], ("four", "vier")]


def test_off_in_yaml_is_false(tmp_path: Path) -> None:
    config = two_corpora(tmp_path, pair=False)
    assert config.clean is not None
    assert config.clean.dedup.pair == "off"
    run(config)
    assert len(cleaned(config)) == 7


def test_shares_workers_and_ranges_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 900)
    monkeypatch.setattr(parts, "ROW_GROUP_BYTES", 300)
    pairs = [(f"source {'x' * (n % 17)}", f"target {'y' * (n % 23)}") for n in range(80)]
    corpora = [write(tmp_path, "a", pairs), write(tmp_path, "b", pairs[::-1])]
    dedup = {"pair": "normalized", "max_targets_per_source": 8, "max_sources_per_target": 4}

    def divided() -> None:
        monkeypatch.setattr(spill, "SMALLEST_SHARE", 1000)
        monkeypatch.setattr(spill, "LARGEST_SHARE", 1000)
        monkeypatch.setattr(spill, "RUN_ROWS", 7)

    made_in_three_ways(tmp_path, *corpora, divided=divided, clean={**NONE, "rejects": "sample", "dedup": dedup})


def rows_of(corpora: Sequence[Sequence[tuple[str, str, str]]]) -> list[Row]:
    return [
        Row(f"c{number}", row, source, target, float(score) if score else None)
        for number, entry in enumerate(corpora)
        for row, (source, target, score) in enumerate(entry)
    ]


TEXTS = st.sampled_from(["a", "A", "b1", "b2.", "c.", "c", "1", "2", "!"])
ROWS = st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["", "0", "-0.0", "0.5", "2"])), max_size=30).map(
    lambda rows: [("a", "b", "1"), *rows]  # a corpus has a score
)
LIMITS = st.none() | st.integers(1, 3)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(ROWS, min_size=1, max_size=3),
    st.sampled_from(["off", "exact", "normalized"]),
    LIMITS,
    LIMITS,
    st.booleans(),
    st.sampled_from([24, 100, 4 << 20]),
    st.sampled_from([1, 5, 1000]),
)
def test_it_is_the_same_as_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    corpora: list[list[tuple[str, str, str]]],
    pair: str,
    targets: int | None,
    sources: int | None,
    by_score: bool,
    share: int,
    run_rows: int,
) -> None:
    directory = tmp_path_factory.mktemp("run")
    keep = ["bicleaner", "corpus"] if by_score else ["corpus"]
    dedup = {"pair": pair, "max_targets_per_source": targets, "max_sources_per_target": sources, "keep": keep}
    entries = [scored(directory, f"c{number}", rows) for number, rows in enumerate(corpora)]
    config = config_of(directory, *entries, clean={**NONE, "dedup": dedup})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", 20)
        patch.setattr(parts, "ROW_GROUP_BYTES", 10)
        patch.setattr(spill, "SMALLEST_SHARE", share)
        patch.setattr(spill, "LARGEST_SHARE", share)
        patch.setattr(spill, "RUN_ROWS", run_rows)
        run(config, until="clean", workers=1)
    rows = rows_of(corpora)
    kept, dropped = deduplicated(rows, pair, targets, sources, by_score=by_score)
    assert pairs_below(config, "cleaned", "train", "corpus", "row") == [(row.corpus, row.row) for row in kept]
    assert sorted(rejected(config)) == sorted(
        (row.corpus, row.row, reason, best.corpus, best.row) for row, reason, best in dropped
    )
