"""Readable twin of the validation of UTF-8."""

from __future__ import annotations


def first_invalid(data: bytes) -> int:
    """Returns the position of the first byte that is not UTF-8, or the size if all of them are."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data)
