"""Options of the training of SentencePiece models, and their valid values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nmt_prep.errors import TrainingError


@dataclass(frozen=True, slots=True)
class _Kind:
    """Valid values of an option: a description for messages, and a test."""

    words: str
    accepts: Callable[[object], bool]


def _number(value: object, kind: type[int] | type[float]) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return kind(str(value))
    except ValueError:
        return None


def _between(kind: type[int] | type[float], low: float, high: float) -> _Kind:
    what = "an integer" if kind is int else "a number"

    def accepts(value: object) -> bool:
        number = _number(value, kind)
        return number is not None and low <= number <= high

    return _Kind(f"{what} from {low} to {high}", accepts)


_INT_MAX = 2**31 - 1
_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
_FLAG = _Kind("true or false", lambda value: str(value).lower() in (*_TRUE, *_FALSE))
_COUNT = _between(int, 0, _INT_MAX)
_TEXT = _Kind("a string", lambda value: isinstance(value, str))
_PIECE = _Kind("a string that is not empty", lambda value: isinstance(value, str) and value != "")
_LIST = _Kind(
    "a list of strings, none of them empty or given twice",
    lambda value: isinstance(value, str) or (isinstance(value, list | tuple) and _distinct(value)),
)


def _distinct(value: list[object] | tuple[object, ...]) -> bool:
    return all(isinstance(item, str) and item for item in value) and len(set(value)) == len(value)


_FLAGS = """
    add_dummy_prefix allow_whitespace_only_pieces auto_character_coverage enable_differential_privacy hard_vocab_limit
    remove_extra_whitespaces shuffle_input_sentence split_by_number split_by_unicode_script split_by_whitespace
    split_digits train_extremely_large_corpus treat_whitespace_as_suffix use_all_vocab vocabulary_output_piece_score
"""
_COUNTS = """
    differential_privacy_clipping_threshold mining_sentence_size seed_sentencepiece_size self_test_sample_size
    training_sentence_size
