"""Expected lengths of texts in other languages."""

from __future__ import annotations

import pytest

from nmt_prep.cleaning.lengths import expansion


@pytest.mark.parametrize(
    ("tag", "unit", "expected"),
    [
        ("en", "char", 1.0),
        ("de-AT", "char", 1.13),
        ("zh", "char", 0.29),
        ("zh-Hant", "letter", 0.29),
        ("lzh", "char", 0.29),
        ("ru", "byte", 1.07 * 1.83),
        ("zh", "byte", 0.29 * 2.85),
        ("vi", "byte", 1.04 * 1.32),
        ("fo", "char", 1.0),
    ],
)
def test_expansion(tag: str, unit: str, expected: float) -> None:
    assert expansion(tag, unit) == pytest.approx(expected)  # type: ignore[arg-type]


def test_words_have_no_expansion() -> None:
    with pytest.raises(ValueError, match="factors: auto needs the unit char, letter or byte, but the unit is token"):
        expansion("de", "token")
