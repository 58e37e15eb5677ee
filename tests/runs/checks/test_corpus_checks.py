from __future__ import annotations

import logging
import re
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.corpora.sources.sacrebleu_sets import evaluation_corpora
from nmt_prep.runs.checks import check_config, load_config

BASE = {"name": "t", "languages": {"source": "en", "target": "zh"}, "output_dir": "run", "seed": 1}


def corpus(url: Any, languages: tuple[str, str] = ("en", "zh"), **more: Any) -> dict[str, Any]:
    """Returns the corpus that a url resolves to."""
    sides = {"source": languages[0], "target": languages[1]}
    made = {"computed": {"bt": {"program": "cat", "input": "target", "output": "text"}}, "sample": {"made": True}}
    base = {**BASE, **(made if "translate" in more else {}), "languages": sides}
    found = (
        check_config({**base, "splits": {"train": [{"name": "c", "url": url, **more}]}}, "test")
        .splits["train"][0]
        .model_dump(mode="json", exclude_unset=True)
    )
    del found["name"]
    return found


def test_an_opus_id_gives_the_members_of_its_archive() -> None:
    assert corpus("opus:News-Commentary/v16/en-zh") == {
        "url": {"both": ["opus:News-Commentary/v16/en-zh"]},
        "format": "plain",
        "source": "News-Commentary.en-zh.en",
        "target": "News-Commentary.en-zh.zh",
    }


@pytest.mark.parametrize(
    ("address", "languages", "source", "target"),
    [
        ("opus:B/v1/zh-en", ("en", "zh"), "B.en-zh.en", "B.en-zh.zh"),
        ("opus:B/v1/en-zh", ("zh", "en"), "B.en-zh.zh", "B.en-zh.en"),
        ("opus:B/v1/en-zh_CN", ("en", "zh-CN"), "B.en-zh_CN.en", "B.en-zh_CN.zh_CN"),
        ("opus:B/v1/en-zh_CN", ("zh", "en"), "B.en-zh_CN.zh_CN", "B.en-zh_CN.en"),
        ("opus:B/v1/pt-pt_br", ("pt-BR", "pt"), "B.pt-pt_br.pt_br", "B.pt-pt_br.pt"),
    ],
)
def test_source_and_target_of_an_opus_id(address: str, languages: tuple[str, str], source: str, target: str) -> None:
    found = corpus(address, languages)
    assert (found["source"], found["target"]) == (source, target)


def test_explicit_keys_of_the_config_win() -> None:
    found = corpus(["opus:B/v1/en-zh", "https://mirror/b.zip"], source="a", target="b", encoding="utf-16")
    assert found == {
        "url": {"both": ["opus:B/v1/en-zh", "https://mirror/b.zip"]},
        "format": "plain",
        "source": "a",
        "target": "b",
        "encoding": "utf-16",
    }


def test_a_known_licence_is_filled_in_unless_the_config_states_one() -> None:
    assert corpus("opus:Tatoeba/v1/en-zh")["licence"] == "CC-BY-2.0-FR"
    assert corpus("opus:Tatoeba/v1/en-zh", licence="own")["licence"] == "own"
    assert corpus("hf:allenai/nllb/en-zh")["licence"] == "ODC-By-1.0"


def test_a_checksum_of_a_catalogue_id() -> None:
    assert corpus("opus:B/v1/en-zh", sha256="0" * 64)["sha256"] == {"both": "0" * 64}


def test_a_filled_in_config_does_not_change_again() -> None:
    found = corpus("opus:B/v1/en-zh")
    assert corpus(**found) == found


