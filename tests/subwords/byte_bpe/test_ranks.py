from __future__ import annotations

import base64
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tiktoken
from _nmt_prep_core import byte_bpe_rank_merges
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from nmt_prep.base.errors import EncodeError, InvalidTextError, VocabularyError
from nmt_prep.subwords import load_tokenizer
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, is_gpt2_pattern
from nmt_prep.subwords.byte_bpe.ranks import TIKTOKEN_ENCODINGS
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from tests.reference import byte_bpe as reference
from tests.subwords.byte_bpe.models import KIMI_K2, O200K
from tests.subwords.byte_bpe.samples import small_tokenizer
from tests.subwords.byte_bpe.test_models import TEXTS
from tests.subwords.byte_bpe.test_published import corpora

NAMES = ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]


def ranks() -> dict[bytes, int]:
    tokens = sorted((token for token in small_tokenizer().vocabulary.tokens if token), key=len)
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


@given(st.lists(st.sampled_from([b"a", b"b", b"c", b"ab", b"bc", b"aa", b"\xff"]), min_size=1), st.data())
def test_merges_of_ranks(parts: list[bytes], data: st.DataObject) -> None:
    joined = st.lists(st.sampled_from(parts), min_size=1, max_size=5).map(b"".join)
    letters = [bytes([byte]) for byte in b"".join(parts)]
    tokens = data.draw(st.permutations([*{*letters, *parts, *data.draw(st.lists(joined, max_size=20))}]))
    found = byte_bpe_rank_merges(tokens).reshape(-1, 3)
    assert found.tolist() == [list(merge) for merge in reference.merges_of_ranks(tokens)]


@pytest.mark.parametrize("name", NAMES)
def test_patterns_and_special_tokens_equal_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *args, **options: {})
    theirs: dict[str, Any] = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = TIKTOKEN_ENCODINGS[f"{name}.tiktoken"]
    assert ours.specials == theirs["special_tokens"]
    same = ours.pattern == theirs["pat_str"]
    assert same or (is_gpt2_pattern(ours.pattern or "") and is_gpt2_pattern(theirs["pat_str"]))


def test_the_pattern_equals_that_of_a_tokenizer_json() -> None:
    assert TIKTOKEN_ENCODINGS["o200k_base.tiktoken"].pattern == O200K


def write(path: Path) -> Path:
    path.write_bytes(b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in ranks().items()))
    return path


@lru_cache(maxsize=1)
def loaded(pattern: str) -> tuple[tiktoken.Encoding, ByteBPETokenizer]:
    """Returns tiktoken's encoding, and our tokenizer loaded from a file of its ranks."""
    with tempfile.TemporaryDirectory() as directory:
        ours = ByteBPETokenizer.load(write(Path(directory) / "made"), pattern=pattern, specials={"<e>": 500})
    return tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks(), special_tokens={"<e>": 500}), ours


