from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config import Languages
from nmt_prep.corpora.sources.catalogues import SERVICE_VARIABLE
from nmt_prep.runs.checks import load_config
from nmt_prep.runs.checks.corpus_checks import _CATALOGUES
from nmt_prep.runs.runner import plan
from tests.cli.program import Ended, nmt_prep
from tests.conftest import REPOSITORY
from tests.guard import PATIENCE
from tests.interrupting import open_terminal
from tests.server import WebServer

EN_DE = ("--languages", "en-de")
TRAIN = ("--train", "data/train.en,data/train.de")


def opus_entry(corpus: str, version: str, source: str, url: str) -> dict[str, str]:
    """Returns an entry of OPUS for English as the other language."""
    facts = {"corpus": corpus, "version": version, "source": source, "target": "en", "preprocessing": "moses"}
    return {**facts, "url": f"{url}/{corpus}.zip"}


@pytest.fixture(autouse=True)
def service(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serves a list of OPUS."""
    monkeypatch.setenv(SERVICE_VARIABLE, f"{server.url}/api")
    known = [("Books", "v1", "de"), ("Books", "v1", "deu"), ("Europarl", "v8", "de")]
    entries = [opus_entry(*each, server.url) for each in known]
    for entry in entries:
        query = f"corpus={entry['corpus']}&source={entry['source']}&target=en&preprocessing=moses"
        server.give(f"/api?{query}", json.dumps({"corpora": [entry]}).encode())
    server.give("/api?corpus=Europal&source=de&target=en&preprocessing=moses", b'{"corpora": []}')
    query = "source=de&target=en&preprocessing=moses&version=latest"
    server.give(f"/api?{query}", json.dumps({"corpora": entries}).encode())


def init(*arguments: str) -> Ended:
    return nmt_prep("init", *arguments)


def corpora(file: str = "en-de.yaml") -> dict[str, list[dict[str, Any]]]:
    """Returns the corpora of a config, with the keys that are not defaults."""
    return {
        split: [corpus.model_dump(exclude_defaults=True, exclude_none=True) for corpus in corpora]
        for split, corpora in load_config(file).splits.items()
    }


@pytest.mark.usefixtures("here")
def test_a_config_from_options() -> None:
    Path("data/dev.tsv").write_text("three\tdrei\n")
    ended = init(
        *(*EN_DE, "--opus", "Europarl/v8", *TRAIN, "--dev", "data/dev.tsv"),
        *("--vocab", "byte_bpe", "--size", "8000", "--shared", "--clean", "light", "--output-dir", "out/en-de"),
    )
    assert ended == (
        0,
        (
            "en-de.yaml: written; corpora: 2 of train, 1 of dev\n"
            "next: nmt-prep check en-de.yaml\nthen: nmt-prep run en-de.yaml\n"
        ),
        "",
    )
    assert (
        Path("en-de.yaml").read_text()
        == """\
# en-de: `nmt-prep check en-de.yaml` looks at the corpora,
# `nmt-prep run en-de.yaml` prepares the data, `nmt-prep schema` lists all keys.
name: "en-de"
languages: {source: "en", target: "de"}
output_dir: "out/en-de"  # relative to the directory where the run is started
seed: 1  # of the sample and the shuffle; the same seed gives the same data

# Where corpora can come from: paths relative to this file, URLs, and ids of OPUS, mtdata, sacrebleu and the Hub.
splits:
  train:
  - name: train
    url:
      source: data/train.en
      target: data/train.de
  - name: Europarl-v8
    url: opus:Europarl/v8/en-de
  dev:
  - name: dev
    url: data/dev.tsv

# Which pairs are dropped: the presets are light, standard and strict. docs/cleaning.md has all rules, and
# `nmt-prep plan CONFIG --show-rules` prints those of a preset.
clean:
  preset: light
  decontaminate: {against: ["dev", "sacrebleu:all"]}  # pairs that contain segments of these sets are dropped

vocab:
  kind: "byte_bpe"  # t2t, byte_bpe, sentencepiece or subword_nmt
  size: 8000  # pieces of each vocabulary; t2t comes close to it
  shared: true  # true for one vocabulary for both sides

records:
  shards: {train: 16, dev: 1}  # files per split
input:
  batch_tokens: 4096  # tokens of a batch on either side, padding included
  max_length: 256  # longer pairs are skipped
# Files for other trainers, beside the records: marian, fairseq, huggingface and more, see docs/outputs.md.
# outputs: [{kind: marian}]
"""
    )
    config = load_config("en-de.yaml")
    assert [step.stage for step in plan(config)][:2] == ["download", "extract"]
    assert (config.vocab.size, config.clean and config.clean.preset) == (8000, "light")  # type: ignore[union-attr]


@pytest.mark.usefixtures("here")
def test_the_config_can_be_checked_and_run() -> None:
    assert init(*EN_DE, *TRAIN, "--size", "300").returncode == 0
    assert nmt_prep("check", "en-de.yaml").returncode == 0
    assert nmt_prep("run", "en-de.yaml", "--quiet").returncode == 0
    assert json.loads(Path("runs/en-de/records/dataset.json").read_text())["splits"]["train"]["pairs"] == 2


@pytest.mark.usefixtures("here")
def test_comments_can_be_uncommented() -> None:
    init(*EN_DE, *TRAIN)
    text = Path("en-de.yaml").read_text()
    bare = text.replace("# clean:\n#   preset", "clean:\n  preset").replace("# outputs:", "outputs:")
    bare = bare.replace("  # dev:  # such", "  dev:  # such").replace("  # - {name: wmt22", "  - {name: wmt22")
    assert bare.count("#") == text.count("#") - 5
    Path("bare.yaml").write_text(bare.replace("sacrebleu:wmt22/en-de", "data/dev.tsv"))
    config = load_config("bare.yaml")
    assert (config.clean is None, [*config.splits], len(config.outputs)) == (False, ["train", "dev"], 1)


@pytest.mark.usefixtures("here")
def test_paths_are_relative_to_the_config() -> None:
    assert init("sub/dir/c.yaml", *EN_DE, *TRAIN).returncode == 0
    assert corpora("sub/dir/c.yaml")["train"] == [
        {"name": "train", "url": {"source": ("../../data/train.en",), "target": ("../../data/train.de",)}}
    ]
    config = load_config("sub/dir/c.yaml")
    assert (config.name, config.output_dir) == ("c", "runs/c")


def test_an_existing_file_is_replaced_only_if_told(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    message = "nmt-prep: error: en-de.yaml exists; name another file, or give --force to replace it\n"
    assert init(*EN_DE, *TRAIN) == (1, "", message)
    assert (here / "en-de.yaml").read_text() == "mine"
    assert init(*EN_DE, *TRAIN, "--force").returncode == 0
    assert [*corpora()] == ["train"]
    (here / "link.yaml").symlink_to("nowhere")
    assert init("link.yaml", *EN_DE, *TRAIN).returncode == 1
    assert init("data", *EN_DE, *TRAIN).stderr == "nmt-prep: error: data is a directory; name the file to write\n"


@pytest.mark.parametrize(
    ("text", "name", "keys"),
    [
        ("opus:Books/v1", "Books-v1", {"url": "opus:Books/v1/en-de"}),
        ("opus:Books/v1/de-en", "Books-v1", {"url": "opus:Books/v1/de-en"}),
        ("hf:Helsinki-NLP/opus-100/de-en", "opus-100-de-en", {"url": "hf:Helsinki-NLP/opus-100/de-en"}),
        ("hf:owner/name@v1.0", "name", {"url": "hf:owner/name@v1.0"}),
        ("hf://datasets/o/n/a.tsv", "a", {"url": "hf://datasets/o/n/a.tsv"}),
        ("a.tsv", "a", {"url": "a.tsv"}),
        ("two,three.tsv", "two_three", {"url": "two,three.tsv"}),
        ("c.zip::all.tsv", "c", {"url": "c.zip", "member": "all.tsv"}),
        ("b.jsonl.gz", "b", {"url": "b.jsonl.gz", "fields": {"source": "translation.en", "target": "translation.de"}}),
        (
            "https://x.example/n.v16.en.gz,s3://b/n.v16.de.gz",
            "n.v16",
            {"url": {"source": "https://x.example/n.v16.en.gz", "target": "s3://b/n.v16.de.gz"}},
        ),
        ("http://[::1]/a.tsv", "a", {"url": "http://[::1]/a.tsv"}),
        ("http://h/a.tgz::a/x.en,a/x.de", "a", {"url": "http://h/a.tgz", "source": "a/x.en", "target": "a/x.de"}),
    ],
)
def test_corpora(here: Path, text: str, name: str, keys: dict[str, Any]) -> None:
    for file in ("a.tsv", "two,three.tsv", "c.zip"):
        (here / file).touch()
    (here / "b.jsonl.gz").write_text('{"translation": {"de": "eins", "en": "one"}}')
    assert init(*EN_DE, "--train", text).returncode == 0
    expected = load_config_of({"name": name, **keys})
    assert load_config("en-de.yaml").splits["train"] == expected


def load_config_of(corpus: dict[str, Any]) -> Any:
    Path("expected.yaml").write_text(
        "name: x\nlanguages: {source: en, target: de}\nseed: 1\noutput_dir: x\n"
        f"splits: {{train: [{json.dumps(corpus)}]}}\n"
    )
    return load_config("expected.yaml").splits["train"]


@pytest.mark.usefixtures("here")
def test_equal_names_get_numbers() -> None:
    assert init(*EN_DE, *TRAIN * 3, "--dev", TRAIN[1]).returncode == 0
    names = {split: [corpus["name"] for corpus in listed] for split, listed in corpora().items()}
    assert names == {"train": ["train", "train-2", "train-3"], "dev": ["train"]}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("en-de", ("en", "de")),
        ("en,zh-Hant", ("en", "zh-Hant")),
        (" en : no ", ("en", "no")),
        ("en de", ("en", "de")),
        ("eng-deu", ("eng", "deu")),
    ],
)
@pytest.mark.usefixtures("here")
def test_languages(text: str, pair: tuple[str, str]) -> None:
    assert init("c.yaml", "--languages", text, *TRAIN).returncode == 0
    languages = load_config("c.yaml").languages
    assert (languages.source, languages.target) == pair


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the languages are missing: give --languages, such as --languages en-de, or --recipe"),
        (EN_DE, "no training corpus is named: give --train, --opus, --mtdata, --recipe or --all"),
        (("--languages", "english-german"), "'english', which is not a language tag; did you mean en?"),
        (("--languages", "en,de_DE"), "'de_DE', which is not a language tag; did you mean de-DE?"),
        (("--languages", "en"), "'en': expected source and target, such as en-de or pt-BR,en"),
        (("--languages", ""), "'': expected source and target"),
        (("--languages", "en,de,fr"), "'en,de,fr': expected source and target"),
        (("--languages", "pt-BR-en"), "'pt-BR-en': expected source and target, such as en-de or pt-BR,en"),
        (("--languages", "en-"), "languages.target: found the text ''"),
        (("--languages", "../x-y"), "languages.source: found the text '../x'"),
        ((*EN_DE, "--train", "data/train.ne,x"), "data/train.ne does not exist; did you mean data/train.en?"),
        ((*EN_DE, "--train", "data"), "data is a directory; name a file"),
        ((*EN_DE, "--train", "a,b,c"), "a,b,c: expected one name, or two with a comma between them"),
        ((*EN_DE, "--train", "http://h/a.tgz::1,2,3"), "expected one name, or two with a comma between them"),
        ((*EN_DE, "--vocab", "bpe"), "'bpe' is not one of 't2t', 'byte_bpe', 'sentencepiece'"),
        ((*EN_DE, "--clean", "hard"), "'hard' is not one of 'none', 'light', 'standard', 'strict'"),
        ((*EN_DE, "--size", "0"), "'0' is not a number of pieces, such as 32000 or 16k"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ended = init(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in " ".join(ended.stderr.split())
    assert not Path("en-de.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--opus", "Books/v1/fr-de"), "opus:Books/v1/fr-de is for de-fr, but languages is en-de; correct one of them"),
        (("--opus", "Europarl"), "opus:Europarl: an OPUS ID is opus:<corpus>/<version>/<pair>, such as"),
        (
            ("--opus", "Europal/v8"),
            "opus:Europal/v8/en-de: not found in OPUS (did you mean 'Europarl'?); it has no version",
        ),
        (("--opus", "Books/v2"), "opus:Books/v2/en-de: not found in OPUS; it has the versions v1; check the ID at"),
        (
            ("--train", "data/none.jsonl"),
            "data/none.jsonl: no field is named like the source language, en; its texts are a, b;",
        ),
        (("--train", "data/bad.jsonl"), "data/bad.jsonl: its first row cannot be read: "),
        (("--train", "hf:name"), "hf:name: an ID on the Hugging Face Hub is hf:<owner>/<name>"),
        (("--train", "data/train.en"), "data/train.en: format plain has one file per side:"),
        (("--train", "http://h/a.tgz"), "name two files as SOURCE,TARGET, and members as ARCHIVE::SOURCE,TARGET"),
        ((*TRAIN, "--vocab", "byte_bpe", "--size", "20"), "size is 20: it must be at least 258"),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_config_that_is_not_valid_is_not_written(arguments: tuple[str, ...], message: str) -> None:
    Path("data/none.jsonl").write_text('{"a": "one", "b": "eins"}\n')
    Path("data/bad.jsonl").write_text("{\n")
    ended = init(*EN_DE, *arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr
    assert not Path("en-de.yaml").exists()


@pytest.mark.parametrize("service", ["http://127.0.0.1:9/api", "{url}/page"])
@pytest.mark.usefixtures("here")
def test_an_id_is_written_with_a_remark_if_opus_does_not_answer(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    server.give("/page?corpus=Europal&source=de&target=en&preprocessing=moses", b"<html>Log in")
    monkeypatch.setenv(SERVICE_VARIABLE, service.format(url=server.url))
    ended = init(*EN_DE, "--opus", "Europal/v8")
    assert (ended.returncode, corpora()["train"][0]["name"]) == (0, "Europal-v8")
    assert ended.stderr.startswith("opus:Europal/v8/en-de could not be looked up, so it may not exist; nmt-prep check ")


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"id": 1, "translation": {"de": "eins", "en": "one"}}, ("translation.en", "translation.de")),
        ({"de": "eins", "en": "one", "note": "x"}, ("en", "de")),
        ({"tgt": "eins", "src": "one"}, ("src", "tgt")),
        ({"text": {"source_EN": "one", "target_DE": "eins"}}, ("text.source_EN", "text.target_DE")),
    ],
)
def test_fields_are_read_from_the_file(here: Path, row: dict[str, Any], fields: tuple[str, str]) -> None:
    (here / "a.jsonl").write_text(f"\ufeff{json.dumps(row)}\n")
    (here / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    pq.write_table(pa.Table.from_pylist([row]), here / "c.parquet")
    for file in ("a.jsonl", "b.jsonl.gz", "c.parquet"):
        ended = init("--force", *EN_DE, "--train", file)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert corpora()["train"][0]["fields"] == dict(zip(("source", "target"), fields, strict=True))
    ended = init("--force", *EN_DE, "--train", "https://x.example/a.jsonl")
    assert ended.stderr.startswith(
        "https://x.example/a.jsonl: the fields translation.en and translation.de are a guess;"
    )


@pytest.mark.parametrize(("size", "pieces"), [("16k", 16_000), ("8K", 8000), ("500", 500)])
@pytest.mark.usefixtures("here")
def test_sizes_in_thousands(size: str, pieces: int) -> None:
    assert init(*EN_DE, *TRAIN, "--size", size).returncode == 0
    assert load_config("en-de.yaml").vocab.size == pieces  # type: ignore[union-attr]


@pytest.mark.usefixtures("here")
def test_texts_that_yaml_would_misread() -> None:
    for name in ("no", "x: #y.tsv", "1e5.tsv", "0o17.tsv"):
        Path(name).write_bytes(b"one\teins\n")
    ended = init(
        *("--languages", "no-en", "--output-dir", "12: x", "--name", "1e3"),
        *("--train", "no,no", "--train", "x: #y.tsv", "--train", "1e5.tsv", "--train", "0o17.tsv"),
    )
    assert ended.returncode == 0
    config = load_config("no-en.yaml")
    assert (config.name, config.output_dir, config.languages.source) == ("1e3", "12: x", "no")
    assert [corpus.url.both for corpus in config.splits["train"]] == [None, ("x: #y.tsv",), ("1e5.tsv",), ("0o17.tsv",)]
    assert config.splits["train"][0].url.source == ("no",)


@pytest.fixture
def recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for mtdata: three recipes, and an index without the corpus ``Grp-gone-1-eng-deu``."""

    class Recipe(SimpleNamespace):
        train: Any = None
        dev: Any = None
        test: Any = None
        mono_train: Any = None
        desc = "A recipe"
        url = "https://x.example/paper"

    known = {
        "wmt_ende": Recipe(
            langs=("eng", "deu"),
            train=["Grp-one-1-eng-deu", "Grp-gone-1-eng-deu"],
            dev=["Grp-two-1-deu-eng"],
            mono_train=["Grp-news-1-eng", "Grp-news-1-deu"],
        ),
        "many": Recipe(langs=("mul", "eng"), train=["Grp-one-1-eng-deu"]),
        "nothing": Recipe(langs=("eng", "deu"), train=["Grp-gone-1-eng-deu"], url="", desc=""),
    }

    def describe(address: str, languages: Languages) -> dict[str, Any]:
        if "gone" in address:
            raise ConfigError(f"{address}: mtdata has no such corpus")
        return {"url": ("https://x.example/a.tsv",), "format": "tsv"}

    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.5.1" if name == "mtdata" else version(name))
    module = ModuleType("mtdata.recipe")
    module.RECIPES = known  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mtdata", ModuleType("mtdata"))
    monkeypatch.setitem(sys.modules, "mtdata.recipe", module)
    monkeypatch.setitem(cast("dict[str, Any]", _CATALOGUES), "mtdata", describe)


@pytest.mark.usefixtures("here", "recipes")
def test_a_recipe() -> None:
    assert init("--recipe", "wmt_ende").stdout.splitlines()[:2] == [
        "en-de.yaml: written; corpora: 1 of train, 1 of dev",
        "skipped: 2; comments in the file say why",
    ]
    text = Path("en-de.yaml").read_text()
    assert text[text.index("# The corpora") : text.index("name:")] == (
        "# The corpora are those of mtdata's recipe wmt_ende, https://x.example/paper.\n"
        "# skipped: mtdata:Grp-gone-1-eng-deu: mtdata has no such corpus\n"
        "# skipped: 2 of one language: add them with url and translate\n"
    )
    assert text[text.index("  train:\n") : text.index("# Which")] == (
        "  train:\n  - name: Grp-one-1\n    url: mtdata:Grp-one-1-eng-deu\n"
        "  dev:\n  - name: Grp-two-1\n    url: mtdata:Grp-two-1-deu-eng\n\n"
    )


@pytest.mark.usefixtures("here", "recipes")
def test_a_recipe_in_the_other_direction() -> None:
    assert init("--recipe", "wmt_ende", "--languages", "deu-en", "--opus", "Books/v1").returncode == 0
    text = Path("deu-en.yaml").read_text()
    assert 'languages: {source: "deu", target: "en"}\n' in text
    assert "url: opus:Books/v1/deu-en" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wmt-ende",), "mtdata has no recipe 'wmt-ende' (did you mean 'wmt_ende'?); recipes: wmt_ende, many, nothing"),
        (("many",), "the recipe many is for mul-eng, but a config has two languages"),
        (("wmt_ende", "--languages", "fr-en"), "the recipe wmt_ende is for en-de, not fr-en"),
        (
            ("nothing",),
            (
                "the recipe nothing has no training corpus that can be read: mtdata:Grp-gone-1-eng-deu: mtdata "
                "has no such corpus"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("here", "recipes")
def test_recipes_that_cannot_be_used(arguments: tuple[str, ...], message: str) -> None:
    code, output, error = init("--recipe", *arguments)
    assert (code, output) == (1, "")
    assert error.startswith(f"nmt-prep: error: {message}")


@pytest.mark.usefixtures("here")
def test_a_recipe_without_mtdata(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    message = "the recipe x needs mtdata: pip install '.[mtdata]' in a checkout of nmt_prep; nmt_prep has alma-de-en, "
    assert init("--recipe", "x").stderr.startswith(f"nmt-prep: error: {message}")


@pytest.mark.usefixtures("here", "recipes")
def test_recipes_that_mtdata_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mtdata.recipe", ModuleType("mtdata.recipe"))
    assert init("--recipe", "x").stderr.startswith("nmt-prep: error: mtdata cannot read its recipes (AttributeError: ")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes standard input for a terminal."""
    monkeypatch.setattr("nmt_prep.cli.init._can_ask", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_questions(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    answers = [
        *("english", "en-de", "", "yes"),
        *("", "data/train.nn,x", "data/train.en,data/train.de", "opus:Books/v1", ""),
        *(TRAIN[1], TRAIN[1], "bpe", "byte_bpe", "many", "16k", "yes", "light", "", ""),
    ]
    ended = nmt_prep("init", stdin="".join(f"{answer}\n" for answer in answers).encode())
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "languages: 'english': expected source and target, such as en-de or pt-BR,en",
        "a config needs at least one training corpus",
        "data/train.nn does not exist; did you mean data/train.en?",
        "'bpe' is none of t2t, byte_bpe, sentencepiece, subword_nmt",
        "'many' is not a number of pieces, such as 32000 or 16k",
    ]
    for text in (
        "Languages, source and target, such as en-de: ",
        "Config to write [en-de.yaml]: ",
        "en-de.yaml exists. Replace it? (yes or no) [no]: ",
        "Corpus 1: ",
        "Dev set, such as sacrebleu:wmt22 or two files (empty for none): ",
        "Test set, such as sacrebleu:wmt23 or two files (empty for none): ",
        "One vocabulary for both sides? (yes or no) [no]: ",
        "Vocabularies: t2t, byte_bpe, sentencepiece, subword_nmt [t2t]: ",
        "Pieces of each vocabulary [32000]: ",
        "Cleaning: none, light, standard, strict [standard]: ",
        "Drop pairs that are in a test set of sacrebleu? (yes or no) [yes]: ",
        "Directory of the run [runs/en-de]: ",
        "en-de.yaml: written; corpora: 2 of train, 1 of dev, 1 of test\n",
    ):
        assert text in ended.stdout
    config = load_config(here / "en-de.yaml")
    assert (config.vocab.kind, config.vocab.size, config.vocab.shared) == ("byte_bpe", 16_000, True)  # type: ignore[union-attr]
    assert config.clean is not None
    assert config.clean.decontaminate.against == ("dev", "test", "sacrebleu:all")
    assert (config.clean.preset, config.output_dir) == ("light", "runs/en-de")
    assert [*map(len, config.splits.values())] == [2, 1, 1]


@pytest.mark.usefixtures("terminal")
def test_only_what_is_missing_is_asked_for(here: Path) -> None:
    options = (*EN_DE, "--dev", "data/train.en,data/train.de", "--vocab", "t2t", "--size", "500")
    ended = nmt_prep("init", "a.yaml", *options, stdin=b"opus:Books/v1\n\n\n\nnone\nout\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith(
        "Corpus 1: Corpus 2: Test set, such as sacrebleu:wmt23 or two files (empty for none): "
        "One vocabulary for both sides? (yes or no) [no]: Cleaning: none, light, standard, strict "
        "[standard]: Directory of the run [runs/a]: "
        "a.yaml: written; corpora: 1 of train, 1 of dev\nnext: nmt-prep check a.yaml\nthen: nmt-prep run a.yaml\n"
    )
    assert load_config(here / "a.yaml").clean is None


@pytest.mark.usefixtures("terminal")
def test_options_that_suffice_ask_nothing(here: Path) -> None:
    ended = init(*EN_DE, *TRAIN)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "en-de.yaml: written; corpora: 1 of train")
    assert init(*EN_DE, *TRAIN).returncode == 1


@pytest.mark.usefixtures("terminal")
def test_the_end_of_the_answers(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    for answers in (b"", b"en-de\n", b"en-de\n\nyes\nopus:Books/v1\n"):
        ended = nmt_prep("init", stdin=answers)
        assert (ended.returncode, ended.stderr) == (1, "nothing was written\n")
    refused = nmt_prep("init", stdin=b"en-de\n\nno\n").stderr
    assert refused.startswith("nmt-prep: error: en-de.yaml exists; name another")
    assert (here / "en-de.yaml").read_text() == "mine"


def converse(here: Path, answers: Sequence[str | signal.Signals], *arguments: str) -> tuple[int, str]:
    """Runs the command on a terminal, and gives an answer or a signal at each prompt; returns status and output."""
    terminal, program = open_terminal()
    command = [sys.executable, "-m", "nmt_prep", "init", *arguments]
    env = {**os.environ, "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(command, stdin=program, stdout=program, stderr=program, cwd=here, env=env)
    os.close(program)
    shown, waiting = "", list(answers)
    try:
        while chunk := os.read(terminal, 65_536):
            shown += chunk.decode()
            if waiting and shown.endswith(": "):
                answer = waiting.pop(0)
                if isinstance(answer, str):
                    os.write(terminal, answer.encode())
                else:
                    process.send_signal(answer)
    except OSError:  # the end of a terminal on Linux
        pass
    finally:
        os.close(terminal)
    return process.wait(PATIENCE), shown.replace("\r\n", "\n")


@pytest.mark.slow
def test_a_real_terminal(here: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(repository))
    answers = ["en-de", "", "data/train.en,data/train.de", "", "", "", "", "", "", "none", ""]
    status, shown = converse(here, [f"{answer}\n" for answer in answers])
    assert status == 0, shown
    assert [*load_config(here / "en-de.yaml").splits] == ["train"]
    assert converse(here, ["en-fr\n", "\x04"])[0] == 1
    status, shown = converse(here, ["en-fr\n", signal.SIGINT])
    assert (status, "interrupted; nothing was written" in shown) == (130, True)
    assert sorted(path.name for path in here.iterdir()) == ["data", "en-de.yaml"]


def test_a_recipe_of_the_package_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = nmt_prep("init", "--recipe", "fairseq-wmt14-en-de")
    assert made.returncode == 0
    assert "next: nmt-prep check fairseq-wmt14-en-de.yaml" in made.stdout
    written = (tmp_path / "fairseq-wmt14-en-de.yaml").read_bytes()
    assert written == (REPOSITORY / "configs" / "recipes" / "fairseq-wmt14-en-de.yaml").read_bytes()
    for options, message in (
        ((), "fairseq-wmt14-en-de.yaml exists"),
        (("x.yaml", "--size", "8k"), "--size: the recipe fairseq-wmt14-en-de is a whole config"),
    ):
        assert message in nmt_prep("init", "--recipe", "fairseq-wmt14-en-de", *options).stderr
    assert "did you mean 'fairseq-wmt14-en-fr'" in nmt_prep("init", "--recipe", "fairseq-wmt14-fr").stderr
