"""Subword dialects behind one interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from nmt_prep.base.errors import VocabularyError
from nmt_prep.config import ExistingVocab
from nmt_prep.config.vocab import VocabOptions
from nmt_prep.subwords.byte_bpe import BYTE_BPE, ByteBPETokenizer
from nmt_prep.subwords.dialect import Dialect
from nmt_prep.subwords.sentencepiece import SENTENCEPIECE, SentencePieceTokenizer
from nmt_prep.subwords.subword_nmt import SUBWORD_NMT, SubwordNMTTokenizer
from nmt_prep.subwords.t2t import T2T, T2TTokenizer
from nmt_prep.subwords.tokenizer import IdLayout, ProgressCallback, Tokenizer
from nmt_prep.subwords.words import WordsTokenizer, is_words

__all__ = [
    "DIALECTS",
    "ByteBPETokenizer",
    "Dialect",
    "ProgressCallback",
    "SentencePieceTokenizer",
    "SubwordNMTTokenizer",
    "T2TTokenizer",
    "Tokenizer",
    "WordsTokenizer",
    "dialect_in",
    "dialect_named",
    "dialect_of",
    "load_tokenizer",
]

DIALECTS: tuple[Dialect[Any], ...] = (SUBWORD_NMT, BYTE_BPE, SENTENCEPIECE, T2T)
"""All dialects, in the order in which they are tried on a file. T2T is last, because it accepts any file."""


def dialect_named(kind: str) -> Dialect[Any]:
    """Returns the dialect with a given name.

    Raises:
        VocabularyError: there is no such dialect.
    """
    for dialect in DIALECTS:
        if dialect.kind == kind:
            return dialect
    known = ", ".join(dialect.kind for dialect in DIALECTS)
    raise VocabularyError(f"there is no tokenizer type {kind!r}; the types are {known}")


def dialect_of(options: VocabOptions | ExistingVocab) -> Dialect[Any]:
    """Returns the dialect of a config's ``vocab`` section.

    For existing files without ``kind``, it is the dialect that the source side's file name suggests.

    Raises:
        VocabularyError: there is no such dialect.
    """
    if options.kind is not None:
        return dialect_named(options.kind)
    assert isinstance(options, ExistingVocab)
    return next((dialect for dialect in DIALECTS if options.suffixes[0] in dialect.suffixes), DIALECTS[-1])


def expects_spm(options: VocabOptions | ExistingVocab) -> bool:
    """Returns True if the vocabularies are SentencePiece models, which Marian reads, according to the config."""
    return dialect_of(options).has_spm and not (isinstance(options, ExistingVocab) and ".json" in options.suffixes)


def load_tokenizer(path: str | Path, *, id_layout: IdLayout | None = None) -> Tokenizer:
    """Loads a vocabulary file of any dialect, and detects the dialect.

    Codes and the files of subword_nmt are known by their first line. Directories, other JSON files, files with OpenAI's
    file names and tiktoken's ranks are byte-level BPE. Protocol buffers are SentencePiece models. Any other text is a
    Tensor2Tensor vocabulary. A file ``….words.json`` is a vocabulary with the steps before it.

    Args:
        path: the file, or a directory with the files of byte-level BPE.
        id_layout: ID layout of a SentencePiece model, which its file does not record.

    Raises:
        VocabularyError: the file cannot be read, or is not a vocabulary that nmt_prep supports.
    """
    path = Path(path)
    if is_words(path):
        return WordsTokenizer.load(path, lambda inner: dialect_in(inner).load(inner, id_layout=id_layout))
    return dialect_in(path).load(path, id_layout=id_layout)


def inner_of(tokenizer: Tokenizer) -> Tokenizer:
    """Returns the tokenizer without the steps before it."""
    return tokenizer.inner if isinstance(tokenizer, WordsTokenizer) else tokenizer


def segmented(tokenizer: Tokenizer, lines: pa.Array, threads: int | None = None) -> pa.Array | None:
    """Returns lines as pieces separated by spaces, also those without an ID; None for dialects without such pieces."""
    inner = inner_of(tokenizer)
    if not isinstance(inner, SubwordNMTTokenizer | SentencePieceTokenizer):
        return None
    changed = tokenizer.changed(lines, threads) if isinstance(tokenizer, WordsTokenizer) else lines
    made = inner.segment(changed, threads)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def dialect_in(path: Path) -> Dialect[Any]:
    """Returns a vocabulary file's dialect, detected by its name and its first bytes.

    Raises:
        VocabularyError: the file cannot be read.
    """
    head = _head(path)
    return next(dialect for dialect in DIALECTS if dialect.recognises(path, head))


def _head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError as error:
        raise VocabularyError(
            f"cannot read the vocabulary {path}: {error.strerror or error}; check the path"
        ) from error
