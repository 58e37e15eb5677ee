"""Warnings about the encoded pairs, from the counts in ``dataset.json``."""

from __future__ import annotations

from collections.abc import Iterator

from nmt_prep.health.warning import HealthWarning
from nmt_prep.records import DatasetInfo

_TOKEN_RATIO = 3.0
_LONG_SHARE = 0.01
_LEAST_PAIRS = 10


def encoded_warnings(info: DatasetInfo, max_length: int) -> Iterator[HealthWarning]:
    """Yields the warnings about the splits of a dataset.

    Args:
        info: content of ``dataset.json``.
        max_length: ``input.max_length`` of the config. In layout ``packed``, the length of a row takes its place.
    """
    limit, key = (
        (max_length, "input.max_length") if info.row_length is None else (info.row_length, "records.row_length")
    )
    for name, split in info.splits.items():
        if split.pairs < _LEAST_PAIRS:
            continue
        ratio = split.source_tokens / max(split.target_tokens, 1)
        if not 1 / _TOKEN_RATIO <= ratio <= _TOKEN_RATIO:
            longer, times = ("source", ratio) if ratio > 1 else ("target", 1 / ratio if ratio else float("inf"))
            text = (
                f"the {longer} side of {name} has {times:.1f} times as many tokens as the other; check that the "
                "vocabularies and the tags are those of their sides"
            )
            yield HealthWarning("token_ratio", text, None, name, None, round(ratio, 4))
        dropped = sum(count for length, count in split.max_lengths if length > limit)
        if dropped >= max(_LEAST_PAIRS, _LONG_SHARE * split.pairs):
            share = dropped / split.pairs
            text = (
                f"training leaves out {dropped:,} of {split.pairs:,} pairs of {name} ({share:.1%}), because a side has "
                f"more than {limit} tokens ({key}); raise it, or use a larger vocabulary"
            )
            yield HealthWarning("max_length_drops", text, None, name, None, dropped, share)
