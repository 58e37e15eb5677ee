from __future__ import annotations

import itertools
import string

import langcodes
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config import Config
from nmt_prep.config.language_pairs import _TWO_LETTERS
from nmt_prep.runs.checks import check_config


def config(source: str, target: str, **corpus: object) -> Config:
    x = {"name": "x", "url": "x.tmx", **corpus}
    base = {"name": "t", "output_dir": "run", "seed": 1, "splits": {"train": [x]}}
    return check_config({**base, "languages": {"source": source, "target": target}}, "c.yaml")


def test_two_letter_tags_equal_those_of_langcodes() -> None:
    pairs = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
    assert [bool(_TWO_LETTERS.fullmatch(pair)) for pair in pairs] == [langcodes.tag_is_valid(pair) for pair in pairs]


@pytest.mark.parametrize("tag", ["en", "no", "zh-Hant", "pt-BR", "yue", "iw", "qaa", "x-mine", "en-x-mine", "mul"])
def test_valid_tags(tag: str) -> None:
    assert config(tag, "sr-Latn").languages.source == tag


def test_all_invalid_tags_are_reported_with_suggestions() -> None:
    with pytest.raises(ConfigError) as caught:
        config("english", "de_DE")
    end = "(allowed: a language tag such as en, zh or pt-BR)"
    assert str(caught.value).split("\n") == [
        "c.yaml: 2 problems",
        f"  languages.source: found the text 'english', which is not a language tag; did you mean en? {end}",
        f"  languages.target: found the text 'de_DE', which is not a language tag; did you mean de-DE? {end}",
    ]


@pytest.mark.parametrize(
    ("tag", "meant"),
    [
        ("jp", "ja"),
        ("cz", "cs"),
        ("cn", "zh"),
        ("gr", "el"),
        ("deutsch", "de"),
        ("zh_cn", "zh-CN"),
        ("sr@latin", "sr-Latn"),
        ("xx", None),
        ("", None),
        ("中文", None),
        ("e?", None),
    ],
)
def test_suggestions(tag: str, meant: str | None) -> None:
    hint = f"; did you mean {meant}?" if meant else ""
    with pytest.raises(ConfigError) as caught:
        config(tag, "de")
    assert f"found the text '{tag}', which is not a language tag{hint} (allowed" in str(caught.value)


@pytest.mark.parametrize(
    ("tags", "swap", "spoken"),
    [
        (("English", "Chinese (Simplified)"), False, ("en", "zh")),
        (("x", "abcde"), False, ("en", "zh")),
        (("英语", "??"), False, ("en", "zh")),
        (("en-US-US", "zh-TW-1"), True, ("en", "zh")),
        (("en_US", "zh-TW"), False, ("en-US", "zh-TW")),
        (("zh_TW", "en@x"), True, ("en", "zh-TW")),
        (("sr@latin", "ca@valencia"), False, ("sr-Latn", "ca-valencia")),
    ],
)
def test_language_of_a_tag_in_a_file(tags: tuple[str, str], swap: bool, spoken: tuple[str, str]) -> None:
    whole = config("en", "zh", languages={"source": tags[0], "target": tags[1]}, swap=swap)
    languages = whole.splits["train"][0].spoken(whole.languages)
    assert (languages.source, languages.target) == spoken


def test_files_may_use_other_language_tags() -> None:
    languages = {"source": "EN_us", "target": "german"}
    assert config("en", "de", languages=languages).splits["train"][0].languages.model_dump() == languages
