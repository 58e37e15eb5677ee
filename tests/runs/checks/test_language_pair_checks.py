from __future__ import annotations

from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config import Config
from nmt_prep.runs.checks.load import check_config

NEWS = {"name": "news", "url": "news.tsv", "format": "tsv", "texts": {"en": 0, "de": 1, "pt-BR": 2}}
BOOKS = {"name": "books", "url": {"source": "b.en", "target": "b.de"}, "languages": {"source": "en", "target": "de"}}
BOTH = {**BOOKS, "both_directions": True}


def check(pairs: object, *corpora: dict[str, Any], **others: Any) -> Config:
    given = {"name": "x", "output_dir": "x", "seed": 1, "splits": {"train": list(corpora)}, **others}
    return check_config({**given, **({} if pairs is None else {"pairs": pairs})}, "c.yaml")


def directions(config: Config) -> dict[str, str]:
    return {corpus.name: str(corpus.pair) for corpus in config.directed("train")}


def test_a_corpus_of_several_languages_gives_the_pairs_that_are_asked_for() -> None:
    config = check(["de-en", "en-pt-BR"], NEWS)
    assert directions(config) == {"news.de-en": "de-en", "news.en-pt-BR": "en-pt-BR"}
    columns = [corpus.columns for corpus in config.splits["train"]]
    assert [(c.source, c.target) for c in columns if c] == [(1, 0), (0, 2)]


def test_both_directions_are_one_corpus_in_files_and_two_in_records() -> None:
    config = check(["de-en", "en-de"], BOTH)
    [stored] = config.splits["train"]
    assert (stored.name, str(stored.pair), stored.swap) == ("books", "de-en", True)
    assert directions(config) == {"books": "de-en", "books.en-de": "en-de"}
    assert directions(check(["de-en"], BOTH)) == {"books": "de-en"}


def test_all_pairs_are_those_of_the_corpora() -> None:
    assert directions(check("all", BOOKS)) == {"books": "en-de"}
    assert len(directions(check("all", NEWS))) == 6
    centred = directions(check({"english-centric": ["de", "pt-BR"]}, NEWS))
    assert [*centred.values()] == ["en-de", "de-en", "en-pt-BR", "pt-BR-en"]


def test_stages_of_training_name_directions() -> None:
    def trained(mix: dict[str, float]) -> Config:
        training = {"stages": [{"name": "s", "mix": mix}]}
        return check(["de-en", "en-de", "en-pt-BR"], BOTH, NEWS, training=training, records={"layout": "text"})

    assert trained({"books": 1, "news": 2, "books.de-en": 1}).training.groups == {
        "books": ("books", "books.en-de"),
        "books.de-en": ("books",),
        "news": ("news.de-en", "news.en-de", "news.en-pt-BR"),
    }
    known = "books, books.de-en, books.en-de, news, news.de-en, news.en-de, news.en-pt-BR"
    with pytest.raises(ConfigError, match=f"names 'new'; the corpora and groups are {known}"):
        trained({"new": 1})


def test_languages_are_those_of_a_side_or_mul() -> None:
    assert check(["en-de", "en-pt-BR"], NEWS).languages.model_dump() == {"source": "en", "target": "mul"}


def test_tags_follow_from_the_pair_and_become_pieces() -> None:
    codes = {"en": "eng_Latn", "de": "deu_Latn"}
    config = check("all", BOTH, tag={"source": "<2{target}>", "target": "{target}"}, codes=codes)
    tags = [corpus.tags for corpus in config.directed("train")]
    assert tags == [
        {"source": "<2deu_Latn>", "target": "deu_Latn"},
        {"source": "<2eng_Latn>", "target": "eng_Latn"},
    ]
    assert getattr(config.vocab, "reserved", ()) == ("<2deu_Latn>", "deu_Latn", "<2eng_Latn>", "eng_Latn")


JOINED = {"name": "via", "pivot": "en", "corpora": ["books", "news.pt-BR-en"]}


def test_a_pivot_joins_the_other_languages_of_two_corpora() -> None:
    config = check("all", {**JOINED, "both_directions": True}, {**BOOKS, "licence": "A"}, {**NEWS, "licence": "B"})
    names = ["news.en-de", "news.de-en", "news.en-pt-BR", "news.pt-BR-en", "news.de-pt-BR", "news.pt-BR-de"]
    assert [*directions(config)] == [*names, "via", "via.pt-BR-de", "books"]  # those of both directions first
    via = config.splits["train"][-2]
    assert (str(via.pair), via.corpora, via.licence) == ("de-pt-BR", ("books", "news.en-pt-BR"), "A AND B")
    [*_, turned] = check(["pt-BR-de", "en-de", "en-pt-BR"], JOINED | {"both_directions": True}, BOOKS, NEWS).splits[
        "train"
    ]
    assert (str(turned.pair), turned.corpora) == ("pt-BR-de", ("news.en-pt-BR", "books"))


