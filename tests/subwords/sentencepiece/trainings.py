"""Trainings of the native core and of the library to compare, with texts and options that both kinds of models take."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sentencepiece
from hypothesis import strategies as st

from nmt_prep.base.columns import text_columns
from nmt_prep.subwords.sentencepiece.native_training import train_natively
from nmt_prep.subwords.sentencepiece.process import LibraryError

SPACE = "\u2581"
SETTINGS: dict[str, Any] = {
    "num_threads": 16,
    "shuffle_input_sentence": False,
    "vocab_size": 40,
    "model_type": "bpe",
    "character_coverage": 0.9995,
    "byte_fallback": False,
    "normalization_rule_name": "nmt_nfkc",
    "pad_id": 0,
    "eos_id": 1,
    "unk_id": 2,
    "bos_id": 3,
}
LINES = [
    "low lower lowest",
    "newer new newest",
    "a wide, wider world",
    "low low 2021 12 (a) a-b aaaa abab",
    "日本語 日本 日",
]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"vocab_size": 500},
    {"vocab_size": 500, "hard_vocab_limit": False},
    {"vocab_size": 10},
    {"vocab_size": 320, "byte_fallback": True},
    {"split_digits": True},
    {"split_by_number": False},
    {"split_by_unicode_script": False},
    {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False},
    {"max_sentencepiece_length": 3},
    {"character_coverage": 0.98},
    {"required_chars": "xyz日\0"},
    {"control_symbols": "<a>,<b>", "user_defined_symbols": ["low", 'x"y,z', "new"]},
    {"pretokenization_delimiter": "ow"},
    {"normalization_rule_name": "identity"},
    {"max_sentence_length": 17},
]
"""Options with which models of ``LINES`` are compared."""

RANDOM_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("split_digits", "split_by_number", "split_by_unicode_script"), st.booleans()),
    **dict.fromkeys(("allow_whitespace_only_pieces", "remove_extra_whitespaces"), st.booleans()),
    "character_coverage": st.sampled_from([0.98, 0.999, 1.0]),
    "user_defined_symbols": st.lists(st.sampled_from(["ab", "aba", "é"]), unique=True),
    "required_chars": st.text(st.sampled_from("abxy日"), max_size=3),
    "normalization_rule_name": st.sampled_from(["nmt_nfkc", "identity"]),
}


def by_library(lines: list[str], **options: Any) -> bytes | str:
    """Returns the bytes of the model, or the library's message."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([line.encode() for line in lines]),
            model_writer=model,
            minloglevel=3,
            **{**SETTINGS, **options},
        )
    except RuntimeError as error:
        return str(error)
    return model.getvalue()


def natively(lines: list[str], **options: Any) -> bytes | str:
    try:
        return train_natively(text_columns(lines), {**SETTINGS, **options}, None, None)
    except LibraryError as error:
        return str(error)


def pieces(model: bytes | str) -> list[tuple[str, float]]:
    assert isinstance(model, bytes), model
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [(processor.id_to_piece(i), processor.get_score(i)) for i in range(len(processor))]


def same(lines: list[str], **options: Any) -> None:
    """Asserts that both train the same bytes, or that both refuse."""
    ours, theirs = natively(lines, **options), by_library(lines, **options)
    if isinstance(theirs, bytes):
        assert ours == theirs
    else:
        assert isinstance(ours, str)
        assert ours in theirs or ours.split(" ")[0] in theirs


def corpus(shared: Path, name: str) -> list[str]:
    """Returns the lines of a real text: ``en``, ``zh`` (WMT22) or ``de`` (Multi30k)."""
    if name == "de":
        parts = [gzip.decompress((shared / "corpora/multi30k-ende/train.de.gz").read_bytes())]
    else:
        parts = list(_members(sorted((shared / "corpora/wmt22-enzh").glob("training-*.tgz")), name))
    return [line for part in parts for line in part.decode().removesuffix("\n").split("\n")]


def _members(archives: list[Path], side: str) -> Iterator[bytes]:
    """Yields the content of the archives' files of a side."""
    for path in archives:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None and member.name.removesuffix(".gz").endswith(f".{side}"):
                    yield gzip.decompress(file.read()) if member.name.endswith(".gz") else file.read()
