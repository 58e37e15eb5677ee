"""Tests of PO files."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.text.blocks import Fault
from tests.corpora.formats.builders import faults_of, pairs_of, read, reader

PO = r"""# a comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: here.c:3
msgctxt "menu"
msgid "Open \"%s\"\t"
msgstr "打开“%s”"

msgid ""
"Two "
"parts\n"
msgstr "两"
"部分\n"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d 个文件"
msgstr[1] "%d 些文件"

#, c-format, fuzzy
#| msgid "Old"
msgid "Fuzzy"
msgstr "模糊"

msgid "Untranslated"
msgstr ""

#~ msgid "Obsolete"
#~ msgstr "旧"
"""


def test_po(tmp_path: Path) -> None:
    opened = reader(tmp_path, "po", PO.encode())
    expected = [
        ('Open "%s"\t', "打开“%s”"),
        ("Two parts", "两部分"),
        ("%d file", "%d 个文件"),
        ("%d files", "%d 些文件"),
        ("Untranslated", ""),
    ]
    assert pairs_of(opened) == expected
    assert faults_of(opened) == [0, 0, 0, 0, Fault.FUZZY, 0]


def test_po_states_its_encoding(tmp_path: Path) -> None:
    content = PO.replace("UTF-8", "GB18030").encode("gb18030")
    assert read(tmp_path, "po", content)[0] == ('Open "%s"\t', "打开“%s”")
    assert read(tmp_path, "po", PO.encode(), encoding="utf-8")[0] == ('Open "%s"\t', "打开“%s”")
    for name in ("KLINGON", "undefined", "idna", "hex"):
        with pytest.raises(CorpusError, match=f"its header states the unknown encoding {name}"):
            read(tmp_path, "po", PO.replace("UTF-8", name).encode())


HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
LATIN = "Content-Type: text/plain; charset=iso-8859-1\\n"


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        (f'# charset=iso-8859-1\n{HEADER}msgid "Hello"\nmsgstr "Grüße"\n', [("Hello", "Grüße")]),
        (f'#~ msgid ""\n#~ msgstr "{LATIN}"\n{HEADER}msgid "a"\nmsgstr "ü"\n', [("a", "ü")]),
        (f'msgctxt "c"\nmsgid ""\nmsgstr "{LATIN}"\nmsgid "a"\nmsgstr "ü"\n', [("a", "ü")]),
        (f'msgid "a"\nmsgstr "{LATIN}"\nmsgid "b"\nmsgstr "ü"\n', [("a", LATIN.replace("\\n", "")), ("b", "ü")]),
        (f'\ufeff{HEADER}\n{HEADER}msgid "a"\nmsgstr "ü"\n', [("a", "ü")]),
        (
            'msgid ""\nmsgstr "X: charset=l1\\nContent-Type: char"\n"set=utf8"\nmsgid "a"\nmsgstr "ü"\n',
            [("a", "ü")],
        ),
        (
            f'{HEADER}msgid "1 file"\nmsgid_plural "%d files"\nmsgstr[0] "n 个"\n',
            [("1 file", "n 个"), ("%d files", "n 个")],
        ),
        ('#, fuzzy\n#~| msgid "o"\n#~ msgid "old"\n#~ msgstr "alt"\n\nmsgid "new"\nmsgstr "neu"\n', [("new", "neu")]),
        ('#, c-format, not-fuzzy\nmsgid "new"\nmsgstr "neu"\n', [("new", "neu")]),
        ('#= fuzzy\nmsgid "a"\nmsgstr "b"\n', []),
    ],
)
def test_po_entries(tmp_path: Path, content: str, pairs: list[tuple[str, str]]) -> None:
    assert read(tmp_path, "po", content.encode()) == pairs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'msgid "a\nmsgstr "b"\n', r"a\.po:1: not a line of a catalog: 'msgid \"a'"),
        (b'"a"\n', r"a\.po:1: a text before any msgid"),
        (b'msgid "\\xe4"\n', r"a\.po:1: \\xe4 is a byte"),
        (b"msgid " + b'"' + b"x" * 200 + b'"', r"a\.po:1: the line is longer than max_line_bytes"),
        (b'msgid "a"\nmsgstr "\xff"\n', r"a\.po:2: not UTF-8 at byte 18"),
    ],
)
def test_bad_po(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "po", content, max_line_bytes=150)
