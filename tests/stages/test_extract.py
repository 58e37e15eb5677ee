from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base import digests
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import ArchiveError, CorpusError
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs, row_groups, slices
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.runs.lineage import CorpusRows
from nmt_prep.runs.runner import plan
from nmt_prep.runs.runner import run as verified_run
from nmt_prep.stages import extract as module
from tests.corpora.archives.builders import zip_of
from tests.corpus import tree, write_tgz
from tests.stages.runs import config_of, manifest, run

MEMBERS = {"d/a.en": b"a\n", "d/a.zh.gz": gzip.compress(b"b\n", mtime=0), "d/b.en": b"c\n"}
CORPUS = {"name": "c", "url": "x.tgz", "source": "d/a.en", "target": "./d/a.zh.gz"}


def extracted(config: Config) -> dict[str, bytes]:
    run(config, until="extract")
    root = config.run_dir / "extracted"
    details = {
        key: [entry]
        for key, [entry] in manifest(config, "extract").details["files"].items()
        if entry["file"] is not None
    }
    for [entry] in details.values():
        content = (root / entry["file"]).read_bytes()
        assert (entry["sha256"], entry["size"]) == (hashlib.sha256(content).hexdigest(), len(content))
    return {key: (root / entry["file"]).read_bytes() for key, [entry] in details.items()}


def test_members_of_an_archive(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", MEMBERS)
    config = config_of(tmp_path, CORPUS)
    assert extracted(config) == {"train/c/source": b"a\n", "train/c/target": b"b\n"}
    archive = hashlib.sha256((tmp_path / "x.tgz").read_bytes()).hexdigest()
    assert sorted(manifest(config, "extract").files) == [
        f"{archive}/{hashlib.sha256(name.encode()).hexdigest()[:16]}-{base}"
        for name, base in sorted(
            (("d/a.en", "a.en"), ("d/a.zh.gz", "a.zh")), key=lambda m: hashlib.sha256(m[0].encode()).digest()
        )
    ]


def test_single_files(tmp_path: Path) -> None:
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "a.zh").write_bytes(b"b\n")
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(b"c\td\n"))
    plain = {"name": "c", "url": {"source": "a.en.gz", "target": "a.zh"}}
    assert extracted(config_of(tmp_path, plain, {"name": "t", "url": "t.tsv.gz"})) == {
        "train/c/source": b"a\n",
        "train/t/both": b"c\td\n",
    }


def test_each_archive_is_read_once_and_existing_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tgz(tmp_path / "x.tgz", MEMBERS)
    asked: list[list[str]] = []
    extract_members = module.extract_members

    def counting(archive: Any, wanted: Any, *rest: Any) -> Any:
        asked.append(list(wanted))
        return extract_members(archive, wanted, *rest)

    monkeypatch.setattr(module, "extract_members", counting)
    other = {"name": "o", "url": "x.tgz", "source": "d/a.en", "target": "d/a.zh.gz"}
    extracted(config_of(tmp_path, CORPUS, other))
    config = config_of(tmp_path, CORPUS, {**other, "source": "d/b.en"})
    assert extracted(config)["train/o/source"] == b"c\n"
    damaged = config.run_dir / "extracted" / manifest(config, "extract").details["files"]["train/c/source"][0]["file"]
    damaged.write_bytes(b"")
    assert extracted(config)["train/c/source"] == b"a\n"
    run(config, until="extract", force=("extract",))
    assert asked == [["d/a.en", "d/a.zh.gz"], ["d/b.en"], ["d/a.en"], ["d/a.en", "d/a.zh.gz", "d/b.en"]]


