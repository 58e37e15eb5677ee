from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from nmt_prep.base.errors import ArgumentError, VocabularyError
from nmt_prep.training.outputs.piece_lists import Limits, count_pieces, piece_list

COUNTS = count_pieces(["b a@@ b", "c  a@@ d", "é"])


@pytest.mark.parametrize(
    ("trainer", "limits", "expected"),
    [
        ("subword_nmt", Limits(), "b 2\na@@ 2\nc 1\nd 1\né 1\n"),
        ("fairseq", Limits(), "a@@ 2\nb 2\nc 1\nd 1\né 1\n" + "".join(f"madeupword000{n} 0\n" for n in range(7))),
        ("fairseq", Limits(most=6), "a@@ 2\nb 2\nmadeupword0000 0\nmadeupword0001 0\n"),
        ("joey", Limits(least=2), "a@@\nb\n"),
        ("marian", Limits(most=4), "</s>: 0\n<unk>: 1\na@@: 2\nb: 3"),
        ("opennmt_py", Limits(), "b\t2\na@@\t2\nc\t1\nd\t1\né\t1\n"),
        ("opennmt_tf", Limits(least=2), "<blank>\n<s>\n</s>\nb\na@@\n"),
        ("tensorflow_nmt", Limits(most=1), "<unk>\n<s>\n</s>\nb\n"),
        ("thumt", Limits(least=2), "<pad>\n<eos>\n<unk>\na@@\nb\n"),
    ],
)
def test_lists(trainer: str, limits: Limits, expected: str) -> None:
    assert piece_list(trainer, COUNTS, limits) == expected


def test_json_of_sockeye() -> None:
    text = piece_list("sockeye", COUNTS, Limits(most=3, multiple=4))
    assert list(json.loads(text)) == ["<pad>", "<unk>", "<s>", "</s>", "b", "a@@", "é", "<pad7>"]
    assert text.startswith('{\n    "<pad>": 0,\n')
    assert '"é": 6' in text


def test_keys_of_marian() -> None:
    pieces = [":", "!", "#", "@@", "-", "&a", "a:", '"\\', "~", "null", "a\t\x01"]
    found = piece_list("marian", dict.fromkeys(pieces, 1), Limits()).split("\n")[2:]
    assert sorted(line.rpartition(": ")[0] for line in found) == sorted(
        ['":"', '"!"', '"#"', '"@@"', '"-"', '"&a"', '"a:"', '"\\"\\\\"', '"~"', '"null"', '"a\\t\\x01"']
    )
    plain = ["a@@", "1", "true", "-a", "a#", "a!", "nullx", ":a", "?b", "\\", "a\u00a0b"]
    found = piece_list("marian", dict.fromkeys(plain, 1), Limits()).split("\n")[2:]
    assert sorted(line.rpartition(": ")[0] for line in found) == sorted(plain)


def test_pieces_that_a_trainer_would_misread() -> None:
    for piece in ("</s>", "a\u00a0b", "\u2028"):
        with pytest.raises(VocabularyError, match="the text has the piece"):
            piece_list("fairseq", {piece: 1}, Limits())
    with pytest.raises(ArgumentError, match="no list for 'other'"):
        piece_list("other", {}, Limits())


@pytest.mark.parametrize(
    ("name", "trainer", "limits"),
    [
        ("fairseq-joined.dict.txt.gz", "fairseq", Limits()),
        ("fairseq-threshold3.dict.txt.gz", "fairseq", Limits(least=3)),
        ("fairseq-nwords203.dict.txt", "fairseq", Limits(most=203)),
        ("joey-min2.gz", "joey", Limits(least=2)),
        ("marian-max200.yml", "marian", Limits(most=200)),
        ("marian.yml.gz", "marian", Limits()),
        ("opennmt-py.gz", "opennmt_py", Limits()),
        ("opennmt-tf.gz", "opennmt_tf", Limits()),
        ("sockeye-min2-pad8.json.gz", "sockeye", Limits(least=2, multiple=8)),
        ("sockeye-n150.json", "sockeye", Limits(most=150)),
        ("sockeye-shared.json.gz", "sockeye", Limits()),
        ("tensorflow-nmt.gz", "tensorflow_nmt", Limits()),
        ("thumt.gz", "thumt", Limits()),
    ],
)
def test_files_of_the_trainers(shared: Path, name: str, trainer: str, limits: Limits) -> None:
    folder = shared / "golden/recipes"
    if not folder.exists():
        pytest.skip("the golden files are not here")
    texts = [gzip.decompress((folder / f"bpe/0.m30k.{side}.bpe.gz").read_bytes()).decode() for side in ("en", "de")]
    counts = count_pieces(line for text in texts for line in text.removesuffix("\n").split("\n"))
    expected = (folder / "trainers" / f"0.{name}").read_bytes()
    expected = gzip.decompress(expected) if name.endswith(".gz") else expected
    assert piece_list(trainer, counts, limits) == expected.decode()
