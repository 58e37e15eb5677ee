from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning import health_warnings as languages
from nmt_prep.cleaning.health_warnings import (
    SideFacts,
    encoded_warnings,
    installed_identifier,
    language_warning,
    side_facts,
)
from nmt_prep.cleaning.languages import LabelNumbers, LanguageIdentifier, Probabilities, load_identifier
from nmt_prep.config import Config
from nmt_prep.runs.checks import check_config
from nmt_prep.stages.download import Download
from nmt_prep.training.records.dataset_json import DatasetInfo


def corpora_config(against: list[str] | None, *urls: str) -> Config:
    train = [{"name": f"c{number}", "url": url} for number, url in enumerate(urls)]
    clean = {"preset": "none", **({"decontaminate": {"against": against}} if against else {})}
    data = {"name": "t", "languages": {"source": "en", "target": "de"}, "output_dir": "run", "seed": 1, "clean": clean}
    return check_config({**data, "splits": {"train": train, "dev": [{"name": "d", "url": "d.tsv"}]}}, "c.yaml")


WMT, TED = "opus:WMT-News/v2019/de-en", "opus:TED2020/v1/de-en"
NONE_COMPARED = (
    "public corpora such as c1 may contain test sets, but are not compared with any; set "
    "clean.decontaminate.against, such as [dev, test, sacrebleu:all]"
)
COMPILATION = "test sets: it is a compilation of WMT test sets (https://github.com/mozilla/translations/issues/911)"


@pytest.mark.parametrize(
    ("against", "urls", "expected"),
    [
        (["dev"], [WMT], [("c0", COMPILATION)]),
        (["dev", "opus:Books/v1/de-en"], [WMT], []),  # its pairs are dropped
        (
            None,
            ["a.tsv", "opus:Books/v1/de-en"],
            [
                (None, NONE_COMPARED),
            ],
        ),
        (None, ["a.tsv"], []),
        (
            ["dev"],
            ["opus:Europarl/v7/de-en", "opus:Europarl/v8/en-de"],
            [("c1", "duplicates: c0 is Europarl of OPUS, too; keep the latest version only")],
        ),
    ],
)
def test_warnings_about_public_corpora(
    against: list[str] | None, urls: list[str], expected: list[tuple[str | None, str]]
) -> None:
    found = Download().warnings(None, corpora_config(against, *urls))
    assert [(each.corpus, each.text) for each in found] == expected


def info(row_length: int | None = None, max_tokens: int | None = None, **splits: dict[str, Any]) -> DatasetInfo:
    described = {name: SimpleNamespace(**split) for name, split in splits.items()}
    documents = None if max_tokens is None else SimpleNamespace(max_tokens=max_tokens)
    return cast(
        "DatasetInfo", SimpleNamespace(layout="example", row_length=row_length, documents=documents, splits=described)
    )


def split(pairs: int, source: int, target: int, *longest: tuple[int, int]) -> dict[str, Any]:
    return {"pairs": pairs, "source_tokens": source, "target_tokens": target, "max_lengths": longest}


def told(described: DatasetInfo, max_length: int = 100) -> list[tuple[str, str | None, float | None, float | None]]:
    return [
        (each.code, each.split, each.value, each.share)
        for each in encoded_warnings(described, max_length, {"train", "dev"})
    ]


def test_pairs_that_are_too_long_for_training() -> None:
    train, dev = split(1000, 9, 9, (100, 985), (101, 10), (300, 5)), split(1000, 9, 9, (100, 991), (101, 9))
    assert told(info(train=train, dev=dev)) == [("max_length_drops", "train", 15, 0.015)]
    assert told(info(train=train, dev=dev), 300) == []
    assert told(info(train=train, dev=dev, row_length=99), 300) == [
        ("max_length_drops", "train", 1000, 1.0),
        ("max_length_drops", "dev", 1000, 1.0),
    ]


def test_the_message_says_what_to_change() -> None:
    (warning,) = encoded_warnings(info(train=split(1000, 9, 9, (257, 20))), 256)
    assert str(warning) == (
        "training skips 20 of 1,000 pairs of train (2.0%), because a side has more than 256 tokens "
        "(input.max_length); raise it, or use a larger vocabulary"
    )


def test_segments_that_no_window_holds() -> None:
    train, dev = split(1000, 9, 9, (20, 899), (21, 100), (30, 1)), split(1000, 9, 9, (20, 901), (21, 99))
    assert told(info(max_tokens=20, train=train, dev=dev)) == [("segments_alone", "train", 101, 0.101)]
    (warning,) = encoded_warnings(info(max_tokens=20, train=train, dev=train), 100, ["train"])
    assert str(warning) == (
        "101 of 1,000 segments of train (10.1%) are joined with no others, because a side has more than 20 tokens "
        "(documents.max_tokens); raise it"
    )


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [(300, 100, []), (301, 100, [3.01]), (100, 301, [0.3322]), (100, 300, []), (0, 50, [0.0])],
)
def test_sides_with_very_different_numbers_of_tokens(source: int, target: int, expected: list[float]) -> None:
    assert [value for _, _, value, _ in told(info(train=split(50, source, target)))] == expected


def test_few_pairs_give_no_warning() -> None:
    assert told(info(dev=split(9, 900, 1, (5000, 9)))) == []


