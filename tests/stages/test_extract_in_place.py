"""Plain local files are read in place, and have the content that was digested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base import digests
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import CorpusError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs, row_groups, slices
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.runs.lineage import CorpusRows
from nmt_prep.stages import extract
from tests.corpus import tree, write_tgz
from tests.stages.runs import config_of, manifest, run

LINES = [f"line {number} " + "é" * (number % 7) for number in range(300)]
SOURCE, TARGET = "\n".join(LINES).encode(), "".join(f"{line}\n" for line in reversed(LINES)).encode()


def corpus(directory: Path, **more: Any) -> dict[str, Any]:
    (directory / "a.en").write_bytes(SOURCE)
    (directory / "a.zh").write_bytes(TARGET)
    return {
        "name": "c",
        "url": {side: str(directory / f"a.{end}") for side, end in (("source", "en"), ("target", "zh"))},
    } | more


def extracted(config: Config) -> dict[str, Any]:
    run(config, until="extract")
    return {key: entry["file"] for key, [entry] in manifest(config, "extract").details["files"].items()}


def test_nothing_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "extract_members", None)
    config = config_of(tmp_path, corpus(tmp_path))
    assert extracted(config) == {"train/c/source": None, "train/c/target": None}
    assert not any(path.is_file() for path in (config.run_dir / "extracted").rglob("*"))
    assert manifest(config, "extract").files == {}
    assert manifest(config, "extract").counts.other == {"archives": 2, "files": 2}


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [("a.tsv", b"a\tb\n", {}), ("a.jsonl", b'{"en": "a", "zh": "b"}\n', {"fields": {"source": "en", "target": "zh"}})],
)
def test_line_based_formats_are_read_in_place(tmp_path: Path, name: str, content: bytes, more: dict[str, Any]) -> None:
    (tmp_path / name).write_bytes(content)
    config = config_of(tmp_path, {"name": "c", "url": name, **more})
    assert extracted(config) == {"train/c/both": None}
    run(config)
    assert manifest(config, "compile").counts.pairs_out == 1


@pytest.mark.parametrize(
    ("name", "content", "more"),
    [
        ("a.csv", b"a,b\n", {}),
        ("a.tsv", "a\tb\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("a.tmx", b"<tmx version='1.4'><header/><body/></tmx>", {}),
    ],
)
def test_other_formats_are_copied(tmp_path: Path, name: str, content: bytes, more: dict[str, Any]) -> None:
    (tmp_path / name).write_bytes(content)
    [file] = extracted(config_of(tmp_path, {"name": "c", "url": name, **more})).values()
    assert file.endswith(name)


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", {"source": "utf-8", "target": "cp1252"}, {"target": "utf-16"}])
def test_the_same_bytes_as_from_an_archive(
    tmp_path: Path, small: bool, encoding: str | dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:
        monkeypatch.setattr(digests, "STEP_BYTES", 64)
        monkeypatch.setattr(slices, "SLICE_BYTES", 640)
        monkeypatch.setattr(slices, "COUNT_BYTES", 640)
    local = corpus(tmp_path, encoding=encoding)
    for name, side in (("a.en", "source"), ("a.zh", "target")):
        used = encoding if isinstance(encoding, str) else encoding.get(side, "utf-8")
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes().decode().encode(used))
    write_tgz(tmp_path / "x.tgz", {name: (tmp_path / name).read_bytes() for name in ("a.en", "a.zh")})
    archive = {"name": "c", "url": str(tmp_path / "x.tgz"), "source": "a.en", "target": "a.zh", "encoding": encoding}
    configs = [
        config_of(tmp_path / str(number), entry, sample={"bytes_per_corpus": 500})
        for number, entry in enumerate((local, archive))
    ]
    for config in configs:
        run(config)
    assert len(manifest(configs[0], "compile").files) > (5 if small and "utf-16" not in str(encoding) else 0)
    assert tree(configs[0].run_dir / "sample") == tree(configs[1].run_dir / "sample")
    assert compiled_groups(configs[0]) == compiled_groups(configs[1])


def compiled_groups(config: Config) -> list[tuple[list[int], list[dict[str, Any]]]]:
    """Returns the sizes of the row groups of each compiled part, and its pairs."""
    paths = [
        config.run_dir / "compiled" / part["file"] for part in manifest(config, "compile").details["parts"]["train"]
    ]
    return [(row_groups(path), [row for batch in iter_pairs(path) for row in batch.to_pylist()]) for path in paths]


@pytest.mark.parametrize("stage", ["compile", "sample", "rows"])
def test_a_file_that_changes_during_a_run(tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path, corpus(tmp_path))
    # Neither size nor times show that the file changes.
    monkeypatch.setattr(DigestCache, "_stamp", staticmethod(lambda path: [path.exists()]))
    run(config, until="extract" if stage == "compile" else "compile")
    (tmp_path / "a.en").write_bytes(SOURCE.replace(b"line 9 ", b"LINE 9 "))

    def read_again() -> None:
        if stage != "rows":
            run(config, until=stage)
            return
        manifests = {name: manifest(config, name) for name in ("download", "extract", "compile")}
        CorpusRows(Outputs(config, config.run_dir, manifests), "train", "c").row_of(5)

    with pytest.raises(CorpusError, match=r"a\.en changed while it was in use; run again with --verify"):
        read_again()
    monkeypatch.undo()
    run(config)
    assert b"LINE 9 " in (config.run_dir / "sample" / "source.txt").read_bytes()