@pytest.fixture
def sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for sacrebleu's catalogue."""

    def test_set(kind: str, data: list[str], langpairs: dict[str, list[str]], **more: Any) -> Any:
        return type(kind, (), {"name": "x", "data": data, "langpairs": langpairs, "kwargs": more})()

    wmt, texts = ["https://data.example/wmt18/test.tgz"], ["https://x/1/a.gz", "https://x/1/b.gz"]
    talks, branch = ["https://x/1/en-zh.tgz", "https://x/2/zh-en.tgz"], "https://x/data/archive/main.zip"
    found = ModuleType("sacrebleu.dataset")
    found.DATASETS = {  # type: ignore[attr-defined]
        "wmt18": test_set("FakeSGMLDataset", wmt, {"en-zh": ["t/src.en.sgm", "t/ref.zh.sgm", "t/B.zh.sgm"]}),
        "wmt21/dev": test_set("WMTXMLDataset", wmt, {"en-zh": ["t/en-zh.xml"]}, refs=["A", "B"]),
        "mtnt": test_set("TSVDataset", wmt, {"en-zh": ["2:t/a.tsv", "3:t/a.tsv"]}),
        "robust": test_set("PlainTextDataset", wmt, {"en-zh": ["t/a.en", "t/a.zh"]}),
        "other": test_set("OtherDataset", wmt, {"en-zh": ["t/a.xml", "t/b.xml"]}),
        "wmt22": test_set("WMTXMLDataset", wmt, {"en-zh": {"path": "t/22.xml", "refs": ["", "C"]}}, refs=["A"]),
        "talks": test_set("IWSLTXMLDataset", talks, {"en-zh": ["en-zh/t.en.xml", "zh-en/t.zh.xml"]}),
        "photos": test_set("PlainTextDataset", [*wmt, texts[1]], {"en-zh": ["t.en", "x.b.gz"]}),
        "parity": test_set("WMTAdditionDataset", [branch, *wmt], {"en-zh": ["src.en.sgm", "data-main/ref.txt"]}),
        "several": test_set("PlainTextDataset", texts, {"en-zh": ["t/a.en", "t/a.zh"]}),
    }
    monkeypatch.setitem(sys.modules, "sacrebleu", ModuleType("sacrebleu"))
    monkeypatch.setitem(sys.modules, "sacrebleu.dataset", found)


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("name", "languages", "known"),
    [
        ("wmt18", ("en", "zh"), {"format": "sgm", "source": "t/src.en.sgm", "target": "t/ref.zh.sgm"}),
        ("wmt18", ("zh", "en"), {"format": "sgm", "source": "t/ref.zh.sgm", "target": "t/src.en.sgm"}),
        ("robust", ("en", "zh"), {"format": "plain", "source": "t/a.en", "target": "t/a.zh"}),
        ("mtnt", ("en", "zh"), {"format": "tsv", "member": "t/a.tsv", "columns": {"source": 2, "target": 3}}),
        ("mtnt", ("zh", "en"), {"format": "tsv", "member": "t/a.tsv", "columns": {"source": 3, "target": 2}}),
        ("wmt21/dev", ("en", "zh"), {"format": "wmt_xml", "member": "t/en-zh.xml", "swap": False, "references": ["A"]}),
        ("wmt22", ("en", "zh"), {"format": "wmt_xml", "member": "t/22.xml", "swap": False, "references": ["C"]}),
        ("wmt21/dev", ("zh", "en"), {"format": "wmt_xml", "member": "t/en-zh.xml", "swap": True, "references": ["A"]}),
    ],
)
def test_sacrebleu_id(name: str, languages: tuple[str, str], known: dict[str, Any]) -> None:
    url = {"both": ["https://data.example/wmt18/test.tgz"]}
    assert corpus(f"sacrebleu:{name}/en-zh", languages) == {"url": url, **known}


@pytest.mark.usefixtures("sets")
def test_sacrebleu_id_with_one_file_per_side() -> None:
    url = {"source": ["https://x/2/zh-en.tgz"], "target": ["https://x/1/en-zh.tgz"]}
    members = {"source": "zh-en/t.zh.xml", "target": "en-zh/t.en.xml"}
    assert corpus("sacrebleu:talks/en-zh", ("zh", "en")) == {"url": url, "format": "sgm", **members}
    url = {"source": ["https://data.example/wmt18/test.tgz"], "target": ["https://x/1/b.gz"]}
    assert corpus("sacrebleu:photos/en-zh") == {"url": url, "format": "plain", "source": "t.en"}


