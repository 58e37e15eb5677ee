"""The rows of stages: shares, ends, epochs, and the same rows from any row on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.training import StageSettings, TrainingSettings
from nmt_prep.training.curriculum import BLOCK_ROWS, Curriculum, plan_stages, read_opustrainer

SIZES = {"clean": 5000, "mined": 400_000, "tiny": 3, "empty": 0}


def plan(*stages: dict[str, Any], sizes: dict[str, int] = SIZES, **training: Any) -> Curriculum:
    settings = TrainingSettings(stages=tuple(StageSettings(**stage) for stage in stages), **training)
    return plan_stages(settings, sizes, 7, Path())


def rows_of(curriculum: Curriculum, first: int = 0, count: int = 1 << 60) -> list[tuple[int, ...]]:
    rows: list[tuple[int, ...]] = []
    for block in curriculum.blocks(first):
        columns = np.column_stack([block.corpora, block.epochs, block.pairs, block.keys.astype(np.int64)])
        rows += [(block.stage, *row) for row in columns[max(first - block.first, 0) :].tolist()]
        if len(rows) >= count:
            break
    return rows[:count]


TWO = plan(
    {"name": "start", "mix": {"clean": 0.25, "noisy": 0.75}, "until": {"clean": 2}},
    {"name": "end", "mix": {"clean": 1.0}, "until": {"rows": 7000}},
    groups={"noisy": ("mined", "tiny")},
)


@pytest.fixture(scope="module")
def rows() -> list[tuple[int, ...]]:
    return rows_of(TWO)


def test_a_stage_ends_with_the_last_pair_of_its_epochs(rows: list[tuple[int, ...]]) -> None:
    assert len(rows) == TWO.rows == TWO.stages[1].first + 7000
    start, end = rows[: TWO.stages[1].first], rows[TWO.stages[1].first :]
    assert Counter((corpus, epoch) for _, corpus, epoch, *_ in start if corpus == 0) == {(0, 0): 5000, (0, 1): 5000}
    assert start[-1][1] == 0
    assert 39_000 < len(start) < 41_000
    assert Counter(epoch for *_, epoch, _, _ in end) == {2: 5000, 3: 2000}
    assert {row[0] for row in start} == {0}
    assert {row[0] for row in end} == {1}


def test_each_pair_is_read_once_in_each_epoch(rows: list[tuple[int, ...]]) -> None:
    assert len({row[1:4] for row in rows}) == len(rows) == len({row[4] for row in rows})
    assert sorted(pair for _, corpus, epoch, pair, _ in rows if (corpus, epoch) == (0, 1)) == [*range(5000)]


@pytest.mark.parametrize("first", [0, 1, BLOCK_ROWS - 1, BLOCK_ROWS, 39_990, 41_000, 45_000])
def test_rows_from_any_row_on(rows: list[tuple[int, ...]], first: int) -> None:
    assert rows_of(TWO, first) == rows[first:]


def test_readers_share_the_blocks() -> None:
    whole = [block.first for block in TWO.blocks()]
    second = TWO.end_of_block(0)
    assert [block.first for block in TWO.blocks(0, 2)] == whole[::2]
    assert [block.first for block in TWO.blocks(second, 2)] == whole[1::2]


def test_small_shares_are_not_lost() -> None:
    endless = plan({"name": "all", "mix": {"mined": 1, "tiny": 1e-6}})
    assert endless.rows is None
    assert endless.stages[0].pairs_in(10**9) == (0, 999_999_000, 1000, 0)
    assert endless.block_at(10**15).first <= 10**15 < endless.end_of_block(10**15)


def test_without_stages_all_corpora_are_read_by_their_sizes() -> None:
    rows = rows_of(plan(sizes={"clean": 500, "mined": 40_000, "tiny": 3, "empty": 0}), 0, 40_503)
    assert Counter(row[2] for row in rows)[0] > 40_300
    assert Counter(row[1] for row in rows)[1] == pytest.approx(40_000, abs=100)


def test_the_smallest_share_ends_a_stage() -> None:
    curriculum = plan({"name": "s", "mix": {"mined": 1, "tiny": 1e-11}, "until": {"tiny": 1}})
    assert 2e11 < (curriculum.rows or 0) <= 3e11 + BLOCK_ROWS


def test_epochs_of_a_stage() -> None:
    assert TWO.epochs_of(0)["clean"] == 2
    assert TWO.epochs_of(1) == {"clean": 1.4}


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{"mix": {"clear": 1}}], "training.stages.0.mix names 'clear'; the corpora and groups are clean, "),
        ([{"mix": {"clean": 1}, "until": {"clean": 1e300}}], "training.stages.0.until: the stage has more than 2**60"),
        (
            [{"mix": {"clean": 1, "mined": 1e-300}, "until": {"mined": 1}}],
            "training.stages.0.until: the stage has more",
        ),
        ([{"mix": {"empty": 1}}], "training.stages.0.mix.empty has no pairs; "),
        ([{"mix": {"clean": 1}, "modifiers": ({"X": 1},)}], "training.stages.0.modifiers.0: no modifier is named 'X'"),
    ],
)
def test_wrong_stages(stages: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan(*({"name": "s", **stage} for stage in stages))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{"mix": {"a": 0}}], "the weights of mix sum to 0"),
        ([{"mix": {"a": 1}, "until": {"b": 1}}], "until names 'b', which the stage does not read"),
        ([{"mix": {"a": 1}, "until": {"a": 1, "rows": 1}}], "until has several keys"),
        ([{"mix": {"a": 1}, "until": {"rows": 1.5}}], "until.rows is 1.5; it must be a whole number"),
        ([{"mix": {"a": 1}}, {"name": "t", "mix": {"a": 1}}], r"stages.0 \(s\) never ends"),
        ([{"mix": {"a": 1}, "until": {"a": 1}}, {"mix": {"a": 1}}], "two stages are named 's'"),
    ],
)
def test_wrong_settings(stages: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(*({"name": "s", **stage} for stage in stages))


def test_a_group_names_a_corpus_once_also_without_stages() -> None:
    with pytest.raises(ValueError, match=r"groups\.g names a corpus twice; name it once"):
        TrainingSettings(groups={"g": ("clean", "clean")})


FILE = """
datasets: {clean: clean.tsv, dirty: dirty.tsv.gz}
stages: [start, end]
start:
  - clean 0.8
  - dirty 0.2
  - until clean 2
