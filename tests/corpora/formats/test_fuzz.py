"""Fuzzes every reader with damaged input: a result or an NmtPrepError, in bounded time and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.corpora.registry import BUILT_IN
from tests.conftest import examples
from tests.corpora.formats.builders import faults_of, reader
from tests.corpora.formats.fuzzing import mutated, survives
from tests.corpora.formats.test_alignment import packed
from tests.corpora.formats.test_gettext import PO
from tests.corpora.formats.test_memories import V12, V20
from tests.corpora.formats.test_wmt import REF_A, REF_B, SRC, wmt

PAIRS = [(f"source {number}", f"目标 {number}") for number in range(40)]
MARKUP = [
    b"<",
    b">",
    b"&amp;",
    b"&x;",
    b"</seg>",
    b"<seg>",
    b"<tu>",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"<!DOCTYPE a [",
    b'"',
]
TEXT = [
    b"\n",
    b"\r\n",
    b"\t",
    b",",
    b'"',
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    b"\0",
    "\u2028".encode(),
    b"{",
    b"[",
]
SAMPLES: dict[str, tuple[list[bytes], dict[str, Any], list[bytes]]] = {
    **{kind: (*packed(kind, PAIRS), TEXT) for kind in ("plain", "tsv", "csv", "jsonl")},
    "utf-16": ([side.decode().encode("utf-16") for side in packed("plain", PAIRS)[0]], {"encoding": "utf-16"}, TEXT),
    "csv with names": (packed("csv", [("en", "zh"), *PAIRS])[0], {"columns": {"source": "zh", "target": "en"}}, TEXT),
    "sgm": (*packed("sgm", PAIRS), MARKUP),
    "tmx": (*packed("tmx", PAIRS), MARKUP),
    "xliff 1.2": ([V12.encode()], {}, MARKUP),
    "xliff 2.0": ([V20.encode()], {}, MARKUP),
    "wmt_xml": ([wmt(SRC + REF_A + REF_B)], {"references": "all"}, MARKUP),
    "po": ([PO.encode()], {}, [*TEXT, b'msgid "', b"msgstr", b"\\x", b"#, fuzzy\n", b"charset=utf-7"]),
}
KIND = {"utf-16": "plain", "csv with names": "csv", "xliff 1.2": "xliff", "xliff 2.0": "xliff"}


def test_every_reader_has_a_sample() -> None:
    assert {KIND.get(sample, sample) for sample in SAMPLES} == BUILT_IN.keys() - {"parquet"}


def check(directory: Path, sample: str, seed: int) -> None:
    contents, options, tokens = SAMPLES[sample]
    side = seed % len(contents)
    changed = [mutated(content, tokens, seed) if n == side else content for n, content in enumerate(contents)]
    kind = KIND.get(sample, sample)
    if kind in ("plain", "tsv", "csv", "jsonl") and seed % 3 == 0:
        options = {**options, "invalid": "drop", "max_line_bytes": 200}
    assert survives(lambda: faults_of(reader(directory, kind, *changed, **options))), f"too much memory: {seed}"


@pytest.mark.parametrize("sample", SAMPLES)
@settings(max_examples=examples(60), database=None)
@given(seed=st.integers(0, 2**32))
def test_readers_survive(tmp_path_factory: pytest.TempPathFactory, sample: str, seed: int) -> None:
    check(tmp_path_factory.getbasetemp(), sample, seed)