@pytest.mark.usefixtures("sets")
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("wmt18", [("t/src.en.sgm", "t/ref.zh.sgm"), ("t/src.en.sgm", "t/B.zh.sgm")]),
        ("talks", [("en-zh/t.en.xml", "en-zh/t.en.xml"), ("zh-en/t.zh.xml", "zh-en/t.zh.xml")]),
        ("parity", [("src.en.sgm", "src.en.sgm"), ("data-main/ref.txt", "data-main/ref.txt")]),
    ],
)
def test_all_texts_of_a_test_set_are_evaluated(name: str, texts: list[tuple[str, str]]) -> None:
    found = evaluation_corpora(f"sacrebleu:{name}/en-zh")
    assert [(each["source"], each["target"]) for each in found] == texts


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for mtdata's catalogue, which records its queries."""
    asked: list[str] = []

    def entry(pair: str, **more: Any) -> Any:
        empty = {"ext": "txt", "in_ext": None, "in_paths": None, "cols": None}
        return SimpleNamespace(**{**empty, "did": SimpleNamespace(langs=tuple(pair.split("-"))), **more})

    entries = {
        "tgz": entry("en-zh", url="https://x/a.tgz", in_ext="txt", in_paths=["*/a.en", "*/a.zh"]),
        "tsv": entry("en-zh", url="https://x/a.tsv.gz", ext="tsv.gz", cols=(1, 2)),
        "two": entry("en-zh", url=("https://x/a.en", "https://x/a.zh")),
        "tmx": entry("en-zh", url="https://x/a.zip", in_ext="tmx", in_paths=["a.tmx"]),
        "mono": entry("zh", url="https://x/a.gz"),
        "member": entry("zh", url="https://x/a.tgz", in_ext="tsv", in_paths=["a.tsv"], cols=(3,)),
        "other": entry("de", url="https://x/a"),
        "hf": entry("en-zh", url="https://x/a", ext="hfds"),
        "xml": entry("en-zh", url="https://x/a.tgz", in_ext="wmt21xml", in_paths=["a.xml"]),
        "memories": entry("en-zh", url="https://x/a.zip", in_ext="tmx", in_paths=["a.tmx", "b.tmx"]),
        "three": entry("en-zh", url="https://x/a.zip", in_ext="txt", in_paths=["a", "b", "c"]),
    }

    def parse(name: str) -> str:
        logging.info("setting up the logging of the program")
        asked.append(name)
        return name

    modules = {name: ModuleType(name) for name in ("mtdata", "mtdata.index", "mtdata.iso", "mtdata.iso.bcp47")}
    modules["mtdata.index"].INDEX = entries  # type: ignore[attr-defined]
    modules["mtdata.index"].DatasetId = SimpleNamespace(parse=parse)  # type: ignore[attr-defined]
    swap = lambda wanted, has: ({*wanted} == {*has}, wanted != has)  # noqa: E731
    modules["mtdata.iso.bcp47"].BCP47Tag = SimpleNamespace(check_compat_swap=swap)  # type: ignore[attr-defined]
    modules["mtdata.iso.bcp47"].bcp47 = lambda tag: tag  # type: ignore[attr-defined]
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.5.1" if name == "mtdata" else version(name))
    return asked


@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("name", "languages", "known"),
    [
        ("tgz", ("en", "zh"), {"url": "https://x/a.tgz", "format": "plain", "source": "*/a.en", "target": "*/a.zh"}),
        ("tgz", ("zh", "en"), {"url": "https://x/a.tgz", "format": "plain", "source": "*/a.zh", "target": "*/a.en"}),
        ("tsv", ("en", "zh"), {"url": "https://x/a.tsv.gz", "format": "tsv", "columns": {"source": 1, "target": 2}}),
        ("tsv", ("zh", "en"), {"url": "https://x/a.tsv.gz", "format": "tsv", "columns": {"source": 2, "target": 1}}),
        ("tmx", ("en", "zh"), {"url": "https://x/a.zip", "format": "tmx", "member": "a.tmx"}),
        ("xml", ("en", "zh"), {"url": "https://x/a.tgz", "format": "wmt_xml", "member": "a.xml", "swap": False}),
        ("xml", ("zh", "en"), {"url": "https://x/a.tgz", "format": "wmt_xml", "member": "a.xml", "swap": True}),
    ],
)
def test_mtdata_id(name: str, languages: tuple[str, str], known: dict[str, Any]) -> None:
    assert corpus(f"mtdata:{name}", languages) == {**known, "url": {"both": [known["url"]]}}


@pytest.mark.usefixtures("index")
def test_mtdata_id_with_one_file_per_side() -> None:
    url = {"source": ["https://x/a.zh"], "target": ["https://x/a.en"]}
    assert corpus("mtdata:two", ("zh", "en")) == {"url": url, "format": "plain"}


