from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError
from tests.corpora.formats.builders import read
from tests.corpora.formats.fuzzing import peak_of

SOURCE = b"""<srcset setid="t" srclang="any">
<doc docid="d1" genre="news"><hl><seg id="1">Head</seg></hl><p>
<seg id="2">One</seg>
<seg id="3">Two</seg></p></doc>
<doc docid="d2"><p><seg id="1">Three</seg></p></doc>
</srcset>"""


def test_segments_are_matched_by_document_and_id(tmp_path: Path) -> None:
    target = """<refset><DOC DOCID='d2' sysid="ref"><P>
<SEG ID='1'>三</SEG></P></DOC>
<doc docid=d1><p>
<seg id=3>二</seg>
<seg id = "1" >头</seg ><seg id="2">一</seg>""".encode()
    expected = [("Head", "头"), ("One", "一"), ("Two", "二"), ("Three", "三")]
    assert read(tmp_path, "sgm", SOURCE, target) == expected


def text_of(directory: Path, content: str, **options: str) -> str:
    side = f'<doc docid="d"><seg id="1">{content}</seg></doc>'.encode()
    [(source, target)] = read(directory, "sgm", side, side, options=options)
    assert source == target
    return source


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("R&amp;D &lt;b&gt; &quot;q&quot; &apos;", 'R&D <b> "q" \''),
        ("caf&eacute; &#20013;&#x4E2D;&#X1F600;", "café 中中😀"),
        ("AT&T &unknown; &amp;lt; & ;", "AT&T &unknown; &lt; & ;"),
        (" kept ", " kept "),
        ("wrapped\n  markup\r\n", "wrapped markup"),
        ("a&#10;b", "a b"),
        ("a < b\x85\u2028c", "a < b\x85\u2028c"),
        ("", ""),
        ("a<!-- <seg> </seg> &#0;\n-->b", "ab"),
        ("<![CDATA[1 < 2 &amp; </seg>]]>!", "1 < 2 &amp; </seg>!"),
    ],
)
def test_content(tmp_path: Path, content: str, expected: str) -> None:
    assert text_of(tmp_path, content) == expected


def test_content_with_entities(tmp_path: Path) -> None:
    assert text_of(tmp_path, "R&amp;D&#0;<!-- -->&lt;", entities="keep") == "R&amp;D&#0;&lt;"


def test_comments_are_no_segments(tmp_path: Path) -> None:
    side = b'<doc docid="d"><!-- <seg id="1">a</seg>\n<!-- --><seg id="1">b</seg><![CDATA[<seg id="2">c</seg>]]></doc>'
    assert read(tmp_path, "sgm", side, side) == [("b", "b")]


@pytest.mark.parametrize("start", [b"<!--", b"<![CDATA["])
@pytest.mark.parametrize("place", [b"<doc>", b'<seg id="1">'])
def test_a_comment_without_end(tmp_path: Path, start: bytes, place: bytes) -> None:
    with pytest.raises(CorpusError, match=r"a-ref\.sgm:2: <!(--|\[CDATA\[) has no end"):
        read(tmp_path, "sgm", SOURCE, b"\n" + place + start * 100_000)


def test_a_segment_without_content(tmp_path: Path) -> None:
    source, target = b'<doc docid="d"><seg id="1"/></doc>', b'<doc docid="d"><seg id=1>a</seg></doc>'
    assert read(tmp_path, "sgm", source, target) == [("", "a")]


def test_a_segment_missing_from_the_target(tmp_path: Path) -> None:
    with pytest.raises(AlignmentError) as caught:
        read(tmp_path, "sgm", SOURCE, SOURCE.replace(b'<seg id="3">Two</seg>', b""))
    source, target = tmp_path / "a-src.sgm", tmp_path / "a-ref.sgm"
    assert str(caught.value) == (
        f"{target}: doc 'd1', seg '3' is missing, but {source} has it (3 and 4 segments); "
        "check that the two files are the two sides of the same test set"
    )


SECOND = SOURCE.replace(b'id="3"', b'id="2"')


