"""``nmt-prep align CONFIG`` and ``nmt-prep shortlist RUN``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from nmt_prep.cli.app import app
from nmt_prep.stages.align import Align
from tests.cli.program import nmt_prep
from tests.stages.clean.test_translation import translated
from tests.stages.cleaning import write
from tests.stages.runs import settings_of

PAIRS = translated(400, 0)


def config_file(directory: Path, pairs: Any, **more: Any) -> Path:
    languages = {"source": "en", "target": "de"}
    path = directory / "config.yaml"
    path.write_text(yaml.safe_dump(settings_of(directory, write(directory, "c", pairs), languages=languages, **more)))
    return path


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("aligned")
    vocab, align = {"kind": "sentencepiece", "size": 90}, {"symmetrize": "intersection"}
    path = config_file(directory, PAIRS, align=align, vocab=vocab)
    result = CliRunner().invoke(app, ["run", str(path), "--until", "align", "-q"])
    assert result.exit_code == 0, result.output
    return path


def test_links_of_a_run(config: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["align", str(config), "--links", str(tmp_path / "links")])
    assert result.exit_code == 0
    lines = (tmp_path / "links").read_text().splitlines()
    assert len(lines) == 400
    expected = [" ".join(f"{n}-{n}" for n in range(len(source.split()))) for source, _ in PAIRS]
    assert sum(line == right for line, right in zip(lines, expected, strict=True)) >= 390
    assert CliRunner().invoke(app, ["align", str(config)]).stdout.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["align", "CONFIG", "--split", "dev"], "'dev' is not a split with links (splits: train)"),
        (["align", "CONFIG", "--pretokenized"], "the links of a run exist already"),
        (["align", "CONFIG", "--set", "align.symmetrize=union"], "the links are not those of CONFIG: align would run"),
        (["align", "--split", "dev"], "name its config first"),
        (["align", "CONFIG", "--set", "output_dir=/nowhere"], "/nowhere has no links; first run nmt-prep run"),
        (["shortlist", "."], "has no links"),
        (["shortlist", "RUN", "--split", "dev"], "'dev' is not a split with links"),
    ],
)
def test_mistakes(config: Path, arguments: list[str], message: str) -> None:
    names = {"CONFIG": str(config), "RUN": str(config.parent / "run")}
    result = CliRunner().invoke(app, [names.get(each, each) for each in arguments])
    assert result.exit_code != 0
    message = message.replace("CONFIG:", f"{config}:")
    assert message in " ".join(f"{result.stderr} {result.exception}".replace("│", " ").split())


def test_shortlists(config: Path, tmp_path: Path) -> None:
    """Probabilities of each given piece add up to 1, and common words are linked to the pieces of their translation."""
    run = config.parent / "run"
    result = CliRunner().invoke(app, ["shortlist", str(run), "--output", str(tmp_path)])
    assert result.exit_code == 0
    for name in ("lex.s2t", "lex.t2s"):
        rows = [line.split(" ") for line in (tmp_path / name).read_text("utf-8").splitlines()]
        sums: dict[str, float] = {}
        for _, given, probability in rows:
            sums[given] = sums.get(given, 0) + float(probability)
        assert len(sums) > 20
        assert all(total == pytest.approx(1, abs=1e-4) for total in sums.values())
    assert CliRunner().invoke(app, ["shortlist", str(run), "--best", "1"]).exit_code == 0
    best = [line.split(" ")[1] for line in (run / "shortlist" / "lex.s2t").read_text("utf-8").splitlines()]
    assert len(set(best)) == len(best)


def test_links_of_text_that_has_changed(tmp_path: Path) -> None:
    path = config_file(tmp_path, PAIRS[:60], align={})
    run, align = ["run", str(path), "-q"], ["align", str(path)]
    assert CliRunner().invoke(app, [*run, "--until", "align"]).exit_code == 0
    write(tmp_path, "c", PAIRS[60:130])
    result = CliRunner().invoke(app, align)
    assert f"the links are not those of {path}: download would run again" in " ".join(str(result.exception).split())
    assert CliRunner().invoke(app, [*run, "--until", "compile"]).exit_code == 0
    result = CliRunner().invoke(app, ["shortlist", str(tmp_path / "run")])
    assert "do not belong to its text: compile has run since; first run nmt-prep run" in str(result.exception)
    assert CliRunner().invoke(app, [*run, "--until", "align"]).exit_code == 0
    (part,) = (tmp_path / "run" / "aligned" / "train").glob("*.parquet")
    part.unlink()
    assert "align would run again" in str(CliRunner().invoke(app, align).exception)
    assert f"{part} is missing" in str(CliRunner().invoke(app, ["shortlist", str(tmp_path / "run")]).exception)


def test_links_overwrite_nothing_that_the_run_reads(config: Path) -> None:
    files = {path: path.read_bytes() for path in config.parent.rglob("*") if path.is_file()}
    part = next((config.parent / "run" / Align.directory).rglob("*.parquet"))
    for path, name in ((config, "the config"), (part, "train/")):
        result = CliRunner().invoke(app, ["align", str(config), "--links", str(path)])
        assert result.exit_code == 2
        assert f"is also read, as {name}" in " ".join(result.stderr.replace("│", " ").split())
    ended = nmt_prep("align", config, append_to=config)
    assert ended.returncode == 2
    assert "standard output is also read, as the config" in " ".join(ended.stderr.split())
    assert {path: path.read_bytes() for path in config.parent.rglob("*") if path.is_file()} == files