@pytest.mark.usefixtures("index")
def test_ids_of_one_language() -> None:
    made = {"translate": {"by": "bt"}}
    assert corpus("opus:News/v1/zh_CN", **made) == {
        "url": {"target": ["opus:News/v1/zh_CN"]},
        "format": "plain",
        **made,
    }
    assert corpus("mtdata:mono", **made) == {"url": {"target": ["https://x/a.gz"]}, "format": "plain", **made}
    table = {"url": {"both": ["https://x/a.tgz"]}, "format": "tsv", "member": "a.tsv", "columns": {"target": 3}}
    assert corpus("mtdata:member", **made) == {**table, "source": None, "target": None, **made}


@pytest.mark.usefixtures("sets", "index")
@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "opus:B/v1/en-fr",
            r"splits\.train\.0\.url: opus:B/v1/en-fr is for en-fr, but languages is en-zh; correct one",
        ),
        ("opus:B/v1", r"splits\.train\.0\.url: opus:B/v1: an OPUS ID is opus:<corpus>/<version>/<pair>"),
        (["http://host/a", "opus:B/v1/en-zh"], r"opus:B/v1/en-zh names a whole corpus: give it as the only url"),
        (["opus:B/v1/en-zh", "mtdata:x"], r"mtdata:x names a whole corpus"),
        ({"source": "opus:B/v1/en-zh", "target": "a"}, r"opus:B/v1/en-zh names a whole corpus"),
        ("sacrebleu:wmt99/en-zh", r"sacrebleu has no test set 'wmt99/en-zh'.*; an ID is sacrebleu:<test set> or"),
        ("sacrebleu:wmt18", r"sacrebleu:wmt18 is a whole test set; name a pair of it: sacrebleu:wmt18/en-zh"),
        ("sacrebleu:wmt18/de-en", r"the pairs of wmt18 are en-zh"),
        ("sacrebleu:other/en-zh", r"other is in a format that nmt_prep does not read; use another set"),
        ("sacrebleu:several/en-zh", r"its file t/a.en is in none of its archives"),
        ("sacrebleu:parity/en-zh", r"two sides are files of different formats; use it in decontaminate.against"),
        ("mtdata:nothing", r"mtdata has no such corpus; an ID is mtdata:<group>-<name>-<version>-<pair>"),
        ("mtdata:mono", "the corpus has only the side target: name the other one too, or give translate"),
        ("mtdata:other", r"mtdata:other is not for en-zh; correct the ID or languages"),
        ("mtdata:hf", r"mtdata:hf is in a format that nmt_prep does not read \(hfds\)"),
        ("mtdata:memories", r"mtdata:memories has more files than a corpus may have"),
        ("mtdata:three", r"mtdata:three has more files than a corpus may have"),
    ],
)
def test_ids_that_cannot_be_corpora(url: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        corpus(url)


@pytest.mark.usefixtures("sets")
def test_sacrebleu_test_set_of_other_languages() -> None:
    with pytest.raises(ConfigError, match="sacrebleu:wmt18/en-zh is for en-zh, but languages is en-de"):
        corpus("sacrebleu:wmt18/en-zh", ("en", "de"))


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("Statmt-europarl-11-deu-eng", " (did you mean 'Statmt-europarl-10-deu-eng'?)"),
        ("Statmt-europarl-10-eng-deu", " (did you mean 'Statmt-europarl-10-deu-eng'?)"),
        ("OPUS-book-v1-eng-xxx", " (did you mean 'OPUS-books-v1-eng-fra'?)"),
        ("Nobody-nothing-1-eng-fra", ""),
        ("europarl", ""),
    ],
)
def test_the_nearest_id_of_mtdata(index: list[str], monkeypatch: pytest.MonkeyPatch, wanted: str, meant: str) -> None:
    class Index(dict[str, Any]):
        entries = ("Statmt-europarl-10-deu-eng", "Statmt-europarl-10-deu-fra", "OPUS-books-v1-eng-fra")

    monkeypatch.setattr(sys.modules["mtdata.index"], "INDEX", Index())
    with pytest.raises(ConfigError, match=re.escape(f"mtdata:{wanted}: mtdata has no such corpus{meant}; an ID is")):
        corpus(f"mtdata:{wanted}")
    assert index == [wanted]


