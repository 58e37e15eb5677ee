from __future__ import annotations

from pathlib import Path

import pytest

import nmt_prep
from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.pipeline.drivers import Outcome
from nmt_prep.pipeline.manifest import Counts


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("run")
    (directory / "a.tsv").write_text("".join(f"word {n}\tWort {n}\n" for n in range(90)) + "<b>\tx\n", "utf-8")
    (directory / "b.tsv").write_text("one\teins\ntwo\tzwei\n", "utf-8")
    (directory / "c.yaml").write_text(
        f"""name: x
languages: {{source: en, target: de}}
output_dir: {directory / "run"}
seed: 1
splits:
  train: [{{name: a, url: a.tsv}}]
  dev: [{{name: b, url: b.tsv}}]
clean: {{preset: none, rules: {{html: {{}}}}, rejects: all}}
vocab: {{size: 300}}
"""
    )
    nmt_prep.run(directory / "c.yaml")
    return directory / "run"


def test_a_run_in_one_line(root: Path) -> None:
    run = nmt_prep.open_run(root)
    assert repr(run) == f"Run({str(root)!r}: 2 pairs of dev, 90 pairs of train; last stage report)"
    assert nmt_prep.open_run(root.parent / "c.yaml") == run


def test_counts(root: Path) -> None:
    assert nmt_prep.open_run(root).counts.to_pylist() == [
        {"split": "dev", "corpus": "b", "read": 2, "compiled": 2, "cleaned": None, "encoded": 2},
        {"split": "train", "corpus": "a", "read": 91, "compiled": 91, "cleaned": 90, "encoded": 90},
    ]


def test_pairs_of_each_stage(root: Path) -> None:
    run = nmt_prep.open_run(root)
    assert run.pairs("compile").num_rows == 91
    assert run.pairs().num_rows == 90
    assert run.pairs(split="dev").to_pylist() == run.pairs("compile", "dev").to_pylist()
    assert run.pairs(first=2)["source"].to_pylist() == ["word 0", "word 1"]
    assert run.pairs("rejected").to_pylist()[0]["rule"] == "html"
    assert run.pairs("encode", "dev", matching="^one")["target"].to_pylist() == ["eins"]
    drawn = run.pairs(sample=5, corpus="a")
    assert (drawn.num_rows, drawn) == (5, run.pairs(sample=5))
    assert drawn != run.pairs(sample=5, seed=1)
    assert run.pairs(matching="nothing").num_rows == 0


def test_the_report_is_shown(root: Path) -> None:
    page = nmt_prep.open_run(root).report
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert repr(page) == f"Page({str(root / 'report' / 'index.html')!r})"


def test_errors_are_one_line(root: Path, tmp_path: Path) -> None:
    run = nmt_prep.open_run(root)
    message = "no stage 'vocab' has pairs; choose compile, clean, divide, limits, rejected or encode"
    with pytest.raises(ArgumentError, match=message) as error:
        run.pairs("vocab")
    assert error.value._render_traceback_() == [f"ArgumentError: {message}"]
    with pytest.raises(ArgumentError, match="there is no split 'test'; the splits are train"):
        run.pairs("clean", "test")
    with pytest.raises(ArgumentError, match="there is no corpus 'z' in train; its corpora are a"):
        run.pairs(corpus="z")
    with pytest.raises(OutputError, match="is not the directory of a run"):
        nmt_prep.open_run(tmp_path)


def test_outcomes_are_readable() -> None:
    counts = Counts(1234, 1000)
    assert repr(Outcome("clean", True, "forced", 1.23, counts)) == "<clean: 1,000 pairs of 1,234 in 1.2 s, forced>"
    fresh = Outcome("vocab", False, "nothing changed", 0.0, Counts())
    assert repr(fresh) == "<vocab: in 0.0 s, nothing changed>"
