"""Normalizer and pre-tokenizer of a ``tokenizer.json``, read into a :class:`Pretokenization` and written from one."""

from __future__ import annotations

import re
from typing import Any, cast, get_args

from nmt_prep.errors import VocabularyError
from nmt_prep.subwords.byte_bpe.patterns import PatternError, common_pattern
from nmt_prep.subwords.byte_bpe.pretokenization import Behavior, Cut, Form, Pretokenization, is_gpt2_pattern

# As tokenizers knows punctuation: by tables of Unicode 8, to which later characters are none yet, and two still are.
_NOT_YET_PUNCTUATION = (
    "\u061d\u09fd\u0a76\u0c77\u0c84\u1b4e\u1b4f\u1b7d-\u1b7f\u2e43-\u2e4f\u2e52-\u2e5d\u2e60-\u2e63"
    "\U00010d6e\U00010ead\U00010ed0\U00010f55-\U00010f59\U00010f86-\U00010f89\U000113d4\U000113d5"
    "\U000113d7\U000113d8\U0001144b-\U0001144f\U0001145a\U0001145b\U0001145d\U00011660-\U0001166c"
    "\U000116b9\U0001183b\U00011944-\U00011946\U000119e2\U00011a3f-\U00011a46\U00011a9a-\U00011a9c"
    "\U00011a9e-\U00011aa2\U00011b00-\U00011b09\U00011be1\U00011c41-\U00011c45\U00011c70\U00011c71"
    "\U00011ef7\U00011ef8\U00011f43-\U00011f4f\U00011fff\U00012ff1\U00012ff2\U00016d6d-\U00016d6f"
    "\U00016e97-\U00016e9a\U00016fe2\U0001e5ff\U0001e95e\U0001e95f"
)
_STILL_PUNCTUATION = "\u166d\U000111c9"
_PUNCTUATION = rf"(?![{_NOT_YET_PUNCTUATION}])[\p{{P}}!-/:-@\[-`{{-~{_STILL_PUNCTUATION}]"


def read_steps(normalizer: object, pre_tokenizer: object, where: str) -> Pretokenization:
    """How text is cut, from the two parts of a file that say it.

    Raises:
        VocabularyError: a part is not supported; the message names it.
    """
    forms = tuple(_read_form(part, where) for part in _flat(normalizer, "normalizer", "normalizers", where))
    parts = _flat(pre_tokenizer, "pre_tokenizer", "pretokenizers", where)
    places = [place for place, part in enumerate(parts) if _type_of(part) == "ByteLevel"]
    if len(places) != 1:
        found = ", ".join(map(_type_of, parts)) or "None"
        raise unsupported(where, f"the pre-tokenizer {found}", "there must be ByteLevel in it, once")
    byte_level = object_of(parts[places[0]], "pre_tokenizer", where)
    cuts = tuple(_read_cut(part, where) for part in parts[: places[0]])
    byte_cuts = tuple(_read_cut(part, where) for part in parts[places[0] + 1 :])
    gpt2 = _flag(byte_level, "use_regex", True, where)
    prefix = _flag(byte_level, "add_prefix_space", True, where)
    if byte_cuts and prefix:
        raise unsupported(where, f"add_prefix_space before {_type_of(parts[-1])}", "set it to false, or train without")
    if not gpt2 and not prefix and not byte_cuts and cuts and _is_gpt2(cuts[-1]):
        cuts, gpt2 = cuts[:-1], True
    return Pretokenization(forms, cuts, prefix, gpt2, byte_cuts)


def written_normalizer(how: Pretokenization) -> dict[str, Any] | None:
    """The part ``normalizer`` of a file."""
    parts = [{"type": form} for form in how.forms]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "normalizers": parts}


def written_pre_tokenizer(how: Pretokenization) -> dict[str, Any]:
    """The part ``pre_tokenizer`` of a file.

    Raises:
        VocabularyError: a pattern may mean something else to tokenizers.
    """
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": how.add_prefix_space,
        "trim_offsets": True,
        "use_regex": how.gpt2,
    }
    if not how.patterns:
        return byte_level
    parts = [*map(_written_cut, how.cuts), byte_level, *map(_written_cut, how.byte_cuts)]
    return {"type": "Sequence", "pretokenizers": parts}


