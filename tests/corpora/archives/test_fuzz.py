"""Fuzzes extraction with damaged archives: the requested members or an NmtPrepError, and no file left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.config import ExtractSettings as Limits
from tests.conftest import examples
from tests.corpora.archives.builders import PACKERS, TEXT, extract, tar_of, zip_of
from tests.corpora.formats.fuzzing import mutated, survives

ENTRIES = [("d/a.en", TEXT[:3000]), ("d/" + "x" * 150, b"long name"), ("d/b.en", b"one\ntwo\n"), ("e", b"")]
SAMPLES = {
    **{f"tar in {number}": packer(tar_of(*ENTRIES)) for number, packer in enumerate(PACKERS)},
    **{f"file in {number}": packer(TEXT) for number, packer in enumerate(PACKERS)},
    "zip": zip_of(*ENTRIES),
    "compressed members": tar_of(*[(f"d/{n}.en", packer(TEXT[:999])) for n, packer in enumerate(PACKERS)]),
}
TOKENS = [bytes(512), bytes(1024), b"PK\x01\x02", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh9", b"ustar\x0000", b"../", b"/"]
LIMITS = Limits(max_member_bytes=1 << 20)


def check(directory: Path, sample: str, seed: int) -> None:
    content = mutated(SAMPLES[sample], TOKENS, seed)
    out = directory / "out"
    wanted = ("d/*.en",) if seed % 2 else ("d/a.en", "d/b.en")
    assert survives(lambda: extract(directory, content, *wanted, limits=LIMITS)), f"too much memory: {seed}"
    left = list(out.iterdir()) if out.exists() else []
    assert all(path.name.isdecimal() for path in left), f"left behind: {left}, {seed}"
    for path in left:
        path.unlink()


@pytest.mark.parametrize("sample", SAMPLES)
@settings(max_examples=examples(40), database=None)
@given(seed=st.integers(0, 2**32))
def test_archives_survive(tmp_path_factory: pytest.TempPathFactory, sample: str, seed: int) -> None:
    check(tmp_path_factory.getbasetemp(), sample, seed)