"""
_TEXTS = "normalization_rule_tsv pretokenization_delimiter required_chars seed_sentencepieces_file unk_surface"

# Options of the library (0.2.3) that are passed on unchanged; TrainingOptions has attributes for the others.
_OPTIONS: Mapping[str, _Kind] = {
    **dict.fromkeys(_FLAGS.split(), _FLAG),
    **dict.fromkeys(_COUNTS.split(), _COUNT),
    **dict.fromkeys(_TEXTS.split(), _TEXT),
    **dict.fromkeys(("bos_piece", "eos_piece", "pad_piece", "unk_piece"), _PIECE),
    **dict.fromkeys(("accept_language", "control_symbols"), _LIST),
    "differential_privacy_noise_level": _between(float, 0, 1e9),
    "input_sentence_size": _Kind(
        f"0 for all lines, or an integer from 101 to {_INT_MAX}",
        lambda value: (number := _number(value, int)) is not None and (number == 0 or 100 < number <= _INT_MAX),
    ),
    "max_sentence_length": _between(int, 10, 1 << 30),
    "max_sentencepiece_length": _between(int, 1, 512),
    "num_sub_iterations": _between(int, 1, 10),
    "num_threads": _between(int, 1, 1024),
    "shrinking_factor": _between(float, 0.5, 0.95),
}

_LOWEST_COVERAGE = 0.98  # the smallest that the library accepts
_MODEL_TYPES = ("unigram", "bpe", "word", "char")
_NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
_THREADS = 16  # the library's default; its sums, and so its models, depend on the number
_BYTES = 256


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of a training; :meth:`SentencePieceTokenizer.train` explains them.

    Attributes:
        size: number of pieces.
        model_type: ``unigram``, ``bpe``, ``word`` or ``char``.
        character_coverage: share of the text's characters that get pieces.
        byte_fallback: True to encode characters without a piece as bytes.
        reserved: texts that always become one piece.
        normalization: name of the rules of normalization.
        special_ids: ids by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks.
        others: other options of the library by name.
    """

    size: int
    model_type: str
    character_coverage: float
    byte_fallback: bool
    reserved: tuple[str, ...]
    normalization: str
    special_ids: Mapping[str, int | None]
    others: Mapping[str, Any]

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of the library's trainer."""
        return {
            "num_threads": _THREADS,
            "shuffle_input_sentence": False,
            **self.others,
            "vocab_size": self.size,
            "model_type": self.model_type,
            "character_coverage": self.character_coverage,
            "byte_fallback": self.byte_fallback,
            "normalization_rule_name": self.normalization,
            **{f"{name}_id": -1 if value is None else value for name, value in self.special_ids.items()},
            **({"user_defined_symbols": self.reserved} if self.reserved else {}),
        }

    def check(self) -> None:
        """Checks the options, as far as they do not depend on the text.

        Raises:
            TrainingError: the library has no such option, or does not accept a value.
        """
        if self.size < 1:
            raise TrainingError(f"vocabulary size {self.size}: it must be 1 or more")
        for what, chosen, known in (
            ("model_type", self.model_type, _MODEL_TYPES),
            ("normalization_rule_name", self.normalization, _NORMALIZATIONS),
        ):
            if chosen not in known:
                raise TrainingError(f"{what} {chosen!r}: it must be one of {', '.join(known)}")
        if not _LOWEST_COVERAGE <= self.character_coverage <= 1:
            raise TrainingError(
                f"character_coverage {self.character_coverage}: it must be from {_LOWEST_COVERAGE} to 1"
            )
        self._check_others()
        self._check_pieces()
        least = self._least_size()
        if self.size < least:
            raise TrainingError(
                f"vocabulary size {self.size}: it must be {least} or more, to have room for special, reserved, control "
                "and byte pieces and a character"
            )
        self._check_ids()

    def _check_others(self) -> None:
        for name, value in self.others.items():
            kind = _OPTIONS.get(name)
            if kind is None:
                near = difflib.get_close_matches(name, sorted(_OPTIONS), n=1)
                advice = (
                    f"did you mean {near[0]}?" if near else "the library's documentation lists its training options"
                )
                raise TrainingError(f"SentencePiece has no training option {name!r} that can be set here; {advice}")
            if not kind.accepts(value):
                shown = list(value) if isinstance(value, tuple) else value
                raise TrainingError(f"SentencePiece's training option {name} is {shown!r}: it must be {kind.words}")
        if self.model_type in ("unigram", "bpe") and _is_true(self.others.get("use_all_vocab")):
            raise TrainingError(
                "SentencePiece's training option use_all_vocab is for word and char models; leave it out"
            )
        if self.model_type == "unigram" and _is_true(self.others.get("auto_character_coverage")):
            raise TrainingError(
                "SentencePiece's training option auto_character_coverage does not go with unigram models; leave it out"
            )

    def _check_pieces(self) -> None:
        """Checks that no piece is named twice."""
        named = self._special_pieces()
        for name, piece in sorted(
            named.items(), key=lambda item: f"{item[0]}_piece" not in self.others
        ):  # user's first
            if list(named.values()).count(piece) > 1:
                raise TrainingError(
                    f"{name}_piece is {piece!r}, as another special piece is; give each a name of its own"
                )
        for piece in (*self.reserved, *self._control_pieces()):
            if piece == named.get("unk"):
                raise TrainingError(f"{piece!r} is the unknown piece, which there is anyway; leave it out")
            if piece in self.reserved and piece in self._control_pieces():
                raise TrainingError(
                    f"{piece!r} is both reserved and one of control_symbols; leave it out of one of them"
                )

    def _check_ids(self) -> None:
        ids = {f"{name}_id": value for name, value in self.special_ids.items() if value is not None}
        for name, value in ids.items():
            if not 0 <= value < self.size:
                raise TrainingError(
                    f"{name} {value}: it must be from 0 to {self.size - 1}, below the size of the vocabulary"
                )
            if list(ids.values()).count(value) > 1:
                raise TrainingError(f"{name} {value}: another special piece has this id; give each an id of its own")
        if "unk_id" not in ids:
            raise TrainingError("unk_id None: every SentencePiece model has the unknown piece; give it an id")

    def _least_size(self) -> int:
        """Returns the smallest possible vocabulary size for any text: the required pieces and one character."""
        pieces = {*self._special_pieces().values(), *self.reserved, *self._control_pieces()}
        required = set(self.others.get("required_chars", ""))
        return len(pieces) + (_BYTES if self.byte_fallback else 0) + max(len(required), 1)

    def _special_pieces(self) -> dict[str, str]:
        """Returns the special pieces of the model by ``pad``, ``eos``, ``bos`` and ``unk``."""
        usual = {"pad": "<pad>", "eos": "</s>", "bos": "<s>", "unk": "<unk>"}
        return {
            name: self.others.get(f"{name}_piece", usual[name])
            for name, value in self.special_ids.items()
            if value is not None
        }

    def _control_pieces(self) -> tuple[str, ...]:
        """Returns the control symbols; a string is split at commas, as in the library's flags."""
        value = self.others.get("control_symbols", ())
        return tuple(value.split(",")) if isinstance(value, str) else tuple(value)


def _is_true(value: object) -> bool:
    return str(value).lower() in _TRUE
