from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nmt_prep import load_tokenizer
from nmt_prep.base.errors import VocabularyError
from tests.reference.mmap import read_megatron
from tests.training.outputs.runs import recorded_ids, run_outputs

BPE = {"kind": "byte_bpe", "size": 300, "shared": True, "reserved": ["<to-zh>", "<sep>"]}


def read(directory: Path) -> list[list[int]]:
    sequences: list[list[int]] = []
    for number in range(3):
        rows, documents, kind = read_megatron(directory / f"train-{number:05d}-of-00003")
        assert documents == list(range(len(rows) + 1))
        assert kind == np.uint16
        sequences += rows
    return sequences


def test_a_pair_is_a_sequence_and_a_document(tmp_path: Path) -> None:
    tagged = {"kind": "megatron", "name": "tagged", "pair": "{eos} <to-zh> {target}{sep}{source}", "sep": "<sep>"}
    outputs = run_outputs(tmp_path, {"kind": "megatron"}, tagged, vocab=BPE)
    [path] = (outputs / "megatron").glob("*tokenizer.json")
    tokenizer = load_tokenizer(path)
    sources, targets = recorded_ids(tmp_path / "run")
    eos, tag, sep = tokenizer.eos_id, tokenizer.piece_id("<to-zh>"), tokenizer.piece_id("<sep>")
    pairs = list(zip(sources, targets, strict=True))
    assert {row[-1] for pair in pairs for row in pair} == {eos}
    assert read(outputs / "megatron") == [[*source[:-1], eos, *target[:-1], eos] for source, target in pairs]
    assert read(outputs / "tagged") == [[eos, tag, *target[:-1], sep, *source[:-1]] for source, target in pairs]
    names = {f"train-{n:05d}-of-00003.{end}" for n in range(3) for end in ("bin", "idx")}
    names |= {"dev-00000-of-00001.bin", "dev-00000-of-00001.idx", "output.json", path.name}
    assert {each.name for each in (outputs / "megatron").iterdir()} == names


@pytest.mark.slow
def test_megatron_reads_the_files(tmp_path: Path) -> None:
    indexed = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    outputs = run_outputs(tmp_path, {"kind": "megatron"}, vocab=BPE)
    prefix = outputs / "megatron" / "train-00001-of-00003"
    dataset = indexed.IndexedDataset(str(prefix))
    assert [dataset[n].tolist() for n in range(len(dataset))] == read_megatron(prefix)[0]


def test_pieces_that_a_vocabulary_lacks_end_the_run_before_any_file(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"no bos piece for \{bos\} in the key pair of the output megatron"):
        run_outputs(tmp_path, {"kind": "megatron", "pair": "{bos}{source}{target}"}, vocab=BPE)
    assert not (tmp_path / "run" / "outputs").exists()
