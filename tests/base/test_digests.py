from __future__ import annotations

import os
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path

import pytest

from nmt_prep.base import digests
from nmt_prep.base.digests import CheckedFile, DigestCache, StepRange, cache_directory, digest_of, sha256_of
from tests.reference.line_ends import hash_block

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_digests_are_sha256(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert sha256_of(tmp_path / "abc") == ABC
    assert digest_of({"b": [1, None], "a": "ü"}) == digest_of({"a": "ü", "b": [1, None]})
    assert digest_of("abc") == "6cc43f858fbb763301637b5af970e2a46b46f461f27e5a0f41e009c59b827b25"


def test_a_file_is_read_again_only_if_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def counting(path: Path) -> str:
        reads.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr(digests, "sha256_of", counting)
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    cache = DigestCache(tmp_path)
    assert [cache.digest(file), cache.digest(file)] == [ABC, ABC]
    cache.save()
    again = DigestCache(tmp_path)
    assert again.digest(file) == ABC
    assert reads == ["file"]

    os.utime(file, ns=(1, 1))
    assert again.digest(file) == ABC
    assert again.digest(file, trust=False) == ABC
    file.write_bytes(b"abd")
    assert again.digest(file) != ABC
    assert len(reads) == 4


def test_a_lost_or_damaged_cache_costs_only_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    cache = DigestCache(tmp_path)
    cache.digest(file)
    cache.save()
    (memory,) = (cache_directory() / "digests").iterdir()
    for content in ("{", "[]", '{"x": 1}', ""):
        memory.write_text(content)
        assert DigestCache(tmp_path).digest(file) == ABC


def test_an_unwritable_cache_directory_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    monkeypatch.setenv("NMT_PREP_CACHE", str(tmp_path / "file"))
    cache = DigestCache(tmp_path)
    assert cache.digest(tmp_path / "file") == ABC
    cache.save()


def test_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMT_PREP_CACHE", "/x/cache")
    assert cache_directory() == Path("/x/cache")
    monkeypatch.delenv("NMT_PREP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert cache_directory() == Path("/y/nmt_prep")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_directory() == Path("/home/me/.cache/nmt_prep")


def test_steps_are_noted_in_the_pass_that_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "STEP_BYTES", 4)
    file = tmp_path / "file"
    file.write_bytes(b"a\n\nbc\n\nd\n")
    cache = DigestCache(tmp_path)
    assert cache.digest(file, steps=True) == sha256_of(file)
    steps = cache.steps(file)
    assert (steps.size, steps.step, steps.newlines, steps.unended) == (9, 4, (2, 2, 1), False)
    assert steps.hashes == tuple(hash_block(block) for block in (b"a\n\nb", b"c\n\nd", b"\n"))
    assert steps.of_range(5, 8) == StepRange(4, 1, steps.hashes[1:2])
    assert steps.of_range(3, 9) == StepRange(4, 0, steps.hashes)
    link = tmp_path / "link"
    link.symlink_to("file")
    cache.remember(link, sha256_of(file))  # which does not drop the steps
    cache.save()
    monkeypatch.setattr(digests, "_digest_with_steps", None)
    assert DigestCache(tmp_path).steps(link) == steps
    assert DigestCache(tmp_path).steps(file) == steps
    assert DigestCache(tmp_path).digest(file) == sha256_of(file)


@pytest.mark.parametrize(("content", "newlines", "unended"), [(b"", (), False), (b"\nab", (1,), True)])
def test_steps_of_small_files(tmp_path: Path, content: bytes, newlines: tuple[int, ...], unended: bool) -> None:
    (tmp_path / "file").write_bytes(content)
    steps = DigestCache(tmp_path).steps(tmp_path / "file")
    assert (steps.size, steps.newlines, steps.unended) == (len(content), newlines, unended)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"abcdefghij")
    return tmp_path / "file"


@pytest.fixture
def steps(file: Path, monkeypatch: pytest.MonkeyPatch) -> StepRange:
    monkeypatch.setattr(digests, "STEP_BYTES", 4)
    return DigestCache(file.parent).steps(file).of_range(0, 10)


@pytest.mark.parametrize(
    ("content", "whole"),
    [(b"abcdefghij", True), (b"abcdefghijk", False), (b"abcdefghi", False), (b"abcdeFghij", False), (b"abcd", False)],
)
def test_changed_steps_are_found(file: Path, steps: StepRange, content: bytes, whole: bool) -> None:
    file.write_bytes(content)
    assert bytes(CheckedFile(file, steps).read(1, 3)) == b"bc"
    for end in (10, 12):
        with nullcontext() if whole else pytest.raises(ValueError, match=r"file has changed"):
            assert bytes(CheckedFile(file, steps).read(6, end)) == b"ghij"


@pytest.mark.parametrize("first", range(10))
def test_ranges_in_any_order(file: Path, steps: StepRange, first: int) -> None:
    checked = CheckedFile(file, steps)
    for begin, end in combinations(range(11), 2):
        assert bytes(checked.read(first, 10)) == b"abcdefghij"[first:]
        assert bytes(checked.read(begin, end)) == b"abcdefghij"[begin:end]


def test_an_empty_range_needs_no_steps(file: Path, steps: StepRange) -> None:
    assert bytes(CheckedFile(file, steps).read(0, 0)) == b""


def test_a_shared_step_is_read_once(file: Path, steps: StepRange) -> None:
    checked = CheckedFile(file, steps)
    assert bytes(checked.read(0, 6)) == b"abcdef"
    file.write_bytes(b"xxxxxxxxij")
    assert bytes(checked.read(6, 10)) == b"ghij"
    with pytest.raises(ValueError, match=r"file has changed"):
        checked.read(0, 6)
