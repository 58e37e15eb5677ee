from __future__ import annotations

from nmt_prep.reporting.sections.flow import group_of


def test_groups_of_reasons() -> None:
    groups = {
        "duplicates": ("duplicate_pair", "near_duplicate", "too_many_targets", "too_many_sources"),
        "test sets": ("in_test_set:dev",),
        "rules": ("length", "regex/duplicate"),
    }
    for group, reasons in groups.items():
        assert {group_of(reason) for reason in reasons} == {group}
