"""Trains SentencePiece models: from lines to the bytes of a ``.model`` file.

The native core trains BPE models, and the ``sentencepiece`` library other models; the bytes are the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from nmt_prep.columns import Lines, TextColumn, check_utf8, text_columns
from nmt_prep.errors import TrainingError
from nmt_prep.runtime import check_extra
from nmt_prep.subwords.sentencepiece.memory import LibraryRoom
from nmt_prep.subwords.sentencepiece.native_training import library_reason, train_natively
from nmt_prep.subwords.sentencepiece.options import LOWEST_COVERAGE, check_options, check_pieces, least_size
from nmt_prep.subwords.sentencepiece.process import LibraryError, TrainingLog, train_in_process
from nmt_prep.subwords.tokenizer import ProgressCallback

ModelType: TypeAlias = Literal["unigram", "bpe", "word", "char"]

_log = logging.getLogger(__name__)

_MODEL_TYPES = ("unigram", "bpe", "word", "char")
_NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
_LIBRARY_THREADS = 16  # the library's default; its sums, and so its models, depend on it
_LONGEST_LINE = 4192  # the library's default, in bytes

# Messages of the library for lines that it cannot train from, and our messages, which name the keys of the config.
_REFUSALS = {
    r"Vocabulary size too high.*<= (\d+)": (
        "{lines} give no more than {0} pieces; ask for fewer (vocab.size), give more text (sample.bytes_per_corpus), "
        "or accept fewer by hard_vocab_limit: false (vocab.options)"
    ),
    r"smaller than required_chars\. (\d+) vs (\d+)": (
        "vocabulary size {0}: the characters of {lines}, with special, reserved and byte pieces, need {1}; ask for "
        "more (vocab.size), or cover fewer characters (vocab.character_coverage)"
    ),
    r"sentences_\.empty\(\)": (
        "all of {lines} are empty, or longer than the {longest} bytes that SentencePiece trains from; check the "
        "sample, or set max_sentence_length (vocab.options)"
    ),
    r"all_chars_count": "{lines} hold nothing but white space; check the sample",
    r"(\S+) is already defined": (
        "the piece {0!r} is given twice; leave it out of vocab.reserved, or of control_symbols and the names of "
        "special pieces (vocab.options)"
    ),
}


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
    """Trains a model and returns the bytes of its file; ``SentencePieceTokenizer.train`` documents the options.

    ``special_ids`` are the ids by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks.

    Raises:
        InvalidTextError: a line is null, contains a lone surrogate or is not UTF-8.
        MissingPackageError: the library is needed, and not installed.
        TrainingError: an option is unknown or invalid, the lines do not give that many pieces, or training needs more
            memory.
    """
    symbols = tuple(user_defined_symbols)
    _check(size, model_type, character_coverage, byte_fallback, symbols, normalization_rule_name, special_ids, options)
    settings = library_settings(
        size, model_type, character_coverage, byte_fallback, symbols, normalization_rule_name, special_ids, options
    )
    check_trainer(settings)
    source = _LineSource(lines, progress)
    _log.info("training a SentencePiece %s model of %d pieces", model_type, size)
    try:
        if (reason := library_reason(settings)) is None:
            model = train_natively(source.columns(), settings, progress, memory)
        else:
            _log.info("the sentencepiece library trains %s", reason)
            room = LibraryRoom(memory, model_type, int(options.get("input_sentence_size", 0)) or None)
            model = train_in_process(source.columns(room), settings, TrainingLog(size, progress).line)
    except LibraryError as error:
        raise TrainingError(_explanation(str(error), source, options)) from error
    _log.info("trained a SentencePiece model from %d lines, %d bytes", source.lines, source.bytes)
    return model


def library_settings(
    size: int,
    model_type: str,
    character_coverage: float,
    byte_fallback: bool,
    symbols: Sequence[str],
    normalization: str,
    special_ids: Mapping[str, int | None],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the arguments of the library's trainer."""
    settings: dict[str, Any] = {
        "num_threads": _LIBRARY_THREADS,
        "shuffle_input_sentence": False,
        **options,
        "vocab_size": size,
        "model_type": model_type,
        "character_coverage": character_coverage,
        "byte_fallback": byte_fallback,
        "normalization_rule_name": normalization,
        **{f"{name}_id": -1 if value is None else value for name, value in special_ids.items()},
    }
    return settings | ({"user_defined_symbols": tuple(symbols)} if symbols else {})


