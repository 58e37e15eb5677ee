from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from nmt_prep.corpora.sources import offers
from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE
from nmt_prep.corpora.sources.hub import ENDPOINT_VARIABLE
from tests.cli.program import Ended, nmt_prep
from tests.server import Answer, WebServer

QUERY = "/api?source=de&target=en&preprocessing=moses&version=latest"
HUB = (
    "/api/datasets?filter=task_categories%3Atranslation&filter=language%3Aen&filter=language%3Ade"
    "&sort=downloads&limit=100"
)

MODULES = {
    "__init__.py": "class log:\n    info = staticmethod(print)\n",
    "entry.py": """\
from collections import namedtuple
from types import SimpleNamespace
from mtdata.iso.bcp47 import bcp47

class DatasetId(namedtuple("DatasetId", "group name version langs")):
    def __str__(self):
        return "-".join([*self[:3], *map(str, self.langs)])

def Entry(did, url, ext="txt", in_ext=None, in_paths=None, cols=None, meta=None):
    return SimpleNamespace(did=did, url=url, ext=ext, in_ext=in_ext, in_paths=in_paths, cols=cols, meta=meta)
""",
    "iso/__init__.py": "",
    "iso/bcp47.py": """\
from collections import namedtuple

class BCP47Tag(namedtuple("BCP47Tag", "lang")):
    @classmethod
    def check_compat_swap(cls, wanted, has):
        return {*wanted} == {*has}, wanted != has

    def __str__(self):
        return self.lang

def bcp47(code):
    return BCP47Tag({"en": "eng", "de": "deu"}.get(code, code))
""",
    "index/__init__.py": "raise RuntimeError('the whole index is never built')\n",
    "index/own.py": """\
from mtdata.index import DatasetId, Entry, Index, bcp47

def load_all(index: Index):
    def add(name, version, pair, **more):
        langs = tuple(map(bcp47, pair.split("-")))
        index.add_entry(Entry(DatasetId("Grp", name, version, langs), f"https://x.example/{name}.tsv", **more))
    add("news", "9", "deu-eng", ext="tsv")
    add("news", "10", "deu-eng", ext="tsv")
    add("newstest", "2013", "deu-eng", ext="tsv")
    add("newstest", "2014", "deu-eng", ext="tsv")
    add("books", "1", "deu-eng", ext="tsv")
    add("other", "1", "deu-fra", ext="tsv")
    add("mono", "1", "eng", ext="tsv")
    add("odd", "1", "deu-eng", ext="pdf")
    meta = {"orig_id": "owner/chat", "config": "en-de", "split": None, "fields": {"source": "a", "target": "b"}}
    add("chat", "1", "eng-deu", ext="hfds", meta=meta)
""",
    "index/broken.py": "from mtdata.index import nothing\n",
    "index/opus/__init__.py": "",
    "resource/opus_index.tsv": (
        "Books\tv1\tde\ten\nBooks\tv2\tde\ten\nBooks\tv2\tde\tfr\nBooks\tv10\tde_AT\ten\nWMT-News\tv2019\tde\ten\n"
    ),
}


