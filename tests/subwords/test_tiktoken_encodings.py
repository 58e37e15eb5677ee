from __future__ import annotations

import atexit
import base64
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from tiktoken_ext import openai_public  # type: ignore[import-untyped]
from tokenizers import Tokenizer

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords import load_tokenizer
from nmt_prep.subwords.byte_bpe.pretokenization import is_gpt2_pattern
from nmt_prep.subwords.byte_bpe.ranks import TIKTOKEN_ENCODINGS
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from tests.subwords.byte_bpe_models import O200K
from tests.subwords.byte_bpe_samples import small_tokenizer
from tests.subwords.test_byte_bpe_models import TEXTS

NAMES = ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"]


def ranks() -> dict[bytes, int]:
    tokens = sorted((token for token in small_tokenizer().vocabulary.tokens if token), key=len)
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


@pytest.mark.parametrize("name", NAMES)
def test_what_tiktoken_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *args, **options: {})
    theirs: dict[str, Any] = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = TIKTOKEN_ENCODINGS[f"{name}.tiktoken"]
    assert ours.specials == theirs["special_tokens"]
    same = ours.pattern == theirs["pat_str"]
    assert same or (is_gpt2_pattern(ours.pattern or "") and is_gpt2_pattern(theirs["pat_str"]))


def test_pattern_in_words_of_a_tokenizer_json() -> None:
    assert TIKTOKEN_ENCODINGS["o200k_base.tiktoken"].pattern == O200K


def write(path: Path) -> Path:
    path.write_bytes(b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in ranks().items()))
    return path


@cache
def loaded(name: str) -> tuple[tiktoken.Encoding, ByteBPETokenizer, ByteBPETokenizer, Tokenizer]:
    """Tiktoken's encoding; ours of a file of its ranks, and of what we save; tokenizers' of the same."""
    pattern = TIKTOKEN_ENCODINGS[f"{name}.tiktoken"].pattern or ""
    with tempfile.TemporaryDirectory() as directory:
        ours = ByteBPETokenizer.load(write(Path(directory) / "made"), pattern=pattern, specials={})
        saved = Path(directory) / "saved.json"
        ours.save(saved)
        peer = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks(), special_tokens={})
        return peer, ours, ByteBPETokenizer.load(saved), Tokenizer.from_file(str(saved))


atexit.register(loaded.cache_clear)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None)
@given(text=TEXTS)
def test_ids(name: str, text: str) -> None:
    peer, ours, again, theirs = loaded(name)
    expected = peer.encode_ordinary(text)
    assert ours.encode(text) == expected
    assert again.encode(text) == expected
    assert theirs.encode(text).ids == expected


def test_by_name(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="ids must be 0 or more, lie close together"):
        load_tokenizer(write(tmp_path / "cl100k_base.tiktoken"))  # its special tokens lie far behind so few others
    with pytest.raises(VocabularyError, match="do not say how text is cut; load it with pattern="):
        load_tokenizer(write(tmp_path / "own.tiktoken"))
    with pytest.raises(VocabularyError, match="do not say how text is cut; load it with pattern="):
        load_tokenizer(write(tmp_path / "tokenizer.model"))
