from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_prep.checks import load_config
from nmt_prep.checks.catalogues import _CATALOGUES
from nmt_prep.cli import draft, draft_corpus
from nmt_prep.cli.draft import languages_of
from nmt_prep.cli.draft_corpus import corpus_of
from nmt_prep.config import Languages
from nmt_prep.errors import ArgumentError, ConfigError
from nmt_prep.runner import plan
from tests.archives.builders import tar_of, zip_of
from tests.cli.program import Ended, nmt_prep
from tests.guard import PATIENCE

EN_DE = Languages(source="en", target="de")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file for each side."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/train.en").write_text("one\ntwo\n")
    (tmp_path / "data/train.de").write_text("eins\nzwei\n")
    return tmp_path


def init(*arguments: str) -> Ended:
    return nmt_prep("init", *arguments)


def splits(file: str = "en-de.yaml") -> dict[str, list[dict[str, Any]]]:
    """Returns the corpora of a config, which must be valid and can be planned."""
    config = load_config(file)
    return {
        split: [each.model_dump(exclude_defaults=True, exclude_none=True) for each in corpora]
        for split, corpora in config.splits.items()
    }


@pytest.mark.usefixtures("here")
def test_a_config_from_options() -> None:
    ended = init(
        *("--languages", "en-de", "--opus", "Europarl/v8", "--train", "data/train.en,data/train.de"),
        *("--dev", "data/train.en,data/train.de", "--vocab", "byte_bpe", "--size", "8000", "--shared"),
        *("--clean", "light", "--output-dir", "out/en-de"),
    )
    assert ended == (
        0,
        (
            "en-de.yaml: written; corpora: 2 of train, 1 of dev\n"
            "next: nmt-prep check en-de.yaml\n"
            "then: nmt-prep run en-de.yaml\n"
        ),
        "",
    )
    assert (
        Path("en-de.yaml").read_text()
        == """\
# en to de. `nmt-prep check en-de.yaml` looks at the corpora,
# `nmt-prep run en-de.yaml` prepares the data, `nmt-prep schema` lists all keys.
name: en-de
languages: {source: en, target: de}
output_dir: out/en-de  # relative to the directory where the run is started
seed: 1  # of the sample and the shuffle; the same seed gives the same data

# Where corpora can come from: paths relative to this file, URLs, and ids of OPUS, mtdata and sacrebleu.
splits:
  train:
    - name: train
      url:
        source: data/train.en
        target: data/train.de
    - name: Europarl-v8
      url: opus:Europarl/v8/en-de
  dev:
    - name: train
      url:
        source: data/train.en
        target: data/train.de

# Which pairs are dropped: the presets are light, standard and strict. docs/cleaning.md has all rules, and
# `nmt-prep plan CONFIG --show-rules` prints those of a preset.
clean:
  preset: light

vocab:
  kind: byte_bpe  # t2t, byte_bpe or sentencepiece
  size: 8000  # pieces of each vocabulary
  shared: true  # true for one vocabulary for both sides

records:
  shards: {train: 16, dev: 1}  # files per split
input:
  batch_tokens: 4096  # tokens of a batch on either side, padding included
  max_length: 256  # longer pairs are left out of batches
# Files for other trainers, beside the records: marian, fairseq, huggingface and more, see docs/outputs.md.
# outputs: [{kind: marian}]
"""
    )
    config = load_config("en-de.yaml")
    assert [step.stage for step in plan(config)][:2] == ["download", "extract"]
    assert (config.vocab.size, config.clean and config.clean.preset) == (8000, "light")  # type: ignore[union-attr]


@pytest.mark.usefixtures("here")
def test_the_config_can_be_checked_and_run() -> None:
    assert init("--languages", "en-de", "--train", "data/train.en,data/train.de", "--size", "300").returncode == 0
    assert nmt_prep("check", "en-de.yaml").returncode == 0
    assert nmt_prep("run", "en-de.yaml", "--quiet").returncode == 0
    assert json.loads(Path("runs/en-de/records/dataset.json").read_text())["splits"]["train"]["pairs"] == 2


@pytest.mark.usefixtures("here")
def test_comments_can_be_uncommented() -> None:
    init("--languages", "de-en", "--train", "data/train.de,data/train.en")
    text = Path("de-en.yaml").read_text()
    bare = text.replace("# clean:\n#   preset", "clean:\n  preset").replace("# outputs:", "outputs:")
    bare = bare.replace("  # dev:  # such", "  dev:  # such").replace("  #   - {name: wmt22", "    - {name: wmt22")
    assert bare.count("#") == text.count("#") - 5
    Path("bare.yaml").write_text(bare.replace("sacrebleu:wmt22/de-en", "data/dev.tsv"))
    config = load_config("bare.yaml")
    assert (config.clean is None, [*config.splits], len(config.outputs)) == (False, ["train", "dev"], 1)


