"""Training SentencePiece models with the ``sentencepiece`` library: lines in, the bytes of a ``.model`` file out."""

from __future__ import annotations

import difflib
import io
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import sentencepiece
from _nmt_prep_core import find_invalid_utf8

from nmt_prep.columns import Lines, TextColumn, text_columns
from nmt_prep.errors import InvalidTextError, TrainingError
from nmt_prep.subwords.tokenizer import ProgressCallback

ModelType: TypeAlias = Literal["unigram", "bpe", "word", "char"]

_log = logging.getLogger(__name__)

_LIBRARY_THREADS = 16  # the library's default; its sums, and so its models, depend on the number
# Of memory for each byte of the lines, by kind of model; 16 to 23, and 7 to 25, were measured.
_BYTES_PER_BYTE = {"unigram": 24, "bpe": 26}
# Beside that for each line, however short: 125 and 43 in all were measured with lines of two bytes.
_BYTES_PER_LINE = {"unigram": 80, "bpe": 40}

_ERRORS_ONLY = 2  # a level of the library's log, which goes to stderr past logging

LIBRARY_OPTIONS = frozenset(
    {
        "accept_language",
        "add_dummy_prefix",
        "allow_whitespace_only_pieces",
        "auto_character_coverage",
        "bos_piece",
        "control_symbols",
        "differential_privacy_clipping_threshold",
        "differential_privacy_noise_level",
        "enable_differential_privacy",
        "eos_piece",
        "hard_vocab_limit",
        "input_sentence_size",
        "max_sentence_length",
        "max_sentencepiece_length",
        "mining_sentence_size",
        "normalization_rule_tsv",
        "num_sub_iterations",
        "num_threads",
        "pad_piece",
        "pretokenization_delimiter",
        "remove_extra_whitespaces",
        "required_chars",
        "seed_sentencepiece_size",
        "seed_sentencepieces_file",
        "self_test_sample_size",
        "shrinking_factor",
        "shuffle_input_sentence",
        "split_by_number",
        "split_by_unicode_script",
        "split_by_whitespace",
        "split_digits",
        "train_extremely_large_corpus",
        "training_sentence_size",
        "treat_whitespace_as_suffix",
        "unk_piece",
        "unk_surface",
        "use_all_vocab",
        "vocabulary_output_piece_score",
    }
)
"""Options of the library (0.2.3) that go to it as they are, beside those that :func:`train_model` names."""


def train_model(
    lines: Lines,
    size: int,
    *,
    model_type: ModelType,
    character_coverage: float,
    byte_fallback: bool,
    user_defined_symbols: Sequence[str],
    normalization_rule_name: str,
    special_ids: Mapping[str, int | None],
    progress: ProgressCallback | None,
    memory: int | None,
    options: Mapping[str, Any],
) -> bytes:
    """Trains a model and returns the bytes of its file; ``SentencePieceTokenizer.train`` says what the options mean.

    Args:
        lines: text; one line counts once, in the order given.
        size: number of pieces.
        model_type: kind of model.
        character_coverage: share of the text's characters that get pieces.
        byte_fallback: whether characters without a piece are spelled as bytes.
        user_defined_symbols: texts that always become one piece.
        normalization_rule_name: the library's name of a normalisation table.
        special_ids: ids by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model does without.
        progress: called with ``("lines", {"lines": …, "bytes": …})`` as lines are read.
        memory: bytes that the training may take; None sets no bound.
        options: options of the library by name.

    Raises:
        InvalidTextError: a line is null, holds a lone surrogate or is not UTF-8.
        TrainingError: an option is unknown or impossible, the lines do not give that many pieces, or the training would
            not fit the memory.
    """
    check_options(options)
    if size < 1:
        raise TrainingError(f"vocabulary size {size}: it must be 1 or more")
    most = options.get("input_sentence_size", 0)
    room = _Room(memory, model_type, most if isinstance(most, int) and most > 0 else None)
    source = _LineSource(lines, progress, room)
    output = io.BytesIO()
    settings: dict[str, Any] = {
        "num_threads": _LIBRARY_THREADS,
        "shuffle_input_sentence": False,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        "vocab_size": size,
        "model_type": model_type,
        "character_coverage": character_coverage,
        "byte_fallback": byte_fallback,
        "normalization_rule_name": normalization_rule_name,
        **{f"{name}_id": -1 if value is None else value for name, value in special_ids.items()},
    }
    if user_defined_symbols:
        settings["user_defined_symbols"] = list(user_defined_symbols)
    _log.info("training a SentencePiece %s model of %d pieces", model_type, size)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(source), model_writer=output, minloglevel=_ERRORS_ONLY, **settings
        )
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if source.error is not None:
            raise source.error from None
        raise TrainingError(_explanation(str(error), source.lines)) from error
    _log.info("trained a SentencePiece model from %d lines, %d bytes", source.lines, source.bytes)
    return output.getvalue()


