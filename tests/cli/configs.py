"""Runs of ``nmt-prep init``, and what they write."""

from __future__ import annotations

from typing import Any

from nmt_prep.checks import load_config
from nmt_prep.config import Languages
from tests.cli.program import Ended, nmt_prep

EN_DE = Languages(source="en", target="de")


def init(*arguments: str) -> Ended:
    return nmt_prep("init", *arguments)


def splits(file: str = "en-de.yaml") -> dict[str, list[dict[str, Any]]]:
    """Returns the corpora of a config, which must be valid and can be planned."""
    config = load_config(file)
    return {
        split: [each.model_dump(exclude_defaults=True, exclude_none=True) for each in corpora]
        for split, corpora in config.splits.items()
    }
