"""Operations of a plan in the graph against those on NumPy arrays, and whole windows divided by both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_prep.base.errors import OutputError, VocabularyError
from nmt_prep.training.batches import vectors
from nmt_prep.training.batches.cutting import DivisionPlan, PlannedWindow, Split, WindowPairs, cut_window
from nmt_prep.training.batches.epoch import CorpusMix, EpochOrder, SplitIndex
from nmt_prep.training.batches.options import BatchRule, Buckets
from nmt_prep.training.records.record_columns import ShardIndex
from nmt_prep.training.tensorflow import tensors
from nmt_prep.training.tensorflow.tensors import check_vocab, vocab_tables
from tests.conftest import examples

pytestmark = pytest.mark.tensorflow

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.lists(st.integers(0, 9), max_size=30)


def same(operation: str, *arguments: Any) -> None:
    found = getattr(tensors, operation)(
        *(tf.constant(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments)
    )
    assert found.dtype == tf.int64
    assert found.numpy().tolist() == np.asarray(getattr(vectors, operation)(*arguments)).tolist()


@given(INT64, INT64, st.integers(0, 9))
def test_random_numbers(key: int, number: int, size: int) -> None:
    same("random", key, number, size)


@given(st.lists(INT64, max_size=9) | SMALL)
def test_sorting(values: list[int]) -> None:
    same("argsort", np.array(values, np.int64))
    same("inverse", np.argsort(np.array(values, np.int64), kind="stable"))


@given(SMALL, st.integers(1, 9))
def test_vectors(values: list[int], limit: int) -> None:
    vector = np.array(values, np.int64)
    ascending = np.sort(vector)
    same("size", vector)
    same("span", 3, 3 + len(vector), limit)
    same("spans", np.arange(len(vector)), vector)
    same("take", vector, np.arange(len(vector))[::-1].copy())
    same("where", vector < limit)
    same("choose", vector < limit, vector, -vector)
    same("repeat", vector, vector)
    same("minimum", vector, limit)
    same("maximum", vector, limit)
    same("sums_before", vector)
    same("counts", vector, 12)
    same("first_at_least", ascending, vector)
    same("jumps", vector + 1)
    if values:
        same("greatest", vector)


PAIRS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2)), min_size=1, max_size=60)
LIMITS = st.sets(st.integers(1, 29), max_size=4).map(lambda limits: (*sorted(limits), 30))


@pytest.mark.parametrize("case", range(7))
@settings(max_examples=examples(20))
@given(
    pairs=PAIRS,
    limits=LIMITS,
    seed=st.none() | st.integers(0, 2**40),
    batch=st.integers(1, 9),
    drop=st.booleans(),
    mixed=st.booleans(),
    done=st.integers(0, 3),
    split=st.tuples(st.integers(1, 3), st.integers(0, 1)).map(lambda numbers: Split(*numbers)),
)
def test_graph_and_numpy_divide_windows_alike(
    case: int,
    pairs: list[tuple[int, int, int]],
    limits: tuple[int, ...],
    seed: int | None,
    batch: int,
    drop: bool,
    mixed: bool,
    done: int,
    split: Split,
) -> None:
    source, target, corpora = np.array(pairs, np.int64).T
    blocks = np.array([[0, 1, len(pairs), 0]])
    index = SplitIndex((), (ShardIndex(np.array(pairs, np.uint16), blocks),), packed=False)
    draws = np.array([7, 0, 50])
    mix = CorpusMix(
        np.maximum(np.bincount(corpora, minlength=3), 1), draws, np.zeros(3, np.int64), np.zeros((1, 3), int)
    )
    longest = limits[len(limits) // 2]
    rules = [
        BatchRule(40, max_length=longest),
        BatchRule(40, batch, None, drop, longest, "truncate"),
        BatchRule(40, None, Buckets(limits, tuple(batch + limit for limit in limits)), drop),
        BatchRule(40, batch, None, drop, longest, "drop", longest),
        BatchRule(40, batch, None, drop, longest, "truncate", longest),
    ]
    rows = np.array([2] * (len(pairs) // 2) + [1] * (len(pairs) % 2), np.int64)
    cases = [(rule, index, mix if mixed else None, len(pairs) - 1) for rule in rules]
    cases += [(rule, SplitIndex((), (), packed=True), None, len(rows)) for rule in rules[3:]]
    rule, own, mix_of, take = cases[case]
    plan = DivisionPlan(EpochOrder(own, seed), rule, mix_of, rule.buckets is not None)
    window = PlannedWindow(5, np.array([0]), 0, take, done, split, plan.order.key or 0, mix.shift, 0)
    contents = WindowPairs(source, target, corpora, rows)
    in_graph = tf.nest.map_structure(lambda field: tf.constant(field, tf.int64), (window, contents))
    for one, other in zip(
        cut_window(plan, window, contents, vectors), cut_window(plan, *in_graph, tensors), strict=True
    ):
        assert (one is None and other is None) or one.tolist() == other.numpy().tolist()


def test_tables_hold_the_pieces_in_the_order_of_ids(encode_run: Callable[..., Path]) -> None:
    run = encode_run({})
    vocabulary = run / "vocab" / "plain"
    vocabulary.write_bytes(vocabulary.read_bytes() + b"'. _'\n")
    source, target = vocab_tables(run)
    words = tf.constant(["<pad>_", "<EOS>_", "a", "b_", "_", r".\32;_", "never seen"])
    assert source.lookup(words).numpy().tolist() == target.lookup(words).numpy().tolist() == [0, 1, 2, 3, 4, 5, -1]


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
