from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt_prep import load_tokenizer
from nmt_prep.training.outputs import output_files as mmap
from nmt_prep.training.outputs.fairseq import dictionary, new_ids
from tests.corpus import lines_of
from tests.reference.mmap import read_fairseq
from tests.training.outputs.runs import SENTENCEPIECE, recorded_ids, run_outputs

VOCABULARIES: dict[str, dict[str, Any]] = {
    "t2t": {"size": 200},
    "byte_bpe": {"kind": "byte_bpe", "size": 300, "shared": True},
    "sentencepiece": {**SENTENCEPIECE, "id_layout": "fairseq"},
}


class Pieces:
    """A tokenizer of some pieces with pad 0, eos 1 and unk 3."""

    pad_id, eos_id, bos_id, unk_id = 0, 1, None, 3

    def __init__(self, *pieces: str) -> None:
        self._pieces = list(pieces)

    def words(self) -> list[str]:
        return self._pieces

    def __len__(self) -> int:
        return len(self._pieces)


def dictionary_of(*pieces: str) -> list[str]:
    tokenizer: Any = Pieces(*pieces)
    return dictionary(tokenizer, np.arange(len(pieces)) * 10)


def read(directory: Path, side: str, shards: int, split: str = "train") -> list[list[int]]:
    stems = [f"{split}{number or ''}.en-zh.{side}" for number in range(shards)]
    return [row for stem in stems for row in read_fairseq(directory / stem)[0]]


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_ids_are_those_of_the_records_in_the_numbering_of_fairseq(tmp_path: Path, kind: str) -> None:
    directory = run_outputs(tmp_path, {"kind": "fairseq"}, vocab=VOCABULARIES[kind]) / "fairseq"
    stems = ["train", "train1", "train2", "dev"]
    names = {f"{stem}.en-zh.{side}.{end}" for stem in stems for side in ("en", "zh") for end in ("bin", "idx")}
    assert {path.name for path in directory.iterdir()} == names | {"dict.en.txt", "dict.zh.txt", "output.json"}
    counts = []
    for side, ids in zip(("en", "zh"), recorded_ids(tmp_path / "run"), strict=True):
        [path] = [*(tmp_path / "run" / "vocab").glob(f"*.{side}*"), *(tmp_path / "run" / "vocab").glob("*zer.json")][:1]
        words = load_tokenizer(path, id_layout=VOCABULARIES[kind].get("id_layout")).words()
        listed = [
            "<s>",
            "<pad>",
            "</s>",
            "<unk>",
            *(line.split(" ")[0] for line in lines_of(directory / f"dict.{side}.txt")),
        ]
        assert len(listed) % 8 == 0
        rows = read(directory, side, 3)
        assert [[listed[n] for n in row] for row in rows] == [[*(words[n] for n in row[:-1]), "</s>"] for row in ids]
        counts.append(Counter(listed[n] for row in rows for n in row[:-1]))
    assert len(read(directory, "en", 1, "dev")) == len(read(directory, "zh", 1, "dev")) == 20
    if VOCABULARIES[kind].get("shared"):
        counts = [counts[0] + counts[1]] * 2
    for side, expected in zip(("en", "zh"), counts, strict=True):
        lines = [line.split(" ") for line in lines_of(directory / f"dict.{side}.txt")]
        assert {piece: int(count) for piece, count in lines if int(count)} == expected


def test_the_layout_of_fairseq_keeps_its_ids(tmp_path: Path) -> None:
    directory = run_outputs(tmp_path, {"kind": "fairseq"}, vocab=VOCABULARIES["sentencepiece"]) / "fairseq"
    assert read(directory, "en", 3) == recorded_ids(tmp_path / "run")[0]


def test_new_ids() -> None:
    tokenizer: Any = Pieces("<pad>", "</s>", "a", "<unk>", "b")
    assert new_ids(tokenizer).tolist() == [1, 2, 4, 3, 5]


def test_dictionaries_are_padded_and_mark_repeated_pieces() -> None:
    assert dictionary_of("<pad>", "</s>", "a", "<unk>", "<s>", "a") == [
        "a 20",
        "<s> 40 #fairseq:overwrite",
        "a 50 #fairseq:overwrite",
        "madeupword0000 0",
    ]
    assert dictionary_of("p", "e", "a", "u", "b", "c", "d") == ["a 20", "b 40", "c 50", "d 60"]
    assert dictionary_of("p", "e", "a b", "u")[0] == r"a\u0020b 20"


@pytest.mark.parametrize(("pieces", "kind"), [(65_499, "uint16"), (65_500, "uint32")])
def test_the_type_of_ids_follows_the_size_of_the_vocabulary(pieces: int, kind: str) -> None:
    assert mmap.id_type(pieces, "uint32") == kind


def test_wide_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "_BLOCK", 7)  # offsets are computed in blocks
    monkeypatch.setattr(mmap, "MAX_UINT16_PIECES", 99)
    directory = run_outputs(tmp_path, {"kind": "fairseq"}, vocab={"size": 200}) / "fairseq"
    assert read_fairseq(directory / "train.en-zh.en")[1] == np.uint32
    assert len(read(directory, "en", 3)) == 60


@pytest.mark.slow
def test_fairseq_reads_the_files(tmp_path: Path) -> None:
    indexed = pytest.importorskip("fairseq.data.indexed_dataset")
    dictionaries = pytest.importorskip("fairseq.data.dictionary")
    directory = run_outputs(tmp_path, {"kind": "fairseq"}) / "fairseq"
    for side in ("en", "zh"):
        rows = read_fairseq(directory / f"train1.en-zh.{side}")[0]
        dataset = indexed.make_dataset(str(directory / f"train1.en-zh.{side}"), "mmap")
        assert [dataset[n].tolist() for n in range(len(dataset))] == rows
        loaded = dictionaries.Dictionary.load(str(directory / f"dict.{side}.txt"))
        assert (loaded.bos(), loaded.pad(), loaded.eos(), loaded.unk()) == (0, 1, 2, 3)
        assert max(n for row in rows for n in row) < len(loaded)