def test_mtdata_is_queried_once_and_prints_nothing(index: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    handlers = [*logging.getLogger().handlers]
    first = corpus("mtdata:tgz")
    assert corpus("mtdata:tgz") == first
    assert index == ["tgz"]
    assert logging.getLogger().handlers == handlers
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["mtdata", "sacrebleu"])
def test_missing_extra(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    for module in [name for name in sys.modules if name.split(".")[0] == kind]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, kind, None)
    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(
        ConfigError, match=rf"{kind}:x/en-zh needs {kind}\S*: pip install '\.\[{kind}\]' in a checkout of nmt_prep$"
    ):
        corpus(f"{kind}:x/en-zh")


def test_installed_sacrebleu() -> None:
    pytest.importorskip("sacrebleu", reason="the extra sacrebleu is not installed")
    sets = import_module("sacrebleu.dataset").DATASETS
    assert corpus("sacrebleu:wmt18/en-zh") == {
        "url": {"both": sets["wmt18"].data},
        "format": "sgm",
        "source": "test/newstest2018-enzh-src.en.sgm",
        "target": "test/newstest2018-enzh-ref.zh.sgm",
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_installed_mtdata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("portalocker", reason="the extra mtdata is not installed")
    monkeypatch.setenv("MTDATA", str(tmp_path))
    found = corpus("mtdata:Statmt-news_commentary-18-eng-zho")
    url = "http://data.statmt.org/news-commentary/v18/training/news-commentary-v18.en-zh.tsv.gz"
    assert found == {"url": {"both": [url]}, "format": "tsv", "columns": {"source": 0, "target": 1}}
    assert corpus("mtdata:OPUS-books-v1-eng-fra", ("fr", "en")) == {
        "url": {"both": ["https://object.pouta.csc.fi/OPUS-Books/v1/moses/en-fr.txt.zip"]},
        "format": "plain",
        "source": "*.fr",
        "target": "*.en",
    }


def test_an_unknown_format_is_named_without_source_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.runs.checks.corpus_checks.descriptions", lambda section: {})
    with pytest.raises(ConfigError, match=r"splits\.train\.0\.format: no reader is named 'klingon'$"):
        corpus("in.tsv", format="klingon")


CORPUS = {"url": "c.tgz", "source": "s", "target": "t"}


def problems(clean: Any) -> list[str]:
    data = {
        **BASE,
        "splits": {
            "train": [{"name": "news", **CORPUS}, {"name": "web.2", **CORPUS}],
            "dev": [{"name": "d", **CORPUS}],
        },
        "clean": clean,
    }
    try:
        check_config(data, "test")
    except ConfigError as error:
        return [line.strip() for line in str(error).splitlines()[1:]]
    return []


@pytest.mark.parametrize(
    "clean",
    [
        {},
        {"preset": "strict", "fix": [], "rules": {"length": {"max": {"source": 3, "target": 4}}}},
        {"rules": {"noise": {"kinds": ["glued_words", "escapes"]}, "program": {"command": ["cat", "-"]}}},
        {"rules": {"length": "off", "top": {"score": "s", "keep": "80%"}}},
        {"overrides": {"news": {"fix": ["nfc"]}, "en-zh": {"rules": {"length": {"max": 5}}}, "pt-BR-de": {}}},
        {"decontaminate": {"coverage": 0.5}},
        {"preset": "none", "decontaminate": {"against": []}},
        {"splits": ["dev"], "overrides": {"d": {}}, "rejects": "all", "allow_empty": True},
    ],
)
def test_sections_without_problems(clean: Any) -> None:
    assert problems(clean) == []


@pytest.mark.parametrize(
    ("clean", "expected"),
    [
        (
            {"rules": {"lenght": {}}},
            "clean.rules.lenght: there is no such rule; did you mean 'length'? (rules: adequacy, alphabetic,",
        ),
        (
            {"rules": {"length": {"maxi": 3}}},
            "clean.rules.length.maxi: unknown key; did you mean 'max'? (allowed here: ",
        ),
        ({"rules": {"length": {"max": "x"}}}, "clean.rules.length.max: found the text 'x'; allowed: a number"),
        (
            {"preset": "none", "decontaminate": {"coverage": 0.5}},
            "clean.decontaminate.against: no evaluation sets are named, and the preset none brings none; name splits",
        ),
        ({"rules": {"length": 3}}, "clean.rules.length: "),
        ({"rules": {"tops": {}}}, "clean.rules.tops: there is no such rule; did you mean 'top'? (rules: "),
        (
            {"rules": {"top": {"score": "s", "keep": 2}}},
            "clean.rules.top.keep: found the number 2; allowed: a share such as 80%",
        ),
        ({"fix": ["whitspace"]}, "clean.fix: there is no step 'whitspace'; did you mean 'whitespace'? (steps: "),
        (
            {"overrides": {"nws": {}}},
            "clean.overrides.nws: neither a corpus that is cleaned nor a language pair such as en-de; did",
        ),
        ({"overrides": {"d": {}}}, "clean.overrides.d: neither a corpus that is cleaned nor a language pair such as"),
        ({"overrides": {"en-xq": {}}}, "clean.overrides.en-xq: neither a corpus that is cleaned nor a language pair"),
        (
            {"overrides": {"web.2": {"rules": {"length": {"maxi": 3}}}}},
            "clean.overrides.web.2.rules.length.maxi: unknown key; did you mean 'max'?",
        ),
        (
            {"overrides": {"news": {"fix": ["nfd"]}}},
            "clean.overrides.news.fix: there is no step 'nfd'; did you mean 'nfc'",
        ),
        ({"overrides": {"news": {"rule": {}}}}, "clean.overrides.news.rule: unknown key; did you mean 'rules'?"),
        (
            {"preset": "stric"},
            "clean.preset: found the text 'stric'; did you mean 'strict'? allowed: none, light, standard or strict",
        ),
        ({"splits": ["tests"]}, "config: clean.splits names 'tests'; the splits are train, dev"),
        ({"splits": ["dev", "train", "dev"]}, "config: clean.splits names 'dev' twice; name each split once"),
        (
            {"rules": {"length": "yes"}},
            "clean.rules.length: found the text 'yes'; allowed: a mapping with keys of: max, ",
        ),
        (
            {"rejects": "some"},
            "clean.rejects: found the text 'some'; did you mean 'sample'? allowed: none, sample or all",
        ),
        ({"dedupe": {}}, "clean.dedupe: unknown key"),
        *(
            ({"dedup": {"pair": "exact", "keep": keep}}, "clean.dedup.keep: ")
            for keep in ([], ["bicleaner"], ["corpus", "a"], ["a", "a", "corpus"])
        ),
        *(({"decontaminate": {"coverage": share}}, "clean.decontaminate.coverage: ") for share in (0, 1.1)),
        *(
            ({"decontaminate": {"against": against}}, f"clean.decontaminate.against: {problem}")
            for against, problem in (
                (["dve"], "there is no split 'dve' (splits: train, dev; files are named file:…; splits that hold_out "),
                (["train"], "names all splits that are cleaned (train); nothing is compared with them"),
                (["file:"], "file: must be followed by a path"),
                (["dev", "dev"], "found a list of 2; allowed: a list of different"),
                (["file:a/x.txt", "file:b/x.txt"], "two evaluation sets have the name 'x.txt'"),
            )
        ),
        ({"dedup": {"near": {}}}, "clean.dedup.near: applies only with pair: near; set it, or remove near"),
        (
            {"dedup": {"pair": "exact", "near": {"similarity": 0.8}}},
            "clean.dedup.near: applies only with pair: near; set it, or remove near",
        ),
        (
            {"dedup": {"pair": "near", "near": {"similarity": 0}}},
            "clean.dedup.near.similarity: found the number 0; allowed: a number above 0, up to 1",
        ),
        ({"dedup": {"pair": "near", "near": {"similarity": 1.01}}}, "clean.dedup.near.similarity: found the number"),
        ({"dedup": {"pair": "near", "near": {"similar": 1}}}, "clean.dedup.near.similar: unknown key; did you mean"),
    ],
)
def test_each_problem_names_its_key(clean: Any, expected: str) -> None:
    (problem,) = problems(clean)
    assert problem.startswith(expected)


def test_all_problems_are_listed_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "name: t\nlanguages: {source: en, target: zh}\noutput_dir: run\nseed: 1\n"
        "splits:\n  train: [{name: c, url: c.tgz, source: s, target: t}]\n"
        "clean:\n  fix: [nfd]\n  rules:\n    lenght: {}\n    length:\n      max: [1]\n"
    )
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "c.yaml")
    found = [line.strip().partition(": ")[0] for line in str(error.value).splitlines()[1:]]
    assert found == ["clean.fix (line 8)", "clean.rules.lenght (line 10)", "clean.rules.length.max (line 12)"]
