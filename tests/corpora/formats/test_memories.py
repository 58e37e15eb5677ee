from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import faults_of, pairs_of, read, reader

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="en"/><body>\n'


def tmx(*units: str) -> bytes:
    body = "".join(f"<tu>{unit}</tu>\n" for unit in units)
    return f"{HEAD}{body}</body></tmx>\n".encode()


def unit(**texts: str) -> str:
    tagged = [(tag.replace("_", "-"), text) for tag, text in texts.items()]
    return "".join(f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in tagged)


def test_units(tmp_path: Path) -> None:
    content = tmx(unit(en="a &amp; b", zh="一"), unit(zh="二", en="c"), unit(EN_us="d", de="x", zh_CN="三"))
    assert read(tmp_path, "tmx", content) == [("a & b", "一"), ("c", "二"), ("d", "三")]


def test_the_same_tag_wins_over_a_variant_and_the_first_over_later_ones(tmp_path: Path) -> None:
    content = tmx(unit(en_GB="v", en="w", zh="一") + unit(en="x", zh="二"), unit(en_GB="y", en_US="z", zh="三"))
    assert read(tmp_path, "tmx", content) == [("w", "一"), ("y", "三")]


@pytest.mark.parametrize(
    ("source", "target", "texts", "expected"),
    [
        ("pt", "pt-BR", {"pt_BR": "b", "pt_PT": "p"}, ("p", "b")),
        ("pt-BR", "pt", {"pt_BR_x": "b", "pt_PT": "p"}, ("b", "p")),
        ("Serbian", "sr-Latn", {"sr@latin": "l", "Serbian": "s"}, ("s", "l")),
        ("en", "en-GB", {"en_gb": "g", "en_US": "u"}, ("u", "g")),
        ("zh", "zh-Hant", {"zh_Hant_TW": "t", "zh_CN": "s"}, ("s", "t")),
    ],
)
def test_two_variants_of_a_language(
    tmp_path: Path, source: str, target: str, texts: dict[str, str], expected: tuple[str, str]
) -> None:
    languages = {"source": source, "target": target}
    assert read(tmp_path, "tmx", tmx(unit(**texts)), languages=languages) == [expected]


def test_text_without_seg(tmp_path: Path) -> None:
    tuv = '<tuv xml:lang="{}"><note>no</note>\n{}\n<prop type="x">no</prop></tuv>'
    content = tmx(
        tuv.format("en", "a <hi>b</hi><ph>no</ph>") + tuv.format("zh", "<seg> 一 </seg> no"),
        tuv.format("en", "") + tuv.format("zh", "二"),
        unit(en="", zh="三"),
    )
    opened = reader(tmp_path, "tmx", content)
    assert pairs_of(opened) == [("a b", " 一 "), ("", "三")]
    assert faults_of(opened) == [0, Fault.MISSING_SIDE, 0]


