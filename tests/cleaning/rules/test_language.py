from __future__ import annotations

import gzip
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from _nmt_prep_core import Lines, possible_capitals, script_weights
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.sides import Side
from nmt_prep.cleaning.languages.tags import script_number
from nmt_prep.cleaning.rejects import judge
from nmt_prep.cleaning.rule import Bounds, Context, Rule
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from tests.cleaning.languages.models import LINES, dense_model, made_from, written
from tests.cleaning.pairs import pairs

EN = "The old man sits on a wooden bench in the park and reads."
DE = "Der alte Mann sitzt auf einer Holzbank im Park und liest."
FR = "Le vieil homme est assis sur un banc du parc et il lit."
ZH = "老人坐在公园的长椅上看报纸，旁边有一只狗。"
SIMPLIFIED, TRADITIONAL = "老人坐在公园的长椅上看报纸。", "老人坐在公園的長椅上看報紙。"
NEITHER = "老人坐在公共椅子上看人。"
JA = "老人は公園のベンチに座って新聞を読んでいます。"
NO = "Jeg har ikke hatt tid til å lese boken ennå, men jeg skal gjøre det i morgen."
DA = "Jeg har ikke haft tid til at læse bogen endnu, men jeg gør det nok i morgen."
RU = "Старик сидит на деревянной скамейке в парке и читает."


def rule(
    source: str = "en",
    target: str = "de",
    sides: tuple[Side, ...] = ("source", "target"),
    base_dir: Path | None = None,
    **options: Any,
) -> Rule[Any]:
    context = Context(Languages(source=source, target=target), sides, base_dir or Path())
    (made,) = make_rules({"language": options or True}, context)
    return made


def kept(made: Rule[Any], source: list[str], target: list[str]) -> list[list[bool]]:
    values = made.values(pairs(source, target))
    return [judge(row[np.newaxis], made.bounds[:1]).tolist() for row in values]


def test_pairs_in_wrong_languages_are_dropped() -> None:
    made = rule(model="lid.176")
    assert made.columns == ("source", "target")
    assert made.bounds == (Bounds(high=0.3), Bounds(high=0.3))
    assert [rule(margin=margin).bounds for margin in (0.0, 1)] == [(Bounds(high=0.0),) * 2, (Bounds(high=1.0),) * 2]
    assert kept(made, [EN, DE, EN, FR, RU], [DE, EN, EN, DE, ZH]) == [
        [True, False, True, False, False],
        [True, False, False, True, False],
    ]


def test_values_of_sides() -> None:
    values = rule().values(pairs([EN, FR, "Bonjour", "", RU], [DE, DE, EN, "12 %", "Anna and Otto, München"]))
    assert np.round(values, 2).tolist() == [[-1.0, 1.0, -1.0, -1.0, 1.0], [-1.0, -1.0, 0.99, -1.0, -1.0]]


def test_short_text_is_kept() -> None:
    short = "Bonjour à tous mes amis"  # 18 letters
    assert kept(rule(), [short, ZH[:4]], [short, ZH[:4]]) == [[True, True], [True, True]]
    assert kept(rule(min_letters=10), [short, ZH[:4]], [short, ZH[:4]]) == [[False, False], [False, False]]


def test_capital_letters_are_judged_as_small_ones() -> None:
    lines = ["ATTÉNUE LES RAIDEURS ET LES DOULEURS MUSCULAIRES, AMÉLIORE LA CIRCULATION.", FR.upper(), FR]
    small = [line.lower() for line in lines[:2]] + [FR]
    made = rule("fr", "de")
    assert made.values(pairs(lines, lines)).tolist() == made.values(pairs(small, small)).tolist()
    assert kept(made, lines, lines) == [[True, True, True], [False, False, False]]


def test_lines_that_may_be_in_capital_letters() -> None:
    lines = ["A", "Ab", "ÄΩ", "Äb", "中文", "Ⅻ中", "Ⓐ", "é", "12", ""]
    assert possible_capitals(pairs(lines, lines).lines("source")).tolist() == [1, 0, 1, 0, 0, 1, 1, 0, 0, 0]
    points = [chr(point) for point in range(0x20000) if not 0xD800 <= point < 0xE000]
    batch = pairs(points, points)
    capitals = pc.utf8_is_upper(batch.arrow("source")).to_numpy(zero_copy_only=False)
    assert (possible_capitals(batch.lines("source"))[capitals] == 1).all()


def test_short_text_needs_a_clearer_rival() -> None:
    lines = ["Pequeno mapa para 2 contra 2.", "Den som dricker blir starkare."]  # 21 and 25 letters, taken for es, no
    certain = rule("pt", "sv", min_letters=1).values(pairs(lines[:1], lines[1:]))
    doubtful = rule("pt", "sv", min_letters=20).values(pairs(lines[:1], lines[1:]))
    assert (certain > 0.8).all()
    assert doubtful == pytest.approx(1 - (1 - certain) * 3 * 20 / np.array([[21], [25]]))
    swapped = pairs(["Der alte Mann sitzt im Park."], ["The old man is in the park."])
    assert rule(min_letters=1).values(swapped).tolist() == rule(min_letters=20).values(swapped).tolist()


def test_other_scripts_need_no_model() -> None:
    assert rule("zh", "en").values(pairs([EN, RU], [ZH, RU])).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    half = "这是一只狗 and the dog is very old"  # 5 Han letters, which count as 20, and 18 Latin ones
    (value,) = rule("zh", "en", ("source",)).values(pairs([half], [""]))[0]
    assert value == pytest.approx(1 - 2 * 20 / 38)


