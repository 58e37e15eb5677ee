"""Codes and pieces equal those that subword-nmt 0.3.8 wrote."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from nmt_prep import SubwordNMTTokenizer


def content(path: Path) -> str:
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def lines(path: Path) -> list[str]:
    return content(path).removesuffix("\n").split("\n")


@pytest.fixture
def golden(shared: Path) -> Path:
    folder = shared / "golden/recipes"
    if not folder.exists():
        pytest.skip("the golden files are not here")
    return folder


@pytest.mark.parametrize(
    ("name", "options"),
    [("0.codes", {"merges": 600}), ("0.codes-total.gz", {"total_symbols": 600}), ("raw.codes-lf", {"merges": 1500})],
)
def test_codes(golden: Path, tmp_path: Path, name: str, options: dict[str, int]) -> None:
    if name.startswith("raw"):
        text = [
            line.replace("\r", "") for source in ("fuzz", "adversarial") for line in lines(golden / f"in/{source}.txt")
        ]
    else:
        text = [*lines(golden / "bpe/m30k.en.in"), *lines(golden / "bpe/m30k.de.in")]
    SubwordNMTTokenizer.train(text, **options).save(tmp_path / "codes")
    assert (tmp_path / "codes").read_text() == content(golden / "bpe" / name)


CASES: list[tuple[str, str, dict[str, Any]]] = [
    *((f"{text}.bpe", "0.codes", {}) for text in ("m30k.en", "m30k.de", "val.en", "val.de")),
    *((f"{text}.bpe-m100", "0.codes", {"merges": 100}) for text in ("m30k.en", "val.de")),
    *((f"{text}.bpe-v01", "0.codes-v01", {}) for text in ("m30k.de", "val.en")),
    *((f"val.en.bpe-v{n}", "0.joint-codes", {"vocabulary": "0.joint-vocab-0", "threshold": n}) for n in (5, 30)),
    *((f"val.de.bpe-v{n}", "0.joint-codes", {"vocabulary": "0.joint-vocab-1", "threshold": n}) for n in (5, 30)),
    ("val.en.bpe-v", "0.joint-codes", {"vocabulary": "0.joint-vocab-0"}),
    ("val.en.bpe-v01-vocab", "0.codes-v01", {"vocabulary": "0.joint-vocab-0", "threshold": 5}),
    ("val.en.bpe-sep", "0.codes", {"separator": "￭"}),
    ("val.en.bpe-gloss", "0.codes", {"glossaries": ["er", "in", "[0-9]+", "&[a-z]+;"]}),
    ("val.en.fast", "0.fast-codes", {}),
    ("adversarial.bpe-lf", "0.codes", {}),
    ("fuzz.bpe-lf", "0.codes", {}),
    ("fuzz.bpe-lf-v5", "0.joint-codes", {"vocabulary": "0.joint-vocab-0", "threshold": 5}),
]


@pytest.mark.parametrize(("name", "codes", "options"), CASES, ids=[name for name, *_ in CASES])
def test_pieces(golden: Path, name: str, codes: str, options: dict[str, Any]) -> None:
    source = name.rpartition(".")[0]
    if source in ("adversarial", "fuzz"):
        text = [line.replace("\r", "") for line in lines(golden / f"in/{source}.txt")]
    else:
        text = lines(golden / f"bpe/{source}.in")
    options = {key: golden / "bpe" / value if key == "vocabulary" else value for key, value in options.items()}
    tokenizer = SubwordNMTTokenizer.load(golden / "bpe" / codes, **options)
    assert tokenizer.segment(text).to_pylist() == lines(golden / f"bpe/0.{name}.gz")
