from __future__ import annotations

import re

import pytest

from nmt_prep.corpora.sources.known_corpora import _known, is_public, licence_of, traps_of


@pytest.mark.parametrize(
    ("address", "kinds", "licence"),
    [
        ("opus:WMT-News/v2019/de-en", ["test sets"], None),
        ("https://object.pouta.csc.fi/OPUS-WMT-News/v2019/moses/de-en.txt.zip", ["test sets"], None),
        ("mtdata:OPUS-wmt_news-v2019-deu-eng", ["test sets"], None),
        ("opus:TED2020/v1/de-en", ["test sets", "licence"], "CC-BY-NC-ND-4.0"),
        ("http://phontron.com/data/ted_talks.tar.gz", ["test sets", "licence"], None),
        ("mtdata:Flores-flores200_devtest-1-deu-eng", ["test sets"], "CC-BY-SA-4.0"),
        ("mtdata:Statmt-newstest_deen-2014-deu-eng", ["test sets"], None),
        ("mtdata:EU-dcep-1-bul-ces", [], None),
        ("opus:ELRC-5190-Cyber_MT_Test/v1/en-lv", ["test sets"], None),
        ("opus:ELRC-417-Swedish_Work_Environ/v1/en-sv", [], None),
        ("hf:Helsinki-NLP/opus-100/de-en@main", ["duplicates"], None),
        ("https://huggingface.co/datasets/Helsinki-NLP/opus-100/resolve/main/x.parquet", ["duplicates"], None),
        ("opus:MultiCCAligned/v1.1/ak-am", ["pivoted"], None),
        ("opus:CCMatrix/v1/en-zh", ["machine-translated"], None),
        ("opus:WikiMatrix/v1/en-zh", ["misaligned"], None),
        ("opus:NLLB/v1/en-zh", ["order"], "ODC-By-1.0"),
        ("opus:Books/v1/en-fr", [], None),
        ("data/WMT-News.tsv", [], None),
    ],
)
def test_traps_and_licences(address: str, kinds: list[str], licence: str | None) -> None:
    assert ([trap.kind for trap in traps_of([address])], licence_of(address)) == (kinds, licence)


def test_each_trap_has_a_kind_and_a_public_reason() -> None:
    kinds = {"test sets", "machine-translated", "misaligned", "duplicates", "pivoted", "order", "gone", "licence"}
    assert {trap["kind"] for trap in _known()["traps"]} == kinds
    assert all(is_public(trap["reason"]) for trap in _known()["traps"])
    names = [name for trap in _known()["traps"] for name in trap["corpora"]]
    assert [re.compile(name).pattern for name in names] == names


def test_what_is_public() -> None:
    addresses = ["opus:B/v1/a-b", "hf:a/b", "https://x.example/a", "http://127.0.0.1:8/a", "http://host/a", "s3://b/a"]
    assert [*map(is_public, [*addresses, "a.tsv"])] == [True, True, True, False, False, False, False]