@pytest.mark.usefixtures("here")
def test_paths_are_relative_to_the_config() -> None:
    assert init("sub/dir/c.yaml", "--languages", "en-de", "--train", "data/train.en,data/train.de").returncode == 0
    assert splits("sub/dir/c.yaml")["train"] == [
        {"name": "train", "url": {"source": ("../../data/train.en",), "target": ("../../data/train.de",)}}
    ]
    config = load_config("sub/dir/c.yaml")
    assert (config.name, config.output_dir) == ("c", "runs/c")


def test_an_existing_file_is_replaced_only_if_told(here: Path) -> None:
    arguments = ("--languages", "en-de", "--train", "data/train.en,data/train.de")
    (here / "en-de.yaml").write_text("mine")
    assert init(*arguments) == (
        1,
        "",
        "nmt-prep: error: en-de.yaml exists; name another file, or give --force to replace it\n",
    )
    assert (here / "en-de.yaml").read_text() == "mine"
    assert init(*arguments, "--force").returncode == 0
    assert [*splits()] == ["train"]
    (here / "link.yaml").symlink_to("nowhere")
    assert init("link.yaml", *arguments).returncode == 1
    assert init("data", *arguments).stderr == "nmt-prep: error: data is a directory; name the file to write\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the languages are missing: give --languages, such as --languages en-de, or --recipe"),
        (("--languages", "en-de"), "no training corpus is named: give --train, --opus, --mtdata or --recipe"),
        (("--languages", "english-german"), "'english' is not a language tag (did you mean en?); 'german' is not a"),
        (
            ("--languages", "en-de", "--train", "data/train.ne,x"),
            "data/train.ne does not exist; did you mean data/train.en?",
        ),
        (("--languages", "en-de", "--train", "data"), "data is a directory; name a file"),
        (
            ("--languages", "en-de", "--opus", "Europarl"),
            "opus:Europarl: expected <corpus>/<version>, such as opus:Euro",
        ),
        (("--languages", "en-de", "--vocab", "bpe"), "'bpe' is not one of 't2t', 'byte_bpe', 'sentencepiece'"),
        (("--languages", "en-de", "--clean", "hard"), "'hard' is not one of 'none', 'light', 'standard', 'strict'"),
        (("--languages", "en-de", "--size", "0"), "Invalid value for '--size'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ended = init(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
    assert not Path("en-de.yaml").exists()


@pytest.mark.usefixtures("here")
def test_a_config_that_is_not_valid_is_not_written() -> None:
    ended = init("--languages", "en-de", "--opus", "Europarl/v8/en-fr")
    assert ended == (
        1,
        "",
        "nmt-prep: error: opus:Europarl/v8/en-fr is for en-fr, but languages is en-de; correct one of them\n",
    )
    small = init("--languages", "en-de", "--opus", "Europarl/v8", "--vocab", "byte_bpe", "--size", "20")
    assert small.returncode == 1
    assert "size is 20: it must be 258 or more" in small.stderr
    assert not Path("en-de.yaml").exists()


@pytest.mark.usefixtures("here")
def test_extras_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from nmt_prep.cli import init as command

    monkeypatch.setattr(command, "find_spec", lambda _: None)
    arguments = ("--languages", "en-de", "--opus", "Europarl/v8", "--vocab", "sentencepiece", "--clean", "standard")
    assert init(*arguments).stdout.splitlines()[1] == "install first: pip install 'nmt-prep[clean,sentencepiece]'"


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("en-de", ("en", "de")),
        ("en,zh-Hant", ("en", "zh-Hant")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("en-zh-TW", ("en", "zh-TW")),
        (" en : no ", ("en", "no")),
        ("en de", ("en", "de")),
        ("eng-deu", ("eng", "deu")),
    ],
)
def test_languages(text: str, pair: tuple[str, str]) -> None:
    found = languages_of(text)
    assert (found.source, found.target) == pair


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("en", r"found 'en'; expected source and target, such as en-de"),
        ("", r"found ''; expected"),
        ("en,de,fr", r"found 'en,de,fr'; expected"),
        ("en-", r"'' is not a language tag; expected"),
        ("en,de_DE", r"'de_DE' is not a language tag \(did you mean de-DE\?\)"),
        ("pt-br-pt", r"'pt-br-pt' can be read in several ways; write pt,br-pt or pt-br,pt"),
        ("../x-y", r"'\.\./x' is not a language tag"),
    ],
)
def test_languages_that_are_wrong(text: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        languages_of(text)


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "translation": [{"en": "one", "de": "eins"}]}), path)


