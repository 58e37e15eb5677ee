from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.corpora import slices
from nmt_prep.stages.compile import compile_health as health
from nmt_prep.stages.compile.compile_health import CompileObserved
from tests.stages.runs import config_of, manifest, run


def write(directory: Path, name: str, pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Writes a corpus; returns its entry in a config."""
    (directory / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return {"name": name, "url": f"{name}.tsv"}


def sentence(number: int) -> tuple[str, str]:
    return f"This is the English sentence number {number}.", f"这是中文句子，它的编号是{number}。"


def observed(directory: Path, *train: dict[str, Any], workers: int = 2, **more: Any) -> CompileObserved:
    config = config_of(directory, *train, **more)
    run(config, until="compile", workers=workers, force=["compile"])
    return parse_json_as(CompileObserved, manifest(config, "compile").observed)


def texts(found: CompileObserved) -> list[str]:
    return [f"{warning.code} {warning}" for warning in found.warnings]


def test_a_clean_corpus_gives_no_warning(tmp_path: Path) -> None:
    train = write(tmp_path, "news", map(sentence, range(500)))
    dev = write(tmp_path, "dev", map(sentence, range(500, 600)))
    found = observed(tmp_path, train, splits={"dev": [dev]})
    assert found.warnings == ()
    assert found.pairs["train"]["news"].pairs == 500
    assert found.pairs["train"]["news"].sides["target"].other_script == 0


def test_a_line_in_most_pairs_is_quoted_with_its_exact_count(tmp_path: Path) -> None:
    pairs = [sentence(number) for number in range(1000)]
    pairs[250:] = [("NO TRANSLATION AVAILABLE", target) for _, target in pairs[250:]]
    found = observed(tmp_path, write(tmp_path, "gaps", pairs))
    assert texts(found) == [
        "frequent_line train/gaps: 750 of 1,000 source lines (75.0%) are “NO TRANSLATION AVAILABLE”"
    ]
    (warning,) = found.warnings
    assert (warning.corpus, warning.split, warning.side) == ("gaps", "train", "source")
    assert (warning.value, warning.share) == (750, 0.75)


def test_frequent_lines_are_counted_over_all_slices_and_for_any_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_BYTES", 4000)
    monkeypatch.setattr(slices, "COUNT_BYTES", 1000)
    pairs = [sentence(number) for number in range(2000)]
    pairs[100:121] = [(pairs[0][0], " 好的 ")] * 21  # 1.05 % of the targets, 1.1 % of the sources
    pairs[1500:1520] = [(f"x{number}", "早上好") for number in range(20)]  # 1 % is not more than 1 %
    for number in range(15, 2000, 40):
        pairs[number] = (f"number {number}, which is short", f"{'长' * 60}<{number}>")
    train = write(tmp_path, "many", pairs)
    found = observed(tmp_path, train, workers=1)
    assert texts(found) == [
        "frequent_line train/many: 22 of 2,000 source lines (1.1%) are “This is the English sentence number 0.”",
        "frequent_line train/many: 21 of 2,000 target lines (1.1%) are “好的”",
    ]
    assert observed(tmp_path, train, workers=4) == found


def test_several_frequent_lines_of_a_side_are_one_warning(tmp_path: Path) -> None:
    pairs = [sentence(number) for number in range(1000)]
    for start, text in (
        (0, "Yes, of course, as everybody knows."),
        (100, "No, I am sorry, but we are closed."),
        (200, "a" * 80),
        (300, "Maybe, maybe, or never in my life."),
    ):
        for number in range(start, start + 40 - start // 20):
            pairs[number] = (text, pairs[number][1])
    found = observed(tmp_path, write(tmp_path, "talk", pairs))
    assert texts(found) == [
        (
            "frequent_line train/talk: 4 lines make up 13.0% of the 1,000 source lines: "
            f"“Yes, of course, as everybody knows.” 40, “No, I am sorry, but we are closed.” 35, “{'a' * 59}…” 30, …"
        )
    ]


def test_equal_sides_another_script_and_odd_lengths(tmp_path: Path) -> None:
    sentences = [sentence(number) for number in range(200)]
    equal = write(tmp_path, "equal", [(source, source) for source, _ in sentences[:10]] + sentences[:190])
    swapped = write(tmp_path, "swapped", [(target, source) for source, target in sentences])
    long = write(tmp_path, "long", [(source, target * 3) for source, target in sentences])
    uneven = write(
        tmp_path,
        "uneven",
        [(source * 5 if n % 8 == 0 else source, target) for n, (source, target) in enumerate(sentences)],
    )
    found = observed(tmp_path, equal, swapped, long, uneven)
    script = "check languages, the order of the sides, and the encoding"
    assert texts(found) == [
        (
            "equal_sides train/equal: both sides of 10 of 200 pairs (5.0%) are the same text; clean.rules.copy "
            "drops such pairs"
        ),
        f"script train/swapped: 100.0% of the source lines are not in the script of their language, en; {script}",
        f"script train/swapped: 100.0% of the target lines are not in the script of their language, zh; {script}",
        (
            "length_ratio train/swapped: the target side is 8.8 times as long as usual for en and zh; check that "
            "the sides belong together, and the languages"
        ),
        (
            "length_ratio train/long: the target side is 4.1 times as long as usual for en and zh; check that "
            "the sides belong together, and the languages"
        ),
        (
            "length_ratio train/uneven: in 12.5% of the pairs, one side is more than three times as long as the other, "
            "allowing for the languages; check the alignment; clean.rules.length_ratio drops such pairs"
        ),
    ]


def test_pairs_of_other_splits_that_are_in_train(tmp_path: Path) -> None:
    news, web = (
        write(tmp_path, name, map(sentence, numbers))
        for name, numbers in (("news", range(300)), ("web", range(200, 900)))
    )
    leaks = write(tmp_path, "leaks", [*map(sentence, [5, 250, 800, *range(2000, 2097)]), ("Yes.", "是的。")])
    clean = write(tmp_path, "clean", [*map(sentence, range(1000, 1100)), ("Yes.", "是的。")])
    short = write(tmp_path, "short", [("Yes.", "是的。")])
    found = observed(tmp_path, news, web, short, splits={"dev": [leaks], "test": [clean, {**news, "name": "same"}]})
    assert texts(found) == [
        "eval_in_train dev/leaks: 3 of 101 pairs (3.0%) are also in train (news 2, web 2); scores on them are too high",
        "eval_in_train test/same: it reads the same files as splits.train.news; scores on it will be meaningless",
    ]
    assert (found.warnings[0].value, found.warnings[0].share) == (3, 3 / 101)


def test_keys_beyond_the_limit_are_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_MOST_KEYS", 10)
    monkeypatch.setattr(health, "_KEYS_AT_A_TIME", 7)
    train = write(tmp_path, "train", map(sentence, range(100)))
    found = observed(tmp_path, train, splits={"dev": [write(tmp_path, "dev", map(sentence, range(50)))]})
    assert texts(found) == [
        "eval_in_train dev/dev: 10 of 50 pairs (20.0%) are also in train (train 10); scores on them are too high"
    ]


def test_corpora_of_one_side_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "mono.zh").write_text("".join(f"{sentence(number)[1]}\n" for number in range(100)), "utf-8")
    mono = {"name": "mono", "url": {"target": "mono.zh"}, "role": "vocab"}
    train, dev = (
        write(tmp_path, name, map(sentence, numbers)) for name, numbers in (("a", range(9)), ("b", range(9, 20)))
    )
    found = observed(tmp_path, train, mono, splits={"dev": [dev]}, clean={"preset": "none"})
    assert found.warnings == ()
    assert list(found.pairs["train"]["mono"].sides) == ["target"]
