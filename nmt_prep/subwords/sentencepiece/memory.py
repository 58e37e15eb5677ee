"""Limits of memory in the training of SentencePiece models."""

from __future__ import annotations

from typing import NamedTuple

from nmt_prep.errors import TrainingError
from nmt_prep.subwords.counts import sizes_apart

# Of the library: bytes of memory per byte of the lines, by kind of model; 16 to 23, and 7 to 25, were measured.
_BYTES_PER_BYTE = {"unigram": 24, "bpe": 26}
# Additional bytes per line; with lines of two bytes, totals of 125 and 43 per line were measured.
_BYTES_PER_LINE = {"unigram": 80, "bpe": 40}


class LibraryRoom(NamedTuple):
    """Limits of a training by the library: bytes of memory, and number of lines that it keeps; None means no limit."""

    memory: int | None
    model_type: str
    most_lines: int | None

    def check(self, lines: int, size: int) -> None:
        """Raises if training from ``lines`` lines of ``size`` bytes in total needs too much memory.

        Raises:
            TrainingError: training needs more memory.
        """
        kept_lines = lines if self.most_lines is None else min(lines, self.most_lines)
        kept = size * kept_lines // max(lines, 1)
        needed = kept * _BYTES_PER_BYTE.get(self.model_type, 0) + kept_lines * _BYTES_PER_LINE.get(self.model_type, 0)
        check_need(needed, self.memory, kept, self.model_type)


def check_need(needed: int, memory: int | None, read: int, model_type: str) -> None:
    """Raises if the training of a model needs too much memory.

    Args:
        needed: bytes that it needs at least.
        memory: bytes that it may use; None means no limit.
        read: bytes of the lines that it is trained from, as far as they are known.
        model_type: kind of the model.

    Raises:
        TrainingError: it needs too much.
    """
    if memory is not None and needed > memory:
        need, allowed = sizes_apart(needed, memory)
        raise TrainingError(
            f"these lines, of which {read / 1e6:.0f} MB were read so far, need {need} or more to train a "
            f"{model_type} model from, but {allowed} are allowed; allow more (engine.memory), set "
            "input_sentence_size to the number of lines to train from (vocab.options), or give fewer lines "
            "(sample.bytes_per_corpus)"
        )
