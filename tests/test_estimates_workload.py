from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.artefacts import as_json
from nmt_prep.errors import ConfigError
from nmt_prep.estimates import CorpusSize, configured_corpora, given_corpora
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.sources.lockfile import Locked, LockFile
from nmt_prep.stages.download import Downloaded, DownloadOutput
from tests.corpus import corpus_config


def sizes(place: Path, corpus: dict[str, Any], lock: LockFile | None = None, **dev: Any) -> list[CorpusSize]:
    splits = {"train": [{"name": "x", **corpus}], **dev}
    config = corpus_config(place / "run", splits=splits, records={})
    return configured_corpora(config, lock or LockFile(None))


def test_given_pairs() -> None:
    config = corpus_config(Path("run"))
    assert given_corpora(config, 5_000) == [CorpusSize("train", 750_000)]


def test_plain_files(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes(b"x" * 700)
    (tmp_path / "a.zh").write_bytes(b"y" * 300)
    dev = [{"name": "d", "url": {"source": "a.en", "target": "a.en"}}]
    assert sizes(tmp_path, {"url": {"source": "a.en", "target": "a.zh"}}, dev=dev) == [
        CorpusSize("train", 1000, copied=True),
        CorpusSize("dev", 1400, copied=True),
    ]
    os.truncate(tmp_path / "a.en", (64 << 20) + 1)
    [large, dev_size] = sizes(tmp_path, {"url": {"source": "a.en", "target": "a.zh"}}, dev=dev)
    assert (large.copied, dev_size.copied) == (False, False)


def test_a_file_of_both_sides(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_bytes(b"x" * 1000)
    os.truncate(tmp_path / "a.tmx", (64 << 20) + 1)
    [found] = sizes(tmp_path, {"url": "a.tmx"})
    assert (found.bytes, found.copied) == ((64 << 20) + 1, True)


def test_text_of_compressed_files_is_four_times_their_size(tmp_path: Path) -> None:
    (tmp_path / "a.en.gz").write_bytes(b"x" * 700)
    (tmp_path / "a.zh").write_bytes(b"y" * 300)
    [found] = sizes(tmp_path, {"url": {"source": "a.en.gz", "target": "a.zh"}})
    assert found.bytes == 3_100


def test_members_divide_the_size_of_their_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for side in ("en", "zh"):
            archive.writestr(f"t/x.{side}", b"x" * 5_000)
    corpus = {"url": "a.zip", "source": "t/x.en", "target": "t/x.zh"}
    packed = (tmp_path / "a.zip").stat().st_size
    assert [found.bytes for found in sizes(tmp_path, corpus)] == [4 * packed]
    train = {"url": "a.zip", "source": "t/x.en", "target": "t/x.zh"}
    dev = [{"name": "d", "url": "a.zip", "source": "t/y.en", "target": "t/y.zh"}]
    assert [found.bytes for found in sizes(tmp_path, train, dev=dev)] == [2 * packed, 2 * packed]


def test_files_downloaded_by_the_run_are_measured(tmp_path: Path) -> None:
    packed = gzip.compress(b"x" * 7_000)
    file = tmp_path / "run" / "downloads" / ("0" * 64) / "a.tsv.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(packed)
    output = DownloadOutput({"train/x/both": Downloaded("0" * 64, len(packed), "a.tsv.gz", local=False)})
    manifest = Manifest("download", 2, "", {}, {}, {}, Counts(), as_json(output))
    manifest.write(Workspace(tmp_path / "run").manifest("download"))
    [found] = sizes(tmp_path, {"url": "http://example.org/a.tsv.gz"})
    assert (found.bytes, found.fetched) == (4 * len(packed), len(packed))


def test_size_of_downloads_comes_from_the_lock_file(tmp_path: Path) -> None:
    url = "http://example.org/a.tsv.gz"
    with pytest.raises(ConfigError, match=r"sizes of 1 files are unknown, the first of them http://.*a\.tsv\.gz"):
        sizes(tmp_path, {"url": url})
    lock = LockFile(tmp_path / "c.lock")
    lock.note(Locked(url, "0" * 64, 1_000))
    [found] = sizes(tmp_path, {"url": url}, lock)
    assert (found.bytes, found.fetched) == (4_000, 1_000)
