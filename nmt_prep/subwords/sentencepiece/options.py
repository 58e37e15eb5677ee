"""Training options of the ``sentencepiece`` library, and their valid values."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
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


def _each(names: str, kind: _Kind) -> dict[str, _Kind]:
    """Returns options with the same valid values, named by the words of a text."""
    return dict.fromkeys(names.split(), kind)


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

_OPTIONS: Mapping[str, _Kind] = {
    **_each(_FLAGS, _FLAG),
    **_each(_COUNTS, _COUNT),
    **_each(_TEXTS, _TEXT),
    **_each("bos_piece eos_piece pad_piece unk_piece", _PIECE),
    **_each("accept_language control_symbols", _LIST),
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
"""Options of the library (0.2.3) that are passed on unchanged; others have arguments of their own."""

LOWEST_COVERAGE = 0.98
"""The smallest ``character_coverage`` that the library accepts."""

_BYTES = 256


def check_options(options: Mapping[str, Any], model_type: str) -> None:
    """Checks the names and values of options.

    Raises:
        TrainingError: the library has no such option, or does not accept the value.
    """
    for name, value in options.items():
        kind = _OPTIONS.get(name)
        if kind is None:
            near = difflib.get_close_matches(name, sorted(_OPTIONS), n=1)
            advice = f"did you mean {near[0]}?" if near else "the library's documentation lists its training options"
            raise TrainingError(f"SentencePiece has no training option {name!r} that can be set here; {advice}")
        if not kind.accepts(value):
            found = list(value) if isinstance(value, tuple) else value
            raise TrainingError(f"SentencePiece's training option {name} is {found!r}: it must be {kind.words}")
    if model_type in ("unigram", "bpe") and _is_true(options.get("use_all_vocab")):
        raise TrainingError("SentencePiece's training option use_all_vocab is for word and char models; leave it out")
    if model_type == "unigram" and _is_true(options.get("auto_character_coverage")):
        raise TrainingError(
            "SentencePiece's training option auto_character_coverage does not go with unigram models; leave it out"
        )


def check_pieces(special: Mapping[str, int | None], reserved: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """Checks that no piece is named twice.

    Args:
        special: ids by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks.
        reserved: reserved pieces of the user.
        options: options of the library.

    Raises:
        TrainingError: a piece is named twice, which the library does not accept.
    """
    named = dict(_special_pieces(special, options))
    for name, piece in sorted(named.items(), key=lambda item: f"{item[0]}_piece" not in options):  # user's first
        if list(named.values()).count(piece) > 1:
            raise TrainingError(f"{name}_piece is {piece!r}, as another special piece is; give each a name of its own")
    control = _listed(options.get("control_symbols", ()))
    for piece in (*reserved, *control):
        if piece == named.get("unk"):
            raise TrainingError(f"{piece!r} is the unknown piece, which there is anyway; leave it out")
        if piece in reserved and piece in control:
            raise TrainingError(f"{piece!r} is both reserved and one of control_symbols; leave it out of one of them")


def least_size(
    special: Mapping[str, int | None], reserved: tuple[str, ...], byte_fallback: bool, options: Mapping[str, Any]
) -> int:
    """Returns the smallest possible vocabulary size for any text: the required pieces and one character."""
    pieces = {piece for _, piece in _special_pieces(special, options)}
    pieces.update(reserved, _listed(options.get("control_symbols", ())))
    required = set(options.get("required_chars", ""))
    return len(pieces) + (_BYTES if byte_fallback else 0) + max(len(required), 1)


def _special_pieces(special: Mapping[str, int | None], options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = {"pad": "<pad>", "eos": "</s>", "bos": "<s>", "unk": "<unk>"}
    return ((key, options.get(f"{key}_piece", names[key])) for key, value in special.items() if value is not None)


def _listed(value: Any) -> tuple[str, ...]:
    """Returns the items of a list; a string is split at commas, as in the library's flags."""
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)


def _is_true(value: object) -> bool:
    return str(value).lower() in _TRUE
