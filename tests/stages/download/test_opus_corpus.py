"""An OPUS ID in the config, from a test service and storage to pairs."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE
from tests.server import Answer, WebServer, web_server
from tests.stages.runs import config_of, run


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setenv("no_proxy", "*")
    with web_server() as running:
        monkeypatch.setenv(SERVICE_VARIABLE, f"{running.url}/api/")
        yield running


def moses_zip() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README", "read me")
        archive.writestr("Books.en-zh.en", "One.\nTwo.\n")
        archive.writestr("Books.en-zh.zh", "一。\n二。\n")
    return packed.getvalue()


@pytest.mark.parametrize("languages", [("en", "zh"), ("zh", "en")])
def test_an_id_becomes_pairs(server: WebServer, tmp_path: Path, languages: tuple[str, str]) -> None:
    url = server.give("/OPUS-Books/v1/moses/en-zh.txt.zip", Answer(moses_zip(), headers={"ETag": '"one"'}))
    entry = {"corpus": "Books", "version": "v1", "source": "en", "target": "zh", "preprocessing": "moses", "url": url}
    asked = "/api/?corpus=Books&source=en&target=zh&preprocessing=moses"
    server.give(asked, json.dumps({"corpora": [entry]}).encode())
    source, target = languages
    config = config_of(
        tmp_path, {"name": "books", "url": "opus:Books/v1/en-zh"}, languages={"source": source, "target": target}
    )
    run(config, until="compile")
    [part] = (config.run_dir / "compiled" / "train").glob("*.parquet")
    table = pq.read_table(part)
    side_of = dict(zip(languages, ("source", "target"), strict=True))
    assert table[side_of["en"]].to_pylist() == ["One.", "Two."]
    assert table[side_of["zh"]].to_pylist() == ["一。", "二。"]
    assert server.asked == [asked, "/OPUS-Books/v1/moses/en-zh.txt.zip"]
