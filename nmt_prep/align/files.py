"""Files of arrays: what training writes and reads. The same arrays give the same bytes.

A file starts with a line of JSON that names its kind, some facts, and the arrays; the arrays follow, each at a multiple
of 64 bytes, in little-endian byte order.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nmt_prep.artefacts import output_file, parse_json
from nmt_prep.errors import AlignmentModelError

Arrays: TypeAlias = "Mapping[str, npt.NDArray[Any]]"

_ALIGNED = 64
_LONGEST_HEADER = 1 << 20
_TYPES = ("|u1", "<i4", "<i8", "<u8", "<f4")
_VERSION = 1


def write_arrays(path: Path, kind: str, facts: Mapping[str, Any], arrays: Arrays) -> None:
    """Writes a file, atomically; a device or pipe in place.

    Args:
        path: the file.
        kind: what it holds, for example ``model``.
        facts: values that JSON can hold.
        arrays: one-dimensional arrays by name.

    Raises:
        OutputError: it cannot be written.
    """
    listed = [[name, array.dtype.newbyteorder("<").str, len(array)] for name, array in arrays.items()]
    header = {"nmt_prep": "alignment", "version": _VERSION, "kind": kind, **facts, "arrays": listed}
    line = json.dumps(header, sort_keys=True).encode() + b"\n"
    with output_file(path) as file:
        file.write(line)
        end = len(line)
        for array in arrays.values():
            data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data
            file.write(b"\0" * (-end % _ALIGNED))
            file.write(data)
            end += -end % _ALIGNED + data.nbytes


def read_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Reads a file: its facts, and its arrays, which are mapped into memory.

    Raises:
        AlignmentModelError: it is no such file, or is damaged.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise AlignmentModelError(
                f"{path} is not a regular file, so it cannot be mapped into memory; copy it to one"
            )
        line, size = file.readline(_LONGEST_HEADER), status.st_size
        facts = _facts(path, line, kind)
        arrays: dict[str, npt.NDArray[Any]] = {}
        at = len(line)
        for name, dtype, length in facts.pop("arrays"):
            at += -at % _ALIGNED
            end = at + np.dtype(dtype).itemsize * length
            if end > size:
                raise _damaged(path)
            arrays[name] = np.memmap(file, dtype, "r", at, (length,)) if length else np.empty(0, dtype)
            at = end
    if at != size:
        raise _damaged(path)
    return facts, arrays


def _facts(path: Path, line: bytes, kind: str) -> dict[str, Any]:
    try:
        facts: Any = parse_json(line)
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or facts.pop("nmt_prep", None) != "alignment":
        raise AlignmentModelError(f"{path} is not a file of nmt-prep align; make one with nmt-prep align --save")
    version, found = facts.pop("version", None), facts.pop("kind", None)
    if version != _VERSION:
        raise AlignmentModelError(
            f"{path} has version {version} of the format; this nmt_prep reads version {_VERSION}: train the model again"
        )
    if found != kind:
        raise AlignmentModelError(f"{path} holds {found}, not a {kind}")
    if not all(_is_listed(entry) for entry in facts.get("arrays", [None])):
        raise _damaged(path)
    return facts


def _is_listed(entry: object) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 3
        and isinstance(entry[0], str)
        and entry[1] in _TYPES
        and isinstance(entry[2], int)
        and entry[2] >= 0
    )


def _damaged(path: Path) -> AlignmentModelError:
    return AlignmentModelError(f"{path} is damaged: its size does not fit its first line; make it again")
