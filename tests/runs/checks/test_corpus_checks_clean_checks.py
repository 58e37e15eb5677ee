from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import ConfigError
from nmt_prep.runs.checks import check_config, load_config

CORPUS = {"url": "c.tgz", "source": "s", "target": "t"}


def problems(clean: Any) -> list[str]:
    data = {
        "name": "t",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": "run",
        "seed": 1,
        "splits": {
            "train": [{"name": "news", **CORPUS}, {"name": "web.2", **CORPUS}],
            "dev": [{"name": "d", **CORPUS}],
        },
        "clean": clean,
    }
    try:
        check_config(data, "test")
    except ConfigError as error:
        return [line.strip() for line in str(error).splitlines()[1:]]
    return []


@pytest.mark.parametrize(
    "clean",
    [
        {},
        {"preset": "strict", "fix": [], "rules": {"length": {"max": {"source": 3, "target": 4}}}},
        {"rules": {"noise": {"kinds": ["glued_words", "escapes"]}, "program": {"command": ["cat", "-"]}}},
        {"rules": {"length": "off", "top": {"score": "s", "keep": "80%"}}},
        {"overrides": {"news": {"fix": ["nfc"]}, "en-zh": {"rules": {"length": {"max": 5}}}, "pt-BR-de": {}}},
        {"decontaminate": {"coverage": 0.5}},
        {"preset": "none", "decontaminate": {"against": []}},
        {"splits": ["dev"], "overrides": {"d": {}}, "rejects": "all", "allow_empty": True},
    ],
)
def test_sections_without_problems(clean: Any) -> None:
    assert problems(clean) == []


@pytest.mark.parametrize(
    ("clean", "expected"),
    [
        (
            {"rules": {"lenght": {}}},
            "clean.rules.lenght: there is no such rule; did you mean 'length'? (rules: adequacy, alphabetic,",
        ),
        (
            {"rules": {"length": {"maxi": 3}}},
            "clean.rules.length.maxi: unknown key; did you mean 'max'? (allowed here: ",
        ),
        ({"rules": {"length": {"max": "x"}}}, "clean.rules.length.max: found the text 'x'; allowed: a number"),
        (
            {"preset": "none", "decontaminate": {"coverage": 0.5}},
            "clean.decontaminate.against: no evaluation sets are named, and the preset none brings none; name splits",
        ),
        ({"rules": {"length": 3}}, "clean.rules.length: "),
        ({"rules": {"tops": {}}}, "clean.rules.tops: there is no such rule; did you mean 'top'? (rules: "),
        (
            {"rules": {"top": {"score": "s", "keep": 2}}},
            "clean.rules.top.keep: found the number 2; allowed: a share such as 80%",
        ),
        ({"fix": ["whitspace"]}, "clean.fix: there is no fix 'whitspace'; did you mean 'whitespace'? (fixes: "),
        (
            {"overrides": {"nws": {}}},
            "clean.overrides.nws: neither a corpus that is cleaned nor a language pair such as en-de; did",
        ),
        ({"overrides": {"d": {}}}, "clean.overrides.d: neither a corpus that is cleaned nor a language pair such as"),
        ({"overrides": {"en-xq": {}}}, "clean.overrides.en-xq: neither a corpus that is cleaned nor a language pair"),
        (
            {"overrides": {"web.2": {"rules": {"length": {"maxi": 3}}}}},
            "clean.overrides.web.2.rules.length.maxi: unknown key; did you mean 'max'?",
        ),
        (
            {"overrides": {"news": {"fix": ["nfd"]}}},
            "clean.overrides.news.fix: there is no fix 'nfd'; did you mean 'nfc'",
        ),
        ({"overrides": {"news": {"rule": {}}}}, "clean.overrides.news.rule: unknown key; did you mean 'rules'?"),
        (
            {"preset": "stric"},
            "clean.preset: found the text 'stric'; did you mean 'strict'? allowed: none, light, standard or strict",
        ),
        ({"splits": ["tests"]}, "config: clean.splits names 'tests'; the splits are train, dev"),
        ({"splits": ["dev", "train", "dev"]}, "config: clean.splits names 'dev' twice; name each split once"),
        (
            {"rules": {"length": "yes"}},
            "clean.rules.length: found the text 'yes'; allowed: a mapping with keys of: max, ",
        ),
        (
            {"rejects": "some"},
            "clean.rejects: found the text 'some'; did you mean 'sample'? allowed: none, sample or all",
        ),
        ({"dedupe": {}}, "clean.dedupe: unknown key"),
        *(
            ({"dedup": {"pair": "exact", "keep": keep}}, "clean.dedup.keep: ")
            for keep in ([], ["bicleaner"], ["corpus", "a"], ["a", "a", "corpus"])
        ),
        *(({"decontaminate": {"coverage": share}}, "clean.decontaminate.coverage: ") for share in (0, 1.1)),
        *(
            ({"decontaminate": {"against": against}}, f"clean.decontaminate.against: {problem}")
            for against, problem in (
                (["dve"], "there is no split 'dve' (splits: train, dev; files are named file:…); did you mean 'dev'?"),
                (["train"], "names all splits that are cleaned (train); nothing is compared with them"),
                (["file:"], "file: must be followed by a path"),
                (["dev", "dev"], "found a list of 2; allowed: a list of different"),
                (["file:a/x.txt", "file:b/x.txt"], "two evaluation sets have the name 'x.txt'"),
            )
        ),
        ({"dedup": {"near": {}}}, "clean.dedup.near: applies only with pair: near; set it, or remove near"),
        (
            {"dedup": {"pair": "exact", "near": {"similarity": 0.8}}},
            "clean.dedup.near: applies only with pair: near; set it, or remove near",
        ),
        (
            {"dedup": {"pair": "near", "near": {"similarity": 0}}},
            "clean.dedup.near.similarity: found the number 0; allowed: a number above 0, up to 1",
        ),
        ({"dedup": {"pair": "near", "near": {"similarity": 1.01}}}, "clean.dedup.near.similarity: found the number"),
        ({"dedup": {"pair": "near", "near": {"similar": 1}}}, "clean.dedup.near.similar: unknown key; did you mean"),
    ],
)
def test_each_problem_names_its_key(clean: Any, expected: str) -> None:
    (problem,) = problems(clean)
    assert problem.startswith(expected)


def test_all_problems_are_listed_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "name: t\nlanguages: {source: en, target: zh}\noutput_dir: run\nseed: 1\n"
        "splits:\n  train: [{name: c, url: c.tgz, source: s, target: t}]\n"
        "clean:\n  fix: [nfd]\n  rules:\n    lenght: {}\n    length:\n      max: [1]\n"
    )
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "c.yaml")
    found = [line.strip().partition(": ")[0] for line in str(error.value).splitlines()[1:]]
    assert found == ["clean.fix (line 8)", "clean.rules.lenght (line 10)", "clean.rules.length.max (line 12)"]