FILES: dict[str, bytes | Callable[[Path], None]] = {
    "a.tsv": b"one\teins\n",
    "a.txt": b"one\teins\n",
    "a.jsonl.gz": gzip.compress(b'{"id": 1, "pair": {"en": "one", "de": "eins"}}\n{"x'),
    "b.jsonl": b'{"source": "one", "target": "eins"}\n',
    "c.jsonl": b'{"left": "one", "right": "eins"}\n',
    "a.parquet": write_parquet,
    "a.tgz": gzip.compress(tar_of(("d/a.en.gz", b""), ("d/a.de.gz", b""), ("README", b""))),
    "b.zip": zip_of(("a.en", b""), ("a.de", b""), ("b.en", b""), ("b.de", b"")),
    "c.zip": zip_of(("LICENSE", b""), ("all.tsv", b"")),
    "d.zip": b"one\n",
    "one.src": b"one\n",
    "two,three.tsv": b"one\teins\n",
}


@pytest.fixture
def files(here: Path) -> Path:
    for name, content in FILES.items():
        if isinstance(content, bytes):
            (here / name).write_bytes(content)
        else:
            content(here / name)
    return here


@pytest.mark.parametrize(
    ("text", "name", "keys"),
    [
        ("opus:Books/v1", "Books-v1", {"url": "opus:Books/v1/en-de"}),
        ("opus:Books/v1/de-en", "Books-v1", {"url": "opus:Books/v1/de-en"}),
        ("a.tsv", "a", {"url": "a.tsv"}),
        ("a.txt", "a", {"url": "a.txt", "format": "tsv"}),
        ("two,three.tsv", "two_three", {"url": "two,three.tsv"}),
        ("a.jsonl.gz", "a", {"url": "a.jsonl.gz", "fields": {"source": "pair.en", "target": "pair.de"}}),
        ("b.jsonl", "b", {"url": "b.jsonl", "fields": {"source": "source", "target": "target"}}),
        ("a.parquet", "a", {"url": "a.parquet", "fields": {"source": "translation.en", "target": "translation.de"}}),
        ("a.tgz", "a", {"url": "a.tgz", "source": "d/a.en.gz", "target": "d/a.de.gz"}),
        ("b.zip::b.en,b.de", "b", {"url": "b.zip", "source": "b.en", "target": "b.de"}),
        ("c.zip", "c", {"url": "c.zip", "member": "all.tsv"}),
        ("c.zip::all.tsv", "c", {"url": "c.zip", "member": "all.tsv"}),
        (
            "https://x.example/d/train.tsv.gz?k=v",
            "train",
            {"url": "https://x.example/d/train.tsv.gz?k=v", "format": "tsv"},
        ),
        (
            "https://x.example/n.v16.en.gz,s3://b/n.v16.de.gz",
            "n.v16",
            {"url": {"source": "https://x.example/n.v16.en.gz", "target": "s3://b/n.v16.de.gz"}},
        ),
        ("http://[::1]/a.tsv", "a", {"url": "http://[::1]/a.tsv"}),
        ("http://h/a.tgz::a/x.en,a/x.de", "a", {"url": "http://h/a.tgz", "source": "a/x.en", "target": "a/x.de"}),
    ],
)
@pytest.mark.usefixtures("files")
def test_corpora(text: str, name: str, keys: dict[str, Any]) -> None:
    found = corpus_of(text, EN_DE, Path())
    assert (found.name, found.keys) == (name, keys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "b.zip",
            "b.zip: name the members of the archive after ::, with a comma between them; it has a.en, a.de, b.en, ",
        ),
        ("d.zip", "d.zip is no archive, in spite of its name"),
        ("a.tgz::1,2,3", "a.tgz::1,2,3: expected one member, or two with a comma between them"),
        (
            "c.jsonl",
            "c.jsonl: no fields are named en and de, or source and target; it has left, right; write the config",
        ),
        (
            "https://x.example/a.parquet",
            "a.parquet: no fields are named en and de, or source and target; write the conf",
        ),
        (
            "one.src",
            "one.src: a file of both sides has a name that ends in .tsv, .csv, .tmx or another format; for one ",
        ),
        (
            "https://x.example/a.tgz",
            "name the members of the archive, such as https://x.example/a.tgz::train.en,train.de",
        ),
        ("a,b,c", "a,b,c: expected a file, or two files with a comma between them"),
        ("a.tsv,", "a.tsv,: expected a file, or two files with a comma between them"),
        ("opus:a/b/c/d", "opus:a/b/c/d: expected <corpus>/<version>, such as opus:Europarl/v8"),
        ("opus:Books/v1/fr-de", "opus:Books/v1/fr-de is for de-fr, but languages is en-de"),
    ],
)
@pytest.mark.usefixtures("files")
def test_texts_that_name_no_corpus(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        corpus_of(text, EN_DE, Path())
    assert message in str(caught.value)


def test_equal_names_get_numbers() -> None:
    made = draft.Draft(EN_DE, "d", "runs/d")
    for _ in range(3):
        made.add("train", draft_corpus.DraftCorpus("a", {}))
    made.add("dev", draft_corpus.DraftCorpus("a", {}))
    assert [each.name for each in made.splits["train"]] == ["a", "a-2", "a-3"]
    assert [each.name for each in made.splits["dev"]] == ["a"]


@pytest.mark.usefixtures("here")
def test_texts_that_yaml_would_misread() -> None:
    for name in ("no", "x: #y.tsv", "1e5.tsv"):
        Path(name).write_bytes(b"one\teins\n")
    ended = init(
        *("--languages", "no-en", "--output-dir", "12: x", "--name", "1e3"),
        *("--train", "no", "--train", "x: #y.tsv", "--train", "1e5.tsv"),
    )
    assert ended.returncode == 0
    config = load_config("no-en.yaml")
    assert (config.name, config.output_dir, config.languages.source) == ("1e3", "12: x", "no")
    assert [each.url.both for each in config.splits["train"]] == [("no",), ("x: #y.tsv",), ("1e5.tsv",)]
    assert 'languages: {source: "no", target: en}\n' in Path("no-en.yaml").read_text()


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
    monkeypatch.setattr(draft, "describe_mtdata", describe)
    monkeypatch.setitem(cast("dict[str, Any]", _CATALOGUES), "mtdata", describe)


@pytest.mark.usefixtures("here", "recipes")
def test_a_recipe() -> None:
    ended = init("--recipe", "wmt_ende")
    assert ended.stdout.splitlines()[:2] == [
        "en-de.yaml: written; corpora: 1 of train, 1 of dev",
        "2 entries of the recipe are left out; comments in the file say why",
    ]
    text = Path("en-de.yaml").read_text()
    assert text[text.index("# The corpora") : text.index("output_dir")] == (
        "# The corpora are those of mtdata's recipe wmt_ende, https://x.example/paper.\n"
        "name: en-de\n"
        "languages: {source: en, target: de}\n"
    )
    assert (
        text[text.index("  train:\n") : text.index("# Which")]
        == """\
  train:
    - name: Grp-one-1
      url: mtdata:Grp-one-1-eng-deu
    # left out: mtdata:Grp-gone-1-eng-deu: mtdata has no such corpus
    # left out: 2 corpora of one language: add them with url and role monolingual
  dev:
    - name: Grp-two-1
      url: mtdata:Grp-two-1-deu-eng

"""
    )


@pytest.mark.usefixtures("here", "recipes")
def test_a_recipe_in_the_other_direction() -> None:
    assert init("--recipe", "wmt_ende", "--languages", "deu-en", "--opus", "Books/v1").returncode == 0
    text = Path("deu-en.yaml").read_text()
    assert "languages: {source: deu, target: en}\n" in text
    assert "url: opus:Books/v1/deu-en" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wmt-ende",), "mtdata has no recipe 'wmt-ende'; did you mean 'wmt_ende'? (recipes: wmt_ende, many, nothing)"),
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
    assert init("--recipe", *arguments) == (1, "", f"nmt-prep: error: {message}\n")


@pytest.mark.usefixtures("here")
def test_a_recipe_without_mtdata(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert init("--recipe", "x").stderr == (
        "nmt-prep: error: the recipe x needs mtdata: pip install 'nmt-prep[mtdata]'\n"
    )


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
        *("english-de", "en-de", "", "yes"),
        *("", "data/train.nn,x", "data/train.en,data/train.de", "opus:Books/v1", ""),
        *("data/train.en,data/train.de", "bpe", "byte_bpe", "many", "", "light", ""),
    ]
    ended = nmt_prep("init", stdin="".join(f"{answer}\n" for answer in answers).encode())
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "languages: 'english' is not a language tag (did you mean en?); expected source and target, such as en-de",
        "a config needs at least one training corpus",
        "data/train.nn does not exist; did you mean data/train.en?",
        "'bpe' is none of t2t, byte_bpe, sentencepiece",
        "'many' is not a number of pieces",
    ]
    for text in (
        "Languages, source and target, such as en-de: ",
        "Config to write [en-de.yaml]: ",
        "en-de.yaml exists. Replace it? (yes or no) [no]: ",
        "Corpus 1: ",
        "Dev set, such as sacrebleu:wmt22 or two files (empty for none): ",
        "Vocabularies: t2t, byte_bpe, sentencepiece [t2t]: ",
        "Pieces of each vocabulary [32000]: ",
        "Cleaning: none, light, standard, strict [standard]: ",
        "Directory of the run [runs/en-de]: ",
        "en-de.yaml: written; corpora: 2 of train, 1 of dev\n",
    ):
        assert text in ended.stdout
    config = load_config(here / "en-de.yaml")
    assert (config.vocab.kind, config.vocab.size) == ("byte_bpe", 32_000)  # type: ignore[union-attr]
    assert (config.clean and config.clean.preset, config.output_dir) == ("light", "runs/en-de")
    assert [*map(len, config.splits.values())] == [2, 1]


