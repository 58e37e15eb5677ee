"""Damaged or hostile XML, read by the TMX reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt_prep.base.errors import CorpusError
from nmt_prep.corpora import open_corpus
from tests.corpora.formats.builders import LANGUAGES, corpus, pairs_of, read
from tests.corpora.formats.fuzzing import peak_of
from tests.corpora.formats.test_memories import tmx, unit

GOOD = tmx(unit(en="a", zh="b"))
BOMB = b"""<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<tmx><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, r"a\.tmx:1: a DOCTYPE with an internal subset is rejected"),
        (b"<!DOCTYPE t [<!ELEMENT t ANY>]><t/>", "a DOCTYPE with an internal subset is rejected"),
        (b'<!DOCTYPE t SYSTEM "file:///etc/passwd" [ ]><t/>', "a DOCTYPE with an internal subset is rejected"),
        (GOOD.replace(b">a<", b">&secret;<"), r"a\.tmx:4: the entity &secret; is not defined"),
        (GOOD[:150], r"a\.tmx:4: not well-formed XML at column \d+ \(.*\); the file is damaged or truncated"),
        (GOOD.replace(b"</tmx>", b""), r"not well-formed XML at column \d+ \(no element found\)"),
        (GOOD + b"<more/>", "junk after document element"),
        (GOOD.replace(b">a<", b">\0<"), r"invalid token"),
        (GOOD.replace(b">a<", b">\xff<"), r"invalid token"),
        (GOOD.replace(b"</seg>", b"</gse>"), "mismatched tag"),
        (b"", "no element found"),
        (b"<html><body/></html>", r"a\.tmx:1: begins with <html>, not with <tmx>; correct format in the config"),
        (b"<tmx>" * 300, "elements nested more than 200 deep"),
        (
            b"<tmx>" + b"".join(b"<e%d/>" % n for n in range(20_000)) + b"</tmx>",
            "more than 10000 different element names",
        ),
        (b"<tmx><!--" + b"x" * (5 << 20) + b"--></tmx>", "a tag or comment of more than 4194304 bytes"),
        (b'<tmx a="' + b"x" * (5 << 20) + b'"/>', "a tag or comment of more than 4194304 bytes"),
        (tmx(*[unit(**{f"x{n}": "a"}) for n in range(1200)]), "more than 1000 different languages"),
    ],
)
def test_refused_xml(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "tmx", content)


def test_an_external_dtd_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "tmx14.dtd").write_bytes(b'<!ENTITY secret "loaded">')
    assert read(tmp_path, "tmx", GOOD) == [("a", "b")]
    with pytest.raises(CorpusError, match="the entity &secret; is not defined"):
        read(tmp_path, "tmx", GOOD.replace(b">a<", b">&secret;<"))


def test_memory_does_not_grow_with_a_segment(tmp_path: Path) -> None:

    path = tmp_path / "a.tmx"
    before, after = tmx(unit(en="MARK", zh="b"), unit(en="c", zh="d")).split(b"MARK")
    with path.open("wb") as file:
        file.write(before)
        for _ in range(64):
            file.write(b"x" * (1 << 20))
        file.write(after)
    opened, pairs = open_corpus(corpus("tmx"), [{"both": path}], LANGUAGES), list[tuple[str, str]]()
    assert peak_of(lambda: pairs.extend(pairs_of(opened))) < 8 << 20
    assert pairs == [("c", "d")]
