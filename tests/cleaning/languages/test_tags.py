from __future__ import annotations

import pytest

from nmt_prep.cleaning.languages.tags import Expected, Spoken, languages_of_labels, spoken_of_tag

NLLB_CODES = "eng_Latn zho_Hans zho_Hant arb_Arab als_Latn zsm_Latn srp_Cyrl jpn_Jpan nob_Latn yue_Hant"
NLLB = NLLB_CODES.split(" ")
V3 = ["eng_Latn", "hbs_Latn", "srp_Cyrl", "zxx_Zxxx", "cmn_Hans", "cmn_Hant", "yue_Hant", "ara_Arab", "fas_Arab"]
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
        ("zh-TW", Spoken("zh", "Hant")),
        ("cmn_Hans", Spoken("zh", "Hans")),
        ("sr-ME", Spoken("sr", "Latn")),
        ("uz-AF", Spoken("uz", "Arab")),
        ("kk-CN", Spoken("kk", "Arab")),
        ("pa-PK", Spoken("lah", "Arab")),
        ("pnb", Spoken("lah", None)),
        ("hbs_Latn", Spoken("hbs", "Latn")),
        ("zxx_Zxxx", Spoken("zxx", "Zxxx")),
        ("als_Latn", Spoken("sq", "Latn")),
        ("tl", Spoken("fil", None)),
        ("no such tag", None),
    ],
)
def test_spoken_of_tag(tag: str, spoken: Spoken | None) -> None:
    assert spoken_of_tag(tag) == spoken


def test_labels_of_both_styles() -> None:
    assert languages_of_labels(["__label__als", "__label__en"]) == [Spoken("gsw", None), Spoken("en", None)]
    sq, en = Spoken("sq", "Latn"), Spoken("en", "Latn")
    assert languages_of_labels(["__label__als_Latn", "__label__en_Latn"]) == [sq, en]


@pytest.mark.parametrize(
    ("tag", "other", "own", "rivals"),
    [
        ("de", "en", "de als", "en no da hr sr sh bs tl xx-odd"),  # rivals in Latin letters
        ("zh", "en", "zh yue", "ja ko"),
        ("ru", "en", "ru", "mk bg sr sh bs"),
        ("hr", "sr", "hr bs", "en de als no da sr sh tl xx-odd"),  # the other language is a rival even if it is similar
        ("nb", "da", "no", "en de als da hr sr sh bs tl xx-odd"),
    ],
)
def test_the_expected_language_and_its_rivals(tag: str, other: str, own: str, rivals: str) -> None:
    expected = Expected(LID, tag, other, accept_similar=True)
    found = [{LID[number].removeprefix("__label__") for number in part} for part in (expected.own, expected.rivals)]
    assert found == [{*own.split()}, {*rivals.split()}]


@pytest.mark.parametrize(
    ("labels", "tag", "other", "own"),
    [
        (NLLB, "zh", "en", "zho_Hans zho_Hant"),
        (NLLB, "zh-Hant", "en", "zho_Hant"),  # scripts of labels count if the tag names one
        (NLLB, "zh-TW", "en", "zho_Hant"),
        (NLLB, "zh-CN", "en", "zho_Hans"),
        (NLLB, "sr-Latn", "en", ""),
        (V3, "sr-Latn", "en", "hbs_Latn"),
        (V3, "hr", "en", "hbs_Latn"),
        (V3, "sr", "en", "hbs_Latn srp_Cyrl"),
        (V3, "hbs", "en", "hbs_Latn srp_Cyrl"),
        (V3, "zh-HK", "en", "cmn_Hant"),
        (V3, "fa", "en", "fas_Arab"),
        (NLLB, "ar", "en", "arb_Arab"),
        (NLLB, "ms", "en", "zsm_Latn"),
        (LID, "zh-Hans", "zh-Hant", "__label__zh"),  # variants of one language are not rivals
        (LID, "de", "en", "__label__de"),
    ],
)
def test_similar_languages_are_rivals_unless_accepted(labels: list[str], tag: str, other: str, own: str) -> None:
    expected = Expected(labels, tag, other, accept_similar=False)
    assert [labels[number] for number in expected.own] == own.split()
    if tag == "zh-Hant":
        assert [labels[number] for number in expected.rivals] == ["zho_Hans", "jpn_Jpan", "yue_Hant"]
    if tag == "hr":  # the noise label is a rival of every language
        assert [labels[number] for number in expected.rivals] == ["eng_Latn", "zxx_Zxxx"]
    if tag == "de":
        assert labels.index("__label__als") in expected.rivals
