"""Words of lines, and shuffled batches of pairs, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.reference.batching import group_by_window

Rows = Sequence[Sequence[int]]
Batch = tuple[list[list[int]], list[list[int]], list[list[int]], list[int], list[int]]


def words_of(line: bytes, longest: int) -> list[bytes]:
    return [word for word in line.split(b" ") if word][:longest]


def shuffled(count: int, buffer_size: int, random: Sequence[int]) -> Iterator[int]:
    """Yields numbers below ``count`` in the order of ``tf.data``'s shuffle, given its random numbers."""
    buffer: list[int] = []
    numbers, draws = iter(range(count)), iter(random)
    # The buffer is a ring from the oldest place on; the place of the chosen number gets the number of the oldest place.
    for number in numbers:
        buffer.append(number)
        if len(buffer) == buffer_size:
            yield _chosen(buffer, next(draws))
    while buffer:
        yield _chosen(buffer, next(draws))


def _chosen(buffer: list[int], draw: int) -> int:
    place = draw % len(buffer)
    chosen, buffer[place] = buffer[place], buffer[0]
    del buffer[0]
    return chosen


def batches(
    source: Rows,
    target: Rows,
    random: Sequence[int],
    *,
    buffer_size: int,
    batch_size: int,
    buckets: int,
    bucket_width: int,
    source_width: int,
    source_padding: int,
    sos: int,
    eos: int,
) -> list[Batch]:
    """Returns source, target input, target output, and the lengths of both sides, of each batch."""
    order = [row for row in shuffled(len(source), buffer_size, random) if source[row] and target[row]]
    words = [len(row) // source_width for row in source]
    bucket = [min(max(words[row], len(target[row]) + 1) // bucket_width, buckets) for row in order]
    full, rest = group_by_window(bucket, batch_size)
    return [
        (
            padded([source[row] for row in rows], source_padding),
            padded([[sos, *target[row]] for row in rows], eos),
            padded([[*target[row], eos] for row in rows], eos),
            [words[row] for row in rows],
            [len(target[row]) + 1 for row in rows],
        )
        for rows in ([order[place] for place in window] for window in full + rest)
    ]


def padded(rows: Rows, padding: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [[*row, *[padding] * (longest - len(row))] for row in rows]