def unsupported(where: str, what: str, advice: str) -> VocabularyError:
    """The error for a part that is not supported."""
    return VocabularyError(f"{where}: {what} is not supported: {advice}")


def object_of(value: object, key: str, where: str) -> dict[str, Any]:
    """The object that a key has.

    Raises:
        VocabularyError: it has none.
    """
    if not isinstance(value, dict):
        raise VocabularyError(f"{where}: {key} is missing or not an object; check that this is a whole tokenizer.json")
    return value


def list_of(value: object, key: str, where: str) -> list[Any]:
    """The list that a key has.

    Raises:
        VocabularyError: it has none.
    """
    if not isinstance(value, list):
        raise VocabularyError(f"{where}: {key} is missing or not a list; check that this is a whole tokenizer.json")
    return value


def _flat(part: object, key: str, inner: str, where: str) -> list[object]:
    """The steps of a part, those of sequences within it in their places."""
    if isinstance(part, dict) and part.get("type") == "Sequence":
        steps = list_of(part.get(inner), f"{key}.{inner}", where)
        return [step for nested in steps for step in _flat(nested, key, inner, where)]
    return [] if part is None else [part]


def _type_of(part: object) -> str:
    return str(part.get("type")) if isinstance(part, dict) else repr(part)


def _flag(part: dict[str, Any], key: str, default: bool, where: str) -> bool:
    value = part.get(key, default)
    if not isinstance(value, bool):
        raise VocabularyError(f"{where}: {key} is {value!r}, neither true nor false; fetch the file again")
    return value


def _is_gpt2(cut: Cut) -> bool:
    return is_gpt2_pattern(cut.pattern) and cut.behavior == "Isolated"


def _read_form(part: object, where: str) -> Form:
    name = _type_of(part)
    if name not in get_args(Form):
        raise unsupported(where, f"the normalizer {name}", f"it must be one of {', '.join(get_args(Form))}")
    return cast(Form, name)


def _read_cut(part: object, where: str) -> Cut:
    name = _type_of(part)
    step = object_of(part, "a pre-tokenizer", where)
    if name == "Digits":
        return Cut(r"\p{N}" if _flag(step, "individual_digits", False, where) else r"\p{N}+")
    if name == "Punctuation":
        return Cut(_PUNCTUATION, _read_behavior(step.get("behavior", "Isolated"), where))
    if name != "Split":
        raise unsupported(where, f"the pre-tokenizer {name}", "it must be Split, Digits, Punctuation or ByteLevel")
    pattern = _read_pattern(step.get("pattern"), where)
    return Cut(pattern, _read_behavior(step.get("behavior"), where), _flag(step, "invert", False, where))


def _read_pattern(pattern: object, where: str) -> str:
    match pattern:
        case {"String": str(text)} if text:
            return re.escape(text)
        case {"Regex": str(text)}:
            if is_gpt2_pattern(text):
                return text
            try:
                return common_pattern(text, "oniguruma")
            except PatternError as error:
                raise unsupported(where, f"the pattern {text!r}", f"{error}; put it in other words") from error
    raise VocabularyError(f"{where}: Split needs a Regex or a String, found {pattern!r}; fetch the file again")


def _read_behavior(behavior: object, where: str) -> Behavior:
    if behavior not in get_args(Behavior):
        raise unsupported(where, f"the behavior {behavior!r}", f"it must be one of {', '.join(get_args(Behavior))}")
    return cast(Behavior, behavior)


def _written_cut(cut: Cut) -> dict[str, Any]:
    try:
        pattern = common_pattern(cut.pattern, "regex")
    except PatternError as error:
        raise VocabularyError(
            f"tokenizer.json cannot say the pattern {cut.pattern!r}: tokenizers may read it in another way ({error}); "
            "put it in other words"
        ) from error
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": cut.behavior, "invert": cut.invert}
