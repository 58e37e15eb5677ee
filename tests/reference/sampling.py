"""The lines that Tensor2Tensor's ``generate_lines_for_vocab`` yields for one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def sample(lines: Iterable[str], size_in_bytes: int, budget: int) -> Iterator[str]:
    skip = int(size_in_bytes / budget / 2)
    skipped = 0
    for line in lines:
        if skipped < skip:
            skipped += 1
            continue
        if budget <= 0:
            return
        stripped = line.strip()
        budget -= len(stripped)
        skipped = 0
        yield stripped
