from __future__ import annotations

import os
from pathlib import Path

import pytest

from nmt_prep.base import digests
from nmt_prep.base.digests import DigestCache, StepRange, cache_directory, digest_of, sha256_of
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
