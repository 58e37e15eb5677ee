"""GPT-2's own vocabulary, compared with tiktoken and tokenizers."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, bytes_of
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer


def corpora(shared: Path, folder: str = "corpora") -> Iterator[tuple[str, list[str]]]:
    for path in sorted(shared.glob(f"{folder}/**/*.gz")):
        yield path.name, gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    for path in sorted(shared.glob(f"{folder}/**/*.tgz")):
        with tarfile.open(path) as archive:
            for member in archive:
                if (file := archive.extractfile(member)) is not None:
                    data = file.read()
                    text = gzip.decompress(data) if member.name.endswith(".gz") else data
                    yield member.name, text.decode().removesuffix("\n").split("\n")


@cache
def peers(path: Path) -> tuple[ByteBPETokenizer, tiktoken.Encoding, Tokenizer]:
    vocabulary = json.loads(path.read_text())["model"]["vocab"]
    specials = {"<|endoftext|>": vocabulary.pop("<|endoftext|>")}
    ranks = {bytes_of(token) or b"": rank for token, rank in vocabulary.items()}
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens=specials)
    return ByteBPETokenizer.load(path), encoding, Tokenizer.from_file(str(path))


@pytest.fixture
def published(shared: Path) -> Path:
    return shared / "golden/published/gpt2.tokenizer.json"


def test_literals(published: Path) -> None:
    tokenizer, _, _ = peers(published)
    assert len(tokenizer) == 50257
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.bos_id) == (None, 50256, None)
    assert tokenizer.encode("Hello world") == [15496, 995]
    assert tokenizer.encode("hello <|endoftext|>", allowed_special="all") == [31373, 220, 50256]
    assert tokenizer.encode("你好") == [19526, 254, 25001, 121]


@pytest.mark.slow
def test_whole_corpora(shared: Path, published: Path) -> None:
    tokenizer, encoding, peer = peers(published)
    texts = 0
    for name, lines in corpora(shared):
        rows = tokenizer.encode_batch(pa.array(lines), threads=2)
        expected = encoding.encode_ordinary_batch(lines, num_threads=2)
        assert rows.to_lists() == expected, name
        assert tokenizer.decode_batch(rows) == lines, name
        theirs = [row.ids for row in peer.encode_batch_fast(lines)]
        assert np.array_equal(rows.values, np.concatenate([np.array(row, np.int32) for row in theirs])), name
        texts += 1
    assert texts >= 12


def test_part_of_the_corpora(shared: Path, published: Path) -> None:
    tokenizer, encoding, peer = peers(published)
    for name, lines in corpora(shared):
        part = lines[:200]
        rows = tokenizer.encode_batch(pa.array(part), threads=2).to_lists()
        assert rows == [encoding.encode_ordinary(line) for line in part], name
        assert rows == [row.ids for row in peer.encode_batch_fast(part)], name


# Characters that Python 3.11 knows: later ones are letters to some of the three packages and not yet to others.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cn", "Co"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.one_of(CHARACTERS, st.sampled_from("' \t\nstrevmld\u3000\u00a0的，é9")), max_size=60))
def test_random_text(published: Path, text: str) -> None:
    tokenizer, encoding, peer = peers(published)
    ids = tokenizer.encode(text, disallowed_special=())
    assert ids == encoding.encode_ordinary(text)
    if "<|endoftext|>" not in text:  # always special in tokenizers
        assert ids == peer.encode(text).ids
    assert tokenizer.decode(ids) == text


def test_ranks_are_the_merges(published: Path, tmp_path: Path) -> None:
    tokenizer, _, _ = peers(published)
    tokenizer.save(tmp_path / "gpt2.tiktoken", format="tiktoken")
    loaded = ByteBPETokenizer.load(
        tmp_path / "gpt2.tiktoken", pattern=GPT2_PATTERN, specials=dict(tokenizer.vocabulary.specials)
    )
    assert np.array_equal(loaded.vocabulary.merges, tokenizer.vocabulary.merges)
    tokenizer.save(tmp_path / "openai", format="openai")
    assert ByteBPETokenizer.load(tmp_path / "openai").fingerprint == tokenizer.fingerprint
