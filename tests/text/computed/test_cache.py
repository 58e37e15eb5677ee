from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from nmt_prep.base.errors import ComputedError
from nmt_prep.text.computed import cache as cache_module
from nmt_prep.text.computed.cache import Cache, Entries, caches_below

Keys = npt.NDArray[np.uint64]


def keys(*numbers: int) -> tuple[Keys, Keys]:
    high = np.array(numbers, np.uint64)
    return high, high * np.uint64(7)


def opened(directory: Path, kind: pa.DataType | None = None) -> Cache:
    return Cache(directory, kind or pa.float64(), {"name": "kiwi"})


def found(cache: Cache, *numbers: int) -> list[object]:
    values, places = cache.find(*keys(*numbers))
    return [None if place < 0 else values[place].as_py() for place in places.tolist()]


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.suffix in (".log", ".run"))


def test_values_are_found_again_in_this_process_and_in_later_ones(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.add(*keys(5, 2), pa.array([0.5, 0.2]))
    cache.add(*keys(3), pa.array([0.3]))
    assert found(cache, 1, 2, 3, 5) == [None, 0.2, 0.3, 0.5]
    assert (len(cache), files(tmp_path)) == (3, ["00000001.log"])
    cache.close()
    again = opened(tmp_path)  # which makes a sorted file of the log
    assert (found(again, 2, 3, 4, 5), files(tmp_path)) == ([0.2, 0.3, None, 0.5], ["00000002.run"])
    text = opened(tmp_path / "text", pa.large_string())
    text.add(*keys(1, 2), pa.array(["a\tb", ""], pa.large_string()))
    assert found(text, 0, 1, 2) == [None, "a\tb", ""]


def test_the_first_stored_value_counts_for_all(tmp_path: Path) -> None:
    one, other = opened(tmp_path), opened(tmp_path)
    one.add(*keys(1, 2), pa.array([1.0, 2.0]))
    other.add(*keys(2, 3), pa.array([20.0, 3.0]))
    one.add(*keys(3), pa.array([30.0]), one.reads)  # which does not know yet what the other one has stored
    assert found(one, 1, 2, 3) == found(other, 1, 2, 3) == [1.0, 2.0, 3.0]
    assert files(tmp_path) == ["00000001.log", "00000002.log"]  # a log that is in use stays


def test_keys_with_equal_halves_are_told_apart() -> None:
    high = np.array([1, 1, 1, 2], np.uint64)
    entries = Entries(high, np.array([3, 5, 9, 5], np.uint64), pa.array([1.0, 2.0, 3.0, 4.0]))
    asked = np.array([0, 1, 1, 1, 2, 2, 9], np.uint64), np.array([5, 5, 9, 4, 3, 5, 5], np.uint64)
    assert entries.find(*asked).tolist() == [-1, 1, 2, -1, -1, 3, -1]


def test_a_full_log_becomes_a_sorted_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_FULL_BYTES", 6 * 500)
    cache = opened(tmp_path)
    for number in range(10, 0, -1):
        cache.add(*keys(number), pa.array([float(number)]))
    assert files(tmp_path) == ["00000002.run", "00000003.log"]
    assert found(cache, *range(1, 11)) == [float(number) for number in range(1, 11)]
    cache.withdraw()
    assert (files(tmp_path), len(cache)) == ([], 0)


def damaged(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("suffix", [".log", ".run"])
def test_a_file_may_be_cut_or_damaged_anywhere(tmp_path: Path, suffix: str) -> None:
    store = tmp_path / "root" / ("0f" * 16)
    cache = opened(store)
    for number in range(1, 4):
        cache.add(*keys(number), pa.array([float(number)]))
    if suffix == ".run":
        cache.close()
        opened(store)
    (path,) = store.glob(f"*{suffix}")
    whole = path.read_bytes()
    frame = len(whole) // 3 if suffix == ".log" else len(whole)
    for at in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:at])
        (facts,) = caches_below(tmp_path / "root")
        assert (facts.values, facts.unreadable) == (at // frame, at % frame)
        path.write_bytes(whole)
        damaged(path, at)
        other = tmp_path / str(at)
        other.mkdir()
        (other / path.name).write_bytes(path.read_bytes())
        known = [value for value in found(opened(other), 1, 2, 3) if value is not None]
        assert known == (
            [] if suffix == ".run" else [1.0, 2.0, 3.0][: at // frame] + [1.0, 2.0, 3.0][at // frame + 1 :]
        )


def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / ("0f" * 16)
    cache = opened(store)
    cache.add(*keys(1), pa.array([1.0]))
    write: Callable[[int, bytes], int] = os.write

    def half(handle: int, data: bytes) -> int:
        write(handle, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    two = keys(2)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        with pytest.raises(ComputedError, match="No space left on device; free some"):
            cache.add(*two, pa.array([2.0]))
    cache.add(*keys(3), pa.array([3.0]))
    cache.close()
    with monkeypatch.context() as patched:
        patched.setattr(cache_module, "_write_frame", Mock(side_effect=OSError(errno.ENOSPC, "full")))
        assert (found(opened(store), 1, 2, 3), files(store)) == ([1.0, None, 3.0], ["00000001.log"])
    assert (found(opened(store), 1, 2, 3), files(store)) == ([1.0, None, 3.0], ["00000002.run"])
    assert [facts.unreadable for facts in caches_below(tmp_path)] == [0]


def test_a_log_may_be_empty(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "00000001.log").touch()  # of a process that was killed before it wrote
    assert (found(opened(tmp_path), 1), files(tmp_path)) == ([None], [])


def test_values_that_are_not_certain_can_be_withdrawn(tmp_path: Path) -> None:
    opened(tmp_path).add(*keys(1), pa.array([1.0]))
    cache = opened(tmp_path)
    cache.add(*keys(2), pa.array([2.0]))
    cache.withdraw()
    assert found(cache, 1, 2) == found(opened(tmp_path), 1, 2) == [1.0, None]


def test_a_damaged_description_is_written_again(tmp_path: Path) -> None:
    store = tmp_path / ("0f" * 16)
    opened(store).add(*keys(1), pa.array([1.0]))
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "about.json").write_text("{}")  # of another program
    for content in ("", "[]"):
        (store / "about.json").write_text(content)
        assert [(facts.about, facts.values) for facts in caches_below(tmp_path)] == [({}, 1)]
        opened(store)
        assert [facts.about for facts in caches_below(tmp_path)] == [{"name": "kiwi"}]