class ByFirstWord(LanguageIdentifier):
    """Takes the first word of a line for its language."""

    labels = ("__label__en", "__label__de", "__label__sr", "__label__hr", "__label__ja", "__label__zh")

    def top(self, text: TextColumn, most: int = 1) -> tuple[LabelNumbers, Probabilities]:
        words = [line.decode().split()[0] for line in text.to_bytes()]
        numbers = [next((n for n, label in enumerate(self.labels) if label[-2:] == word), -1) for word in words]
        return np.array(numbers, np.int32).reshape(-1, 1), np.ones((len(words), 1), np.float32)

    def probabilities(self, *_: object) -> Probabilities:
        raise NotImplementedError

    contest = probabilities  # type: ignore[assignment]


REST = " and at least twenty letters"


@pytest.mark.parametrize(
    ("tag", "other", "words", "expected"),
    [
        ("en", "de", "en en de xx en", SideFacts("en", 4, {"en": 0.75, "de": 0.25}, 0.75)),
        ("hr", "en", "hr sr", SideFacts("hr", 2, {"hr": 1.0}, 1.0)),  # similar languages fit
        ("hr", "sr", "hr sr", SideFacts("hr", 2, {"hr": 0.5, "sr": 0.5}, 0.5)),  # unless the other side has them
        ("fr", "en", "en", SideFacts("fr", 1, {"en": 1.0}, None)),  # the model does not know French
        ("en", "de", "", SideFacts("en", 0, {}, 0.0)),
    ],
)
def test_languages_are_counted(tag: str, other: str, words: str, expected: SideFacts) -> None:
    lines = pa.array([word + REST for word in words.split()], pa.large_string())
    assert side_facts(lines, ByFirstWord(), tag, other) == expected


def test_short_lines_do_not_count() -> None:
    lines = pa.array(["de short", "en" + REST], pa.large_string())
    assert side_facts(lines, ByFirstWord(), "en", "de") == SideFacts("en", 1, {"en": 1.0}, 1.0)


def test_rivals_without_their_own_script_fit() -> None:
    lines = [
        "ja 这是一个很长的句子没有假名没有假名没有假名没有假名没有假名",
        "ja これはとても長い文ですこれはとても長い文です",
    ]
    found = side_facts(pa.array(lines, pa.large_string()), ByFirstWord(), "zh", "en")
    assert found == SideFacts("zh", 2, {"zh": 0.5, "ja": 0.5}, 0.5)


@pytest.mark.parametrize(("tag", "shares"), [("zh", {"zh-Hant": 0.75, "zh": 0.25}), ("zh-TW", {"zh-TW": 1.0})])
def test_the_other_script_of_chinese_does_not_fit(tag: str, shares: dict[str, float]) -> None:
    lines = ["zh 這是一個很長的句子"] * 3 + ["zh 在山上人人都吃早餐"]
    assert side_facts(pa.array(lines, pa.large_string()), ByFirstWord(), tag, "en") == SideFacts(
        tag, 4, shares, shares[tag]
    )


SWAPPED = "the sides seem to be swapped: exchange them in the config, or set swap"
CHECK = "check languages, and the file or column that the corpus names for this side"


@pytest.mark.parametrize(
    ("own", "other", "warning"),
    [
        (
            SideFacts("en", 10, {"de": 0.9, "en": 0.1}, 0.1),
            SideFacts("de", 10, {"en": 1.0}, 0.0),
            f"90% of the first source lines look like de, not en; {SWAPPED}",
        ),
        (
            SideFacts("en", 10, {"fr": 0.9, "en": 0.1}, 0.1),
            None,
            f"90% of the first source lines look like fr, not en; {CHECK}",
        ),
        (
            SideFacts("en", 10, {"de": 1.0}, 0.0),
            SideFacts("de", 10, {"de": 1.0}, 1.0),
            f"100% of the first source lines look like de, not en; {CHECK}",
        ),
        (
            SideFacts("zh", 10, {"zh-Hant": 0.9, "zh": 0.1}, 0.1),
            None,
            "90% of the first source lines look like zh-Hant, not zh; the fix han converts them",
        ),
        (SideFacts("en", 10, {"fr": 0.5, "en": 0.5}, 0.5), None, None),
        (SideFacts("en", 4, {"fr": 1.0}, 0.0), None, None),
        (SideFacts("en", 10, {"fr": 1.0}, None), None, None),
    ],
)
def test_warnings(own: SideFacts, other: SideFacts | None, warning: str | None) -> None:
    assert language_warning("source", own, other) == warning


def test_an_installed_model_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "load_identifier", lambda model: ByFirstWord())
    found = installed_identifier()
    assert found is not None
    assert found[0] == "lid.176"
    monkeypatch.setattr(languages, "load_identifier", Mock(side_effect=CleaningError("not installed")))
    assert installed_identifier() is None


def test_an_installed_model() -> None:
    try:
        identifier = load_identifier("lid.176")
    except CleaningError:
        pytest.skip("the extra clean is not installed")
    lines = pa.array(["This is a sentence in English.", "Das ist ein Satz auf Deutsch."] * 3, pa.large_string())
    assert side_facts(lines, identifier, "en", "de") == SideFacts("en", 6, {"en": 0.5, "de": 0.5}, 0.5)
