from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from nmt_prep.checks.catalogues import _CATALOGUES
from nmt_prep.cli import draft, draft_corpus
from nmt_prep.cli.draft import languages_of
from nmt_prep.config import Languages
from nmt_prep.errors import ArgumentError, ConfigError
from tests.cli.configs import EN_DE, init


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


def test_equal_names_get_numbers() -> None:
    made = draft.Draft(EN_DE, "d", "runs/d")
    for _ in range(3):
        made.add("train", draft_corpus.DraftCorpus("a", {}))
    made.add("dev", draft_corpus.DraftCorpus("a", {}))
    assert [each.name for each in made.splits["train"]] == ["a", "a-2", "a-3"]
    assert [each.name for each in made.splits["dev"]] == ["a"]


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
