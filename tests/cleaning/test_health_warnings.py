from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from nmt_prep.cleaning.health_warnings import encoded_warnings
from nmt_prep.training.records.dataset_json import DatasetInfo


def info(row_length: int | None = None, max_tokens: int | None = None, **splits: dict[str, Any]) -> DatasetInfo:
    described = {name: SimpleNamespace(**split) for name, split in splits.items()}
    documents = None if max_tokens is None else SimpleNamespace(max_tokens=max_tokens)
    return cast("DatasetInfo", SimpleNamespace(row_length=row_length, documents=documents, splits=described))


def split(pairs: int, source: int, target: int, *longest: tuple[int, int]) -> dict[str, Any]:
    return {"pairs": pairs, "source_tokens": source, "target_tokens": target, "max_lengths": longest}


def told(described: DatasetInfo, max_length: int = 100) -> list[tuple[str, str | None, float | None, float | None]]:
    return [
        (each.code, each.split, each.value, each.share)
        for each in encoded_warnings(described, max_length, {"train", "dev"})
    ]


def test_pairs_that_are_too_long_for_training() -> None:
    train, dev = split(1000, 9, 9, (100, 985), (101, 10), (300, 5)), split(1000, 9, 9, (100, 991), (101, 9))
    assert told(info(train=train, dev=dev)) == [("max_length_drops", "train", 15, 0.015)]
    assert told(info(train=train, dev=dev), 300) == []
    assert told(info(train=train, dev=dev, row_length=99), 300) == [
        ("max_length_drops", "train", 1000, 1.0),
        ("max_length_drops", "dev", 1000, 1.0),
    ]


def test_the_message_says_what_to_change() -> None:
    (warning,) = encoded_warnings(info(train=split(1000, 9, 9, (257, 20))), 256)
    assert str(warning) == (
        "training leaves out 20 of 1,000 pairs of train (2.0%), because a side has more than 256 tokens "
        "(input.max_length); raise it, or use a larger vocabulary"
    )


def test_segments_that_no_window_holds() -> None:
    train, dev = split(1000, 9, 9, (20, 899), (21, 100), (30, 1)), split(1000, 9, 9, (20, 901), (21, 99))
    assert told(info(max_tokens=20, train=train, dev=dev)) == [("segments_alone", "train", 101, 0.101)]
    (warning,) = encoded_warnings(info(max_tokens=20, train=train, dev=train), 100, ["train"])
    assert str(warning) == (
        "101 of 1,000 segments of train (10.1%) are joined with no others, because a side has more than 20 tokens "
        "(documents.max_tokens); raise it"
    )


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [(300, 100, []), (301, 100, [3.01]), (100, 301, [0.3322]), (100, 300, []), (0, 50, [0.0])],
)
def test_sides_with_very_different_numbers_of_tokens(source: int, target: int, expected: list[float]) -> None:
    assert [value for _, _, value, _ in told(info(train=split(50, source, target)))] == expected


def test_few_pairs_give_no_warning() -> None:
    assert told(info(dev=split(9, 900, 1, (5000, 9)))) == []
