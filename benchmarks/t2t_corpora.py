"""Texts and the peer of the Tensor2Tensor benchmarks."""

from __future__ import annotations

import gzip
import importlib
import tarfile
import warnings
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
_SHARED = REPOSITORY.parent / "shared" / "corpora"
_TOY = REPOSITORY / "data" / "toy" / "training-parallel-toy.tgz"


def _read(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _default() -> dict[str, bytes]:
    if not _SHARED.exists():
        return _members(_TOY, "toy")
    texts = _members(_SHARED / "wmt22-enzh" / "training-parallel-general-v22.tgz", "general-v22")
    for side in ("en", "de"):
        texts[f"multi30k.{side}"] = _read(_SHARED / "multi30k-ende" / f"train.{side}.gz")
    return texts


def _members(archive: Path, name: str) -> dict[str, bytes]:
    texts = {}
    with tarfile.open(archive) as members:
        for side in ("en", "zh"):
            member = members.extractfile(f"training/{name}.zh-en.{side}")
            assert member is not None
            texts[f"{name}.{side}"] = member.read()
    return texts


def corpora(paths: list[Path]) -> dict[str, list[str]]:
    """Returns stripped lines by name, as Tensor2Tensor reads them; the defaults if no path is given."""
    texts = {path.name: _read(path) for path in paths} if paths else _default()
    return {name: [line.strip() for line in raw.decode().removesuffix("\n").split("\n")] for name, raw in texts.items()}


def megabytes(lines: list[str]) -> float:
    """Returns the size of the text in UTF-8, in units of 10^6 bytes."""
    return sum(len(line.encode()) for line in lines) / 1e6


def peer() -> Any:
    """Returns upstream's class; importing it takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("tensor2tensor.data_generators.text_encoder").SubwordTextEncoder