PATTERNS = [
    *(str(TIKTOKEN_ENCODINGS[f"{name}.tiktoken"].pattern) for name in NAMES),
    r"\p{Han}+|[\p{L}&&[^\p{Han}]]+|\s+",
    r"\w+",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_ids(pattern: str, text: str) -> None:
    peer, ours = loaded(pattern)
    expected = peer.encode_ordinary(text)
    assert ours.encode(text, disallowed_special=()) == expected
    assert ours.encode_batch([text, "", text], 1).to_lists() == [expected, [], expected]
    assert ours.decode(expected) == peer.decode(expected)


def test_special_tokens_of_ranks_that_tiktoken_encodes() -> None:
    _, ours = loaded(r"\w+|\W")
    assert ours.encode("a<e>b", allowed_special="all") == [*ours.encode("a"), 500, *ours.encode("b")]
    with pytest.raises(EncodeError, match="the text contains the special token '<e>' at character 1"):
        ours.encode("a<e>b")
    assert ours.encode_batch(["<e>"]).to_lists() == [ours.encode("<e>", disallowed_special=())]


def test_refused_for_ranks_that_tiktoken_encodes(tmp_path: Path) -> None:
    _, ours = loaded(r"\w+|\W")
    with pytest.raises(ValueError, match="dropout is not supported for ranks with this pattern"):
        ours.encode("x", dropout=0.1, seed=1)
    with pytest.raises(VocabularyError, match=r"tokenizer.json cannot express the pattern .*tiktoken's syntax"):
        ours.save(tmp_path / "x.json")
    with pytest.raises(VocabularyError, match=r"tiktoken does not accept the pattern '\(a': .*; correct it"):
        ByteBPETokenizer.load(write(tmp_path / "made"), pattern="(a", specials={})
    ours.save(tmp_path / "again", format="tiktoken")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "made").read_bytes()
    not_utf8 = pa.array([b"a", b"\xff"]).cast(pa.binary()).view(pa.string())
    with pytest.raises(InvalidTextError, match="line 1: byte 0 is not UTF-8"):
        ours.encode_batch(not_utf8)


@pytest.mark.parametrize("library", ["tokenizers", "tiktoken"])
def test_libraries_that_are_not_installed(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_tokenizer().save(tmp_path / "native.json")
    ByteBPETokenizer.train(["a b"], 300, pattern=r"\w+").save(tmp_path / "own.json")
    monkeypatch.setitem(sys.modules, library, None)
    assert ByteBPETokenizer.load(tmp_path / "native.json").encode("the cat")
    assert ByteBPETokenizer.load(write(tmp_path / "made"), pattern=GPT2_PATTERN, specials={}).encode("the cat")
    file, options = ("own.json", {}) if library == "tokenizers" else ("made", {"pattern": r"\w+", "specials": {}})
    with pytest.raises(
        VocabularyError, match=rf"needs {library}: pip install '\.\[{library}\]' in a checkout of nmt_prep"
    ):
        ByteBPETokenizer.load(tmp_path / file, **options)


def test_ranks_with_a_native_pattern(tmp_path: Path) -> None:
    peer, ours = loaded(KIMI_K2)
    text = "the<e>的cat"
    assert ours.encode(text, allowed_special={"<e>"}) == peer.encode(text, allowed_special={"<e>"})
    assert ours.vocabulary.pretokenization.libraries == []
    assert ours.encode("the cat", dropout=1.0, seed=1) == [ranks()[bytes([byte])] for byte in b"the cat"]
    assert ours.encode("the cat", dropout=0.0, seed=1) == peer.encode_ordinary("the cat")


def test_published_ranks_with_the_pattern_of_another_model(shared: Path) -> None:
    path = shared / "golden/published/cl100k_base.tiktoken"
    peer = tiktoken.Encoding("x", pat_str=KIMI_K2, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens={})
    ours = ByteBPETokenizer.load(path, pattern=KIMI_K2, specials={})
    checked = 0
    for name, whole in corpora(shared, "corpora/wmt22-enzh"):
        lines = whole[::40]
        assert ours.encode_batch(lines, 1).to_lists() == peer.encode_ordinary_batch(lines, num_threads=1), name
        checked += len(lines)
    assert checked > 1_250


def test_known_file_names_imply_the_pattern(tmp_path: Path) -> None:
    fewer = load_tokenizer(write(tmp_path / "cl100k_base.tiktoken"))  # the special tokens follow as before
    assert [fewer.pieces[number] for number in (len(ranks()), len(ranks()) + 1)] == ["", "<|endoftext|>"]
    assert len(fewer) == len(ranks()) + 21
    with pytest.raises(VocabularyError, match="have no pattern; load it with pattern="):
        load_tokenizer(write(tmp_path / "own.tiktoken"))
    with pytest.raises(VocabularyError, match="have no pattern; load it with pattern="):
        load_tokenizer(write(tmp_path / "tokenizer.model"))
