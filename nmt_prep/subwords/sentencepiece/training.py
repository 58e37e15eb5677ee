"""Trains SentencePiece models: from lines to the bytes of a ``.model`` file.

The native core trains most BPE and unigram models, and the ``sentencepiece`` library the others. The bytes of a model
do not depend on which of them trains it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from nmt_prep.base.columns import Lines, TextColumn, check_utf8, text_columns
from nmt_prep.base.errors import TrainingError
from nmt_prep.base.runtime import check_extra
from nmt_prep.subwords.sentencepiece.native_training import check_need, library_reason, train_natively
from nmt_prep.subwords.sentencepiece.options import with_defaults
from nmt_prep.subwords.sentencepiece.process import LibraryError, TrainingLog, train_in_process
from nmt_prep.subwords.tokenizer import ProgressCallback

ModelType: TypeAlias = Literal["unigram", "bpe", "word", "char"]

_log = logging.getLogger(__name__)

# Bytes of memory that the library needs per line byte, by model kind; 16 to 23, and 7 to 25, were measured.
_BYTES_PER_BYTE = {"unigram": 24, "bpe": 26}
# Additional bytes per line; for lines of two bytes, 125 and 43 per line were measured in total.
_BYTES_PER_LINE = {"unigram": 80, "bpe": 40}

# Messages of the library for unsuitable lines, and the messages of our errors, which name the keys of the config.
_REFUSALS = {
    r"Vocabulary size too high.*<= (\d+)": (
        "{lines} give no more than {0} pieces; request fewer (vocab.size), give more text (sample.bytes_per_corpus), "
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
        "the piece {0!r} is given twice; remove it from vocab.reserved, or from control_symbols and the names of "
        "special pieces (vocab.options)"
    ),
}


def train_model(
    lines: Lines, arguments: Mapping[str, Any], progress: ProgressCallback | None, memory: int | None
) -> bytes:
    """Trains a model and returns its file's bytes.

    Args:
        progress: called with the training's steps.
        memory: bytes of memory that training may use; None means no limit.
    """
    check_trainer(arguments)
    source = _LineSource(lines, progress)
    model_type, size = arguments["model_type"], arguments["vocab_size"]
    _log.info("training a SentencePiece %s model of %d pieces", model_type, size)
    try:
        if (reason := library_reason(arguments)) is None:
            model = train_natively(source.columns(), arguments, progress, memory)
        else:
            _log.info("the sentencepiece library trains %s", reason)
            columns = source.columns(partial(_check_library_room, arguments, memory))
            model = train_in_process(columns, arguments, TrainingLog(size, progress).line)
    except LibraryError as error:
        raise TrainingError(_explanation(str(error), source, arguments)) from error
    _log.info("trained a SentencePiece model from %d lines, %d bytes", source.lines, source.bytes)
    return model


def check_trainer(arguments: Mapping[str, Any]) -> None:
    """Checks that the library is installed if training needs it."""
    if (reason := library_reason(arguments)) is not None:
        check_extra("sentencepiece", "sentencepiece", f"training {reason}")


def _explanation(message: str, source: _LineSource, arguments: Mapping[str, Any]) -> str:
    """Translates a library error message to a message that names the config's keys."""
    lines = f"these {source.lines:,} lines"
    if source.ended and source.lines == 0:
        return "there are no lines to train a SentencePiece model from; check the input"
    longest = with_defaults(arguments)["max_sentence_length"]
    for pattern, words in _REFUSALS.items():
        if match := re.search(pattern, message):
            return words.format(*match.groups(), lines=lines, longest=longest)
    reason = re.sub(r"^[A-Z_]+: (src/\S+ )?", "", message).strip()
    return f"SentencePiece cannot train a model from {lines} with these options (vocab.options): {reason}"


def _check_library_room(arguments: Mapping[str, Any], memory: int | None, lines: int, size: int) -> None:
    """Checks the memory for training by the library from ``lines`` lines of ``size`` bytes in total."""
    model_type, kept_lines = arguments["model_type"], min(lines, int(arguments.get("input_sentence_size", 0)) or lines)
    kept = size * kept_lines // max(lines, 1)
    needed = kept * _BYTES_PER_BYTE.get(model_type, 0) + kept_lines * _BYTES_PER_LINE.get(model_type, 0)
    check_need(needed, memory, kept, model_type)


class _LineSource:
    """Yields lines in columns, and counts them."""

    def __init__(self, lines: Lines, progress: ProgressCallback | None) -> None:
        self._lines = lines
        self._progress = progress
        self.lines = 0  # number of lines so far
        self.bytes = 0  # number of their bytes
        self.ended = False  # True after the last line

    def columns(self, check: Callable[[int, int], None] | None = None) -> Iterator[TextColumn]:
        """Yields the lines.

        Args:
            check: checks the library's memory for a number of lines and their bytes; None for the native core,
                which checks lines and memory itself.
        """
        for column in text_columns(self._lines):
            if check is not None:
                check_utf8(column, self.lines)
            self.lines += len(column)
            self.bytes += int(column.offsets[-1] - column.offsets[0])
            if check is not None:
                check(self.lines, self.bytes)
            yield column
            if self._progress is not None:
                self._progress("lines", {"lines": self.lines, "bytes": self.bytes})
        self.ended = True