def check_trainer(settings: Mapping[str, Any]) -> None:
    """Checks that the library is installed if it is needed to train with these settings.

    Raises:
        MissingPackageError: it is not.
    """
    if (reason := library_reason(settings)) is not None:
        check_extra("sentencepiece", "sentencepiece", f"training {reason}")


def _check(
    size: int,
    model_type: str,
    character_coverage: float,
    byte_fallback: bool,
    symbols: tuple[str, ...],
    normalization: str,
    special_ids: Mapping[str, int | None],
    options: Mapping[str, Any],
) -> None:
    """Checks what does not depend on the lines.

    Raises:
        TrainingError: the library would refuse an argument or an option.
    """
    if size < 1:
        raise TrainingError(f"vocabulary size {size}: it must be 1 or more")
    for what, chosen, known in (
        ("model_type", model_type, _MODEL_TYPES),
        ("normalization_rule_name", normalization, _NORMALIZATIONS),
    ):
        if chosen not in known:
            raise TrainingError(f"{what} {chosen!r}: it must be one of {', '.join(known)}")
    if not LOWEST_COVERAGE <= character_coverage <= 1:
        raise TrainingError(f"character_coverage {character_coverage}: it must be from {LOWEST_COVERAGE} to 1")
    check_options(options, model_type)
    ids = {f"{name}_id": value for name, value in special_ids.items() if value is not None}
    for name, value in ids.items():
        if not 0 <= value < size:
            raise TrainingError(f"{name} {value}: it must be from 0 to {size - 1}, below the size of the vocabulary")
        if list(ids.values()).count(value) > 1:
            raise TrainingError(f"{name} {value}: another special piece has this id; give each an id of its own")
    if "unk_id" not in ids:
        raise TrainingError("unk_id None: every SentencePiece model has the unknown piece; give it an id")
    check_pieces(special_ids, symbols, options)
    least = least_size(special_ids, symbols, byte_fallback, options)
    if size < least:
        raise TrainingError(
            f"vocabulary size {size}: it must be {least} or more, for special, reserved and byte pieces and a character"
        )


def _explanation(message: str, source: _LineSource, options: Mapping[str, Any]) -> str:
    """Returns our message for a message of the library; ours names the keys of the config."""
    lines = f"these {source.lines:,} lines"
    if source.ended and source.lines == 0:
        return "there are no lines to train a SentencePiece model from; check the input"
    longest = options.get("max_sentence_length", _LONGEST_LINE)
    for pattern, words in _REFUSALS.items():
        if found := re.search(pattern, message):
            return words.format(*found.groups(), lines=lines, longest=longest)
    reason = re.sub(r"^[A-Z_]+: (src/\S+ )?", "", message).strip()
    return f"SentencePiece cannot train a model from {lines} with these options (vocab.options): {reason}"


class _LineSource:
    """Yields lines in columns, and counts them.

    Attributes:
        lines: number of lines so far.
        bytes: number of their bytes.
        ended: True after the last line.
    """

    def __init__(self, lines: Lines, progress: ProgressCallback | None) -> None:
        self._lines = lines
        self._progress = progress
        self.lines = 0
        self.bytes = 0
        self.ended = False

    def columns(self, room: LibraryRoom | None = None) -> Iterator[TextColumn]:
        """Yields the lines for the core; for the library, if ``room`` is given, checked and as far as there is room.

        Raises:
            InvalidTextError: a line is null or contains a lone surrogate, or is not UTF-8 and for the library.
            TrainingError: training from these lines needs more memory.
        """
        for column in text_columns(self._lines):
            if room is not None:
                check_utf8(column, self.lines)
            self.lines += len(column)
            self.bytes += int(column.offsets[-1] - column.offsets[0])
            if room is not None:
                room.check(self.lines, self.bytes)
            yield column
            if self._progress is not None:
                self._progress("lines", {"lines": self.lines, "bytes": self.bytes})
        self.ended = True
