from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import faults_of, pairs_of, read, reader

V12 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="x" source-language="en-US" target-language="zh-CN" datatype="plaintext"><body><group>
<trans-unit id="1"><source>One <g id="1">two</g><x id="2"/></source><target>一<bpt id="3">&lt;b&gt;</bpt>二</target>
<alt-trans><source>no</source><target>no</target></alt-trans></trans-unit>
<trans-unit id="2"><source>Three</source><seg-source><mrk mtype="seg" mid="0">Three</mrk></seg-source>
<target><mrk mtype="seg" mid="0">三</mrk></target></trans-unit>
<trans-unit id="3"><source>Untranslated</source></trans-unit>
</group></body></file></xliff>
"""
V20 = """<xlf:xliff xmlns:xlf="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="zh">
<xlf:file id="f1"><xlf:unit id="1"><xlf:notes><xlf:note>no</xlf:note></xlf:notes>
<mtc:matches xmlns:mtc="m"><mtc:match><xlf:source>no</xlf:source><xlf:target>no</xlf:target></mtc:match></mtc:matches>
<xlf:segment id="s1"><xlf:source>One <xlf:pc id="1">two</xlf:pc><xlf:ph id="2"/></xlf:source>
<xlf:target>一二</xlf:target></xlf:segment>
<xlf:ignorable><xlf:source> </xlf:source></xlf:ignorable>
<xlf:segment><xlf:source>Three</xlf:source><xlf:target>三</xlf:target></xlf:segment></xlf:unit></xlf:file></xlf:xliff>
"""


def test_version_1_2(tmp_path: Path) -> None:
    opened = reader(tmp_path, "xliff", V12.encode())
    assert pairs_of(opened) == [("One two", "一二"), ("Three", "三")]
    assert faults_of(opened) == [0, 0, Fault.MISSING_SIDE]


def test_version_2_0(tmp_path: Path) -> None:
    assert read(tmp_path, "xliff", V20.encode()) == [("One two", "一二"), ("Three", "三")]


@pytest.mark.parametrize("document", [V12, V20])
def test_reversed_direction(tmp_path: Path, document: str) -> None:
    languages = {"source": "zh", "target": "en"}
    assert read(tmp_path, "xliff", document.encode(), languages=languages) == [("一二", "One two"), ("三", "Three")]


def test_other_languages(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no unit for en and de, only en-US to zh-CN; set languages"):
        read(tmp_path, "xliff", V12.encode(), languages={"source": "en", "target": "de"})


UNIT = "<trans-unit><source{}>{}</source><target{}>{}</target></trans-unit>"


@pytest.mark.parametrize("file", ['source-language="en"', 'source-language="en" target-language="fr"', ""])
def test_languages_of_elements(tmp_path: Path, file: str) -> None:
    units = [
        UNIT.format(' xml:lang="en"', "cat", ' xml:lang="fr"', "chat"),
        UNIT.format(' xml:lang="en"', "dog", ' xml:lang="zh"', "狗"),
        UNIT.format(' xml:lang="zh"', "猫", ' xml:lang="en"', "cat"),
    ]
    content = f'<xliff version="1.2"><file {file}><body>{"".join(units)}</body></file></xliff>'.encode()
    assert read(tmp_path, "xliff", content) == [("dog", "狗"), ("cat", "猫")]
    with pytest.raises(CorpusError, match="has no unit for en and de, only en to fr, en to zh, zh to en; set"):
        read(tmp_path, "xliff", content, languages={"source": "en", "target": "de"})


def test_language_of_a_target_of_version_2_0(tmp_path: Path) -> None:
    content = V20.replace("<xlf:target>一二", '<xlf:target xml:lang="ja">一二').encode()
    assert read(tmp_path, "xliff", content) == [("Three", "三")]


def test_a_character_that_xml_does_not_allow(tmp_path: Path) -> None:
    opened = reader(tmp_path, "xliff", V12.replace("Three", "Three\b", 1).encode(), invalid="drop")
    assert pairs_of(opened) == [("One two", "一二")]
    assert faults_of(opened) == [0, Fault.INVALID_TEXT, Fault.MISSING_SIDE]