@pytest.fixture(autouse=True)
def catalogues(server: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """OPUS and the hub on this machine, and a stand-in for the library mtdata."""
    monkeypatch.setenv(SERVICE_VARIABLE, f"{server.url}/api")
    monkeypatch.setenv(ENDPOINT_VARIABLE, server.url)
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "cache"))
    for name, text in MODULES.items():
        path = tmp_path / "library" / "mtdata" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "mtdata"]:
        monkeypatch.delitem(sys.modules, name)
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.5.1" if name == "mtdata" else version(name))
    monkeypatch.chdir(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mtdata"]:
        del sys.modules[name]


TALKS = "test sets: it has TED talks, which the IWSLT test sets are taken from"


def entry(corpus: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"corpus": corpus, "version": version, "source": "de", "target": "en", "size": 2, **more}


def answer(server: WebServer) -> None:
    """Gives OPUS and the hub their answers, with some that are malformed."""
    corpora = [
        entry("Books", alignment_pairs=10),
        entry("TED2020", alignment_pairs=1200),
        entry("MultiBooks"),
        entry("\x1b[31m"),
        entry("X", 3),
    ]
    server.give(QUERY, json.dumps({"corpora": [*corpora, {}, "x", entry("Y", target="fr")]}).encode())
    tags = ["license:cc-by-4.0", "language:de"]
    listed = [{"id": "owner/speech", "tags": tags}, {"id": "owner/chat", "tags": []}, {"id": "../x"}, 3]
    server.give(HUB, json.dumps(listed).encode())


def find(*arguments: str) -> Ended:
    return nmt_prep("find", *arguments, "--wait", "30")


def test_a_table_of_all_catalogues(server: WebServer) -> None:
    answer(server)
    ended = find("en-de")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [" ".join(line.split()) for line in ended.stdout.splitlines()] == [
        "corpus pairs size licence known",
        f"opus:TED2020/v1/de-en 1,200 2.0 kB CC-BY-NC-ND-4.0 {TALKS};",
        "licence: TED allows no commercial use, and no derivatives",
        "opus:Books/v1/de-en 10 2.0 kB",
        "opus:Books/v10/de_AT-en",
        "opus:MultiBooks/v1/de-en 2.0 kB",
        "mtdata:Grp-books-1-deu-eng",
        "mtdata:Grp-news-10-deu-eng",
        "mtdata:Grp-newstest-2013-deu-eng test sets: it is made for development or evaluation",
        "mtdata:Grp-newstest-2014-deu-eng test sets: it is made for development or evaluation",
        "hf:owner/chat/en-de",
        "hf:owner/speech cc-by-4.0",
    ]


def test_corpora_for_a_config(server: WebServer) -> None:
    answer(server)
    ended = find("en-de", "--yaml")
    assert yaml.safe_load(ended.stdout) == {
        "splits": {
            "train": [
                {"name": "Books-v1", "url": "opus:Books/v1/de-en"},
                {"name": "Books-v10", "url": "opus:Books/v10/de_AT-en"},
                {"name": "Grp-news-10", "url": "mtdata:Grp-news-10-deu-eng"},
                {
                    "name": "owner_chat_en-de",
                    "url": "hf:owner/chat/en-de",
                    "fields": {"source": "a", "target": "b"},
                },
            ]
        }
    }
    comments = [line for line in ended.stdout.splitlines() if line.startswith("#")]
    assert comments[0].startswith(f"# skipped: {TALKS} (https:")
    assert comments[2:] == [
        "# skipped: duplicates: OPUS has Books, too: opus:MultiBooks/v1/de-en",
        "# skipped: duplicates: OPUS has books, too: mtdata:Grp-books-1-deu-eng",
        (
            "# skipped: test sets: it is made for development or evaluation (https://github.com/thammegowda/mtdata): "
            "mtdata:Grp-newstest-2013-deu-eng, mtdata:Grp-newstest-2014-deu-eng"
        ),
        "# skipped: part: name a config of the data set, and its fields: hf:owner/speech",
    ]


def test_without_answers_the_lists_of_mtdata_are_read(server: WebServer) -> None:
    server.give(QUERY, b"no JSON")
    server.give(HUB, Answer(status=404))
    ended = find("de-en", "--json")
    found = json.loads(ended.stdout)
    assert [offer["id"] for offer in found["opus"]] == [
        "opus:Books/v10/de_AT-en",
        "opus:Books/v2/de-en",
        "opus:WMT-News/v2019/de-en",
    ]
    assert found["opus"][2]["traps"] == [
        {
            "kind": "test sets",
            "text": "it is a compilation of WMT test sets",
            "reason": "https://github.com/mozilla/translations/issues/911",
        }
    ]
    assert [(offer["id"], offer["fields"]) for offer in found["hub"]] == [
        ("hf:owner/chat/en-de", {"source": "b", "target": "a"})
    ]
    assert ended.stderr == (
        "OPUS does not answer: its corpora are as mtdata 0.5.1 lists them\n"
        "the Hugging Face Hub does not answer: only its data sets that mtdata knows are listed\n"
    )
    assert "mtdata.index" not in sys.modules


def test_a_slow_service_is_not_waited_for(server: WebServer) -> None:
    server.give(QUERY, Answer(b"{}", stall=20))
    server.give(HUB, Answer(b"[]", stall=20))
    ended = nmt_prep("find", "en-de", "--wait", "0", "--versions", "--json")
    assert [offer["id"] for offer in json.loads(ended.stdout)["opus"]] == [
        "opus:Books/v1/de-en",
        "opus:Books/v10/de_AT-en",
        "opus:Books/v2/de-en",
        "opus:WMT-News/v2019/de-en",
    ]


def test_a_broken_mtdata_is_a_remark(server: WebServer, tmp_path: Path) -> None:
    answer(server)
    (tmp_path / "library/mtdata/entry.py").write_text("import a_missing_library\n")
    ended = find("en-de")
    remark = "mtdata's own corpora are not listed (ModuleNotFoundError: No module named 'a_missing_library')\n"
    assert (ended.returncode, ended.stderr) == (0, remark)
    assert "mtdata:" not in ended.stdout


def test_without_mtdata(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "find_spec", lambda _: None)
    remark = (
        "mtdata is not installed, so its corpora are not listed: pip install '.[mtdata]' in a checkout of nmt_prep\n"
    )
    answer(server)
    ended = find("en-de")
    assert (ended.returncode, ended.stderr) == (0, remark)
    server.answers[QUERY] = [Answer(status=404)]
    ended = find("en-de")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "nmt-prep: error: OPUS does not answer, and mtdata, which has a list of it, is not installed; try again later\n"
    )


@pytest.mark.parametrize(
    ("pair", "status", "message"),
    [
        ("en", 2, "not a pair of different languages"),
        ("en-xx", 2, "not a pair of different languages"),
        ("en-fr", 1, "no catalog has a corpus"),
    ],
)
def test_pairs_without_corpora(server: WebServer, pair: str, status: int, message: str) -> None:
    server.give("/api?source=en&target=fr&preprocessing=moses&version=latest", b'{"corpora": []}')
    ended = find(pair)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert message in ended.stderr


def test_a_config_with_all_corpora(server: WebServer) -> None:
    answer(server)
    ended = nmt_prep("init", "--languages", "en-de", "--all", "--clean", "light")
    assert ended.stdout == (
        "en-de.yaml: written; corpora: 4 of train\nskipped: 6; comments in the file say why\n"
        "next: nmt-prep check en-de.yaml\nthen: nmt-prep run en-de.yaml\n"
    )
    config = yaml.safe_load(Path("en-de.yaml").read_text())
    assert [corpus["url"] for corpus in config["splits"]["train"]] == [
        "opus:Books/v1/de-en",
        "opus:Books/v10/de_AT-en",
        "mtdata:Grp-news-10-deu-eng",
        "hf:owner/chat/en-de",
    ]
    assert config["clean"] == {"preset": "light", "decontaminate": {"against": ["sacrebleu:all"]}}
    text = Path("en-de.yaml").read_text()
    assert "\n# skipped: duplicates: OPUS has books, too: mtdata:Grp-books-1-deu-eng\n" in text
    assert "of these sets are dropped; add dev with it\n" in text
