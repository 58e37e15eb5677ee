from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.prompts import LanguageNames, PromptSettings, PromptShare
from nmt_prep.training.prompts import Glossary, Prompter, drawn, language_name

EN_DE = LanguagePair("en", "de")


def lines(*texts: str) -> pa.Array:
    return pa.array(texts, pa.large_string())


def prompter(*prompts: str | PromptShare, **keys: object) -> Prompter:
    shares = tuple(PromptShare(text=prompt) if isinstance(prompt, str) else prompt for prompt in prompts)
    files = {name: keys.pop(name) for name in ("glossary", "pools") if name in keys}
    given = {"glossary": str(files["glossary"])} if "glossary" in files else {}
    settings = PromptSettings.model_validate({"prompts": shares, **given, **keys})
    return Prompter.of(settings, [EN_DE, LanguagePair("de", "pt_BR")], "train", 1, **files)  # type: ignore[arg-type]


def fill(made: Prompter, source: str, target: str = "", corpus: int = 0, context: str | None = None) -> str:
    before = None if context is None else lines(context)
    return str(made.filled(lines(source), lines(target), np.array([corpus], np.int32), 0, before)[0])


def test_presets_are_the_published_prompts() -> None:
    assert {name: fill(prompter(name), "Hi.") for name in ("tower", "alma", "x-alma", "translategemma")} == {
        "tower": "Translate the following text from English into German.\nEnglish: Hi.\nGerman:",
        "alma": "Translate this from English to German:\nEnglish: Hi.\nGerman:",
        "x-alma": "Translate this from English to German:\nEnglish: Hi.\nGerman:",
        "translategemma": (
            "You are a professional English (en) to German (de) translator. Your goal is to accurately convey the "
            "meaning and nuances of the original English text while adhering to German grammar, vocabulary, and "
            "cultural sensitivities.\nProduce only the German translation, without any additional explanations or "
            "commentary. Please translate the following English text into German:\n\n\nHi."
        ),
    }


def test_fields_are_those_of_the_pair() -> None:
    codes = "{source_code}>{target_code} {target_language}: {source}{document context}"
    made = prompter(codes, system="{target_code}!")
    assert fill(made, "{target_code} x", corpus=1) == "de>pt_BR Portuguese: {target_code} x"
    assert made.systems == ["de!", "pt_BR!"]
    assert fill(prompter("{document context}|{source}"), "c", context="a\nb") == "a\nb|c"
    names = LanguageNames(source="A", target="B")
    assert fill(prompter("{source_language} {target_language} {source}", language_names=names), "x") == "A B x"
    assert fill(prompter("{target_language} {source}", language_names="fr"), "x") == "allemand x"


def test_prompts_are_drawn_by_their_shares() -> None:
    made = prompter(*(PromptShare(text=f"{{source}}{share}", share=share) for share in (1.0, 2.5, 0.5)))
    count = 40_000
    whole = drawn(7, "train", 0, count, made.shares)
    assert np.bincount(whole).tolist() == [10_165, 25_067, 4_768]
    assert drawn(7, "train", 1_000, 10, made.shares).tolist() == whole[1_000:1_010].tolist()
    sources, corpora = lines(*"abcdefgh"), np.array([0, 1] * 4, np.int32)
    filled = made.filled(sources, sources, corpora, 5).to_pylist()
    shares = np.array(["1.0", "2.5", "0.5"])[drawn(1, "train", 5, 8, made.shares)]
    assert filled == [f"{source}{share}" for source, share in zip("abcdefgh", shares, strict=True)]


def test_names_of_languages() -> None:
    english = {"zh": "Chinese", "pt-BR": "Portuguese", "en_US": "English", "tlh": "Klingon", "qqq": None}
    names = {(code, "en"): name for code, name in english.items()} | {("eng_Latn", "fr"): "anglais"}
    names |= {("de", "zh"): "德语", ("zh-Hant", "de"): "Chinesisch (Traditionell)", ("qqq", "de"): None}
    assert {case: language_name(*case) for case in names} == names


def test_examples_are_other_pairs_of_the_pool(tmp_path: Path) -> None:
    pool = pa.table({"source": [f"s{n}" for n in range(12)], "target": [f"t{n}" for n in range(12)]})
    with pa.ipc.new_file(str(tmp_path / "pool"), pool.schema) as file:
        file.write_table(pool)
    made = prompter("{examples}|{source}", examples=3, pools=[tmp_path / "pool", None])
    sources = lines(*(f"s{n % 12}" for n in range(200)))
    rows = made.filled(sources, sources, np.zeros(200, np.int32), 0).to_pylist()
    shown = [row.partition("|")[0].split("\n\n") for row in rows]
    assert {len(set(examples)) for examples in shown} == {3}
    listed = {f"English: s{n}\nGerman: t{n}" for n in range(11)}
    assert {example for examples in shown for example in examples} == listed
    assert not any(f"English: s{n % 12}\n" in row for n, row in enumerate(rows))
    assert made.filled(sources[50:60], sources[50:60], np.zeros(10, np.int32), 50).to_pylist() == rows[50:60]
    assert fill(made, "x", corpus=1) == "|x"
    many = prompter("{examples}|{source}", examples=32, pools=[tmp_path / "pool"])
    assert [fill(many, source).count("English") for source in ("s3", "x")] == [10, 11]


@pytest.mark.parametrize(
    ("source", "target", "terms"),
    [
        ("The Hound barks.", "Der Hund bellt.", ["hound = Hund"]),
        ("The hound barks.", "Die Katze bellt.", []),
        ("hounds and greyhound", "Hund", []),
        ("a guide dog, a dog", "ein Blindenhund, ein Hund", ["guide dog = Blindenhund", "dog = Hund"]),
        ("我爱翻译。", "I love translation.", ["翻译 = translation"]),
        ("", "", []),
    ],
)
def test_glossaries_find_terms_of_both_sides(source: str, target: str, terms: list[str]) -> None:
    listed = [("hound", "Hund"), ("dog", "Hund"), ("guide dog", "Blindenhund"), ("翻译", "translation")]
    assert Glossary(listed).terms(source, target) == terms


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a\tb\nc\n", "line 2: a term is its source, a tab and its target; correct the line"),
        (b"a\t\n", "line 1: a term is"),
        (b"\xff\tb\n", "the glossary cannot be read: 'utf-8' codec"),
    ],
)
def test_a_glossary_that_cannot_be_read(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "terms").write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        fill(prompter("{glossary}{source}", glossary=tmp_path / "terms"), "x")
