"""Training options for SentencePiece models: their fields in the model's file, defaults and valid values."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nmt_prep.base.errors import TrainingError
from nmt_prep.subwords.tokenizer_json import SURROGATE

_INT_MAX = 2**31 - 1
_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")


class Option(NamedTuple):
    """An option of the library (0.2.3)."""

    field: int | None  # number of its field in the model's file; None if the library ignores it
    kind: type  # type of its values
    default: Any = None  # the library's default, for options that native training reads
    least: float = 0  # smallest valid number
    most: float = _INT_MAX  # largest valid number


TRAINER_OPTIONS: Mapping[str, Option] = {
    "vocab_size": Option(4, int),
    "accept_language": Option(None, tuple),
    "self_test_sample_size": Option(None, int),
    "character_coverage": Option(10, float),
    "input_sentence_size": Option(11, int, 0, 101),  # or 0, for all lines
    "mining_sentence_size": Option(None, int),
    "training_sentence_size": Option(None, int),
    "seed_sentencepiece_size": Option(14, int, 1_000_000),
    "shrinking_factor": Option(15, float, 0.75, 0.5, 0.95),
    "num_threads": Option(16, int, 16, 1, 1024),
    "num_sub_iterations": Option(17, int, 2, 1, 10),
    "max_sentence_length": Option(18, int, 4192, 10, 1 << 30),
    "shuffle_input_sentence": Option(19, bool, True),
    "max_sentencepiece_length": Option(20, int, 16, 1, 512),
    "split_by_unicode_script": Option(21, bool, True),
    "split_by_whitespace": Option(22, bool, True),
    "split_by_number": Option(23, bool, True),
    "treat_whitespace_as_suffix": Option(24, bool, False),
    "split_digits": Option(25, bool, False),
    "allow_whitespace_only_pieces": Option(26, bool, False),
    "control_symbols": Option(30, tuple, ()),
    "user_defined_symbols": Option(31, tuple, ()),
    "vocabulary_output_piece_score": Option(32, bool),
    "hard_vocab_limit": Option(33, bool, True),
    "use_all_vocab": Option(34, bool, False),
    "byte_fallback": Option(35, bool),
    "required_chars": Option(36, str, ""),
    "unk_id": Option(40, int),
    "bos_id": Option(41, int),
    "eos_id": Option(42, int),
    "pad_id": Option(43, int),
    "unk_surface": Option(44, str),
    "unk_piece": Option(45, str, "<unk>"),
    "bos_piece": Option(46, str, "<s>"),
    "eos_piece": Option(47, str, "</s>"),
    "pad_piece": Option(48, str, "<pad>"),
    "train_extremely_large_corpus": Option(None, bool),
    "enable_differential_privacy": Option(None, bool),
    "differential_privacy_noise_level": Option(None, float, None, 0, 1e9),
    "differential_privacy_clipping_threshold": Option(None, int),
    "pretokenization_delimiter": Option(53, str, ""),
    "seed_sentencepieces_file": Option(54, str, ""),
    "auto_character_coverage": Option(55, bool, False),
}
NORMALIZER_OPTIONS: Mapping[str, Option] = {
    "normalization_rule_name": Option(1, str),
    "add_dummy_prefix": Option(3, bool, True),
    "remove_extra_whitespaces": Option(4, bool, True),
    "normalization_rule_tsv": Option(6, str, ""),
}
_OPTIONS = {**TRAINER_OPTIONS, **NORMALIZER_OPTIONS}

_ARGUMENTS = """
    vocab_size character_coverage byte_fallback normalization_rule_name user_defined_symbols pad_id eos_id bos_id unk_id
"""
_SETTABLE = sorted(_OPTIONS.keys() - set(_ARGUMENTS.split()))

_LOWEST_COVERAGE = 0.98  # the smallest that the library accepts
_MODEL_TYPES = ("unigram", "bpe", "word", "char")
_NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
_BYTES = 256
_PIECE_BYTES = 8000
_PIECE = f"not empty, of less than {_PIECE_BYTES:,} bytes, without NUL characters and lone surrogates"


def typed_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options that the library does not ignore, with values parsed from text as the library does."""
    typed = {"model_type": arguments["model_type"]}
    for name, value in arguments.items():
        option = _OPTIONS.get(name)
        if option is not None and option.field is not None:
            typed[name] = _typed(value, option.kind)
    return typed


