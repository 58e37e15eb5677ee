from __future__ import annotations

import multiprocessing
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.base import digests
from nmt_prep.base.errors import ConfigError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.config import Config
from nmt_prep.corpora import parts
from nmt_prep.pipeline.drivers import Share
from nmt_prep.runs.runner import run_share, tasks
from tests.corpus import corpus_config, tree, write_corpus
from tests.pipeline.engines.dying import do_share_and_die
from tests.pipeline.engines.test_executor import Events

UP_TO = {"extract": "download", "compile": "extract", "sample": "compile", "encode": "vocab", "shuffle": "vocab"}


STAGE_OF = {"shuffle": "encode"}
"""Stage of each round that is not named like its stage."""


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """Makes several parts of a corpus, so that a stage has several tasks."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "PART_BYTES", 4000)
        patched.setattr(parts, "ROW_GROUP_BYTES", 1000)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with a corpus, which tests copy: the bytes of an archive depend on the time."""
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory)
    return directory


@pytest.fixture(scope="module")
def one(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns the digests of the files of one whole run."""
    place = shutil.copytree(corpus, tmp_path_factory.mktemp("one") / "place")
    nmt_prep.run(config(place, "one"), workers=2)
    return tree(place / "one")


@pytest.fixture(scope="module")
def up_to_vocab(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with the corpus and a run whose stages up to vocab are complete."""
    place = shutil.copytree(corpus, tmp_path_factory.mktemp("up_to_vocab") / "place")
    nmt_prep.run(config(place, "shared"), until="vocab")
    return place


@pytest.fixture
def shared(up_to_vocab: Path, tmp_path: Path) -> Config:
    """Returns the config of a copy of that run."""
    return config(shutil.copytree(up_to_vocab, tmp_path / "place"), "shared")


@pytest.fixture
def place(corpus: Path, tmp_path: Path) -> Path:
    return shutil.copytree(corpus, tmp_path / "place")


def config(place: Path, name: str) -> Config:
    return corpus_config(place / name, records={"shards": {"train": 5}})


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_repeated_shares_in_any_order_give_the_bytes_of_one_run(place: Path, one: dict[str, str], seed: int) -> None:
    draw = random.Random(seed)
    shared = config(place, "shared")
    for name, above in UP_TO.items():
        nmt_prep.run(shared, until=above)
        members = [*range(7), *draw.sample(range(7), 3)]
        draw.shuffle(members)
        outcomes = [run_share(shared, Share(name, number, 7), workers=1) for number in members]
        last = outcomes[-1].state
        assert last is not None
        assert last.done == len(last.tasks) == sum(outcome.ran for outcome in outcomes)
    outcomes = nmt_prep.run(shared)
    assert [outcome.stage for outcome in outcomes if outcome.ran] == ["encode", "report"]
    assert tree(place / "shared") == one


def test_a_run_finishes_tasks_that_shares_left(shared: Config, one: dict[str, str]) -> None:
    outcome = run_share(shared, Share("encode", 1, 3))
    assert outcome.state is not None
    assert 0 < outcome.ran == outcome.state.done < len(outcome.state.tasks)
    nmt_prep.run(shared)
    assert tree(shared.run_dir) == one


@pytest.mark.slow
def test_killed_and_repeated_members_give_the_bytes_of_one_run(place: Path, one: dict[str, str]) -> None:
    shared = config(place, "shared")
    context = multiprocessing.get_context("spawn")
    for name in ("compile", "encode", "shuffle"):
        nmt_prep.run(shared, until=UP_TO[name])
        for number in (3, 0, 6, 1, 5, 2, 4):
            for dies_after in (0, 1, 2, None):
                arguments = (shared, Share(name, number, 7), place, dies_after)
                member = context.Process(target=do_share_and_die, args=arguments)
                member.start()
                member.join()
    nmt_prep.run(shared)
    assert tree(place / "shared") == one


def test_tasks_are_listed_with_their_state_and_nothing_is_written(place: Path) -> None:
    shared = config(place, "shared")
    listed = tasks(shared)
    assert [(stage.stage, stage.complete, stage.reason) for stage in listed[:2]] == [
        ("download", False, "never run here"),
        ("extract", False, "waits for download"),
    ]
    assert [(state.round, state.tasks) for stage in listed for state in stage.rounds] == [
        (name, None)
        for name in (
            *("extract", "lines", "rows", "compile", "recount", "in_train"),
            *("sample", "count", "train", "encode", "shuffle"),
        )
    ]
    assert not (place / "shared").exists()
    nmt_prep.run(shared, until="vocab")
    run_share(shared, Share("encode", 0, 2))
    before = tree(place / "shared")
    encode = {stage.stage: stage for stage in tasks(shared)}["encode"]
    assert [(state.round, state.tasks is None) for state in encode.rounds] == [("encode", False), ("shuffle", True)]
    done = dict(encode.rounds[0].tasks or ())
    assert [done["spill-dev-00000"], done["spill-train-00000"], done["spill-train-00001"]] == [True, False, True]
    assert tree(place / "shared") == before
    run_share(shared, Share("encode", 1, 2))
    run_share(shared, Share("shuffle", 0, 1))
    before = tree(place / "shared")
    encode = {stage.stage: stage for stage in tasks(shared)}["encode"]
    assert [(state.round, state.done, len(state.tasks)) for state in encode.rounds] == [
        ("encode", len(done), len(done)),
        ("shuffle", 2, 2),  # small shards of a split are one task
    ]
    assert tree(place / "shared") == before
    nmt_prep.run(shared)
    assert all(stage.complete for stage in tasks(shared))
    assert run_share(shared, Share("shuffle", 0, 1)).state is None


@pytest.mark.parametrize("name", ["compile", "sample", "encode", "shuffle"])
def test_a_task_whose_file_was_removed_is_repeated(place: Path, one: dict[str, str], name: str) -> None:
    shared = config(place, "shared")
    nmt_prep.run(shared, until=UP_TO[name])
    for round_name in ("encode", "shuffle") if name == "shuffle" else (name,):
        run_share(shared, Share(round_name, 0, 1))
    made = [
        path
        for path in sorted((place / "shared" / ".nmt_prep" / "drafts").rglob("*"))
        if path.is_file() and path.parent.name != "tasks" and (name != "shuffle" or "output" in path.parts)
    ]
    made[1].unlink()
    state = {stage.stage: stage for stage in tasks(shared)}[STAGE_OF.get(name, name)]
    missing = {each.round: len(each.tasks or ()) - each.done for each in state.rounds}
    assert missing[name] == 1
    assert run_share(shared, Share(name, 0, 1)).ran == 1
    made[-1].unlink()
    nmt_prep.run(shared)
    assert tree(place / "shared") == one


def test_members_with_their_own_caches_read_earlier_stages_once(
    shared: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "elsewhere"))
    run_share(shared, Share("encode", 0, 2))
    monkeypatch.setattr(digests, "sha256_of", lambda path: pytest.fail(f"read {path} again"))
    run_share(shared, Share("encode", 1, 2))


