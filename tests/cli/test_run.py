from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.cli.run import batch_preview, outcome_table, show_summary
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.pipeline.drivers import Outcome, RoundTime
from nmt_prep.pipeline.lock import run_lock
from nmt_prep.pipeline.manifest import Counts, Workspace
from nmt_prep.pipeline.stage import HealthWarning
from nmt_prep.runs.checks import load_config
from nmt_prep.runs.runner import run
from nmt_prep.subwords import load_tokenizer
from tests.cli.program import nmt_prep
from tests.corpus import corpus_config, write_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path)


def test_run_prints_stages_records_a_batch_and_then_that_nothing_changed(config: Path) -> None:
    first = nmt_prep("run", config)
    assert first.returncode == 0
    assert first.stderr == ""
    lines = first.stdout.splitlines()
    assert "compile: starting (never run here)" in lines
    assert any(line.split()[:1] == ["compile"] and "empty_target 1" in line for line in lines)
    assert f"records: {config.parent / 'run' / 'records'}" in lines
    assert "  train: 300 pairs in 3 shards: small-train-00000-of-00003 … small-train-00002-of-00003" in lines
    preview = first.stdout[first.stdout.index("a batch: source [") : first.stdout.index("stage ")]
    assert "  source IDs: " in preview
    assert preview.count("  target:     ") == 3

    second = nmt_prep("run", config)
    assert "compile: up to date" in second.stdout.splitlines()
    assert "a batch" not in second.stdout
    assert not any(line.startswith("  shuffle ") for line in lines)
    assert "  shuffle " in nmt_prep("run", config, "--force", "encode", "--verbose").stdout
    assert nmt_prep("run", config, "--quiet").stdout == ""


def test_the_preview_with_modifiers_has_single_segments(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("one cat\tune chat\tbook\ntwo cats\tdeux chats\tbook\n" * 20)
    (tmp_path / "config.yaml").write_text(
        f"output_dir: {tmp_path}/run\n"
        "name: small\nseed: 1\nlanguages: {source: en, target: fr}\nsplits: {train: [{name: books, "
        "url: train.tsv, format: tsv, columns: {source: 0, target: 1}, document: 2}]}\n"
        "vocab: {kind: byte_bpe, size: 300, shared: true, reserved: [<sep>]}\n"
        "documents: {separator: <sep>}\nrecords: {layout: text, shards: {train: 1}}\n"
        "training: {modifiers: [UpperCase: 1]}\n"
    )
    made = nmt_prep("run", tmp_path / "config.yaml")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.count("  source:     ") == 3
    assert {"  source:     ONE CAT", "  source:     TWO CATS"} >= {
        line for line in made.stdout.splitlines() if line.startswith("  source:     ")
    }


def test_a_run_on_a_directory_that_is_in_use(config: Path) -> None:
    with run_lock(Workspace(config.parent / "run"), wait=False, waiting=lambda holder: None):
        at_once = nmt_prep("run", config, "--no-wait")
        assert at_once.returncode == 1
        assert "wait for it to end, or stop it" in at_once.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--until", "encod"), "this config has no stage 'encod'; its stages are download, extract, compile"),
        (("--force", "clean"), "this config has no stage 'clean'; its stages are download, extract, compile"),
        (
            ("--round", "shufle", "--task-id", "0", "--num-tasks", "2"),
            "there is no round 'shufle' to share; the rounds",
        ),
    ],
)
def test_names_that_the_config_does_not_have_are_wrong_usage(
    config: Path, options: tuple[str, ...], message: str
) -> None:
    result = nmt_prep("run", config, *options)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_until_force_and_log_json(config: Path) -> None:
    log = config.parent / "logs" / "events.jsonl"
    assert nmt_prep("run", config, "--until", "sample", "--log-json", log).returncode == 0
    assert not (config.parent / "run" / "vocab").exists()
    assert nmt_prep("run", config, "--force", "sample", "--until", "sample", "--log-json", log).returncode == 0
    events = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    started = [event["stage"] for event in events if event["event"] == "stage_started"]
    assert started == ["download", "extract", "compile", "sample", "sample"]
    assert [event["event"] for event in events[-2:]] == ["stage_finished", "run_finished"]


