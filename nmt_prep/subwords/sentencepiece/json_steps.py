"""Maps the normalizer and the pre-tokenizer of a ``tokenizer.json`` to the rules of the native core.

The core runs ``Strip``, ``Precompiled``, ``Strip`` and the steps for spaces, in this order. For a normalizer with other
steps, ``tokenizers`` runs all steps up to the last one of these.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from _nmt_prep_core import TokenizersRules

from nmt_prep.subwords.tokenizer_json import SPACE, steps_of, type_of, unsupported

_SPACES = ({"String": " "}, {"Regex": " "})
_LIMITED = "nmt_prep supports Metaspace, WhitespaceSplit before it, or a normalizer that replaces spaces by ▁"


class Prefix(IntEnum):
    """When to put a ``▁`` before a text: never, if it does not begin with one, or always. Values as in the core."""

    NONE = 0
    MISSING = 1
    ALWAYS = 2


@dataclass(slots=True)
class Steps:
    """Rules for text before it reaches the model.

    Attributes:
        library: normalizer that ``tokenizers`` runs first, as JSON; None if the core runs all steps.
        normalized: True if the file has a normalizer.
        charsmap: compiled character rules; empty for none.
        strip_first: True to strip the left and the right end before the character rules.
        strip: True to strip the left and the right end after them.
        collapse: True to replace several spaces by one.
        words: True to split at white space.
        escaped: True if ``▁`` stands for a space.
        split: True to split before each ``▁``.
        prefix: when to put a ``▁`` before a text.
        prefix_first_only: True to do so only at the beginning of a line.
        left: steps of the normalizer that are not yet mapped to a rule.
    """

    library: str | None = None
    normalized: bool = False
    charsmap: bytes = b""
    strip_first: tuple[bool, bool] = (False, False)
    strip: tuple[bool, bool] = (False, False)
    collapse: bool = False
    words: bool = False
    escaped: bool = False
    split: bool = False
    prefix: Prefix = Prefix.NONE
    prefix_first_only: bool = False
    left: list[Any] = field(default_factory=list)

    def rules(self, *, fuse_unknown: bool) -> TokenizersRules:
        """Returns the rules for the core."""
        return TokenizersRules(
            charsmap=self.charsmap,
            strip_left_first=self.strip_first[0],
            strip_right_first=self.strip_first[1],
            strip_left=self.strip[0],
            strip_right=self.strip[1],
            collapse_spaces=self.collapse,
            split_white_space=self.words,
            prefix=int(self.prefix),
            prefix_first_only=self.prefix_first_only,
            split_escaped=self.split,
            fuse_unknown=fuse_unknown,
        )


def read_steps(normalizer: object, pre_tokenizer: object, where: str) -> Steps:
    """Returns the rules of the two parts.

    Raises:
        VocabularyError: a pre-tokenizer is not supported, or no step replaces spaces; the message names the part.
    """
    steps = Steps(left=steps_of(normalizer))
    steps.normalized = bool(steps.left)
    splits = steps_of(pre_tokenizer)
    types = [type_of(step) for step in splits]
    metaspace = types.index("Metaspace") if "Metaspace" in types else len(splits)
    if metaspace < len(splits):
        _read_metaspace(steps, splits[metaspace], where)
        if types[:metaspace] == ["WhitespaceSplit"]:
            _read_words(steps, where)
        elif metaspace > 0:
            raise _refused(where, splits[0])
        if len(splits) > metaspace + 1:
            raise _refused(where, splits[metaspace + 1])
    _take_spaces(steps)
    if metaspace == len(splits):
        for step in splits:
            if not (steps.escaped and _splits_at_spaces(step)):
                raise _refused(where, step)
        if not steps.escaped:
            raise unsupported(where, "a pre_tokenizer of null", _LIMITED)
    _take_rules(steps, where)
    if steps.prefix_first_only and (steps.left or (steps.charsmap and steps.strip[0])):
        what = f"pre_tokenizer.Metaspace with prepend_scheme first after normalizer.{type_of(steps_of(normalizer)[0])}"
        raise unsupported(where, what, "where a line begins is not known then; set prepend_scheme to always")
    if steps.left:
        steps.library = json.dumps({"type": "Sequence", "normalizers": steps.left}, ensure_ascii=False)
    steps.left = []
    return steps


def _refused(where: str, step: object) -> Exception:
    return unsupported(where, f"pre_tokenizer.{type_of(step)}", _LIMITED)


def _read_metaspace(steps: Steps, step: dict[str, Any], where: str) -> None:
    scheme, split = step.get("prepend_scheme", "always"), step.get("split")
    replacement, prefixed = step.get("replacement"), step.get("add_prefix_space")
    if replacement != SPACE:
        raise unsupported(where, f"pre_tokenizer.Metaspace with the replacement {replacement!r}", f"it must be {SPACE}")
    if scheme not in ("always", "first", "never") or (prefixed is False and scheme != "never"):
        raise unsupported(
            where,
            f"pre_tokenizer.Metaspace with prepend_scheme {scheme!r} and add_prefix_space {prefixed!r}",
            "tokenizers refuses it too; correct the file",
        )
    steps.escaped = True
    steps.split = split is None or bool(split)
    steps.prefix = Prefix.NONE if scheme == "never" else Prefix.MISSING
    steps.prefix_first_only = scheme == "first"


def _read_words(steps: Steps, where: str) -> None:
    if steps.prefix is Prefix.NONE or steps.prefix_first_only or not steps.split:
        what = "pre_tokenizer.WhitespaceSplit before a Metaspace that does not begin every word"
        raise unsupported(where, what, "set prepend_scheme to always and split to true, if that is what is meant")
    steps.words = True


def _splits_at_spaces(step: object) -> bool:
    """Returns True for a step that splits at spaces; it has no effect on escaped text."""
    return isinstance(step, dict) and step.get("type") == "Split" and step.get("pattern") in _SPACES


def _take_spaces(steps: Steps) -> None:
    """Maps the last steps of the normalizer: those for spaces, which the core runs after the character rules."""
    prepended = False
    while steps.left and not steps.words:
        match steps.left[-1]:
            case {"type": "Replace", "pattern": {"String": " "} | {"Regex": " "}, "content": "▁"}:
                steps.escaped = True
            case {"type": "Prepend", "prepend": "▁" | " " as prepend} if not prepended and (
                prepend == SPACE or steps.escaped
            ):
                steps.prefix, steps.prefix_first_only, prepended = Prefix.ALWAYS, False, True
            case _:
                break
        steps.left.pop()
    match steps.left[-1:]:
        case [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " " | "▁" as content}] if steps.escaped:
            if content == " " or not steps.words:
                steps.collapse = True
                steps.left.pop()


def _take_rules(steps: Steps, where: str) -> None:
    """Maps the steps before those for spaces: stripping, and the character rules."""
    steps.strip = _take_strip(steps)
    match steps.left[-1:]:
        case [{"type": "Precompiled", "precompiled_charsmap": str(charsmap)}]:
            try:
                steps.charsmap = base64.b64decode(charsmap, validate=True)
            except ValueError as error:
                what = "normalizer.Precompiled with a damaged precompiled_charsmap"
                raise unsupported(where, what, "fetch the file again") from error
            steps.left.pop()
            if steps.charsmap:
                steps.strip_first = _take_strip(steps)


def _take_strip(steps: Steps) -> tuple[bool, bool]:
    match steps.left[-1:]:
        case [{"type": "Strip", "strip_left": bool(left), "strip_right": bool(right)}]:
            steps.left.pop()
            return left, right
    return False, False
