from __future__ import annotations

import pytest

from nmt_prep.reporting.sections.flow import group_of


@pytest.mark.parametrize(
    ("reason", "group"),
    [
        ("duplicate_pair", "duplicates"),
        ("near_duplicate", "duplicates"),
        ("too_many_targets", "duplicates"),
        ("too_many_sources", "duplicates"),
        ("in_test_set:dev", "test sets"),
        ("length", "rules"),
        ("regex/duplicate", "rules"),
    ],
)
def test_groups_of_reasons(reason: str, group: str) -> None:
    assert group_of(reason) == group
