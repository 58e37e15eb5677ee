"""Parts of the native core that no public class exposes."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from _nmt_prep_core import UNICODE_VERSION, T2TModel, T2TTokenCounter, is_alphanumeric

from nmt_prep.base.errors import InvalidTextError


def column(*lines: bytes) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, lines)]).astype(np.int64)
    return np.frombuffer(b"".join(lines), np.uint8), offsets


@pytest.mark.skipif(unicodedata.unidata_version != UNICODE_VERSION, reason="this Python has another Unicode version")
def test_alphanumeric_follows_unicodedata() -> None:
    differing = [i for i in range(0x110000) if is_alphanumeric(i) != (unicodedata.category(chr(i))[0] in "LN")]
    assert differing == []


def test_alphanumeric() -> None:
    assert UNICODE_VERSION == "14.0.0"
    assert [c for c in "aZ09_ é中²Ⅷ٣\u0301。😀'-\n" if is_alphanumeric(ord(c))] == list("aZ09é中²Ⅷ٣")
    assert not is_alphanumeric(0x10FFFF)
    with pytest.raises(ValueError, match="0x10FFFF"):
        is_alphanumeric(0x110000)


@pytest.mark.parametrize("bad", [b"\xff", b"\xe4\xb8", b"\xed\xa0\x80", b"ab\x80", b"\xf8\x88\x80\x80\x80"])
def test_raw_buffers_are_validated(bad: bytes) -> None:
    data, offsets = column(b"fine", bad, b"fine")
    with pytest.raises(InvalidTextError, match=r"line 1: byte \d+ "):
        T2TTokenCounter().add(data, offsets, 2)
    with pytest.raises(InvalidTextError, match=r"line 1: byte \d+ "):
        T2TModel(list("fine_")).encode(data, offsets, 2)


@pytest.mark.parametrize("offsets", [[0, 1, 3], [0, 2, 3, 3], [0, 2, 2, 3], [0, 1]])
def test_a_line_that_ends_inside_a_character_is_invalid(offsets: list[int]) -> None:
    data = np.frombuffer("中".encode(), np.uint8)
    with pytest.raises(InvalidTextError, match="line 0: byte 0 "):
        T2TModel(["中", "_"]).encode(data, np.array(offsets, np.int64), 1)


@pytest.mark.parametrize("offsets", [[], [0, 5], [3, 1], [-1, 2], [0, 3, 2], [2**62, 2**62]])
def test_offsets_must_fit_the_bytes(offsets: list[int]) -> None:
    data = np.frombuffer(b"abcd", np.uint8)
    for call in (T2TTokenCounter().add, T2TModel(list("abcd_")).encode):
        with pytest.raises(InvalidTextError, match="offsets"):
            call(data, np.array(offsets, np.int64), 1)


def test_offsets_need_not_begin_at_zero() -> None:
    data = np.frombuffer(b"xxab cdxx", np.uint8)
    values, bounds = T2TModel(["_", "ab", "cd"]).encode(data, np.array([2, 7], np.int64), 1)
    assert values.tolist() == [1, 0, 2, 0]
    assert bounds.tolist() == [0, 4]