end:
  mix: [clean 1.0, until clean inf]
  modifiers: [UpperCase: 0.1, [[TitleCase: 0.2]]]
modifiers:
  - Typos: 0.05
    char_swap: 0.1
seed: 1111
num_fields: 3
trainer: marian -c m.yml
"""


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "c.yml"
    path.write_text(FILE)
    read = read_opustrainer(path)
    assert read.datasets == {"clean": "clean.tsv", "dirty": "dirty.tsv.gz"}
    assert (read.seed, read.fields, read.trainer) == (1111, 3, ("marian", "-c", "m.yml"))
    start, end = read.training.stages
    assert (start.name, start.mix) == ("start", {"clean": 0.8, "dirty": 0.2})
    assert (start.until, start.modifiers) == ({"clean": 2}, None)
    assert (end.name, end.mix, end.endless) == ("end", {"clean": 1.0}, True)
    assert end.modifiers == ({"UpperCase": 0.1}, {"TitleCase": 0.2})
    assert read.training.modifiers == ({"Typos": 0.05, "char_swap": 0.1},)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 1111", "", "seed: it is missing"),
        ("seed: 1111", "seed: x", "seed and num_fields must be whole numbers"),
        ("num_fields: 3", "num_fields: 1", "num_fields: it is 1; a line has a source and a target at least"),
        ("marian -c", "marian 'x", "trainer: it is no command: No closing quotation"),
        ("marian -c m.yml", "[marian]", "trainer: it is ['marian'], not a command"),
        ("seed: 1111", "seed: 1\nversion: 2", "version: 2 is unknown; it must be 1"),
        ("stages: [start, end]", "stages: [start, stop]", "stop: it must be a list such as"),
        ("clean 0.8", "clear 0.8", "start: 'clear 0.8' names no data set; they are clean, dirty"),
        ("clean 0.8", "clean x", "start: 'clean x' is not DATASET WEIGHT"),
        ("  - until clean 2", "", "start: its last line must be until DATASET EPOCHS"),
        ("until clean 2", "until clean", "start: 'until clean' is not until DATASET EPOCHS"),
        ("clean 0.8", "clean -1", "start: mix.clean: Input should be greater than or equal to 0"),
        ("clean 0.8", "clean 0", "start: until names 'clean', which the stage does not read"),
        ("until clean 2", "until clean inf", "stages.0 (start) never ends"),
        ("  - Typos: 0.05\n    char_swap: 0.1", "  - Typos", "seed and num_fields must be whole numbers, modifiers a"),
    ],
)
def test_a_wrong_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "c.yml"
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(ConfigError) as error:
        read_opustrainer(path)
    assert str(error.value).startswith(f"{path}: {message}")