def check_options(options: Iterable[str]) -> None:
    """Says which of the names is no option of the library that can be set here.

    Raises:
        TrainingError: one is not.
    """
    for name in options:
        if name in LIBRARY_OPTIONS:
            continue
        near = difflib.get_close_matches(name, sorted(LIBRARY_OPTIONS), n=1)
        advice = f"did you mean {near[0]}?" if near else "the library's documentation lists its training options"
        raise TrainingError(f"SentencePiece has no training option {name!r} that can be set here; {advice}")


def _explanation(message: str, lines: int) -> str:
    if lines == 0:
        return "there are no lines to train a SentencePiece model from; check the input"
    if limit := re.search(r"Vocabulary size.*<= (\d+)", message):
        return (
            f"these {lines} lines give no more than {limit[1]} pieces; ask for fewer, give more text, "
            "or set hard_vocab_limit=False"
        )
    reason = re.sub(r"^[A-Z_]+: (src/\S+ )?", "", message).strip()
    return f"SentencePiece cannot train a model from these lines and options: {reason}"


def _check_utf8(column: TextColumn, first_line: int) -> None:
    start, end = column.offsets[0], column.offsets[-1]
    invalid = find_invalid_utf8(np.ascontiguousarray(column.data[start:end]))
    if invalid != end - start:
        row = int(np.searchsorted(column.offsets, start + invalid, side="right")) - 1
        raise InvalidTextError(f"line {first_line + row} is not UTF-8; convert the text to UTF-8 or drop the line")


class _Room(NamedTuple):
    """The memory that there is for a training, and the number of lines that the library keeps at most."""

    memory: int | None
    model_type: ModelType
    most_lines: int | None

    def check(self, lines: int, size: int) -> None:
        """Refuses a training from so many lines of so many bytes that would not fit.

        Raises:
            TrainingError: it would not.
        """
        kept_lines = lines if self.most_lines is None else min(lines, self.most_lines)
        kept = size * kept_lines // max(lines, 1)
        needed = kept * _BYTES_PER_BYTE.get(self.model_type, 0) + kept_lines * _BYTES_PER_LINE.get(self.model_type, 0)
        if self.memory is not None and needed > self.memory:
            raise TrainingError(
                f"these lines, of which {kept / 1e6:.0f} MB were read so far, need {needed / 1e9:.1f} GB or more to "
                f"train a {self.model_type} model from, but {self.memory / 1e9:.1f} GB are allowed; allow more "
                "(engine.memory), set input_sentence_size to the number of lines to train from (vocab.options), or "
                "give fewer lines (sample.bytes_per_corpus)"
            )


class _LineSource:
    """Hands lines to the library one by one, counts them, and keeps the error that ended them."""

    def __init__(self, lines: Lines, progress: ProgressCallback | None, room: _Room) -> None:
        self._lines = lines
        self._progress = progress
        self._room = room
        self.lines = 0
        self.bytes = 0
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[bytes]:
        try:
            for column in text_columns(self._lines):
                _check_utf8(column, self.lines)
                for line in column.to_bytes():
                    yield line
                    self.lines += 1
                    self.bytes += len(line)
                self._room.check(self.lines, self.bytes)
                if self._progress is not None:
                    self._progress("lines", {"lines": self.lines, "bytes": self.bytes})
        except Exception as error:  # the library would flatten it to its message
            self.error = error
            raise