@pytest.mark.parametrize("model", ["lid.176", "model.bin"])
@pytest.mark.parametrize(
    ("tag", "passing", "dropped"),
    [("zh-TW", TRADITIONAL, SIMPLIFIED), ("zh", SIMPLIFIED, TRADITIONAL), ("yue", TRADITIONAL, SIMPLIFIED)],
)
def test_characters_tell_chinese_scripts_apart(
    tmp_path: Path, model: str, tag: str, passing: str, dropped: str
) -> None:
    own = [("zho_Hans", line) for line in (SIMPLIFIED, TRADITIONAL, NEITHER)]
    written(made_from([*own, ("zho_Hant", "x"), ("yue_Hant", "y"), ("eng_Latn", "z")], "softmax"), tmp_path)
    made = rule(tag, "en", ("source",), tmp_path, model=model)
    assert kept(made, [passing, dropped, NEITHER], [""] * 3) == [[True, False, True]]


def test_japanese_needs_kana() -> None:
    made = rule("zh", "en", ("source",))
    without_kana = [
        "然后路中间送钢筋的卡车就停在路边，四周连卡车司机都找不到。",
        "相关定制产品，详询店家！",
        "然后叫重送一次吧",
    ]
    assert kept(made, [ZH, JA, *without_kana], [""] * 5) == [[True, False, True, True, True]]
    assert kept(rule("ja", "en", ("source",)), [JA, ZH], ["", ""]) == [[True, False]]


def test_similar_languages_are_accepted_but_not_as_the_other_side() -> None:
    assert kept(rule("no", "en"), [NO, DA], [EN, EN]) == [[True, True], [True, True]]
    assert kept(rule("no", "en", similar=False), [NO, DA], [EN, EN]) == [[True, False], [True, True]]
    assert kept(rule("nb", "da"), [NO, DA], [DA, NO]) == [[True, False], [True, False]]


def test_unknown_text() -> None:
    unknown = "blorp snickel fwaddle grumbit zorkeen plimth"
    assert kept(rule(), [unknown], [DE]) == [[True], [True]]
    assert kept(rule(unknown="drop"), [unknown], [DE]) == [[False], [True]]


def test_a_side_whose_language_the_model_does_not_know(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = rule("en", "tlh")
        rule("en", "tlh")
    assert made.columns == ("source",)
    assert made.values(pairs([EN, FR], [FR, FR])).shape == (1, 2)
    assert [record.message for record in caplog.records] == [
        "the language model lid.176 does not include the language tlh; the rule language keeps that side"
    ]
    context = Context(Languages(source="tlh", target="tlh"), ("source",), Path())
    assert make_rules({"language": True}, context) == ()


def test_a_model_by_path(tmp_path: Path) -> None:
    written(dense_model("softmax"), tmp_path)
    made = rule("en", "de", base_dir=tmp_path, model="model.bin")
    assert made.files == {"model model.bin": tmp_path / "model.bin"}
    assert kept(made, [LINES[0][1]], [LINES[5][1]]) == [[True], [True]]


@given(st.lists(st.text(st.sampled_from("aZ ß1的ひカーไ한я\u0301"), max_size=12), max_size=5))
def test_script_weights(lines: list[str]) -> None:
    column = TextColumn.from_strings(lines)
    scripts = [script_number("Latin"), script_number("Han")]
    weights, shares = script_weights(Lines(column.data, column.offsets), scripts)
    letters = {"a": 1, "Z": 1, "ß": 1, "的": 4, "ひ": 4, "カ": 4, "ー": 1, "ไ": 4, "한": 2, "я": 1}
    for line, weight, share in zip(lines, weights, shares, strict=True):
        total = sum(letters.get(character, 0) for character in line)
        own = sum(letters.get(character, 0) for character in line if character in "aZß的")
        assert weight == total
        assert share == (own / total if total else 1.0)


def labelled_pairs(shared: Path) -> tuple[list[str], list[str], list[str]]:
    folder = shared / "corpora" / "dirty-ende"
    lines = gzip.decompress((folder / "train.tsv.gz").read_bytes()).decode().split("\n")[:-1]
    labels = gzip.decompress((folder / "train.labels.gz").read_bytes()).decode().split("\n")[:-1]
    source, target = zip(*(line.split("\t") for line in lines), strict=True)
    return list(source), list(target), labels


def test_a_noisy_corpus(shared: Path) -> None:
    source, target, labels = labelled_pairs(shared)
    made = rule()
    dropped = (made.values(pairs(source, target)) > 0.3).any(axis=0)
    total, found = Counter(labels), Counter(label for label, one in zip(labels, dropped, strict=True) if one)
    for kind in ("target_wrong_language", "source_wrong_language", "swapped_sides"):
        assert found[kind] >= 0.98 * total[kind], kind
    assert found["clean"] <= 0.003 * total["clean"]


def test_clean_corpora(shared: Path) -> None:
    content = gzip.decompress((shared / "corpora/wmt22-enzh/references-v22.en-zh.tsv.gz").read_bytes()).decode()
    english, chinese = zip(*(line.split("\t") for line in content.split("\n")[:-1]), strict=True)
    dropped = (rule("en", "zh").values(pairs(english, chinese)) > 0.3).any(axis=0)
    assert dropped.sum() <= 0.001 * len(english)