def test_the_schema_is_printed() -> None:
    assert json.loads(nmt_prep("schema").stdout)["title"] == "Config"


def test_a_corpus_of_which_nothing_is_left_is_an_error_unless_that_is_allowed(config: Path) -> None:
    run = ["run", config, "--until", "clean", "--set", "clean={rules: {length: {unit: char, max: 1}}, preset: none}"]
    refused = nmt_prep(*run)
    assert refused.returncode == 1
    assert "clean.rules.length: cleaning drops all 300 pairs of splits.train.x" in refused.stderr
    assert nmt_prep(*run, "--allow-empty").returncode == 0
    assert nmt_prep(*run).returncode == 0  # the option does not change the result


def test_allowing_that_needs_a_config_that_cleans(config: Path) -> None:
    ended = nmt_prep("run", config, "--allow-empty")
    assert (ended.returncode, "the config has no section clean" in ended.stderr) == (2, True)


SENTENCEPIECE = {"kind": "sentencepiece", "size": 60, "model_type": "bpe", "shared": True}
SMALL = (
    "the source vocabulary has 112 pieces, but 200 were requested (vocab.size): the sample gives no more; "
    "sample more text (sample.bytes_per_corpus) or request fewer"
)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The config of a complete run."""
    path = write_config(tmp_path_factory.mktemp("summary"))
    assert nmt_prep("run", path, "--quiet").returncode == 0
    return path


def test_a_strict_run_makes_everything_and_ends_with_status_3(config: Path) -> None:
    result = nmt_prep("run", config, "--quiet", "--strict")
    assert result.returncode == 3
    assert result.stdout == ""
    first, second = result.stderr.splitlines()[:2]
    assert first == "nmt-prep: error: the run ended with a warning about its data (everything that it made is kept):"
    assert second == f"  {SMALL}"
    assert nmt_prep("run", config, "--quiet").returncode == 0
    assert nmt_prep("run", config, "--quiet", "--strict").returncode == 3  # also if nothing changed


def test_the_summary_has_warnings_records_and_page(complete: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(complete.parent)
    lines = nmt_prep("run", complete, "--set", "output_dir=run").stdout.splitlines()
    assert f"warning: {SMALL}" in lines
    assert f"records: {complete.parent / 'run' / 'records'}" in lines
    assert lines[-1] == f"report: {complete.parent / 'run' / 'report' / 'index.html'}"


def test_warnings_are_coloured_on_a_colour_terminal(complete: Path) -> None:
    stream = io.StringIO()
    console = SafeConsole(file=stream, width=80, force_terminal=True, color_system="standard", _environ={})
    outcome = Outcome("vocab", True, "", 1.0, Counts(), (HealthWarning("c", "a\x1b[0mb", "news", "train"),))
    settings = load_config(complete)
    show_summary(console, settings, [outcome], warnings=True, rounds=False)
    assert "\x1b[1;33mwarning:\x1b[0m train/news: a\\x1b[0mb" in stream.getvalue()
    show_summary(console, settings, [outcome], warnings=False, rounds=False)
    assert stream.getvalue().count("warning:") == 1


def test_the_summary_as_json_is_all_that_standard_output_has(complete: Path) -> None:
    result = nmt_prep("run", complete, "--json")
    summary = json.loads(result.stdout)
    assert "sample: up to date" in result.stderr
    assert list(summary) == ["version", "name", "output_dir", "complete", "seconds", "stages", "warnings", "splits"]
    assert summary["version"] == 1
    assert summary["name"] == "small"
    assert summary["complete"] is True
    assert summary["output_dir"] == str(complete.parent / "run")
    names = ["download", "extract", "compile", "sample", "vocab", "encode", "report"]
    assert [stage["stage"] for stage in summary["stages"]] == names
    compiled = summary["stages"][2]
    assert {key: compiled[key] for key in ("ran", "reason", "pairs_in", "pairs_out")} == {
        "ran": False,
        "reason": "nothing changed",
        "pairs_in": 321,
        "pairs_out": 320,
    }
    assert compiled["dropped"]["empty_target"] == 1
    (warning,) = summary["warnings"]
    assert warning == {
        "stage": "vocab",
        "code": "small_vocabulary",
        "text": SMALL,
        "corpus": None,
        "split": None,
        "side": "source",
        "value": 112,
        "share": None,
    }
    assert summary["splits"]["dev"]["pairs"] == 20
    assert summary["splits"]["dev"]["shards"] == ["records/small-dev-00000-of-00001"]


def test_json_of_a_run_that_stops_early_has_no_splits(complete: Path) -> None:
    result = nmt_prep("run", complete, "--json", "--quiet", "--until", "sample")
    assert result.stderr == ""
    summary = json.loads(result.stdout)
    assert (summary["complete"], summary["warnings"], summary["splits"]) == (False, [], {})


def test_drops_are_coloured_on_a_colour_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rounds = (RoundTime("lines", 2, 0.25, 0.5, 0.0), RoundTime("compile", 3, 0.5, 0.75, 0.0))
    counts = Counts(10, 7, {"empty": 3})
    table = outcome_table(
        [Outcome("compile", True, "", 1.0, counts, processor_seconds=1.5, rounds=rounds)], rounds=True
    )

    def printed(**options: bool) -> str:
        stream = io.StringIO()
        SafeConsole(file=stream, width=120, **options).print(table)
        return stream.getvalue()

    assert "\x1b[33mempty 3\x1b[0m" in printed(force_terminal=True)
    assert "\x1b" not in printed()
    assert [line.split() for line in printed().splitlines()] == [
        ["stage", "time", "processor", "pairs", "in", "pairs", "out", "dropped", "details"],
        ["compile", "1.00", "s", "1.50", "s", "10", "7", "empty", "3"],
        ["lines", "0.25", "s", "0.50", "s"],
        ["compile", "0.50", "s", "0.75", "s"],
    ]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[33m" not in printed(force_terminal=True)


@pytest.mark.parametrize(
    "vocab",
    [
        {"size": 120, "shared": True, "reserved": ["<2zh>"]},
        {**SENTENCEPIECE, "options": {"hard_vocab_limit": False, "control_symbols": ["<2zh>"]}},
    ],
    ids=["t2t", "sentencepiece"],
)
def test_tags_are_shown_by_their_names(tmp_path: Path, vocab: dict[str, Any]) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t猫\n" * 20, encoding="utf-8")
    corpus = {"name": "a", "url": "a.tsv", "tag": {"source": "<2zh>"}}
    config = corpus_config(tmp_path / "run", splits={"train": [corpus]}, vocab=vocab)
    run(config)
    [head, ids, source, _, target, *_] = batch_preview(config).splitlines()
    assert head.startswith("a batch: source [")
    [path] = (tmp_path / "run" / "vocab").glob("vocab.small.*")
    assert ids.split()[2] == str(load_tokenizer(path).piece_id("<2zh>"))
    assert (source, target) == ("  source:     <2zh> the cat", "  target:     猫")


@pytest.mark.parametrize("layout", ["example", "chunk", "packed"])
def test_preview_of_every_layout(tmp_path: Path, layout: str) -> None:
    (tmp_path / "a.tsv").write_text("the cat\t猫\n" * 20, encoding="utf-8")
    splits = {"train": [{"name": "a", "url": "a.tsv"}]}
    config = corpus_config(tmp_path / "run", splits=splits, vocab={"size": 120}, records={"layout": layout})
    run(config)
    head, ids, source, _, target, *_ = batch_preview(config).splitlines()
    assert head == f"a batch: source [20, {len(ids.split()[2:])}], target [20, 2], int32"
    assert (source, target) == ("  source:     the cat", "  target:     猫")
