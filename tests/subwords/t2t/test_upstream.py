"""The dialect against the package tensor2tensor itself."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from nmt_prep.subwords.t2t.training import TokenCounts
from tests.conftest import examples
from tests.subwords.counted import as_dict

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(importlib.util.find_spec("tensor2tensor") is None, reason="tensor2tensor is not installed"),
]

texts = st.text("ab_\\u;09 中。é😀\n\u0301", max_size=25) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
relaxed = settings(
    deadline=None, max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def upstream() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("tensor2tensor.data_generators.text_encoder")


@relaxed
@given(lines=st.lists(texts, max_size=10), end=texts)
def test_counts(upstream: Any, lines: list[str], end: str) -> None:
    counts = TokenCounts()
    counts.add([*lines, end])
    expected: dict[str, int] = {}
    for line in [*lines, end]:
        for token in upstream.tokenizer.encode(line):
            expected[token] = expected.get(token, 0) + 1
    assert as_dict(counts.columns()) == expected


@relaxed
@given(
    lines=st.lists(texts, min_size=1, max_size=6),
    size=st.sampled_from([20, 40, 80]),
    max_subtoken_length=st.sampled_from([None, 1, 2, 4, 200]),
    reserved=st.lists(st.sampled_from(["a", "ab", "<x>", "_", "中。"]), unique=True, max_size=2),
)
def test_training_and_files(
    upstream: Any,
    tmp_path: Path,
    lines: list[str],
    size: int,
    max_subtoken_length: int | None,
    reserved: list[str],
) -> None:
    assume(any(lines))
    peer = upstream.SubwordTextEncoder.build_from_generator(
        lines, size, max_subtoken_length, [*upstream.RESERVED_TOKENS, *reserved]
    )
    ours = T2TTokenizer.train(lines, size, max_subtoken_length=max_subtoken_length, reserved=reserved)
    assert ours.pieces == peer.all_subtoken_strings
    assert [ours.encode(line) for line in lines] == [peer.encode(line) for line in lines]

    peer.store_to_file(str(tmp_path / "peer"))
    ours.save(tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "peer").read_bytes()
    again = upstream.SubwordTextEncoder(str(tmp_path / "ours"))
    loaded = T2TTokenizer.load(tmp_path / "peer")
    assert loaded.pieces == again.all_subtoken_strings
    assert [loaded.encode(line) for line in lines] == [again.encode(line) for line in lines]


@relaxed
@given(
    pieces=st.lists(st.text("ab_\\u;0155 中é'\"\u2028\x1c", max_size=5), max_size=25),
    quote=st.sampled_from(["'", '"', ""]),
    lines=st.lists(texts, max_size=6),
    ids=st.lists(st.integers(-2, 60), max_size=30),
)
def test_vocabularies(
    upstream: Any, tmp_path: Path, pieces: list[str], quote: str, lines: list[str], ids: list[int]
) -> None:
    complete = ["<pad>_", "<EOS>_", *pieces, *"<padEOS>\\_u;0123456789ab 中。é😀'\"\u0301\u2028\x1c"]
    path = tmp_path / "v.subwords"
    path.write_text("".join(f"{quote}{piece}{quote}\n" for piece in complete), encoding="utf-8", newline="\n")
    peer = upstream.SubwordTextEncoder(str(path))
    ours = T2TTokenizer.load(path)
    assert ours.pieces == peer.all_subtoken_strings
    if quote:
        assert [ours.encode(line) for line in lines] == [peer.encode(line) for line in lines]
    assert ours.decode(ids) == peer.decode(ids)
