"""Values and decisions of single rules, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from nmt_prep.base.sides import Side
from nmt_prep.cleaning.rejects import judge
from nmt_prep.cleaning.rule import Context, Rule
from nmt_prep.cleaning.rules import make_rules
from nmt_prep.config import Languages
from tests.cleaning.pairs import pairs

BOTH: tuple[Side, ...] = ("source", "target")


def rule_of(
    name: str, options: object = True, languages: tuple[str, str] = ("en", "de"), base_dir: Path = Path()
) -> Rule[Any]:
    context = Context(Languages(source=languages[0], target=languages[1]), BOTH, base_dir)
    (rule,) = make_rules({name: options}, context)
    return rule


def values(rule: Rule[Any], *batch: tuple[str, str]) -> list[list[float]]:
    """The values of each pair."""
    found = rule.values(pairs([source for source, _ in batch], [target for _, target in batch]))
    assert found.shape == (len(rule.columns), len(batch))
    return [list(map(float, column)) for column in found.T]


def passed(rule: Rule[Any], *batch: tuple[str, str]) -> list[bool]:
    found = rule.values(pairs([source for source, _ in batch], [target for _, target in batch]))
    return [bool(decision) for decision in judge(found, rule.bounds)]


def decisions(name: str, options: Mapping[str, object] | bool, *batch: tuple[str, str]) -> list[bool]:
    return passed(rule_of(name, options), *batch)


_SPACES = " \t\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
_CHARACTERS = (
    "aAbZzéßÄöıİſΣςжЯאب中文字符々〇一万千ーカタひらกขำລັខ្មែرមြန်བོད가"
    "0123456789٣५０Ⅷ²½.,:;!?…。！？'\"«»“”‘’„()[]{}⟨⟩【】（）<>/\\&#|-–—_=+*%@$€£¥₹°ÂÃâ\u0301\u200b\u200d\ufeff\ufffd\ue000\U0001f600\U00010400"
)


def lines(alphabet: Sequence[str] = (), max_size: int = 60) -> st.SearchStrategy[str]:
    """Lines of characters that matter to rules, of any characters, and of parts that the caller names.

    Characters that this Python's ``unicodedata`` does not know are left out, because the core's tables are of a later
    version.
    """
    anything = st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\n")
    known = st.sampled_from(list(_CHARACTERS + _SPACES) + [" "] * 20)
    part = st.one_of(*([st.sampled_from(list(alphabet))] * 3 if alphabet else []), known, known, anything)
    return st.lists(part, max_size=max_size).map("".join)