BAD = ["\x01", "\ufffe", "&#1;", "&#xD800;", "&#x110000;", "&#0;", "&#x0000000001;", "&#9999999999;"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
@pytest.mark.parametrize("bad", BAD)
def test_a_character_that_xml_does_not_allow(tmp_path: Path, bad: str, encoding: str) -> None:
    units = [unit(en=f"a{bad}", zh="一"), unit(en=f"b<ph>{bad}</ph>", zh="二"), unit(en="c&#x20AC;", zh="\ufffd&#9;")]
    text = tmx(f'<prop type="s">{bad}</prop>' + unit(en="d", zh="四"), *units).decode()
    content = text.replace("?>", f' encoding="{encoding}"?>', 1).encode(encoding)
    with pytest.raises(CorpusError, match=r"or set invalid: drop to skip|multi-byte encodings are not"):
        read(tmp_path, "tmx", content)
    opened = reader(tmp_path, "tmx", content, invalid="drop", scores={"s": "prop:s"})
    assert pairs_of(opened) == [("b", "二"), ("c€", "\ufffd\t")]
    assert faults_of(opened) == [Fault.INVALID_TEXT, Fault.INVALID_TEXT, 0, 0]


def test_invalid_bytes_at_the_border_of_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmt_prep.corpora.formats.markup.CHUNK_BYTES", 1)
    content = tmx(unit(en="é&amp;", zh="一"), unit(en="\0", zh="二"), unit(en="&#x0001;", zh="三"))
    opened = reader(tmp_path, "tmx", content.replace(b"\0", b"\xc3"), invalid="drop")
    assert pairs_of(opened) == [("é&", "一")]
    assert faults_of(opened) == [0, Fault.INVALID_TEXT, Fault.INVALID_TEXT]


def test_languages_of_the_corpus(tmp_path: Path) -> None:
    content = tmx(unit(en_GB="v", en_US="w", zh="一"))
    assert read(tmp_path, "tmx", content, languages={"source": "en-US", "target": "zh"}) == [("w", "一")]
    with pytest.raises(
        CorpusError, match=r"a\.tmx has no unit in both en and de, only in en-GB, en-US, zh; set languages"
    ):
        read(tmp_path, "tmx", content, languages={"source": "en", "target": "de"})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('<bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> end', "bold end"),
        ("a<ph>x<sub>footnote</sub>y</ph>b<it pos='begin'>z</it><ut>u</ut>", "ab"),
        ("a <hi>high <hi type='b'>er</hi></hi>!", "a high er!"),
        ("wrapped\n   text\r\n", "wrapped text"),
        (" kept ", " kept "),
        ("<![CDATA[a < b]]>", "a < b"),
        ("a\x85b\u2028c", "a\x85b\u2028c"),
        ("", ""),
    ],
)
def test_content(tmp_path: Path, content: str, text: str) -> None:
    assert read(tmp_path, "tmx", tmx(unit(en=content, zh="一"))) == [(text, "一")]


def test_a_unit_without_a_side_is_a_fault(tmp_path: Path) -> None:
    opened = reader(tmp_path, "tmx", tmx(unit(en="a"), unit(en="b", zh="二"), ""))
    assert faults_of(opened) == [Fault.MISSING_SIDE, 0, Fault.MISSING_SIDE]
    assert pairs_of(opened) == [("b", "二")]


def test_a_long_segment_is_a_fault(tmp_path: Path) -> None:
    content = tmx(unit(en="x" * 200_000, zh="一"), unit(en="b", zh="二" * 40), unit(en="c", zh="三"))
    opened = reader(tmp_path, "tmx", content, max_line_bytes=100)
    assert faults_of(opened) == [Fault.TOO_LONG, Fault.TOO_LONG, 0]
    assert pairs_of(opened) == [("c", "三")]


def test_a_long_unused_variant_does_no_harm(tmp_path: Path) -> None:
    content = tmx(unit(en_GB="x" * 200_000, en="a", zh="一"))
    assert read(tmp_path, "tmx", content, max_line_bytes=100) == [("a", "一")]


def test_encodings(tmp_path: Path) -> None:
    text = tmx(unit(en="é", zh="一")).decode()
    assert read(tmp_path, "tmx", text.encode("utf-16")) == [("é", "一")]
    declared = text.replace("?>", ' encoding="gb18030"?>', 1).encode("gb18030")
    with pytest.raises(CorpusError, match=r"a\.tmx: the encoding in its first line cannot be used .*set encoding"):
        read(tmp_path, "tmx", declared)
    assert read(tmp_path, "tmx", declared, encoding="gb18030") == [("é", "一")]
    for name in ("undefined", "idna", "hex", "klingon"):
        with pytest.raises(CorpusError, match=r"a\.tmx: the encoding in its first line cannot be used .*set encoding"):
            read(tmp_path, "tmx", text.replace("?>", f' encoding="{name}"?>', 1).encode(), invalid="drop")


def test_one_side_only(tmp_path: Path) -> None:
    opened = reader(tmp_path, "tmx", tmx(unit(en="a"), unit(en="b", zh="二")))
    assert [array.to_pylist() for array in opened.lines("source")] == [["b"]]


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


def test_a_character_in_xliff_that_xml_does_not_allow(tmp_path: Path) -> None:
    opened = reader(tmp_path, "xliff", V12.replace("Three", "Three\b", 1).encode(), invalid="drop")
    assert pairs_of(opened) == [("One two", "一二")]
    assert faults_of(opened) == [0, Fault.INVALID_TEXT, Fault.MISSING_SIDE]
