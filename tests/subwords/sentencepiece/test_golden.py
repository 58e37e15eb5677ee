"""Published and newly trained models, compared with the library on real and random text."""

from __future__ import annotations

import functools
import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from tests.conftest import examples
from tests.subwords.sentencepiece.models import library, trained

PUBLISHED = ["llama2", "test_model", "test_ja_model"]
LINES = [
    "Two young, White males are outside near many bushes.",
    "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    "Several men in hard hats are operating a giant pulley system, 2,500 kg.",
    "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。",
    "我国经济社会发展取得新的重大成就，2022年GDP超过120万亿元。",
    "  １２３ ﬁne… ①½  ｶﾞｷﾞ\u3000がぎ  é e\u0301 ",
    "<sep>a<sep> x<cls>y ▁▁a \0\t\r \x7f\u200b\ufeff\u00ad 👩‍👩‍👧‍👦🇩🇪",
]
OPTIONS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "unigram_bytes": {"byte_fallback": True, "normalization_rule_name": "identity"},
    "bpe_bytes": {"model_type": "bpe", "byte_fallback": True, "split_digits": True},
    "folded": {"normalization_rule_name": "nmt_nfkc_cf", "character_coverage": 0.98},
    "nfkc_cf_bpe": {"model_type": "bpe", "normalization_rule_name": "nfkc_cf"},
    "suffix": {"treat_whitespace_as_suffix": True},
    "suffix_bpe": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "symbols": {"user_defined_symbols": ["<sep>", "<cls>", "the", " a"], "control_symbols": ["<ctl>"]},
    "symbols_bpe": {"model_type": "bpe", "user_defined_symbols": ["<sep>", "<cls>", "men", "ﬁ"]},
    "spaces": {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True, "split_by_whitespace": False},
    "spaces_bpe": {
        "model_type": "bpe",
        "remove_extra_whitespaces": False,
        "add_dummy_prefix": False,
        "split_by_whitespace": False,
    },
    "self_tested": {"self_test_sample_size": 5},
}
text = st.text(
    st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from("aeimn \u2581.,のが　１é")), max_size=60
)


ascii_text = st.text(st.sampled_from("abet. ,  x<>\t\x7f\x1fé，あ"), max_size=70)


@functools.cache
def model_of(name: str) -> bytes:
    return trained(LINES * 3, 420 if "bytes" in name else 150, **OPTIONS[name])


@functools.lru_cache(maxsize=1)
def loaded(file: bytes) -> tuple[SentencePieceTokenizer, SentencePieceProcessor]:
    return SentencePieceTokenizer(file), library(file)


def check(file: bytes, lines: list[str]) -> None:
    tokenizer, processor = loaded(file)
    assert tokenizer.library_reason is None
    for threads in (1, 3):
        rows = tokenizer.encode_batch(pa.array(lines), threads=threads)
        assert rows.to_lists() == processor.encode(lines, out_type=int, num_threads=1)
    assert tokenizer.decode_batch(rows) == [processor.decode(row) if row else "" for row in rows.to_lists()]


def corpora(shared: Path) -> Iterator[list[str]]:
    """Returns the lines of every file of the shared corpora, including markup and columns."""
    for path in sorted((shared / "corpora").rglob("*.*gz")):
        if path.suffix == ".tgz":
            with tarfile.open(path) as archive:
                files = [archive.extractfile(member) for member in archive if member.isfile()]
                members = [file.read() for file in files if file is not None]
        else:
            members = [path.read_bytes()]
        for raw in members:
            text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
            yield text.decode().split("\n")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models(shared: Path, name: str) -> None:
    file = (shared / f"golden/published/{name}.sentencepiece.model").read_bytes()
    check(file, LINES + [line for lines in corpora(shared) for line in lines[:150]])


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_on_whole_corpora(shared: Path, name: str) -> None:
    file = (shared / f"golden/published/{name}.sentencepiece.model").read_bytes()
    for lines in corpora(shared):
        check(file, lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unigram", "bpe", "unigram_bytes", "bpe_bytes", "symbols", "symbols_bpe"])
def test_trained_models_on_whole_corpora(shared: Path, name: str) -> None:
    with tarfile.open(shared / "corpora/wmt22-enzh/training-parallel-general-v22.tgz") as archive:
        files = [archive.extractfile(member) for member in archive if member.isfile()]
        lines = [line for file in files if file is not None for line in file.read().decode().split("\n")[:4000]]
    file = trained([*LINES * 10, *lines], 8000, **OPTIONS[name])
    for corpus in corpora(shared):
        check(file, corpus)


@pytest.mark.parametrize("name", PUBLISHED)
@settings(max_examples=examples(60))
@given(lines=st.lists(text, min_size=1, max_size=8))
def test_published_models_on_any_text(shared: Path, name: str, lines: list[str]) -> None:
    check((shared / f"golden/published/{name}.sentencepiece.model").read_bytes(), lines)


@pytest.mark.parametrize("name", OPTIONS)
def test_trained_models(name: str) -> None:
    check(model_of(name), [*LINES, *(line[::-1] for line in LINES), "".join(LINES), " ".join(LINES) * 30])


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=examples(25))
@given(lines=st.lists(st.one_of(text, ascii_text), min_size=1, max_size=8))
def test_trained_models_on_any_text(name: str, lines: list[str]) -> None:
    check(model_of(name), lines)


def test_literal_ids(shared: Path) -> None:
    path = shared / "golden/published/llama2.sentencepiece.model"
    tokenizer = SentencePieceTokenizer.load(path)
    assert tokenizer.encode("Hello world! 日本") == [15043, 3186, 29991, 29871, 30325, 30346]
    assert tokenizer.decode([15043, 3186, 29991, 29871, 30325, 30346]) == "Hello world! 日本"
    assert (tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (0, 1, 2, None)
    assert len(tokenizer) == 32000
