"""A reader and a stage defined outside nmt_prep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

import nmt_prep
from nmt_prep import stages
from nmt_prep.base.artefacts import write_json
from nmt_prep.base.errors import ConfigError, CorpusError
from nmt_prep.config import Config, Section
from nmt_prep.corpora import PairBatch, PairBuilder, Reader, format_of, iter_pairs, registry
from nmt_prep.corpora.reader import TEXT_OPTIONS
from nmt_prep.corpora.scores import value_of
from nmt_prep.pipeline.drivers import Share
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.runs.runner import run_share, tasks
from nmt_prep.text.blocks import text_of
from tests.stages.runs import config_of

PAIRS = [(f"a house, {n}", f"房子{n}") for n in range(60)]


class BarsOptions(Section):
    """Options of the format bars."""

    separator: str = Field("|", min_length=1, description="a text: it stands between the two sides")


class BarsReader(Reader):
    """One pair per line, with a separator between its sides."""

    parts: ClassVar[tuple[str, ...]] = ("both",)
    suffixes: ClassVar[tuple[str, ...]] = (".bars",)
    options: ClassVar[frozenset[str]] = TEXT_OPTIONS
    section: ClassVar[type[Section] | None] = BarsOptions

    def pairs(self) -> Iterator[PairBatch]:
        separator = self.own_options(BarsOptions).separator
        builder = PairBuilder(self.corpus.max_line_bytes, self.files["both"])
        for block in self.blocks("both"):
            for number in range(len(block.starts)):
                source, _, target = text_of(block, number).partition(separator)
                builder.add(source, target)
            yield from builder.full()
        yield from builder.rest()


class ScoredBarsReader(BarsReader):
    """A number between the sides."""

    suffixes: ClassVar[tuple[str, ...]] = (".scored",)

    @classmethod
    def has_column_at(cls, place: int | str) -> bool:
        return place == "middle"

    def pairs(self) -> Iterator[PairBatch]:
        path = self.files["both"]
        builder = PairBuilder(self.corpus.max_line_bytes, path, self.columns)
        for block in self.blocks("both"):
            for number in range(len(block.starts)):
                source, score, target = text_of(block, number).split("|")
                where = f"{path}:{block.first_line + number}"
                builder.add(source, target, columns={key: value_of(score, key, where) for key in self.columns})
            yield from builder.full()
        yield from builder.rest()


@dataclass(frozen=True)
class LettersTask:
    key: str
    part: Path
    letter: str


@dataclass(frozen=True)
class Letters:
    count: int


def count_letters(task: LettersTask, tick: Tick) -> Letters:
    DONE[task.key] += 1
    count = 0
    for batch in iter_pairs(task.part):
        count += sum(text.count(task.letter) for text in batch.column("source").to_pylist())
        tick(len(batch))
    return Letters(count)


DONE: Counter[str] = Counter()
LETTERS = Round("letters", count_letters, Letters)


@dataclass(frozen=True)
class LettersOutput:
    count: int


class LettersStage(Stage[LettersOutput, int]):
    """Writes ``letters/letters.json``: how often the name of the data set occurs in the source text."""

    name: ClassVar[str] = "letters"
    directory: ClassVar[str] = "letters"
    output: ClassVar[type[Any]] = LettersOutput
    reads: ClassVar[tuple[type[AnyStage], ...]] = (stages.Compile,)
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (LETTERS,)

    def settings(self, config: Config) -> dict[str, object]:
        return {"name": config.name}

    def work(self, job: Job) -> Rounds[int]:
        directory, letter = job.directory_of(stages.Compile), job.config.name
        files = [part.file for parts in job.read(stages.Compile).parts.values() for part in parts]
        found = yield from LETTERS.run(
            [LettersTask(file.replace("/", "-"), directory / file, letter) for file in files]
        )
        return sum(each.count for each in found)

    def finish(self, job: Job, made: int) -> Result[LettersOutput]:
        write_json(job.directory / "letters.json", made)
        return Result(LettersOutput(made))


def config(directory: Path, **more: Any) -> Config:
    (directory / "a.bars").write_text("".join(f"{source}|{target}\n" for source, target in PAIRS), "utf-8")
    corpus = {"name": "c", "url": str(directory / "a.bars")} | more.pop("corpus", {})
    return config_of(directory, corpus, **{"vocab": {"size": 100}, **more})


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs the readers as entry points of a package."""
    kinds = {"bars": "BarsReader", "scored": "ScoredBarsReader"}
    entries = [EntryPoint(name, f"{__name__}:{kind}", registry.GROUP) for name, kind in kinds.items()]
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints(entries).select(**wanted))
    registry._installed.cache_clear()
    yield
    registry._installed.cache_clear()


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds the stage to the list of stages."""
    DONE.clear()
    at = [type(stage) for stage in stages.STAGES].index(stages.Compile) + 1
    monkeypatch.setattr(stages, "STAGES", (*stages.STAGES[:at], LettersStage(), *stages.STAGES[at:]))


def compiled(directory: Path) -> list[tuple[str, str]]:
    batches = [batch for path in sorted((directory / "run/compiled/train").iterdir()) for batch in iter_pairs(path)]
    return [(pair["source"], pair["target"]) for batch in batches for pair in batch.to_pylist()]


@pytest.mark.usefixtures("bars")
def test_a_reader_delivers_scores(tmp_path: Path) -> None:
    (tmp_path / "a.scored").write_text("a|0.5|b\nc||d\n")
    corpus = {"url": str(tmp_path / "a.scored"), "scores": {"s": "middle"}}
    nmt_prep.run(config(tmp_path, corpus=corpus), until="compile")
    [path] = (tmp_path / "run/compiled/train").iterdir()
    assert [pair["score:s"] for batch in iter_pairs(path) for pair in batch.to_pylist()] == [0.5, None]
    (tmp_path / "a.scored").write_text("a|0.5|b\nc|x|d\n")
    with pytest.raises(CorpusError, match=r"a\.scored:2: scores\.s: found 'x', which is not a number"):
        nmt_prep.run(config(tmp_path, corpus=corpus), until="compile")


@pytest.mark.usefixtures("bars")
def test_a_reader_with_its_own_suffix_and_option_reads_a_run(tmp_path: Path) -> None:
    first = config(tmp_path)
    assert format_of(first.splits["train"][0]) == "bars"
    nmt_prep.run(first, until="compile")
    assert compiled(tmp_path) == PAIRS
    other = config(tmp_path, corpus={"options": {"separator": ", "}})
    reasons = {step.stage: step.reason for step in nmt_prep.plan(other)}
    assert "options" in reasons["compile"]
    nmt_prep.run(other, until="compile")
    assert compiled(tmp_path)[0] == ("a house", "0|房子0")


@pytest.mark.usefixtures("bars")
@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ({"options": {"separater": "x"}}, "options.separater: unknown key; did you mean 'separator'?"),
        ({"options": {"separator": ""}}, "options.separator: found the text ''; allowed: a text"),
        ({"header": True}, "header does not belong to format bars, which takes crlf, encoding"),
        ({"url": "a.tsv", "options": {"separator": "x"}}, "format tsv has no options"),
    ],
)
def test_options_that_the_reader_does_not_take_are_refused(tmp_path: Path, corpus: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, corpus=corpus)
    assert message in str(caught.value)


@pytest.mark.usefixtures("bars", "letters")
def test_a_stage_runs_resumes_and_is_shared_out(tmp_path: Path) -> None:
    checked = config(tmp_path, name="1")
    steps = [step.stage for step in nmt_prep.plan(checked)]
    assert steps[2:4] == ["compile", "letters"]
    nmt_prep.run(checked, until="compile")
    run_share(checked, Share("letters", 0, 1))
    [state] = [state for stage in tasks(checked) if stage.stage == "letters" for state in stage.rounds]
    assert [done for _, done in state.tasks or ()] == [True]
    nmt_prep.run(checked, until="letters")
    assert set(DONE.values()) == {1}  # the run continued from the share's results
    assert json.loads((tmp_path / "run/letters/letters.json").read_bytes()) == 16
    manifest = read_manifest(Workspace(tmp_path / "run").manifest("letters"))
    assert manifest is not None
    assert manifest.details == {"count": 16}
    assert [step.reason for step in nmt_prep.plan(checked) if step.stage == "letters"] == ["nothing changed"]
    other = config(tmp_path, name="a")
    [reason] = [step.reason for step in nmt_prep.plan(other) if step.stage == "letters"]
    assert "name" in reason
    nmt_prep.run(other, until="letters")
    assert json.loads((tmp_path / "run/letters/letters.json").read_bytes()) == 60


def test_shape_problems_and_those_of_catalogues_and_readers_come_in_one_message(tmp_path: Path) -> None:
    corpora = [
        {"name": "a", "url": "opus:OpenSubtitles/v2018/de-fr"},
        {"name": "b", "url": "b.tsv", "fields": {"source": "s", "target": "t"}},
        {"name": "c", "url": "c.x", "format": "klingon"},
    ]
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, splits={"train": corpora}, seed=-1)
    text = str(caught.value)
    assert text.startswith("test config: 4 problems\n  seed: found the number -1")
    assert "splits.train.1: fields does not belong to format tsv" in text
    assert "splits.train.2.format: no reader is named 'klingon'; allowed: plain, tsv" in text
    assert "splits.train.0.url: opus:OpenSubtitles/v2018/de-fr is for de-fr, but languages is en-zh" in text
