from __future__ import annotations

import pytest

from nmt_prep.cleaning.languages.tags import Expected, Spoken, languages_of_labels, spoken_of_tag

NLLB = [
    "eng_Latn",
    "zho_Hans",
    "zho_Hant",
    "arb_Arab",
    "als_Latn",
    "zsm_Latn",
    "srp_Cyrl",
    "jpn_Jpan",
    "nob_Latn",
    "yue_Hant",
]
LID_CODES = "en de zh ja als no da hr sr sh bs ru mk bg ko yue tl xx-odd"
LID = [f"__label__{code}" for code in LID_CODES.split(" ")]


@pytest.mark.parametrize(
    ("tag", "spoken"),
    [
        ("en", Spoken("en", None)),
        ("pt-BR", Spoken("pt", None)),
        ("zh-Hant", Spoken("zh", "Hant")),
        ("eng_Latn", Spoken("en", "Latn")),
        ("cmn", Spoken("zh", None)),
        ("als_Latn", Spoken("sq", "Latn")),
        ("tl", Spoken("fil", None)),
        ("no such tag", None),
    ],
)
def test_spoken_of_tag(tag: str, spoken: Spoken | None) -> None:
    assert spoken_of_tag(tag) == spoken


def test_labels_of_both_styles() -> None:
    assert languages_of_labels(["__label__als", "__label__en"]) == [Spoken("gsw", None), Spoken("en", None)]
    assert languages_of_labels(["__label__als_Latn", "__label__en_Latn"]) == [
        Spoken("sq", "Latn"),
        Spoken("en", "Latn"),
    ]


def labels(expected: Expected, names: list[str]) -> tuple[set[str], set[str]]:
    own, rivals = (
        {names[number].removeprefix("__label__") for number in part} for part in (expected.own, expected.rivals)
    )
    return own, rivals


def test_the_expected_language_and_its_rivals() -> None:
    own, rivals = labels(Expected(LID, "de", "en", accept_similar=True), LID)
    assert own == {"de", "als"}
    assert rivals == {"en", "no", "da", "hr", "sr", "sh", "bs", "tl", "xx-odd"}, "those in Latin letters"
    own, rivals = labels(Expected(LID, "de", "en", accept_similar=False), LID)
    assert own == {"de"}
    assert "als" in rivals


def test_rivals_share_a_script() -> None:
    own, rivals = labels(Expected(LID, "zh", "en", accept_similar=True), LID)
    assert own == {"zh", "yue"}
    assert rivals == {"ja", "ko"}
    own, rivals = labels(Expected(LID, "ru", "en", accept_similar=True), LID)
    assert own == {"ru"}
    assert rivals == {"mk", "bg", "sr", "sh", "bs"}


def test_the_other_language_is_a_rival_even_if_it_is_similar() -> None:
    own, rivals = labels(Expected(LID, "hr", "sr", accept_similar=True), LID)
    assert own == {"hr", "bs"}
    assert {"sr", "sh"} <= rivals
    own, rivals = labels(Expected(LID, "nb", "da", accept_similar=True), LID)
    assert own == {"no"}
    assert "da" in rivals


def test_scripts_of_labels_count_if_the_tag_names_one() -> None:
    assert labels(Expected(NLLB, "zh", "en", accept_similar=False), NLLB)[0] == {"zho_Hans", "zho_Hant"}
    own, rivals = labels(Expected(NLLB, "zh-Hant", "en", accept_similar=False), NLLB)
    assert own == {"zho_Hant"}
    assert rivals == {"zho_Hans", "jpn_Jpan", "yue_Hant"}
    assert labels(Expected(NLLB, "sr-Latn", "en", accept_similar=False), NLLB)[0] == set()
    assert labels(Expected(NLLB, "ar", "en", accept_similar=False), NLLB)[0] == {"arb_Arab"}
    assert labels(Expected(NLLB, "ms", "en", accept_similar=False), NLLB)[0] == {"zsm_Latn"}


def test_variants_of_one_language_are_not_rivals() -> None:
    assert labels(Expected(LID, "zh-Hans", "zh-Hant", accept_similar=False), LID)[0] == {"zh"}