@pytest.mark.usefixtures("terminal")
def test_only_what_is_missing_is_asked_for(here: Path) -> None:
    options = ("--languages", "en-de", "--dev", "data/train.en,data/train.de", "--vocab", "t2t", "--size", "500")
    ended = nmt_prep("init", "a.yaml", *options, stdin=b"opus:Books/v1\n\nnone\nout\n")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith(
        "Corpus 1: Corpus 2: Cleaning: none, light, standard, strict [standard]: Directory of the run [runs/a]: "
        "a.yaml: written; corpora: 1 of train, 1 of dev\nnext: nmt-prep check a.yaml\nthen: nmt-prep run a.yaml\n"
    )
    assert load_config(here / "a.yaml").clean is None


@pytest.mark.usefixtures("terminal")
def test_options_that_suffice_ask_nothing(here: Path) -> None:
    ended = init("--languages", "en-de", "--train", "data/train.en,data/train.de")
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "en-de.yaml: written; corpora: 1 of train")
    assert init("--languages", "en-de", "--train", "data/train.en,data/train.de").returncode == 1


@pytest.mark.usefixtures("terminal")
def test_the_end_of_the_answers(here: Path) -> None:
    (here / "en-de.yaml").write_text("mine")
    for answers in (b"", b"en-de\n", b"en-de\n\nyes\nopus:Books/v1\n"):
        ended = nmt_prep("init", stdin=answers)
        assert (ended.returncode, ended.stderr) == (1, "nothing was written\n")
    assert nmt_prep("init", stdin=b"en-de\n\nno\n").stderr.startswith(
        "nmt-prep: error: en-de.yaml exists; name another"
    )
    assert (here / "en-de.yaml").read_text() == "mine"


