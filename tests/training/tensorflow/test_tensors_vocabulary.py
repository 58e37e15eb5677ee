from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from nmt_prep.base.errors import OutputError, VocabularyError
from nmt_prep.training.tensorflow.tensors import check_vocab, vocab_tables

pytestmark = pytest.mark.tensorflow


def test_tables_hold_the_pieces_in_the_order_of_ids(encode_run: Callable[..., Path]) -> None:
    source, target = vocab_tables(encode_run({}))
    words = tf.constant(["<pad>_", "<EOS>_", "a", "b_", "_", "never seen"])
    assert source.lookup(words).numpy().tolist() == target.lookup(words).numpy().tolist() == [0, 1, 2, 3, 4, -1]


def test_missing_special_words_are_prepended(tmp_path: Path) -> None:
    vocabulary, out = tmp_path / "vocab", tmp_path / "out"
    vocabulary.write_bytes("a\nb\u2028x \n\u3000\n".encode())
    out.mkdir()
    assert check_vocab(vocabulary, out) == (6, str(out / "vocab"))
    assert (out / "vocab").read_bytes() == "<unk>\n<s>\n</s>\na\nb\u2028x\n\u3000\n".encode()
    assert check_vocab(out / "vocab", tmp_path) == (6, str(out / "vocab"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "vocab"]


def test_other_special_words(tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocab"
    vocabulary.write_bytes(b"UNK\nBOS\nEOS\na")
    names = {"unk": "UNK", "sos": "BOS", "eos": "EOS"}
    assert check_vocab(str(vocabulary), tmp_path / "out", **names) == (4, str(vocabulary))
    assert not (tmp_path / "out").exists()


def test_words_can_be_counted_without_a_check(tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocab"
    vocabulary.write_bytes(b"a\nb\n")
    assert check_vocab(vocabulary, tmp_path / "out", check_special_token=False) == (2, str(vocabulary))


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="cannot be read: No such file"):
        check_vocab(tmp_path / "absent", tmp_path)
    short = tmp_path / "short"
    short.write_bytes(b"a\n\xff\n")
    with pytest.raises(VocabularyError, match="2 words; a vocabulary has at least 3"):
        check_vocab(short, tmp_path)
    short.write_bytes(b"a\nb\nc\n")
    with pytest.raises(OutputError):
        check_vocab(short, short)
