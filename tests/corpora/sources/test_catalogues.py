from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError, DownloadError
from nmt_prep.config import Languages
from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE, MtdataRecipe, mtdata_recipe, ordered, parse_id
from tests.corpora.sources.fetching import Scene, sha256
from tests.server import Answer, WebServer

QUERY = "/api?corpus=Books&source=en&target=fr&preprocessing=moses"


def entry(url: str, **more: Any) -> dict[str, Any]:
    """Returns an entry in the format of the service, with sizes in KiB."""
    known = {"corpus": "Books", "version": "v1", "source": "en", "target": "fr", "preprocessing": "moses"}
    return {"id": 5, **known, "size": 9, "alignment_pairs": 127, "latest": "True", "url": url, **more}


@pytest.fixture(autouse=True)
def service(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICE_VARIABLE, f"{server.url}/api")


def give(server: WebServer, *corpora: dict[str, Any]) -> None:
    answer = Answer(json.dumps({"corpora": list(corpora)}).encode(), headers={"Content-Type": "application/json"})
    server.give(QUERY, answer)


@pytest.mark.parametrize("pair", ["en-fr", "fr-en"])
def test_an_id_leads_to_the_zip_of_its_version(server: WebServer, scene: Scene, pair: str) -> None:
    right, wrong = server.give("/v1/en-fr.txt.zip", b"zip"), f"{server.url}/wrong"
    give(server, entry(wrong, version="v2"), entry(wrong, preprocessing="xml"), entry(wrong, corpus="X"), entry(right))
    fetched = scene.fetch(f"opus:Books/v1/{pair}")
    assert (fetched.sha256, fetched.url) == (sha256(b"zip"), right)
    assert server.asked == [QUERY, "/v1/en-fr.txt.zip"]


def test_an_id_of_one_language_leads_to_its_plain_text(server: WebServer, scene: Scene) -> None:
    right, query = server.give("/v1/mono/fr.txt.gz", b"gz"), "/api?corpus=Books&source=fr&preprocessing=mono"
    made = {"source": "fr", "target": "", "preprocessing": "mono"}
    corpora = [entry(url, **made) for url in (f"{server.url}/v1/mono/fr.tok.gz", right)]
    server.give(query, Answer(json.dumps({"corpora": corpora}).encode()))
    assert scene.fetch("opus:Books/v1/fr").sha256 == sha256(b"gz")
    assert server.asked == [query, "/v1/mono/fr.txt.gz"]


def test_another_version(server: WebServer, scene: Scene) -> None:
    give(server, entry("http://x", version="v2016"), entry("http://x", version="v2018"))
    with pytest.raises(DownloadError) as caught:
        scene.fetch("opus:Books/v1/en-fr")
    assert str(caught.value) == (
        "opus:Books/v1/en-fr: not found in OPUS; it has the versions v2016, v2018; check the ID at https://opus.nlpl.eu"
    )


@pytest.mark.parametrize("corpora", [[], ["x", None, 3], [{}], [entry("http://x", target="de")]])
def test_corpora_not_found_in_opus(server: WebServer, scene: Scene, corpora: list[Any]) -> None:
    give(server, *corpora)
    with pytest.raises(DownloadError, match="not found in OPUS; it has no version for these languages"):
        scene.fetch("opus:Books/v1/en-fr")


@pytest.mark.parametrize(
    "answer", [b"{", b"[" * 200_000, b"[]", b'{"corpora": 3}', b'{"corpora": null}', b"\xff", b"3"]
)
def test_malformed_answers(server: WebServer, scene: Scene, answer: bytes) -> None:
    server.give(QUERY, answer)
    with pytest.raises(DownloadError, match="the answer is not a list of corpora; try again later"):
        scene.fetch("opus:Books/v1/en-fr")


def test_an_endless_answer(server: WebServer, scene: Scene) -> None:
    server.give(QUERY, b" " * 10_000_001)
    with pytest.raises(DownloadError, match="more than 10,000,000 bytes, which is too long for a list"):
        scene.fetch("opus:Books/v1/en-fr")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/a", "/etc/passwd", "", "s3://bucket/a"])
def test_an_entry_with_a_url_that_is_refused(server: WebServer, scene: Scene, url: str) -> None:
    give(server, entry(url))
    with pytest.raises(DownloadError, match=r"OPUS returned .*, which is not https and is rejected"):
        scene.fetch("opus:Books/v1/en-fr")


def test_the_service_is_retried(server: WebServer, scene: Scene) -> None:
    give(server, entry(server.give("/a", b"zip")))
    server.answers[QUERY].insert(0, Answer(status=503))
    assert scene.fetch("opus:Books/v1/en-fr").sha256 == sha256(b"zip")


def test_parse_id() -> None:
    found = parse_id("opus:News-Commentary/v16/zh-en")
    assert (found.corpus, found.version, found.languages) == ("News-Commentary", "v16", ("en", "zh"))
    assert found.member("zh") == "News-Commentary.en-zh.zh"
    assert parse_id("opus:OpenSubtitles/v2018/pt_br-en").member("pt_br") == "OpenSubtitles.en-pt_br.pt_br"
    assert parse_id("opus:KDE4/v2/sr@latin-en").languages == ("en", "sr@latin")


@pytest.mark.parametrize("wanted", [("sr-Latn", "en"), ("sr", "en"), ("en", "sr-Latn")])
def test_languages_of_an_id(wanted: tuple[str, str]) -> None:
    languages = Languages(source=wanted[0], target=wanted[1])
    pair = ("en", "sr@latin")
    assert ordered(pair, languages, "opus:x") == (pair if wanted[0] == "en" else pair[::-1])


@pytest.mark.parametrize("address", ["opus:", "opus:Books", "opus:Books/v1", "opus:Books/v1/en-", "opus:B/v/en-fr/x"])
def test_invalid_ids(address: str) -> None:
    with pytest.raises(ConfigError, match=r"an OPUS ID is opus:<corpus>/<version>/<pair>, such as opus:Books/v1"):
        parse_id(address)


@pytest.mark.slow
def test_a_recipe_of_the_installed_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("portalocker", reason="the extra mtdata is not installed")
    monkeypatch.setenv("MTDATA", str(tmp_path))
    assert mtdata_recipe("vaswani_etal_2017_ende") == MtdataRecipe(
        name="vaswani_etal_2017_ende",
        languages=("eng", "deu"),
        url="https://arxiv.org/abs/1706.03762",
        splits={
            "train": (
                "Statmt-commoncrawl_wmt13-1-deu-eng",
                "Statmt-europarl_wmt13-7-deu-eng",
                "Statmt-news_commentary_wmt18-13-deu-eng",
            ),
            "dev": ("Statmt-newstest-2013-eng-deu",),
            "test": ("Statmt-newstest_deen-2014-deu-eng",),
        },
        monolingual=0,
    )