def test_progress_covers_the_share(shared: Config) -> None:
    run_share(shared, Share("encode", 2, 4))
    events = Events()
    outcome = run_share(shared, Share("encode", 0, 2), workers=1, progress=Progress(events))
    assert outcome.state is not None
    of = len(outcome.state.tasks[::2])
    counts = [(fields["done"], fields["total"]) for name, fields in events.events if name == "task_finished"]
    assert counts == [(done, of) for done in range(of - outcome.ran + 1, of + 1)]
    assert 0 < outcome.ran < of


def test_a_share_requires_the_earlier_rounds(place: Path) -> None:
    shared = config(place, "shared")
    with pytest.raises(OutputError, match=r"download comes before encode and is not up to date .*--until vocab"):
        run_share(shared, Share("encode", 0, 2))
    nmt_prep.run(shared, until="vocab")
    with pytest.raises(OutputError, match=r"of \d+ encode tasks are not finished, and shuffle needs all of them"):
        run_share(shared, Share("shuffle", 0, 2))


def test_unknown_rounds_and_shares(place: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"no round 'vocabulary' to share; the rounds are extract, lines, rows, compile"
    ):
        run_share(config(place, "shared"), Share("vocabulary", 0, 2))
    assert not (place / "shared").exists()
    with pytest.raises(ConfigError, match=r"no share 2 of 2; .* from 0 to 1 \(for Slurm: --array=0-1\)"):
        Share("encode", 2, 2)
    with pytest.raises(ConfigError, match="into 0 shares"):
        Share("encode", 0, 0)
