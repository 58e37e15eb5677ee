from __future__ import annotations

import pytest

from nmt_prep.pipeline.manifest import Counts, Manifest, differences

PATTERN = "a pattern that is long: " + "[^\\p{L}]" * 40


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (8192, 4096, "changed 8192 → 4096"),
        (PATTERN, None, f'changed "{PATTERN.replace(chr(92), chr(92) * 2)}" → unset'),
        ([*"abc"], [*"acd"], 'lost "b" and gained "d"'),
        ([*"abc"], [*"ab"], 'lost "c"'),
        ([*"ab"], [*"ba"], "has another order"),
        ([{"size": 1}], [{"size": 1}, {"size": 2}], 'gained {"size": 2}'),
        ([{"size": 1}, {"size": 2}], [{"size": 2}, {"size": 1}], "has another order"),
        (None, {"kind": "text", "vocab": ["list"]}, "is new"),
        ({"kind": "text", "vocab": ["list"]}, None, "is gone"),
    ],
)
def test_a_changed_setting_is_described_in_full(before: object, now: object, reason: str) -> None:
    manifest = Manifest("clean", 1, "f", {"x.key": before, "x.same": 1}, {}, {}, Counts(), {})
    assert differences(manifest, 1, {"x.key": now, "x.same": 1}, {}) == [f"config x.key {reason}"]


def test_of_mappings_the_keys_that_differ_are_named() -> None:
    before = {"max": 3, "unit": "char", "factors": {"en": 1, "zh": 4}, "list": [{"a": 1}, {"a": 2, "b": 3}]}
    manifest = Manifest("clean", 1, "f", {"rules.length_ratio": before, "rules.same": 1}, {}, {}, Counts(), {})
    now = {"max": 5, "unit": "char", "factors": {"en": 1}, "min_length": 30, "list": [{"a": 1}, {"a": 5, "b": 3}]}
    assert differences(manifest, 1, {"rules.length_ratio": now, "rules.same": 1}, {}) == [
        "config rules.length_ratio.factors.zh changed 4 → unset",
        "config rules.length_ratio.list.1.a changed 2 → 5",
        "config rules.length_ratio.max changed 3 → 5",
        "config rules.length_ratio.min_length changed unset → 30",
    ]
