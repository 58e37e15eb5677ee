"""A data set of the Hugging Face Hub in the config, from a stand-in for the hub to pairs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.base.errors import ConfigError, CorpusError, DownloadError
from nmt_prep.config import Config
from nmt_prep.pipeline.stage import outputs_in
from nmt_prep.runs.runner import run as run_all
from nmt_prep.stages.download import Download, licences_of
from tests.cli.program import nmt_prep
from tests.hub import TOKEN, Hub
from tests.stages.runs import config_of, manifest, run, run_of, steps


def parquet(*pairs: tuple[str | None, str | None], **columns: list[Any]) -> bytes:
    """Returns a Parquet file with the field translation, or with flat columns."""
    rows = [{"en": en, "zh": zh} for en, zh in pairs]
    packed = io.BytesIO()
    pq.write_table(pa.table(columns or {"translation": rows}), packed)
    return packed.getvalue()


FILES = {
    "en-zh/train-00000-of-00002.parquet": parquet(("One.", "一。"), ("Two\nlines.", "二。")),
    "en-zh/train-00001-of-00002.parquet": parquet(("Three.", None), ("Four.", "四。")),
    "en-zh/validation-00000-of-00001.parquet": parquet(("Dev.", "开发。")),
    "en-de/train-00000-of-00001.parquet": parquet(("No.", "不。")),
    "README.md": b"---\nlicense: cc-by-4.0\n---\n",
}


@pytest.fixture
def hub(running_hub: Hub) -> Hub:
    running_hub.dataset("owner/name", FILES, private=True)
    return running_hub


def pairs(config: Config, split: str = "train") -> list[tuple[str, str]]:
    table = pa.concat_tables(map(pq.read_table, sorted((config.run_dir / "compiled" / split).glob("*.parquet"))))
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def corpus(**more: Any) -> dict[str, Any]:
    return {"name": "c", "url": "hf:owner/name/en-zh", **more}


def test_a_data_set_becomes_pairs(hub: Hub, tmp_path: Path) -> None:
    config = config_of(tmp_path, corpus(), splits={"dev": [corpus()]})
    run(config, until="compile")
    assert pairs(config) == [("One.", "一。"), ("Two lines.", "二。"), ("Four.", "四。")]
    assert pairs(config, "dev") == [("Dev.", "开发。")]
    assert manifest(config, "compile").counts.dropped["missing_side"] == 1
    assert hub.downloads() == [name for name in sorted(FILES) if name.startswith("en-zh/")]
    licences = licences_of(outputs_in(config.run_dir, [Download], config))
    assert licences == {("train", "c"): "cc-by-4.0", ("dev", "c"): "cc-by-4.0"}
    assert [authorization for _, authorization in hub.stored] == [None, None, None]
    assert set(hub.tokens) == {f"Bearer {TOKEN}"}
    asked = len(hub.asked)
    run(config, until="compile")
    assert all(step.fresh for step in steps(config)[:3])
    assert len(hub.asked) == asked


def test_flat_columns_and_a_named_split(hub: Hub, tmp_path: Path) -> None:
    content = parquet(text=["a", "b"], translated=["甲", None], quality=[0.5, 1.0])
    hub.dataset("owner/flat", {"extra.parquet": b"no Parquet", "data/clean-00000-of-00001.parquet": content})
    fields = {"source": "translated", "target": "text"}
    config = config_of(
        tmp_path, corpus(url="hf:owner/flat", split="clean", fields=fields, scores={"quality": "quality"})
    )
    run(config, until="compile")
    assert pairs(config) == [("甲", "a")]


def test_a_data_set_beside_a_file_of_evaluation_text(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "against.txt").write_text("One.\n")
    clean = {"decontaminate": {"against": ["file:against.txt"]}}
    config = run_of(tmp_path, corpus(), clean=clean, until="clean")
    assert manifest(config, "clean").counts.pairs_out == 3  # a single word is no leak


def test_a_single_file_of_any_format(hub: Hub, tmp_path: Path) -> None:
    hub.dataset(
        "owner/text", {"a/train.en": b"One.\n", "a/train.zh": "一。\n".encode(), "b.tsv": "Two.\t二。\n".encode()}
    )
    sides = {side: f"hf://datasets/owner/text/a/train.{code}" for side, code in (("source", "en"), ("target", "zh"))}
    config = config_of(
        tmp_path, {"name": "a", "url": sides}, {"name": "b", "url": "hf://datasets/owner/text@main/b.tsv"}
    )
    run(config, until="compile")
    assert pairs(config) == [("One.", "一。"), ("Two.", "二。")]


def test_the_lock_file_keeps_the_commit(hub: Hub, tmp_path: Path) -> None:
    first = hub.repositories["datasets/owner/name"].branches["main"]
    lock = tmp_path / "c.lock"

    def config(name: str) -> Config:
        return config_of(tmp_path / name, corpus())

    run_all(config("a"), until="compile", lock_file=lock)
    files = json.loads(lock.read_text())["files"]
    listed = files["hf://datasets/owner/name"]
    assert (listed["commit"], listed["url"]) == (first, f"{hub.url}/datasets/owner/name/tree/{first}")
    assert sorted(files)[1:] == [
        f"hf://datasets/owner/name@{first}/en-zh/train-0000{number}-of-00002.parquet" for number in (0, 1)
    ]
    newer = {**FILES, "en-zh/train-00000-of-00002.parquet": parquet(("New.", "新。"))}
    second = hub.repositories["datasets/owner/name"].commit(newer)
    settings = {"cache": False}  # as on another machine
    other = config_of(tmp_path / "b", corpus(), download=settings)
    run_all(other, until="compile", lock_file=lock)
    assert pairs(other) == [("One.", "一。"), ("Two lines.", "二。"), ("Four.", "四。")]
    again = json.loads(lock.read_text())["files"]
    assert {name: (facts["sha256"], facts.get("commit")) for name, facts in again.items()} == {
        name: (facts["sha256"], facts.get("commit")) for name, facts in files.items()
    }
    run_all(other, until="compile", lock_file=lock, force=("download",), renew_lock=("c",))
    assert pairs(other) == [("New.", "新。"), ("Four.", "四。")]
    renewed = json.loads(lock.read_text())["files"]
    assert renewed["hf://datasets/owner/name"]["commit"] == second
    assert [name for name in renewed if first in name] == []


def test_a_file_that_arrives_damaged(hub: Hub, tmp_path: Path) -> None:
    hub.damaging = True
    config = config_of(tmp_path, corpus(), download={"retries": 0})
    with pytest.raises(DownloadError, match=r"expected SHA-256 \w+, found \w+ .* the hub's list of files is wrong"):
        run(config, until="download")


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (
            corpus(url="hf:owner/name/en-zt"),
            (
                "splits.train.c: hf:owner/name/en-zt: there is no config 'en-zt' (did you mean 'en-zh'? there "
                "is en-de, en-zh)"
            ),
        ),
        (
            corpus(split="tests"),
            (
                "splits.train.c: hf:owner/name/en-zh: there is no split 'tests' (there is train, validation); set "
                "the key split of the corpus"
            ),
        ),
        (
            corpus(url="hf:owner/nome"),
            (
                "hf://datasets/owner/nome: there is no data set owner/nome on HUB, or the token of this machine "
                "gives no access to it"
            ),
        ),
    ],
)
def test_what_is_not_there_is_told_before_a_file_is_fetched(
    hub: Hub, tmp_path: Path, entry: dict[str, Any], error: str
) -> None:
    with pytest.raises(DownloadError) as caught:
        run(config_of(tmp_path, entry), until="compile")
    assert str(caught.value) == error.replace("HUB", hub.url)
    assert hub.downloads() == []


def test_a_missing_field_is_told_after_the_first_file(hub: Hub, tmp_path: Path) -> None:
    fields = {"source": "translation.en", "target": "tranlation.zh"}
    with pytest.raises(CorpusError) as caught:
        run(config_of(tmp_path, corpus(fields=fields)), until="compile")
    assert str(caught.value).startswith("splits.train.c: ")
    assert str(caught.value).endswith(
        "train-00000-of-00002.parquet: there is no field 'tranlation.zh' (did you mean 'translation'? at this "
        "level there is 'translation'); correct fields in the config"
    )
    assert hub.downloads() == ["en-zh/train-00000-of-00002.parquet"]
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (corpus(url="hf:name"), "an ID on the Hugging Face Hub is hf:<owner>/<name>[/<config>][@<revision>], such as"),
        (corpus(url=["hf:o/n", "https://a/b"]), "an hf: ID names a whole data set: give it as the only url"),
        (corpus(url={"source": "hf:o/n", "target": "a"}), "an hf: ID names a whole data set: give it as the only url"),
        (corpus(format="jsonl"), "format jsonl cannot be combined with an hf: ID, which stands for Parquet files"),
        (corpus(member="a.parquet"), "choose them with split, not source, target or member"),
        (corpus(sha256="0" * 64), "sha256 is for one file; the lock file, or a commit after @ in url"),
        (corpus(scores={"x": {"member": "a"}}), "scores.x: the corpus is a data set, not an archive with a member"),
        (corpus(scores={"x": {"url": "hf:o/n"}}), "scores.x: an hf: ID names a whole data set; name a file of it"),
        ({"name": "c", "url": "a.tsv", "split": "train"}, "split is for a data set that url names by an hf: ID"),
    ],
)
def test_bad_configs(tmp_path: Path, entry: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, entry)
    assert error in str(caught.value)


def test_the_fields_are_those_of_the_languages() -> None:
    config = config_of(Path("x"), corpus(), languages={"source": "de", "target": "en"})
    fields = config.splits["train"][0].fields
    assert fields is not None
    assert (fields.source, fields.target) == ("translation.de", "translation.en")


def test_the_plan_names_the_files(hub: Hub, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        f"name: t\nlanguages: {{source: en, target: zh}}\nseed: 1\noutput_dir: {tmp_path}/run\n"
        "splits: {train: [{name: c, url: 'hf:owner/name/en-zh'}]}\n"
    )
    unknown = "splits.train.c.url: hf://datasets/owner/name (its commit is looked up when it is downloaded)"
    assert unknown in nmt_prep("plan", config).stdout
    assert hub.asked == []
    assert nmt_prep("lock", config).returncode == 0
    commit = hub.repositories["datasets/owner/name"].branches["main"]
    size = sum(len(FILES[f"en-zh/train-0000{number}-of-00002.parquet"]) for number in (0, 1))
    assert (
        f"splits.train.c.url: hf://datasets/owner/name at commit {commit}: train-00000-of-00002.parquet to "
        f"train-00001-of-00002.parquet, 2 files, {size / 1000:.1f} kB, license cc-by-4.0 (from its card)"
    ) in nmt_prep("plan", config).stdout
