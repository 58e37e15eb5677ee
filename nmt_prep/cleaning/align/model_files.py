"""Files of arrays, which training writes and reads. The same arrays give the same bytes.

A file starts with a line of JSON that names its kind, some facts, the arrays, and the SHA-256 of all bytes after the
line; the arrays follow, each at a multiple of 64 bytes, in little-endian byte order.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import output_file, parse_json
from nmt_prep.base.errors import AlignmentModelError
from nmt_prep.base.runtime import kept

Arrays: TypeAlias = "Mapping[str, npt.NDArray[Any]]"
Content = TypeVar("Content")

_ALIGNED = 64
_LONGEST_HEADER = 1 << 20
_VERSION = 2


def write_arrays(path: Path, kind: str, facts: Mapping[str, Any], arrays: Arrays) -> None:
    """Writes a file atomically; a device or pipe is written in place."""
    listed = [[name, _dtype(array), len(array)] for name, array in arrays.items()]
    header = {"nmt_prep": "alignment", "version": _VERSION, "kind": kind, **facts, "arrays": listed}
    size = len(_line(header, "0" * 64))
    digest = hashlib.sha256()
    for part in _parts(arrays, size):
        digest.update(part)
    with output_file(path) as file:
        file.writelines(chain([_line(header, digest.hexdigest())], _parts(arrays, size)))


def read_arrays(path: Path, kind: str, dtypes: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Returns a file's facts, and its arrays, mapped into memory."""
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe waits for its writer
        raise AlignmentModelError(f"{path} is not a regular file, so it cannot be mapped into memory; copy it to one")
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
        facts = _facts(path, line, kind)
        listed, digest = facts.pop("arrays", None), facts.pop("sha256", None)
        if not isinstance(listed, list) or not all(_is_listed(entry, dtypes) for entry in listed):
            raise damaged(path, "its first line names other arrays")
        places = _places(listed, len(line), os.fstat(file.fileno()).st_size)
        if places is None:
            raise damaged(path, "its size does not fit its first line")
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise damaged(path, "its digest differs from the one in its first line")
        return facts, {
            name: np.memmap(file, dtype, "r", places[name], (length,)) if length else np.empty(0, dtype)
            for name, dtype, length in listed
        }


def damaged(path: Path, why: object) -> AlignmentModelError:
    """Returns the error for a damaged file."""
    return AlignmentModelError(f"{path} is damaged: {why}; make it again")


def _line(header: Mapping[str, Any], digest: str) -> bytes:
    return json.dumps({**header, "sha256": digest}, sort_keys=True).encode() + b"\n"


def _dtype(array: npt.NDArray[Any]) -> str:
    return array.dtype.newbyteorder("<").str


def _parts(arrays: Arrays, at: int) -> Iterator[memoryview]:
    """Yields the bytes of arrays, each after its padding, given the offset in the file at which they are written."""
    for array in arrays.values():
        data = np.ascontiguousarray(array, _dtype(array)).view(np.uint8).data
        yield memoryview(bytes(-at % _ALIGNED))
        yield data
        at += -at % _ALIGNED + data.nbytes


def _facts(path: Path, line: bytes, kind: str) -> dict[str, Any]:
    try:
        facts: Any = parse_json(line)
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or facts.pop("nmt_prep", None) != "alignment":
        raise AlignmentModelError(f"{path} is not a model of nmt-prep align; write one with nmt-prep align --save")
    version, held = facts.pop("version", None), facts.pop("kind", None)
    if version != _VERSION:
        raise AlignmentModelError(
            f"{path} has version {version} of the format; this nmt_prep reads version {_VERSION}: train the model again"
        )
    if held != kind:
        raise AlignmentModelError(f"{path} holds {held}, not a {kind}")
    return facts


def _is_listed(entry: object, dtypes: Mapping[str, str]) -> bool:
    match entry:
        case [str(name), str(dtype), int(length)] if not isinstance(length, bool):
            return dtypes.get(name) == dtype and length >= 0
    return False


def _places(listed: list[tuple[str, str, int]], at: int, size: int) -> dict[str, int] | None:
    """Returns each array's offset, given the first possible one; None if the arrays do not end with the file."""
    places = {}
    for name, dtype, length in listed:
        at += -at % _ALIGNED
        places[name] = at
        at += np.dtype(dtype).itemsize * length
    return places if at == size and len(places) == len(listed) else None


def shared(load: Callable[[Path], Content]) -> Callable[[Path], Content]:
    """Returns a function that loads a file, but returns the content loaded last in the process if the file is the same.

    The function raises :class:`AlignmentModelError` if the file cannot be read, and what ``load`` raises.
    """

    @kept()
    def loaded(path: Path, size: int, changed: int) -> Content:
        del size, changed
        return load(path)

    def load_once(path: Path) -> Content:
        try:
            status = path.stat()
            return loaded(path, status.st_size, status.st_mtime_ns)
        except OSError as error:
            what = f"cannot read the model {path}: {error.strerror or error}; check the path"
            raise AlignmentModelError(what) from error

    return load_once
