from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.cleaning import health_warnings as languages
from nmt_prep.cleaning.health_warnings import SideFacts, installed_identifier, language_warning, side_facts
from nmt_prep.cleaning.languages import LabelNumbers, LanguageIdentifier, Probabilities, load_identifier


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


def facts(tag: str, other: str, *words: str) -> SideFacts:
    return side_facts(pa.array([word + REST for word in words], pa.large_string()), ByFirstWord(), tag, other)


def test_languages_are_counted() -> None:
    assert facts("en", "de", "en", "en", "de", "xx", "en") == SideFacts("en", 4, {"en": 0.75, "de": 0.25}, 0.75)


def test_similar_languages_fit_unless_they_are_that_of_the_other_side() -> None:
    assert facts("hr", "en", "hr", "sr").shares == {"hr": 1.0}
    assert facts("hr", "sr", "hr", "sr").shares == {"hr": 0.5, "sr": 0.5}


def test_a_language_that_the_model_does_not_know() -> None:
    assert facts("fr", "en", "en") == SideFacts("fr", 1, {"en": 1.0}, None)


def test_short_lines_do_not_count() -> None:
    lines = pa.array(["de short", "en" + REST], pa.large_string())
    assert side_facts(lines, ByFirstWord(), "en", "de") == SideFacts("en", 1, {"en": 1.0}, 1.0)


def test_no_lines() -> None:
    assert facts("en", "de") == SideFacts("en", 0, {}, 0.0)


def test_rivals_without_their_own_script_fit() -> None:
    lines = [
        "ja 这是一个很长的句子没有假名没有假名没有假名没有假名没有假名",
        "ja これはとても長い文ですこれはとても長い文です",
    ]
    found = side_facts(pa.array(lines, pa.large_string()), ByFirstWord(), "zh", "en")
    assert found == SideFacts("zh", 2, {"zh": 0.5, "ja": 0.5}, 0.5)


@pytest.mark.parametrize(
    ("own", "other", "warning"),
    [
        (
            SideFacts("en", 10, {"de": 0.9, "en": 0.1}, 0.1),
            SideFacts("de", 10, {"en": 1.0}, 0.0),
            (
                "90% of the first source lines look like de, not en; the sides seem to be swapped: exchange them in "
                "the config, or set swap"
            ),
        ),
        (
            SideFacts("en", 10, {"fr": 0.9, "en": 0.1}, 0.1),
            None,
            (
                "90% of the first source lines look like fr, not en; check languages, and the file or column that "
                "the corpus names for this side"
            ),
        ),
        (
            SideFacts("en", 10, {"de": 1.0}, 0.0),
            SideFacts("de", 10, {"de": 1.0}, 1.0),
            (
                "100% of the first source lines look like de, not en; check languages, and the file or column that "
                "the corpus names for this side"
            ),
        ),
        (SideFacts("en", 10, {"fr": 0.5, "en": 0.5}, 0.5), None, None),
        (SideFacts("en", 4, {"fr": 1.0}, 0.0), None, None),
        (SideFacts("en", 10, {"fr": 1.0}, None), None, None),
    ],
)
def test_warnings(own: SideFacts, other: SideFacts | None, warning: str | None) -> None:
    assert language_warning("source", own, other) == warning


def test_an_installed_model_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(missing: tuple[str, ...], model: str) -> LanguageIdentifier:
        if model in missing:
            raise CleaningError("not installed")
        return ByFirstWord()

    for missing, chosen in (((), "lid.176"), (("lid.176",), None)):
        monkeypatch.setattr(languages, "load_identifier", lambda model, missing=missing: load(missing, model))
        found = installed_identifier()
        assert (found and found[0]) == chosen


def test_an_installed_model() -> None:
    try:
        identifier = load_identifier("lid.176")
    except CleaningError:
        pytest.skip("the extra clean is not installed")
    lines = pa.array(["This is a sentence in English.", "Das ist ein Satz auf Deutsch."] * 3, pa.large_string())
    assert side_facts(lines, identifier, "en", "de") == SideFacts("en", 6, {"en": 0.5, "de": 0.5}, 0.5)