def converse(here: Path, answers: Sequence[str | signal.Signals], *arguments: str) -> tuple[int, str]:
    """Runs the command on a terminal, and gives an answer or a signal at each prompt; returns status and output."""
    terminal, program = pty.openpty()
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
    answers = ["en-de", "", "data/train.en,data/train.de", "", "", "", "", "none", ""]
    status, shown = converse(here, [f"{answer}\n" for answer in answers])
    assert status == 0, shown
    assert [*load_config(here / "en-de.yaml").splits] == ["train"]
    assert converse(here, ["en-fr\n", "\x04"])[0] == 1
    status, shown = converse(here, ["en-fr\n", signal.SIGINT])
    assert (status, "interrupted; nothing was written" in shown) == (130, True)
    assert sorted(each.name for each in here.iterdir()) == ["data", "en-de.yaml"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:Helsinki-NLP/opus-100/de-en", "opus-100-de-en"),
        ("hf:owner/name@v1.0", "name"),
    ],
)
def test_a_data_set_of_the_hugging_face_hub(tmp_path: Path, text: str, name: str) -> None:
    corpus = corpus_of(text, EN_DE, tmp_path)
    assert (corpus.name, corpus.keys) == (name, {"url": text})


def test_an_id_of_the_hub_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hf:name: an id on the Hugging Face Hub is hf:<owner>/<name>"):
        corpus_of("hf:name", EN_DE, tmp_path)
