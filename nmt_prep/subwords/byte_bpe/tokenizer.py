"""GPT-2's subword dialect: byte-level BPE.

A pattern splits a line into pretokens. A pretoken starts as its bytes; the adjacent pair with the lowest merge rank is
merged until no pair is left. A vocabulary with all 256 bytes can encode any text.

You get the same IDs as from tiktoken and Hugging Face's tokenizers with the same vocabulary. Characters that are
newer than the Unicode tables of these libraries are the exception: here letters, numbers and white space follow Unicode
:attr:`ByteBPETokenizer.unicode_version`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import PROPERTIES_UNICODE_VERSION, ByteBPEModel, ByteBPESplitter

from nmt_prep.base.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.base.errors import EncodeError, VocabularyError
from nmt_prep.base.runtime import available_cores
from nmt_prep.subwords.added import AddedToken, SpecialNames, allowed_specials
from nmt_prep.subwords.byte_bpe.files import Format, load_vocabulary, save_vocabulary
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenizer, spelled
from nmt_prep.subwords.byte_bpe.ranks import RankEncoder
from nmt_prep.subwords.byte_bpe.training import PretokenCounts, learn_vocabulary
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary, spelling_model
from nmt_prep.subwords.tokenizer import PieceSpans, ProgressCallback, Tokenizer, spans_by_size
from nmt_prep.subwords.tokenizer_json import usual_name

_WHITE = re.compile(r"\s")


class ByteBPETokenizer(Tokenizer):
    """A byte-level BPE vocabulary."""

    dialect = "byte_bpe"
    unicode_version: str = PROPERTIES_UNICODE_VERSION
    """Unicode version that defines letters, numbers, white space and so on for patterns."""

    def __init__(
        self, vocabulary: ByteBPEVocabulary, pad: str | None = None, eos: str | None = None, bos: str | None = None
    ) -> None:
        """Makes a tokenizer from a vocabulary.

        Args:
            vocabulary: tokens, merges, added tokens, pre-tokenization.
            pad: name of the special token for padding. None takes the first usual name that the vocabulary has
                (``<pad>``, ``[PAD]``, …), if any.
            eos: the same for the end of sentence (``<EOS>``, ``</s>``, …, ``<|endoftext|>``).
            bos: the same for the start of sentence (``<BOS>``, ``<s>``, …).

        Raises:
            VocabularyError: the vocabulary has no special token of a given name, or a pattern is invalid.
        """
        how = vocabulary.pretokenization
        self._pretokenizer = Pretokenizer(how, vocabulary.added)
        self._ranks = None if how.ranks_pattern is None or how.scanners else RankEncoder(vocabulary, how.ranks_pattern)
        self.vocabulary = vocabulary
        self._pieces = vocabulary.pieces()
        self._special_ids = {role: self._role(role, name) for role, name in (("pad", pad), ("eos", eos), ("bos", bos))}
        self._model = ByteBPEModel(
            list(vocabulary.tokens),
            [(token.id, name.encode()) for name, token in vocabulary.added.items()],
            np.ascontiguousarray(vocabulary.merges, np.int32).ravel(),
            vocabulary.whole_words,
        )
        self._encoder = spelling_model(vocabulary) if how.byte_cuts else self._model

    @classmethod
    def train(
        cls,
        lines: Lines | PretokenCounts,
        size: int,
        *,
        min_frequency: int = 0,
        pad: str = "<pad>",
        eos: str = "<EOS>",
        bos: str | None = None,
        reserved: Sequence[str] = (),
        pattern: str = GPT2_PATTERN,
        progress: ProgressCallback | None = None,
        threads: int | None = None,
        memory: int | None = None,
    ) -> Self:
        """Learns the same merges as ``BpeTrainer`` of tokenizers 0.23 from the same pretokens, even among equal counts.

        Args:
            lines: text, used unchanged; or its counted pretokens.
            size: token count, including special tokens and bytes. A text without more pairs to merge gives fewer.
            min_frequency: minimum count of a pair to merge.
            pad: name of the padding token, with ID 0.
            eos: name of the end-of-sentence token, with ID 1.
            bos: name of the start-of-sentence token, with ID 2, or None for no such token.
            reserved: more special tokens, with the next IDs.
            pattern: regular expression that matches the pretokens of lines; if the native core does not recognize it,
                ``tokenizers`` splits the text, which is slower.
            progress: called with ``("merges", {"size": …, "target": …})`` at intervals, and at the end.
            threads: native threads to use; None is one per available core.
            memory: bytes of memory that training may use; None means no limit.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            TrainingError: there is no text, an option is invalid, or training needs more memory.
            VocabularyError: the pattern is not a regular expression.
        """
        counts = lines if isinstance(lines, PretokenCounts) else PretokenCounts.of(lines, pattern, threads)
        counts.check_memory(memory)
        vocabulary = learn_vocabulary(
            counts,
            size,
            [pad, eos, *([] if bos is None else [bos]), *reserved],
            min_frequency=min_frequency,
            progress=progress,
            threads=threads or available_cores(),
        )
        return cls(vocabulary, pad, eos, bos)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        pattern: str | None = None,
        specials: dict[str, int] | None = None,
        merges: str | Path | None = None,
        pad: str | None = None,
        eos: str | None = None,
        bos: str | None = None,
    ) -> Self:
        """Reads OpenAI's ``encoder.json`` and ``vocab.bpe``, Hugging Face's ``tokenizer.json``, or tiktoken's ranks.

        A ``tokenizer.json`` gives normalizer, pre-tokenizer, model and added tokens (docs/vocabularies.md lists the
        supported ones); its post-processor, truncation and padding are ignored. OpenAI's files contain no pattern, so
        GPT-2's is the default; their tokens that no merge produces are special.

        Args:
            path: the file (either of OpenAI's two), or a directory with the files under their usual names.
            pattern: regular expression that matches pretokens. OpenAI's files need one, in the syntax of
                ``tokenizers``, if theirs is not GPT-2's. Tiktoken's ranks need one, in the syntax of ``tiktoken``,
                unless the file is a published encoding or is named like one (``cl100k_base.tiktoken``).
            specials: special tokens and their IDs, for OpenAI's files and tiktoken's ranks.
            merges: OpenAI's file of merges; None for the file beside ``path`` with the usual name.
            pad: name of the special token for padding; None takes a usual name.
            eos: name of the end-of-sentence special token; None takes a usual name.
            bos: name of the start-of-sentence special token; None takes a usual name.

        Raises:
            VocabularyError: the file cannot be read, or is not a supported byte-level BPE vocabulary.
        """
        vocabulary = load_vocabulary(Path(path), pattern, specials, None if merges is None else Path(merges))
        try:
            return cls(vocabulary, pad, eos, bos)
        except VocabularyError as error:
            raise VocabularyError(f"{path}: {error}") from error

    def save(self, path: str | Path, format: Format = "tokenizer.json") -> None:  # noqa: A002
        """Writes the vocabulary, so that software of the format gives the same IDs.

        Args:
            path: the file, or for "openai" the directory in which to write ``encoder.json`` and ``vocab.bpe``.
            format: "tokenizer.json", "openai", or "tiktoken" (which omits special tokens and pattern).

        Raises:
            VocabularyError: the format cannot express this vocabulary.
            OutputError: the file cannot be written.
        """
        save_vocabulary(self.vocabulary, Path(path), format)

    def encode(
        self,
        text: str,
        *,
        allowed_special: SpecialNames = (),
        disallowed_special: SpecialNames = "all",
        dropout: float = 0.0,
        seed: int | None = None,
    ) -> list[int]:
        """Returns the IDs of one text, without bos or eos.

        Args:
            text: the text.
            allowed_special: names of special tokens to recognize in the text, or "all".
            disallowed_special: names of special tokens that the text must not contain, or "all" for all that are not
                allowed. All other names are ordinary text.
            dropout: probability of skipping a possible merge, drawn again at every step (BPE-dropout).
            seed: seed of the dropout; required with ``dropout``.

        Raises:
            InvalidTextError: the text contains a lone surrogate.
            EncodeError: the text contains a disallowed special token, or a byte that the vocabulary lacks.
            ValueError: the dropout is not between 0 and 1, or has no seed.
        """
        allowed = allowed_specials(text, self.vocabulary.added, allowed_special, disallowed_special)
        key = self._dropout_key(dropout, seed)
        return self._encode_column(TextColumn.from_strings([text]), 1, dropout, key, allowed).to_lists()[0]

    def encode_batch(
        self,
        lines: Lines,
        threads: int | None = None,
        *,
        dropout: float = 0.0,
        seed: int | None = None,
        first_line: int = 0,
    ) -> Ragged:
        """Returns the IDs of many lines, without bos or eos, in order; the same for any thread count.

        Names of special tokens in the lines are ordinary text: they are neither recognized nor refused. Added tokens
        that are not special are recognized.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.
            dropout: probability of skipping a possible merge, drawn again at every step (BPE-dropout).
            seed: seed of the dropout; required with ``dropout``. A line's IDs depend on the seed and the line's text
                (with a custom pattern, the pretoken's text), not on the line's index: use another seed for each epoch.
            first_line: not used; SentencePiece models draw by the number of a line.

        Raises:
            InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
            EncodeError: a line contains a byte that the vocabulary lacks.
            ValueError: the dropout is not between 0 and 1, or has no seed.
        """
        del first_line
        key = self._dropout_key(dropout, seed)
        parts = [self._encode_column(column, threads, dropout, key) for column in text_columns(lines)]
        return Ragged.joined(parts)

    def _dropout_key(self, dropout: float, seed: int | None) -> int:
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout {dropout}: it must be between 0 and 1")
        if dropout > 0 and seed is None:
            raise ValueError("dropout needs a seed: pass seed=…")
        if dropout > 0 and self.vocabulary.pretokenization.byte_cuts:
            raise ValueError("dropout is not supported for a vocabulary that splits text after the ByteLevel step")
        if dropout > 0 and self._ranks is not None:
            raise ValueError(
                "dropout is not supported for ranks with this pattern, because tiktoken itself encodes with them; "
                "use the tokenizer.json of the model"
            )
        return (seed or 0) % 2**64

    def _encode_column(
        self, column: TextColumn, threads: int | None, dropout: float, key: int, allowed: frozenset[str] = frozenset()
    ) -> Ragged:
        count = threads or available_cores()
        if self._ranks is not None:
            return self._ranks.encode(column, count, allowed)
        texts, splitter, divided = self._pretokenizer.cut(column, allowed)
        rows = Ragged(*self._encoder.encode(texts.data, texts.offsets, splitter, count, dropout, key))
        return rows if divided is None else divided.joined(rows)

    def decode(self, ids: Iterable[int], errors: Literal["strict", "replace"] = "strict") -> str:
        """Returns the text of one ID sequence, with special tokens as their names.

        Args:
            ids: the IDs.
            errors: handling of bytes that are not UTF-8: "strict" raises and "replace" inserts U+FFFD.

        Raises:
            EncodeError: an ID has no token, or the bytes are not UTF-8.
        """
        return self.decode_batch(self._row(ids), errors)[0]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Returns the bytes of one ID sequence, UTF-8 or not.

        Raises:
            EncodeError: an ID has no token.
        """
        row = self._row(ids)
        return self._model.decode_bytes(row.values, row.offsets, 1)[0]

    def decode_batch(
        self, rows: Ragged, errors: Literal["strict", "replace"] = "strict", threads: int | None = None
    ) -> list[str]:
        """Returns the texts of many ID sequences, in order.

        Raises:
            EncodeError: an ID has no token, bytes are not UTF-8, or the offsets do not fit the values.
        """
        return self._model.decode(*rows.contiguous(), threads or available_cores(), errors == "replace")

    def encode_pretokens(self, column: TextColumn, threads: int) -> Ragged:
        """Returns the IDs of texts, each of which is a pretoken."""
        whole = ByteBPESplitter([], False, False, [], [])
        return Ragged(*self._model.encode(column.data, column.offsets, whole, threads, 0.0, 0))

    def _row(self, ids: Iterable[int]) -> Ragged:
        row, size = list(ids), len(self._pieces)
        for number in row:
            if not 0 <= number < size:
                raise EncodeError(f"ID {number}: the IDs of the vocabulary are from 0 to {size - 1}")
        return Ragged.from_lists([row])

    @property
    def added(self) -> Mapping[str, AddedToken]:
        return self.vocabulary.added

    def special_id(self, name: str) -> int:
        """Returns the ID of a special token.

        Raises:
            VocabularyError: there is no special token of that name.
        """
        if name not in self.vocabulary.specials:
            raise VocabularyError(
                f"the vocabulary has no special token {name!r}, only {sorted(self.vocabulary.specials)}; "
                "add it when the vocabulary is trained"
            )
        return self.vocabulary.specials[name]

    def _role(self, role: str, name: str | None) -> int | None:
        if name is not None:
            return self.special_id(name)
        specials = self.vocabulary.specials
        return specials.get(usual_name(role, specials) or "")

    @property
    def pieces(self) -> Sequence[str]:
        """The pieces in ID order, spelled as in the files; "" for unused IDs."""
        return self._pieces

    def words(self) -> list[str]:
        """Returns the texts of the pieces. White space in added tokens is spelled as bytes if that text is unique."""
        others = frozenset(self._pieces)
        written = [_WHITE.sub(lambda white: spelled(white[0].encode()), piece) for piece in self._pieces]
        return [piece if text in others else text for piece, text in zip(self._pieces, written, strict=True)]

    def piece_spans(self, lines: TextColumn, rows: Ragged) -> PieceSpans:
        return spans_by_size(lines, rows, self._text_sizes)

    def partial_pieces(self) -> npt.NDArray[np.bool_]:
        return np.array([token.decode(errors="ignore").encode() != token for token in self.vocabulary.tokens], np.bool_)

    @functools.cached_property
    def _text_sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of text that each piece stands for, without ASCII white space."""
        used = [number for number, piece in enumerate(self._pieces) if piece]
        texts = self._model.decode_bytes(np.array(used, np.int32), np.arange(len(used) + 1, dtype=np.int64), 1)
        sizes = np.zeros(len(self._pieces), np.int64)
        sizes[used] = [len(text.translate(None, b" \t\n\v\f\r")) for text in texts]
        return sizes

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the vocabulary, its options and the Unicode version."""
        return self.vocabulary.fingerprint()
