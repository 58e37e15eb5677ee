"""Examples of documents, held to a walk over the segments one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_prep.base.columns import Ragged
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.subwords.frame import frame_sizes
from nmt_prep.training.batches.joined_segments import Joining, Segments
from nmt_prep.training.records.dataset_json import DocumentsInfo
from nmt_prep.training.records.document_index import Repeated

Rows = dict[Side, list[list[int]]]
SEPARATOR = {"source": 7, "target": 8}


def joining(
    context: tuple[int, int] | None = None,
    *,
    before: int = 0,
    piece: bool = True,
    tokens: int = 20,
    segments: int = 4,
    share: float = 0.5,
    drawn: bool = True,
) -> Joining:
    source, target = (SEPARATOR[side] if piece else None for side in SIDES)
    info = DocumentsInfo(
        source_separator=source,
        target_separator=target,
        max_tokens=tokens,
        max_segments=segments,
        share=share,
        context=context,
    )
    sizes = {side: np.array([before if side == "target" else 0]) for side in SIDES}
    return Joining(info, sizes, {side: np.array([1]) for side in SIDES}, drawn, 3)


def joined(rows: list[list[int]], before: int, separator: int | None) -> list[int]:
    """Returns rows, each with ``before`` IDs before and one ID after its text, as one row."""
    ids = list(rows[0][:before])
    for number, row in enumerate(rows):
        ids += [separator] if number and separator is not None else []
        ids += row[before:-1]
    return [*ids, rows[-1][-1]]


def documents() -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    """Documents of segments of 1 to 12 IDs on either side."""
    sizes = st.integers(1, 12)
    return st.lists(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=9), min_size=1, max_size=8)


@given(
    texts=documents(),
    before=st.integers(0, 2),
    piece=st.booleans(),
    share=st.sampled_from([0.0, 0.5, 1.0]),
    tokens=st.integers(3, 40),
    most_segments=st.integers(1, 5),
    context=st.sampled_from([None, (2, 2), (3, 0), (0, 1)]),
)
def test_examples_are_those_of_a_walk(
    texts: list[list[tuple[int, int]]],
    before: int,
    piece: bool,
    share: float,
    tokens: int,
    most_segments: int,
    context: tuple[int, int] | None,
) -> None:
    how = joining(context, before=before, piece=piece, tokens=tokens, segments=most_segments, share=share)
    frames = {"source": 0, "target": before}
    sizes = [segment for document in texts for segment in document]
    rows: Rows = {
        side: [[9] * frames[side] + [100 + n] * size[place] + [1] for n, size in enumerate(sizes)]
        for place, side in enumerate(SIDES)
    }
    ragged = {side: Ragged.from_lists(rows[side]) for side in SIDES}
    pairs = np.stack([*(ragged[side].lengths for side in SIDES), np.zeros(len(sizes), np.int64)], 1).astype(np.uint16)
    continues = np.concatenate([np.arange(len(document)) > 0 for document in texts]).astype(np.uint8)
    places = np.arange(len(sizes)) + 1000
    segments = Segments(pairs, continues, places, np.array([0]))
    examples = how.examples(segments, epoch=2)
    assert examples.target.tolist() == sorted(set(examples.target.tolist()))
    covered = [n for first, end in zip(examples.target, examples.end, strict=True) for n in range(first, end)]
    assert covered == list(range(len(sizes)))  # each segment is a target once
    bounds = np.flatnonzero(continues == 0).tolist()
    made = how.joined(ragged["source"], ragged["target"], examples, segments)
    for side in SIDES:
        separator = SEPARATOR[side] if piece else None
        expected = [
            joined(rows[side][first:end], frames[side], separator)
            for first, end in zip(examples.first[side], examples.end, strict=True)
        ]
        assert (made.inputs if side == "source" else made.targets).to_lists() == expected
        assert examples.lengths[side].tolist() == list(map(len, expected))
    for number, (target, end) in enumerate(zip(examples.target.tolist(), examples.end.tolist(), strict=True)):
        firsts = [int(examples.first[side][number]) for side in SIDES]
        document = max(place for place in bounds if place <= target)
        assert document <= min(firsts)
        assert not [place for place in bounds if target < place < end]
        if end - min(firsts) > 1:
            assert share > 0
            joined_sides = [side for side, first in zip(SIDES, firsts, strict=True) if end - first > 1]
            assert max(int(examples.lengths[side][number]) for side in joined_sides) <= tokens
            assert end - target <= most_segments
            assert all(target - first <= most for first, most in zip(firsts, context or (0, 0), strict=True))


def test_windows_are_as_long_as_allowed() -> None:
    how = joining(tokens=20, segments=3, drawn=False)
    lengths = [4, 4, 4, 4, 9, 9, 9, 30, 2]
    pairs = np.array([[size, 2, 0] for size in lengths], np.uint16)
    continues = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1], np.uint8)
    examples = how.examples(Segments(pairs, continues, np.arange(9), np.array([0])), epoch=0)
    assert examples.target.tolist() == [0, 3, 5, 7, 8]
    assert examples.lengths["source"].tolist() == [12, 13, 18, 30, 2]
    broken = how.examples(Segments(pairs, continues, np.arange(9), np.array([0, 2])), epoch=0)
    assert broken.target.tolist() == [0, 2, 5, 7, 8]


def test_context_does_not_exceed_the_tokens_and_is_counted() -> None:
    how = joining((2, 2), tokens=10, drawn=False, before=1)
    rows: Rows = {
        "source": [[10, 1], [11, 11, 1], [12, 1], [13, 13, 13, 13, 13, 1]],
        "target": [[9, 20, 1], [9, 21, 1], [9, 22, 22, 1], [9, 23, 1]],
    }
    ragged = {side: Ragged.from_lists(rows[side]) for side in SIDES}
    pairs = np.stack([*(ragged[side].lengths for side in SIDES), np.zeros(4, np.int64)], 1).astype(np.uint16)
    segments = Segments(pairs, np.array([0, 1, 1, 1], np.uint8), np.arange(4), np.array([0]))
    examples = how.examples(segments, epoch=0)
    made = how.joined(ragged["source"], ragged["target"], examples, segments)
    assert made.inputs.to_lists() == [
        [10, 1],
        [10, 7, 11, 11, 1],
        [10, 7, 11, 11, 7, 12, 1],
        [12, 7, 13, 13, 13, 13, 13, 1],
    ]
    assert made.targets.to_lists()[2] == [9, 20, 8, 21, 8, 22, 22, 1]
    context = how.context(ragged["target"], examples, segments)
    assert context is not None
    assert context.tolist() == [0, 3, 5, 6]


def test_repeated_segments_are_context_only() -> None:
    rows: Rows = {"source": [[10, 1], [11, 1], [12, 1]], "target": [[9, 20, 1], [9, 21, 1], [9, 22, 22, 1]]}
    pairs = np.array([[2, 3, 0], [2, 3, 0], [2, 4, 0]], np.uint16)
    again = Ragged.from_lists([[15, 1], [16, 1], [17, 1]]), Ragged.from_lists([[9, 25, 1], [9, 26, 26, 1], [9, 27, 1]])
    found = Repeated(np.array([0, 2, 2]), *again)  # one before the first pair, two before the last
    breaks = np.array([0, 1])
    segments = Segments(pairs, np.array([1, 0, 1], np.uint8), np.arange(3), breaks).with_repeated(found)
    assert segments.entries.tolist() == [[2, 3, 0], [2, 3, 0], [2, 3, 0], [2, 4, 0], [2, 3, 0], [2, 4, 0]]
    assert segments.continues.tolist() == [1, 1, 0, 1, 1, 1]
    assert segments.breaks.tolist() == [0, 2]
    assert segments.places.tolist() == [0, 0, 1, 2, 2, 2]
    source, target = found.among(*(Ragged.from_lists(rows[side]) for side in SIDES))
    how = joining(drawn=False, before=1)
    examples = how.examples(segments, epoch=0)
    made = how.joined(source, target, examples, segments)
    assert made.inputs.to_lists() == [[15, 7, 10, 1], [11, 7, 16, 7, 17, 7, 12, 1]]
    assert made.targets.to_lists() == [[9, 25, 8, 20, 1], [9, 21, 8, 26, 26, 8, 27, 8, 22, 22, 1]]
    assert examples.targets.tolist() == [1, 2]
    ignored = how.ignored(target, examples, segments)
    assert ignored is not None
    assert ignored.to_lists() == [[0, 3], [3, 6, 6, 8]]
    assert examples.mean(segments.merged(np.array([1, 2, 4], np.float32))).tolist() == [1, 3]
    short = joining(drawn=False, before=1, segments=2)
    assert short.joined(source, target, short.examples(segments, 0), segments).inputs.to_lists() == [
        [15, 7, 10, 1],
        [11, 1],  # no window ends in a repeated segment, or consists of them
        [17, 7, 12, 1],
    ]
    after = joining((1, 2), drawn=False, before=1)
    examples = after.examples(segments, epoch=0)
    made = after.joined(source, target, examples, segments)
    assert made.inputs.to_lists() == [[15, 7, 10, 1], [11, 1], [17, 7, 12, 1]]
    assert made.targets.to_lists()[2] == [9, 26, 26, 8, 27, 8, 22, 22, 1]
    context = after.context(target, examples, segments)
    assert context is not None
    assert context.tolist() == [3, 0, 6]


def test_draws_depend_on_seed_epoch_and_place_alone() -> None:
    how = joining(share=0.3, segments=6)
    places = np.arange(100_000)
    together, longest = how._draws(places, 1)
    assert abs(float(together.mean()) - 0.3) < 0.01
    assert np.abs(np.bincount(longest, minlength=7)[1:] / len(places) - 1 / 6).max() < 0.01
    assert (longest.min(), longest.max()) == (1, 6)
    again, _ = how._draws(places[500:600], 1)
    assert (again == together[500:600]).all()
    for other in (how._draws(places, 2), replace(how, seed=4)._draws(places, 1)):
        assert 0.3 < float((other[0] != together).mean()) < 0.5


@pytest.mark.parametrize(
    ("text", "tag", "sizes"),
    [
        (None, None, (0, 1)),
        (None, "<a>", (1, 1)),
        ("{tag} {ids} </s> <x>", None, (0, 2)),
        ("<l> {tag} {ids} </s>", "<a>", (2, 1)),
        ("{ids}", None, (0, 0)),
    ],
)
def test_sizes_of_frames(text: str | None, tag: str | None, sizes: tuple[int, int]) -> None:
    assert frame_sizes(text, tag) == sizes