TMX = {"name": "memory", "url": "m.tmx", "texts": {"en": "en-US", "de": "de"}}


def test_places_are_what_the_format_has() -> None:
    [memory] = check(["de-en"], TMX).splits["train"]
    assert memory.languages is not None
    assert memory.languages.model_dump() == {"source": "de", "target": "en-US"}
    [rows] = check(["de-en"], {"name": "rows", "url": "r.jsonl", "texts": ["en", "de"]}).splits["train"]
    assert rows.fields is not None
    assert rows.fields.model_dump() == {"source": "translation.de", "target": "translation.en"}
    archive = {"name": "a", "url": "a.zip", "format": "plain", "texts": {"en": "a.en", "de": "a.de"}}
    [files] = check(["de-en"], {**archive, "encoding": {"de": "latin-1"}}).splits["train"]
    assert (files.source, files.target) == ("a.de", "a.en")
    assert (files.encoding_of("source"), files.encoding_of("target")) == ("iso8859-1", "utf-8")


@pytest.mark.parametrize(
    ("pairs", "corpora", "others", "problem"),
    [
        (["en-de", "en-fr"], [BOOKS], {}, "pairs: no corpus of splits.train has the pair en-fr; add one"),
        (["en-fr"], [BOOKS], {}, "splits.train.0: the corpus has en-de, which is not in pairs; add it there"),
        (["en-de"], [BOOKS], {"tag": {"source": "<2{to}>"}}, "tag.source has {to}; a tag has {source} and {target}"),
        (
            ["en-xx"],
            [BOOKS],
            {},
            "1 problem\n  pairs.0: found the text 'en-xx', which is not a pair of different languages",
        ),
        (
            {"english-centric": ["xx"]},
            [BOOKS],
            {},
            "1 problem\n  pairs.english-centric.0: found the text 'xx', which is",
        ),
        ({"english-centric": ["de", "en"]}, [BOOKS], {}, "pairs: english-centric lists the languages that are paired"),
        (
            3,
            [BOOKS],
            {},
            "1 problem\n  pairs: found the number 3; allowed: a list of pairs such as en-de, {english-centr",
        ),
        (
            "all",
            [{**BOOKS, "languages": {"source": "en", "target": "de_DE"}}],
            {},
            "splits.train.0.languages.target: found the text 'de_DE', which is not a language tag; did you mean de-DE?",
        ),
        (["en-de"], [{**BOOKS, "languages": None}], {}, "splits.train.0: in a config with pairs, give languages"),
        (
            ["en-de"],
            [{**BOOKS, "languages": None, "scores": {"q": "b.q"}}],
            {"clean": {"preset": "light"}, "weight": {"from": "score:q"}},
            "1 problem\n  splits.train.0: in a config with pairs, give languages",
        ),
        (["en-de"], [BOOKS], {"languages": {"source": "en", "target": "de"}}, "give either languages (one pair) or"),
        ("all", [{**NEWS, "texts": ["en", "de"]}], {}, "texts of format tsv must be a mapping from languages to"),
        ("all", [{"name": "p", "url": "a.po", "texts": ["en", "de"]}], {}, "format po has no places for several"),
        ("all", [BOTH, {**BOOKS, "name": "books.de-en"}], {}, "two corpora are named 'books.de-en'"),
        ("all", [BOOKS, {**BOTH, "name": "b"}], {"splits": {"train": [NEWS], "test": [BOOKS]}}, "language pt-BR of"),
        (
            "all",
            [BOOKS, NEWS, {**JOINED, "corpora": ["books", "x"]}],
            {},
            "train.2.corpora: 'x' is no corpus of the split",
        ),
        (
            "all",
            [BOOKS, {**JOINED, "corpora": ["books"]}],
            {},
            "train.1.corpora: found a list of 1; allowed: a list",
        ),
        ("all", [BOOKS, NEWS, {**JOINED, "corpora": ["books", "news.de-en"]}], {}, "both corpora have de beside en"),
        (
            "all",
            [BOOKS, NEWS, {**JOINED, "format": "tsv"}],
            {},
            "format is for a corpus with files, and pivot joins two",
        ),
        ("all", [BOOKS, {**BOOKS, "name": "b", "corpora": ["a", "b"]}], {}, "pivot and corpora belong together"),
        (
            ["en-de", "de-pt-BR"],
            [BOOKS, NEWS, JOINED],
            {},
            "train.2.corpora: the pair of news.pt-BR-en is not in pairs",
        ),
        (None, [BOTH], {"languages": {"source": "en", "target": "de"}}, "both_directions: is for a config with pairs"),
        (None, [BOOKS], {"languages": {"source": "en", "target": "de"}, "codes": {"en": "e"}}, "codes: is for a"),
    ],
)
def test_what_does_not_fit_is_an_error(pairs: object, corpora: list[Any], others: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(pairs, *corpora, **others)
    assert problem in str(caught.value)
