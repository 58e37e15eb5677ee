from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep.base.errors import ArgumentError, CorpusError
from nmt_prep.config import Config
from nmt_prep.runs.runner import run
from nmt_prep.runs.trial import trial_sample as sample
from nmt_prep.runs.trial.data import trial_data
from tests.server import WebServer
from tests.stages.runs import config_of as small_config


def config_of(directory: Path, corpora: list[dict[str, Any]], **clean: Any) -> Config:
    languages, clean = {"source": "en", "target": "de"}, {"preset": "none", **clean}
    return small_config(directory, *corpora, languages=languages, clean=clean, vocab={"size": 300})


def write_pairs(path: Path, pairs: int) -> None:
    path.write_text("".join(f"word {n}\tWort {n}\n" for n in range(pairs)), "utf-8")


def drawn(config: Config, number: int, asked: dict[str, list[int]] | None = None) -> list[sample.Drawn]:
    return sample.draw(config, sample.run_of(config), number, asked)


def test_rows_by_hash_from_all_of_a_corpus(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.tsv", 20_000)
    write_pairs(tmp_path / "b.tsv", 30)
    config = config_of(tmp_path, [{"name": "a", "url": "a.tsv"}, {"name": "b", "url": "b.tsv"}])
    large, small = drawn(config, 2000)
    assert (len(large.rows), len(small.rows)) == (1000, 30)
    assert (large.size, small.size, large.note) == (20_000, 30, "")
    assert abs(large.rows.mean() - 10_000) < 600
    assert large.source.to_pylist() == [f"word {row}" for row in large.rows]
    assert large.target.to_pylist() == [f"Wort {row}" for row in large.rows]
    assert np.isin(drawn(config, 1000)[0].rows, large.rows).all()


def test_a_run_gives_the_same_pairs(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.tsv", 3000)
    config = config_of(tmp_path, [{"name": "a", "url": "a.tsv"}])
    [before] = drawn(config, 500)
    run(config, until="compile")
    found = sample.run_of(config)
    assert (found.compiled, found.cleaned) == (True, False)
    [after] = drawn(config, 500)
    assert (after.rows.tolist(), after.source.to_pylist(), after.size) == (
        before.rows.tolist(),
        before.source.to_pylist(),
        before.size,
    )
    run(config, until="clean")
    assert sample.run_of(config).current
    changed = config_of(tmp_path, [{"name": "a", "url": "a.tsv"}], rules={"length": {"max": 3}})
    found = sample.run_of(changed)
    assert (found.compiled, found.cleaned, found.current) == (True, True, False)


def test_pairs_that_a_run_would_not_compile_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("".join(f"word {n}\t{'' if n % 2 else 'Wort'}\n" for n in range(3000)), "utf-8")
    [found] = drawn(config_of(tmp_path, [{"name": "a", "url": "a.tsv"}]), 1000)
    assert not (found.rows % 2).any()
    assert found.size is not None
    assert abs(found.size - 1500) < 100


def test_rows_that_were_asked_for(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.tsv", 9000)
    config = config_of(tmp_path, [{"name": "a", "url": "a.tsv"}])
    [plain] = drawn(config, 500)
    other = next(row for row in range(9000) if row not in plain.rows)
    [found] = drawn(config, 500, {"train/a": [other, int(plain.rows[0])]})
    assert found.rows[found.added].tolist() == [other]
    assert found.rows[~found.added].tolist() == plain.rows.tolist()
    assert found.size == 9000


def test_compressed_files_and_scores(tmp_path: Path) -> None:
    write_pairs(tmp_path / "a.tsv", 2000)
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress((tmp_path / "a.tsv").read_bytes()))
    (tmp_path / "scores").write_text("".join(f"{n / 10}\n" for n in range(2000)))
    config = config_of(tmp_path, [{"name": "a", "url": "a.tsv.gz", "scores": {"s": {"url": "scores"}}}])
    [found] = drawn(config, 500)
    assert found.scores["s"].tolist() == [row / 10 for row in found.rows.tolist()]


def test_of_a_remote_corpus_the_beginning(tmp_path: Path, server: WebServer) -> None:
    text = "".join(f"word {n}\tWort {n}\n" for n in range(200_000))
    config = config_of(tmp_path, [{"name": "a", "url": server.give("/a.tsv", text.encode())}])
    [found] = drawn(config, 500)
    assert (len(found.rows), found.size) == (500, None)
    assert found.rows.max() < 100_000
    assert "only the first lines of" in found.note


def test_documents_have_no_pairs_before_a_run(tmp_path: Path) -> None:
    for side, word in (("en", "word"), ("de", "Wort")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.txt").write_text("".join(f"{word} {n}.\n" for n in range(20)), "utf-8")
    documents = {"name": "d", "url": {"source": "en/", "target": "de/"}, "documents": {}}
    with pytest.raises(ArgumentError, match="a run makes the pairs of all corpora; run nmt-prep run"):
        drawn(config_of(tmp_path, [documents]), 500)
    write_pairs(tmp_path / "a.tsv", 30)
    config = config_of(tmp_path, [documents, {"name": "a", "url": "a.tsv"}])
    assert [each.name for each in drawn(config, 500)] == ["train/a"]
    assert "train/d: not shown before a run, which makes its pairs." in trial_data(config, 500)["notes"]
    run(config, until="compile")
    assert [(each.name, len(each.rows)) for each in drawn(config, 500)] == [("train/d", 20), ("train/a", 30)]


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pairs(tmp_path / "a.tsv", 10)
    corpora = [{"name": f"a{n}", "url": "a.tsv"} for n in range(3)]
    monkeypatch.setattr(sample, "MOST", 2)
    with pytest.raises(ArgumentError, match="a sample has at most 2 pairs, but the config cleans 3 corpora"):
        drawn(config_of(tmp_path, corpora), 500)
    monkeypatch.undo()
    (tmp_path / "a.tsv").write_text("one\ntwo\n")
    with pytest.raises(CorpusError, match=r"^splits\.train\.a0: "):
        drawn(config_of(tmp_path, corpora), 500)
