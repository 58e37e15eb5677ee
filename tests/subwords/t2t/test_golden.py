"""Vocabularies and IDs that tensor2tensor 1.15.7 itself produced from real corpora."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from tests.reference import t2t as reference

GOLDEN = [
    ("general-v22", "en", 8192, 200),
    ("general-v22", "zh", 8192, 200),
    ("multi30k", "de", 2048, 6),
    ("multi30k", "de", 8192, 200),
    ("multi30k", "en", 8192, 200),
]


def corpus(shared: Path, name: str, side: str) -> list[str]:
    if name == "multi30k":
        raw = gzip.decompress((shared / f"corpora/multi30k-ende/train.{side}.gz").read_bytes())
    else:
        with tarfile.open(shared / "corpora/wmt22-enzh/training-parallel-general-v22.tgz") as archive:
            member = archive.extractfile(f"training/general-v22.zh-en.{side}")
            assert member is not None
            raw = member.read()
    return [line.strip() for line in raw.decode().removesuffix("\n").split("\n")]


@pytest.mark.parametrize(("name", "side", "size", "max_subtoken_length"), GOLDEN)
def test_vocabulary_and_ids(
    shared: Path, tmp_path: Path, name: str, side: str, size: int, max_subtoken_length: int
) -> None:
    stem = shared / f"golden/t2t/t2t.{name}.{side}.{size}.msl{max_subtoken_length}"
    vocabulary = stem.with_name(stem.name + ".subwords")
    lines = corpus(shared, name, side)

    T2TTokenizer.train(pa.array(lines), size, max_subtoken_length=max_subtoken_length).save(tmp_path / "found.subwords")
    assert (tmp_path / "found.subwords").read_bytes() == vocabulary.read_bytes()

    tokenizer = T2TTokenizer.load(vocabulary)
    rows = tokenizer.encode_batch(pa.array(lines), threads=2)
    with gzip.open(stem.with_name(stem.name + ".ids.gz"), "rt") as file:
        expected = [[int(i) for i in line.split()] for line in file.read().removesuffix("\n").split("\n")]
    assert rows.to_lists() == expected
    assert tokenizer.decode_batch(rows) == lines


def test_published_vocabulary(shared: Path) -> None:
    path = shared / "golden/published/vocab.translate_ende_wmt32k.32768.subwords"
    tokenizer = T2TTokenizer.load(path)
    twin = reference.load(path.read_bytes())
    assert tokenizer.pieces == tuple(twin.pieces)
    assert len(tokenizer) == 33708
    assert tokenizer.pieces[:5] == ("<pad>", "<EOS>", ", _", "._", "the_")
    assert tokenizer.piece_id("<EOS>") == 1
    for side in ("de", "en"):
        lines = corpus(shared, "multi30k", side)
        rows = tokenizer.encode_batch(lines)
        assert tokenizer.decode_batch(rows) == lines
        assert rows.to_lists()[:2000] == [twin.encode(line) for line in lines[:2000]]
