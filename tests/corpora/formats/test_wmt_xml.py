from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import AlignmentError, CorpusError
from tests.corpora.formats.builders import read

HYP = '<hyp system="S" lang="zh"><p><seg id="1">系一</seg><seg id="2">系二</seg></p></hyp>'
REF_A = '<ref lang="zh" translator="A"><p><seg id="1">甲一</seg><seg id="2">甲二</seg></p></ref>'
REF_B = '<ref lang="zh" translator="B"><seg id="2">乙二</seg><seg id="1">乙一</seg></ref>'
OTHER = '<ref lang="de" translator="A"><seg id="1">eins</seg><seg id="2">zwei</seg></ref>'
SRC = '<src lang="en"><p><seg id="1">One</seg>\n<seg id="2">Two &amp; more</seg></p></src>'


def wmt(*docs: str) -> bytes:
    inner = "".join(f'<doc origlang="en" id="d{number}">{doc}</doc>\n' for number, doc in enumerate(docs, 1))
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<dataset id="t"><collection>{inner}</collection></dataset>'.encode()
    )


def test_the_only_reference(tmp_path: Path) -> None:
    content = wmt(SRC + REF_A + HYP + OTHER, SRC.replace("One", "Three") + REF_B)
    expected = [("One", "甲一"), ("Two & more", "甲二"), ("Three", "乙一"), ("Two & more", "乙二")]
    assert read(tmp_path, "wmt_xml", content) == expected


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        ({"references": "B"}, ["乙一", "乙二"]),
        ({"references": ["B", "A"]}, ["乙一", "甲一", "乙二", "甲二"]),
        ({"references": "all"}, ["甲一", "乙一", "甲二", "乙二"]),
        ({"systems": "S"}, ["系一", "系二"]),
        ({"references": "A", "systems": "all"}, ["甲一", "系一", "甲二", "系二"]),
    ],
)
def test_chosen_versions(tmp_path: Path, options: dict[str, Any], targets: list[str]) -> None:
    pairs = read(tmp_path, "wmt_xml", wmt(SRC + REF_A + REF_B + HYP), **options)
    assert [target for _, target in pairs] == targets


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (SRC + REF_A + REF_B, {}, "doc 'd1' in zh has the references 'A', 'B'; set references in the config"),
        (SRC + REF_A, {"references": "C"}, "doc 'd1' in zh has no reference 'C', only 'A'; correct references"),
        (SRC + REF_A, {"systems": "T"}, "doc 'd1' in zh has no system 'T', nor any other; correct systems"),
        (SRC + REF_A.replace('id="2"', 'id="3"'), {}, "doc 'd1', seg '2' is missing from reference 'A'"),
        (SRC.replace('id="2"', 'id="3"') + REF_A, {}, "doc 'd1', seg '2' is missing from the source"),
        (SRC + REF_A.replace('id="2"', 'id="1"'), {}, "doc 'd1', seg '1' occurs twice"),
    ],
)
def test_segments_that_do_not_match(tmp_path: Path, content: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AlignmentError, match=message):
        read(tmp_path, "wmt_xml", wmt(content), **options)


def test_comments_marked_sections_and_invalid_characters(tmp_path: Path) -> None:
    source = SRC.replace("One", "<!-- <seg/> -->O<![CDATA[<n>]]>e").replace("Two", "T\x02")
    assert read(tmp_path, "wmt_xml", wmt(source + REF_A), invalid="drop") == [("O<n>e", "甲一")]


def test_two_variants_of_a_language(tmp_path: Path) -> None:
    content = wmt((SRC + REF_A).replace("zh", "en-GB"))
    languages = {"source": "en", "target": "en-GB"}
    assert read(tmp_path, "wmt_xml", content, languages=languages)[0] == ("One", "甲一")
    with pytest.raises(CorpusError, match="has no document from en to en-GB, only ref en-GB, src en-GB; set"):
        read(tmp_path, "wmt_xml", content.replace(b'lang="en"', b'lang="en-GB"'), languages=languages)


def test_other_languages(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no document from en to zh, only ref de, src fr; set languages"):
        read(tmp_path, "wmt_xml", wmt(SRC.replace('"en"', '"fr"') + OTHER))


def test_a_segment_without_id(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.wmt_xml:2: a seg of doc 'd1' has no id"):
        read(tmp_path, "wmt_xml", wmt(SRC.replace(' id="1"', "") + REF_A))
