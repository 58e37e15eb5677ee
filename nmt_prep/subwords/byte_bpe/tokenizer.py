"""GPT-2's subword dialect: byte-level BPE.

A line is cut into pretokens by a pattern; within a pretoken, starting from its bytes, the pair of neighbours of the
lowest rank is merged until none is left. Every text can be expressed where the vocabulary has all 256 bytes. Ids are
those of tiktoken and of Hugging Face's tokenizers for the same vocabulary, up to characters that Unicode assigned
after their tables were made: here letters, numbers and white space are those of Unicode
:attr:`ByteBPETokenizer.unicode_version`, the ``regex`` package's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

import numpy as np
from _nmt_prep_core import GPT2_UNICODE_VERSION, ByteBPEModel

from nmt_prep.columns import Lines, Ragged, TextColumn, text_columns
from nmt_prep.errors import EncodeError, VocabularyError
from nmt_prep.runtime.cores import available_cores
from nmt_prep.subwords.byte_bpe.added import SpecialNames, allowed_specials
from nmt_prep.subwords.byte_bpe.files import Format, load_vocabulary, save_vocabulary
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, Pretokenizer
from nmt_prep.subwords.byte_bpe.ranks import RankEncoder
from nmt_prep.subwords.byte_bpe.spelling import spelled
from nmt_prep.subwords.byte_bpe.training import PretokenCounts, learn_vocabulary
from nmt_prep.subwords.byte_bpe.vocabulary import ByteBPEVocabulary, spelling_model
from nmt_prep.subwords.tokenizer import ProgressCallback, Tokenizer

_WHITE = re.compile(r"\s")
_USUAL_NAMES = {
    "pad": ("<pad>", "[PAD]", "<|padding|>"),
    "eos": ("<EOS>", "</s>", "<eos>", "[EOS]", "<|endoftext|>"),
    "bos": ("<BOS>", "<s>", "<bos>", "[BOS]"),
}


class ByteBPETokenizer(Tokenizer):
    """A byte-level BPE vocabulary."""

    dialect = "byte_bpe"
    unicode_version: str = GPT2_UNICODE_VERSION
    """Version of Unicode that says which characters GPT-2's pattern takes for letters, numbers and white space."""

    def __init__(
        self, vocabulary: ByteBPEVocabulary, pad: str | None = None, eos: str | None = None, bos: str | None = None
    ) -> None:
        """Makes a tokenizer of a vocabulary.

        Args:
            vocabulary: tokens, merges, added tokens, how text is cut.
            pad: name of the special token that pads; None takes the first usual name that the vocabulary has, if any
                (``<pad>``, ``[PAD]``, …).
            eos: likewise of the one that ends a sentence (``<EOS>``, ``</s>``, …, ``<|endoftext|>``).
            bos: likewise of the one that begins a sentence (``<BOS>``, ``<s>``, …).

        Raises:
            VocabularyError: a name that is given is not among the special tokens, or a pattern is not one.
        """
        how = vocabulary.pretokenization
        self._pretokenizer = Pretokenizer(how, vocabulary.added)
        self._ranks = None if how.ranks_pattern is None else RankEncoder(vocabulary, how.ranks_pattern)
        self.vocabulary = vocabulary
        self._pieces = vocabulary.pieces()
        self._fingerprint = vocabulary.fingerprint()
        self._pad_id, self._eos_id, self._bos_id = (
            self._role(role, name) for role, name in (("pad", pad), ("eos", eos), ("bos", bos))
        )
        self._model = ByteBPEModel(
            list(vocabulary.tokens),
            [(token.id, name.encode()) for name, token in vocabulary.added.items()],
            np.ascontiguousarray(vocabulary.merges, np.int32).ravel(),
            vocabulary.whole_words,
            how.add_prefix_space,
        )
        self._encoder = spelling_model(vocabulary) if how.byte_cuts else self._model

    @classmethod
    def train(
        cls,
        lines: Lines,
        size: int,
        *,
        min_frequency: int = 0,
        initial_alphabet: Literal["bytes", "seen"] = "bytes",
        limit_alphabet: int | None = None,
        pad: str = "<pad>",
        eos: str = "<EOS>",
        bos: str | None = None,
        reserved: Sequence[str] = (),
        pattern: str = GPT2_PATTERN,
        progress: ProgressCallback | None = None,
        threads: int | None = None,
        memory: int | None = None,
    ) -> Self:
        """Learns the merges that ``BpeTrainer`` of tokenizers 0.23 learns from the same pretokens, ties included.

        Args:
            lines: text, taken as it is.
            size: number of tokens, special ones and bytes included; fewer if the text has no more pairs to merge.
            min_frequency: pairs that occur less often are not merged.
            initial_alphabet: start from all 256 bytes, or from those in the text (others then cannot be encoded).
            limit_alphabet: keep only that many bytes, the most frequent.
            pad: name of the special token with id 0.
            eos: name of the special token with id 1.
            bos: name of the special token with id 2, if any.
            reserved: further special tokens; their ids follow.
            pattern: what pretokens match; anything but ``GPT2_PATTERN`` is cut by ``tokenizers``, which is slower.
            progress: called with ``("merges", {"size": …, "target": …})`` every now and then, and at the end.
            threads: native threads to use; None is one per available core.
            memory: bytes that the training may take; None sets no bound.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
            TrainingError: there is no text, the options are impossible, or the training would not fit the memory.
            VocabularyError: the pattern is not a regular expression.
        """
        counts = PretokenCounts(pattern)
        counts.add(lines, threads)
        return cls.from_counts(
            counts,
            size,
            min_frequency=min_frequency,
            initial_alphabet=initial_alphabet,
            limit_alphabet=limit_alphabet,
            pad=pad,
            eos=eos,
            bos=bos,
            reserved=reserved,
            progress=progress,
            memory=memory,
        )

    @classmethod
    def from_counts(
        cls,
        counts: PretokenCounts,
        size: int,
        *,
        min_frequency: int = 0,
        initial_alphabet: Literal["bytes", "seen"] = "bytes",
        limit_alphabet: int | None = None,
        pad: str = "<pad>",
        eos: str = "<EOS>",
        bos: str | None = None,
        reserved: Sequence[str] = (),
        progress: ProgressCallback | None = None,
        memory: int | None = None,
    ) -> Self:
        """Learns merges from pretokens that were counted before; options are those of :meth:`train`.

        Raises:
            TrainingError: there is no text, the options are impossible, or the training would not fit the memory.
        """
        counts.check_memory(memory)
        vocabulary = learn_vocabulary(
            counts,
            size,
            [pad, eos, *([] if bos is None else [bos]), *reserved],
            min_frequency=min_frequency,
            initial_alphabet=initial_alphabet,
            limit_alphabet=limit_alphabet,
            progress=progress,
        )
        return cls(vocabulary, pad, eos, bos)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        pattern: str | None = None,
        specials: dict[str, int] | None = None,
        pad: str | None = None,
        eos: str | None = None,
        bos: str | None = None,
    ) -> Self:
        """Reads OpenAI's ``encoder.json`` and ``vocab.bpe``, Hugging Face's ``tokenizer.json``, or tiktoken's ranks.

        Of a ``tokenizer.json`` normalizer, pre-tokenizer, model and added tokens count (docs/vocabularies.md says
        which), not what it adds to the ids, cuts off or pads. OpenAI's files do not say how text is cut; GPT-2's way is
        taken, and those of their tokens that no merge makes are special.

        Args:
            path: the file (of OpenAI's either), or the directory with the files under their usual names.
            pattern: of OpenAI's files, if it is not GPT-2's, in the syntax of ``tokenizers``; of tiktoken's ranks,
                which do not say it, in the syntax of ``tiktoken``, unless the file has the name of one of its encodings
                (``cl100k_base.tiktoken``).
            specials: special tokens and their ids, likewise.
            pad: name of the special token that pads; None takes a usual name. So for the next two.
            eos: that ends a sentence.
            bos: that begins a sentence.

        Raises:
            VocabularyError: the file cannot be read, or is not byte-level BPE as it is supported.
        """
        vocabulary = load_vocabulary(Path(path), pattern, specials)
        try:
            return cls(vocabulary, pad, eos, bos)
        except VocabularyError as error:
            raise VocabularyError(f"{path}: {error}") from error

    def save(self, path: str | Path, format: Format = "tokenizer.json") -> None:  # noqa: A002
        """Writes the vocabulary so that the format's own software reads it and gives the same ids.

        Args:
            path: the file, or for "openai" the directory that gets ``encoder.json`` and ``vocab.bpe``.
            format: "tokenizer.json", "openai", or "tiktoken" (which leaves out special tokens and pattern).

        Raises:
            VocabularyError: the format cannot say what the vocabulary is.
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
        """Ids of one text, without bos or eos.

        Args:
            text: the text.
            allowed_special: special tokens that are read as such where the text has their names, or "all".
            disallowed_special: special tokens whose names the text must not have, or "all" of those not allowed. Names
                that are neither are ordinary text.
            dropout: probability with which each merge is left out, each time it could be made (BPE-dropout).
            seed: of the dropout; needed with it.

        Raises:
            InvalidTextError: the text holds a lone surrogate.
            EncodeError: the text holds a disallowed special token, or a byte that the vocabulary lacks.
            ValueError: the dropout is not between 0 and 1, or has no seed.
        """
        allowed = allowed_specials(text, self.vocabulary.added, allowed_special, disallowed_special)
        key = self._dropout_key(dropout, seed)
        return self._encode_column(TextColumn.from_strings([text]), 1, dropout, key, allowed).to_lists()[0]

    def encode_batch(
        self, lines: Lines, threads: int | None = None, *, dropout: float = 0.0, seed: int | None = None
    ) -> Ragged:
        """Ids of many lines, without bos or eos, in order; the same for any number of threads.

        Text is ordinary text: names of special tokens in it are neither read as such nor refused. Added tokens that are
        not special are found in it.

        Args:
            lines: strings, or an Arrow string array (read in place).
            threads: native threads to use; None is one per available core.
            dropout: probability with which each merge is left out, each time it could be made (BPE-dropout).
            seed: of the dropout; needed with it. What is left out depends on the seed and on the line's own text (with
                a pattern of one's own, the pretoken's), not on its place: give each epoch its own seed.

        Raises:
            InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
            EncodeError: a line holds a byte that the vocabulary lacks.
            ValueError: the dropout is not between 0 and 1, or has no seed.
        """
        key = self._dropout_key(dropout, seed)
        parts = [self._encode_column(column, threads, dropout, key) for column in text_columns(lines)]
        return Ragged.joined(parts)

    def _dropout_key(self, dropout: float, seed: int | None) -> int:
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout {dropout}: it must be between 0 and 1")
        if dropout > 0 and seed is None:
            raise ValueError("dropout needs a seed: pass seed=…")
        if dropout > 0 and self.vocabulary.pretokenization.byte_cuts:
            raise ValueError("dropout is not supported for a vocabulary that cuts text after it was spelt in bytes")
        if dropout > 0 and self._ranks is not None:
            raise ValueError(
                "dropout is not supported for ranks with a pattern of their own, which tiktoken itself encodes; "
                "use the tokenizer.json of the model"
            )
        return (seed or 0) % 2**64

    def _encode_column(
        self, column: TextColumn, threads: int | None, dropout: float, key: int, allowed: frozenset[str] = frozenset()
    ) -> Ragged:
        count = threads or available_cores()
        if self._ranks is not None:
            return self._ranks.encode(column, count, allowed)
        pretokens = self._pretokenizer.cut(column, allowed)
        parts = column if pretokens is None else pretokens.column
        scan = self.vocabulary.pretokenization.gpt2
        values, offsets = self._encoder.encode(parts.data, parts.offsets, count, scan, dropout, key)
        return Ragged(values, offsets) if pretokens is None else pretokens.joined(values, offsets)

    def decode(self, ids: Iterable[int], errors: Literal["strict", "replace"] = "strict") -> str:
        """Text of one sequence of ids; special tokens come by their names.

        Args:
            ids: the ids.
            errors: what to do where the ids' bytes are not UTF-8: raise, or put U+FFFD.

        Raises:
            EncodeError: an id stands for nothing, or the bytes are not UTF-8.
        """
        return self.decode_batch(self._row(ids), errors)[0]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that ids stand for, UTF-8 or not.

        Raises:
            EncodeError: an id stands for nothing.
        """
        row = self._row(ids)
        return self._model.decode_bytes(row.values, row.offsets, 1)[0]

    def decode_batch(
        self, rows: Ragged, errors: Literal["strict", "replace"] = "strict", threads: int | None = None
    ) -> list[str]:
        """Texts of many sequences of ids, in order.

        Raises:
            EncodeError: an id stands for nothing, bytes are not UTF-8, or the offsets do not fit the values.
        """
        values = np.ascontiguousarray(rows.values, np.int32)
        offsets = np.ascontiguousarray(rows.offsets, np.int64)
        return self._model.decode(values, offsets, threads or available_cores(), errors == "replace")

    def _row(self, ids: Iterable[int]) -> Ragged:
        row = list(ids)
        for number in row:
            if not 0 <= number < len(self._pieces):
                raise EncodeError(f"id {number}: the vocabulary's go from 0 to {len(self._pieces) - 1}")
        return Ragged.from_lists([row])

    def special_id(self, name: str) -> int:
        """Id of a special token.

        Raises:
            VocabularyError: there is none of that name.
        """
        if name not in self.vocabulary.specials:
            raise VocabularyError(
                f"the vocabulary has no special token {name!r}, only {sorted(self.vocabulary.specials)}; "
                "name it when the vocabulary is trained"
            )
        return self.vocabulary.specials[name]

    def _role(self, role: str, name: str | None) -> int | None:
        if name is not None:
            return self.special_id(name)
        specials = self.vocabulary.specials
        return next((specials[n] for n in _USUAL_NAMES[role] if n in specials), None)

    @property
    def pieces(self) -> Sequence[str]:
        """The vocabulary in the order of ids, spelt as in its files; "" for ids that are not used."""
        return self._pieces

    def words(self) -> list[str]:
        """Texts of the pieces, with the white space of added tokens spelt, unless another piece has that text."""
        others = frozenset(self._pieces)
        written = [_WHITE.sub(lambda white: spelled(white[0].encode()), piece) for piece in self._pieces]
        return [piece if text in others else text for piece, text in zip(self._pieces, written, strict=True)]

    @property
    def pad_id(self) -> int | None:
        """Id of padding, None where the vocabulary has none."""
        return self._pad_id

    @property
    def eos_id(self) -> int | None:
        """Id that ends a sentence, None where the vocabulary has none."""
        return self._eos_id

    @property
    def bos_id(self) -> int | None:
        """Id that begins a sentence, None where the vocabulary has none."""
        return self._bos_id

    @property
    def unk_id(self) -> None:
        """None: whatever is not a token is spelt in bytes."""
        return

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the vocabulary, its options and the Unicode version."""
        return self._fingerprint