def with_defaults(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the typed options, completed by the library's defaults as far as native training reads them."""
    defaults = {name: option.default for name, option in _OPTIONS.items() if option.default is not None}
    return defaults | typed_options(arguments)


def _typed(value: Any, kind: type) -> Any:
    if kind is bool:
        return str(value).lower() in _TRUE
    if kind is tuple:
        return tuple(value.split(",")) if isinstance(value, str) else tuple(value)
    return kind(str(value))


def training_arguments(
    size: int,
    *,
    model_type: str,
    character_coverage: float,
    byte_fallback: bool,
    reserved: Sequence[str],
    normalization: str,
    special_ids: Mapping[str, int | None],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the arguments of the library's trainer, checked as far as they do not depend on the text.

    Args:
        byte_fallback: True to encode characters without a piece as bytes.
        special_ids: IDs by ``pad``, ``eos``, ``bos`` and ``unk``; None for a piece that the model lacks.
    """
    if size < 1:
        raise TrainingError(f"vocabulary size {size}: it must be 1 or more")
    for what, chosen, known in (
        ("model_type", model_type, _MODEL_TYPES),
        ("normalization_rule_name", normalization, _NORMALIZATIONS),
    ):
        if chosen not in known:
            raise TrainingError(f"{what} {chosen!r}: it must be one of {', '.join(known)}")
    if not _LOWEST_COVERAGE <= character_coverage <= 1:
        raise TrainingError(f"character_coverage {character_coverage}: it must be from {_LOWEST_COVERAGE} to 1")
    _check_options(options, model_type)
    for piece in reserved:
        if not _is_piece(piece):
            raise TrainingError(f"the reserved piece {piece!r}: it must be {_PIECE}")
    arguments = {
        "num_threads": _OPTIONS["num_threads"].default,  # the sums of a training, and so its model, depend on it
        "shuffle_input_sentence": False,
        **options,
        "vocab_size": size,
        "model_type": model_type,
        "character_coverage": character_coverage,
        "byte_fallback": byte_fallback,
        "normalization_rule_name": normalization,
        **{f"{role}_id": -1 if number is None else number for role, number in special_ids.items()},
        **({"user_defined_symbols": tuple(reserved)} if reserved else {}),
    }
    _check_pieces(arguments, {role: number for role, number in special_ids.items() if number is not None})
    return arguments


def _check_options(options: Mapping[str, Any], model_type: str) -> None:
    for name, value in options.items():
        if name not in _SETTABLE:
            near = difflib.get_close_matches(name, _SETTABLE, n=1)
            advice = f"did you mean {near[0]}?" if near else "the library's documentation lists its training options"
            raise TrainingError(f"SentencePiece has no training option {name!r} that can be set here; {advice}")
        accepted, values = _accepts(name, value)
        if not accepted:
            shown = list(value) if isinstance(value, tuple) else value
            raise TrainingError(f"SentencePiece's training option {name} is {shown!r}: it must be {values}")
    if model_type in ("unigram", "bpe") and _typed(options.get("use_all_vocab"), bool):
        raise TrainingError("SentencePiece's training option use_all_vocab is for word and char models; remove it")
    if model_type == "unigram" and _typed(options.get("auto_character_coverage"), bool):
        raise TrainingError(
            "SentencePiece's training option auto_character_coverage is not for unigram models; remove it"
        )


def _accepts(name: str, value: Any) -> tuple[bool, str]:
    """Returns True if an option may have a value, and a description of its valid values."""
    option = _OPTIONS[name]
    if option.kind is bool:
        return str(value).lower() in (*_TRUE, *_FALSE), "true or false"
    if option.kind is tuple:
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
        distinct = all(map(_is_piece, items)) and len(set(items)) == len(items)
        valid = isinstance(value, str | list | tuple) and distinct
        return valid, f"a list of different strings, each of them {_PIECE}"
    if option.kind is str:
        if name.endswith("_piece"):
            return _is_piece(value), f"a string, {_PIECE}"
        return value == "" or _is_text(value), "a string without NUL characters and lone surrogates"
    what = f"{'an integer' if option.kind is int else 'a number'} from {option.least} to {option.most}"
    number = _number(value, option.kind)
    if name == "input_sentence_size":
        return number is not None and (number == 0 or 101 <= number <= option.most), f"0 for all lines, or {what}"
    return number is not None and option.least <= number <= option.most, what


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value and not SURROGATE.search(value)


def _is_piece(value: Any) -> bool:
    return _is_text(value) and len(value.encode()) < _PIECE_BYTES


def _number(value: Any, kind: type) -> float | None:
    try:
        return None if isinstance(value, bool) else float(kind(str(value)))
    except (ValueError, OverflowError):
        return None


def _check_pieces(arguments: Mapping[str, Any], ids: Mapping[str, int]) -> None:
    """Checks that pieces and IDs are distinct, and that the vocabulary has room for all pieces that it must have."""
    special = {role: str(arguments.get(f"{role}_piece", _OPTIONS[f"{role}_piece"].default)) for role in ids}
    reserved, control = (_typed(arguments.get(name, ()), tuple) for name in ("user_defined_symbols", "control_symbols"))
    for role in sorted(special, key=lambda role: f"{role}_piece" not in arguments):  # the user's names first
        if list(special.values()).count(special[role]) > 1:
            raise TrainingError(
                f"{role}_piece is {special[role]!r}, as another special piece is; give each a name of its own"
            )
    for piece in (*reserved, *control):
        if piece == special.get("unk"):
            raise TrainingError(f"{piece!r} is the unknown piece, which there is anyway; remove it")
        if piece in reserved and piece in control:
            raise TrainingError(f"{piece!r} is both reserved and one of control_symbols; remove it from one of them")
    size, characters = arguments["vocab_size"], max(len(set(arguments.get("required_chars", ""))), 1)
    least = len({*special.values(), *reserved, *control}) + _BYTES * arguments["byte_fallback"] + characters
    if size < least:
        raise TrainingError(
            f"vocabulary size {size}: it must be at least {least}, to have room for special, reserved, control and "
            "byte pieces and a character"
        )
    for role, number in ids.items():
        if not 0 <= number < size:
            raise TrainingError(
                f"{role}_id {number}: it must be from 0 to {size - 1}, below the size of the vocabulary"
            )
        if list(ids.values()).count(number) > 1:
            raise TrainingError(f"{role}_id {number}: another special piece has this ID; give each an ID of its own")
    if "unk" not in ids:
        raise TrainingError("unk_id None: every SentencePiece model has the unknown piece; give it an ID")
