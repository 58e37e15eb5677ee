from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from nmt_prep import digests
from nmt_prep.digests import DigestCache, checked_steps


@pytest.mark.parametrize(
    ("content", "whole"),
    [(b"abcdefghij", True), (b"abcdefghijk", False), (b"abcdefghi", False), (b"abcdeFghij", False)],
)
def test_changed_steps_are_found(tmp_path: Path, content: bytes, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "STEP_BYTES", 4)
    file = tmp_path / "file"
    file.write_bytes(b"abcdefghij")
    steps = DigestCache(tmp_path).steps(file)
    file.write_bytes(content)
    assert [bytes(block) for _, block in checked_steps(file, steps.of_range(0, 4))] == [b"abcd"]
    with nullcontext() if whole else pytest.raises(ValueError, match=r"file has changed"):
        read = [(at, bytes(block)) for at, block in checked_steps(file, steps.of_range(6, 10))]
        assert read == [(4, b"efgh"), (8, b"ij")]
