"""From input to training: how many pairs and bytes of each corpus are read, dropped, and encoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from nmt_prep.reporting.summary import Json

Group: TypeAlias = Literal["reading", "rules", "duplicates", "test sets"]

GROUPS: tuple[Group, ...] = ("reading", "rules", "duplicates", "test sets")
"""The steps that drop pairs, in order."""

_OF_DUPLICATES = {"duplicate_pair", "near_duplicate", "too_many_targets", "too_many_sources"}


def group_of(reason: str) -> Group:
    """Returns the group of a reason of cleaning, such as the name of a rule."""
    if reason.startswith("in_test_set:"):
        return "test sets"
    return "duplicates" if reason in _OF_DUPLICATES else "rules"


def corpus_flow(
    compiled: Json, compiled_bytes: int, cleaned: Json | None, rejected: Mapping[str, int], encoded: Json | None
) -> Json:
    """Returns the numbers of pairs and bytes of a corpus after each step.

    Args:
        compiled: counts of the corpus in compile.
        compiled_bytes: UTF-8 bytes of both sides of the compiled pairs.
        cleaned: counts of the corpus in clean; None if it is not cleaned.
        rejected: bytes of the pairs that cleaning dropped, by reason.
        encoded: profile of the corpus; None if it is not encoded.

    Returns:
        ``read``, ``compiled`` and ``left`` with ``pairs`` and ``bytes`` of both sides without line ends; ``drops``, a
        list of ``group``, ``reason``, ``pairs`` and ``bytes`` (null for reasons of compile); ``fixed``, the number of
        lines that each fix altered; ``encoded`` with ``pairs`` and the numbers of ids.
    """
    read_bytes = compiled["source_bytes"] + compiled["target_bytes"] - 2 * compiled["pairs_in"]
    drops = [
        {"group": "reading", "reason": reason, "pairs": pairs, "bytes": None}
        for reason, pairs in compiled["dropped"].items()
        if pairs
    ]
    drops += [
        {"group": group_of(reason), "reason": reason, "pairs": pairs, "bytes": rejected.get(reason, 0)}
        for reason, pairs in (cleaned["dropped"].items() if cleaned else ())
        if pairs
    ]
    fixed = {**compiled["altered"], **(cleaned["altered"] if cleaned else {})}
    left = {"pairs": compiled["pairs_out"], "bytes": compiled_bytes}
    if cleaned:
        left = {"pairs": cleaned["pairs_out"], "bytes": cleaned["bytes"]}
    return {
        "read": {"pairs": compiled["pairs_in"], "bytes": read_bytes},
        "compiled": {"pairs": compiled["pairs_out"], "bytes": compiled_bytes},
        "drops": drops,
        "fixed": {name: lines for name, lines in fixed.items() if lines},
        "left": left,
        "encoded": None
        if encoded is None
        else {
            "pairs": encoded["pairs"],
            "source_tokens": encoded["tokens"]["source"],
            "target_tokens": encoded["tokens"]["target"],
        },
    }