@pytest.mark.parametrize(
    ("source", "target", "kind", "message"),
    [
        (
            SOURCE.replace(b'<seg id="1">Three</seg>', b""),
            SOURCE,
            AlignmentError,
            r"a-src\.sgm: doc 'd2', seg '1' is missing, but .*a-ref\.sgm has it",
        ),
        (SECOND, SOURCE, AlignmentError, r"a-src\.sgm: doc 'd1', seg '2' occurs twice"),
        (SOURCE, SECOND, AlignmentError, r"a-ref\.sgm: doc 'd1', seg '2' occurs twice"),
        (
            SOURCE,
            SOURCE.replace(b"</seg></p></doc>\n</srcset>", b""),
            CorpusError,
            r"a-ref\.sgm: doc 'd\d', seg '\d' has no </seg>",
        ),
        (SOURCE, SOURCE.replace(b"One</seg>", b""), CorpusError, r"a-ref\.sgm: doc 'd\d', seg '\d' has no </seg>"),
        (SOURCE.replace(b' id="2"', b""), SOURCE, CorpusError, r"a-src\.sgm:3: a seg of doc 'd1' has no id"),
        (SOURCE.replace(b"One", b"\xff"), SOURCE, InvalidTextError, r"a-src\.sgm:3: not UTF-8"),
    ],
)
def test_bad_files(tmp_path: Path, source: bytes, target: bytes, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        read(tmp_path, "sgm", source, target)


@pytest.mark.parametrize("entity", ["&#xD800;", "&#1114112;"])
def test_invalid_character_references(tmp_path: Path, entity: str) -> None:
    with pytest.raises(InvalidTextError, match=rf"a-ref\.sgm: doc 'd', seg '1' refers to {entity}"):
        text_of(tmp_path, entity)


SEVERAL = """<refset><doc docid="d1" sysid="A"><seg id="1">甲头</seg><seg id="2">甲一</seg><seg id="3">甲二</seg></doc>
<doc docid="d1" sysid="B"><seg id="1">乙头</seg><seg id="2">乙一</seg><seg id="3">乙二</seg></doc>
<doc docid="d2" sysid="A"><seg id="1">甲三</seg></doc><doc docid="d2" sysid="B"><seg id="1">乙三</seg></doc>
</refset>""".encode()


@pytest.mark.parametrize(
    ("references", "targets"),
    [
        ("B", ["乙头", "乙一", "乙二", "乙三"]),
        (["B", "A"], ["乙头", "甲头", "乙一", "甲一", "乙二", "甲二", "乙三", "甲三"]),
        ("all", ["甲头", "乙头", "甲一", "乙一", "甲二", "乙二", "甲三", "乙三"]),
    ],
)
def test_several_references(tmp_path: Path, references: str | list[str], targets: list[str]) -> None:
    assert [target for _, target in read(tmp_path, "sgm", SOURCE, SEVERAL, references=references)] == targets


def test_one_of_several_references_must_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(
        AlignmentError, match=r"a-ref\.sgm: doc 'd1', seg '1' has the references 'A', 'B'; set references"
    ):
        read(tmp_path, "sgm", SOURCE, SEVERAL)
    with pytest.raises(AlignmentError, match=r"doc 'd1', seg '1' has no reference 'C', only 'A', 'B'; correct"):
        read(tmp_path, "sgm", SOURCE, SEVERAL, references="C")


def test_a_huge_tag_takes_little_memory(tmp_path: Path) -> None:
    side = b'<doc docid="d"><seg id="1" ' + b"x" * (1 << 20) + b">a</seg></doc>"
    pairs: list[tuple[str, str]] = []
    assert peak_of(lambda: pairs.extend(read(tmp_path, "sgm", side, side))) < 16 << 20
    assert pairs == [("a", "a")]


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


def test_a_segment_of_xml_without_id(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.wmt_xml:2: a seg of doc 'd1' has no id"):
        read(tmp_path, "wmt_xml", wmt(SRC.replace(' id="1"', "") + REF_A))