def test_a_hostile_name_in_the_config(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", {"../../evil": b"x\n", "a": b"y\n"})
    with pytest.raises(ArchiveError, match=r"the member '\.\./\.\./evil' is rejected"):
        extracted(config_of(tmp_path, {**CORPUS, "source": "../../evil", "target": "a"}))


def test_a_file_name_of_any_kind(tmp_path: Path) -> None:
    name = "d/" + "中 " * 80 + ".en"
    write_tgz(tmp_path / "x.tgz", {name: b"x\n", "a": b"y\n"})
    config = config_of(tmp_path, {**CORPUS, "source": name, "target": "a"})
    assert extracted(config)["train/c/source"] == b"x\n"
    file = Path(manifest(config, "extract").details["files"]["train/c/source"][0]["file"]).name
    assert file == hashlib.sha256(name.encode()).hexdigest()[:16] + "-" + "_" * 97 + ".en"


def test_a_damaged_archive(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", MEMBERS)
    content = (tmp_path / "x.tgz").read_bytes()[:-20]
    (tmp_path / "x.tgz").write_bytes(content)
    with pytest.raises(ArchiveError, match=rf"x\.tgz is damaged .* SHA-256 is {hashlib.sha256(content).hexdigest()}"):
        extracted(config_of(tmp_path, CORPUS))
    assert not any(path.is_file() for path in (tmp_path / "run" / "extracted").rglob("*"))


@pytest.mark.parametrize("name", ["x.tgz", "x.zip"])
def test_a_file_that_changes_after_its_digest_was_taken_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(members: dict[str, bytes]) -> None:
        if name == "x.tgz":
            write_tgz(tmp_path / name, members)
        else:
            (tmp_path / name).write_bytes(zip_of(*members.items()))

    def changing(stage: Any, job: Any) -> Any:
        write({**MEMBERS, "d/a.en": b"evil\n"})
        return original(stage, job)

    original = module.Extract.work
    write(MEMBERS)
    content = (tmp_path / name).read_bytes()
    config = config_of(tmp_path, {**CORPUS, "url": name, "sha256": hashlib.sha256(content).hexdigest()})
    with monkeypatch.context() as patch:
        patch.setattr(module.Extract, "work", changing)
        with pytest.raises(ArchiveError, match="was changed after it was checked"):
            run(config, until="extract")
    assert not any(path.is_file() for path in (tmp_path / "run" / "extracted").rglob("*"))
    (tmp_path / name).write_bytes(content)
    assert extracted(config) == {"train/c/source": b"a\n", "train/c/target": b"b\n"}


def verify(config: Config) -> list[str]:
    outcomes = verified_run(config, until="extract", verify=True)
    return [outcome.reason for outcome in outcomes if outcome.ran]


def test_verify_finds_extracted_files_that_differ_from_their_archive(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", MEMBERS)
    config = config_of(tmp_path, CORPUS)
    whole = extracted(config)
    root = config.run_dir / "extracted"
    entry = manifest(config, "extract").details["files"]["train/c/source"][0]
    (root / entry["file"]).write_bytes(b"e\n")
    for path in (Workspace(config.run_dir).manifest("extract"), *(root / ".notes").iterdir()):
        path.write_text(path.read_text().replace(entry["sha256"], hashlib.sha256(b"e\n").hexdigest()))
    assert extracted(config)["train/c/source"] == b"e\n"
    planned = {step.stage: step.reason for step in plan(config, verify=True)}
    archive = hashlib.sha256((tmp_path / "x.tgz").read_bytes()).hexdigest()
    assert planned["extract"] == f"{root / archive} does not match {tmp_path / 'x.tgz'}"
    assert verify(config) == [planned["extract"]]
    assert extracted(config) == whole
    assert verify(config) == []


def test_error_for_a_missing_member_names_its_key(tmp_path: Path) -> None:
    write_tgz(tmp_path / "x.tgz", {"d/c.en": b"a\n", "d/c.zh": b"b\n"})
    config = config_of(tmp_path, {"name": "c", "url": "x.tgz", "source": "d/c.en", "target": "d/c.zhh"})
    with pytest.raises(ArchiveError, match=r"^splits\.train\.c\.target: .*'d/c\.zhh'; the nearest is 'd/c\.zh'"):
        run(config)


def test_file_of_another_format_than_stated(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_bytes(b'<?xml version="1.0"?>\n<tmx version="1.4">\n')
    config = config_of(tmp_path, {"name": "c", "url": "c.tsv", "format": "tsv"})
    with pytest.raises(CorpusError, match=r"^splits\.train\.c: c\.tsv:1: 1 column.*; c\.tsv: it looks like TMX,"):
        run(config)


LINES = [f"line {number} " + "é" * (number % 7) for number in range(300)]
SOURCE, TARGET = "\n".join(LINES).encode(), "".join(f"{line}\n" for line in reversed(LINES)).encode()


def corpus(directory: Path, **more: Any) -> dict[str, Any]:
    (directory / "a.en").write_bytes(SOURCE)
    (directory / "a.zh").write_bytes(TARGET)
    return {
        "name": "c",
        "url": {side: str(directory / f"a.{end}") for side, end in (("source", "en"), ("target", "zh"))},
    } | more


def read_files(config: Config) -> dict[str, Any]:
    run(config, until="extract")
    return {key: entry["file"] for key, [entry] in manifest(config, "extract").details["files"].items()}


def test_nothing_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "extract_members", None)
    config = config_of(tmp_path, corpus(tmp_path))
    assert read_files(config) == {"train/c/source": None, "train/c/target": None}
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
    assert read_files(config) == {"train/c/both": None}
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
    [file] = read_files(config_of(tmp_path, {"name": "c", "url": name, **more})).values()
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
