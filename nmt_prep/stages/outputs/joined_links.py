"""Pairs with piece links, for outputs from a run with documents: segment links are shifted to the joined lines.

The spill files hold the segments' text with their word links. Piece lines consist of the IDs that loaders join; text
lines are split into pieces as the trainer splits them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import Ragged, TextColumn, joined_items
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.align.links import Links, pharaoh, piece_links, pieces_of
from nmt_prep.cleaning.align.word_vocabulary import Words, words_of
from nmt_prep.stages.outputs.joined_pairs import JoinedText, part_of_ids, part_of_text
from nmt_prep.stages.outputs.shuffled_text import LinkedForm, places_of_lines
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.training.batches.vectors import Int64s, spans
from nmt_prep.training.modifiers.block import numbers_of
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch
from nmt_prep.training.outputs.vocabulary_files import pieces_of as piece_lines_of

if TYPE_CHECKING:
    from nmt_prep.training.batches.joined_segments import Examples, Joining

_Side = tuple[pa.Array, Words, Words]  # A side's lines, and their word and piece spans


@dataclass(frozen=True)
class JoinedLinks(JoinedText):
    """Examples as lines with links."""

    form: LinkedForm = "linked_pieces"
    vocabularies: Mapping[Side, BuiltVocabulary] | None = None
    ids: IdPairs | None = None  # the same pairs as IDs

    def batches(self, path: Path) -> Iterator[TextBatch]:
        """Yields the examples in each run of blocks; ``path`` is the file to write, for messages."""
        assert self.windows is not None
        assert self.ids is not None
        texts = self.windows.joined(lambda: self.segments(path), part_of_text)
        rows = self.windows.joined(self.ids.batches, part_of_ids)
        for (joining, pairs, examples, segments, weights), (_, ids, *_) in zip(texts, rows, strict=True):
            corpora = segments.entries[examples.target, 2].astype(np.int32)
            words = {side: words_of(TextColumn.from_arrow(_side_of(pairs, side))) for side in SIDES}
            if self.form == "linked_pieces":
                joined = joining.joined(ids.sources, ids.targets, examples, segments)
                links = _joined_links(pairs, words, examples, 0)
                source, target = (
                    self._pieces(side, pairs, words[side], ids, row, examples, joining)
                    for side, row in zip(SIDES, (joined.inputs, joined.targets), strict=True)
                )
            else:
                between = words_of(TextColumn.from_strings([self.separator]))
                links = _joined_links(pairs, words, examples, len(between.begins))
                source, target = (self._texts(side, pairs, corpora, examples) for side in SIDES)
            found = piece_links(links, (source[1], target[1]), (source[2], target[2]))
            yield TextBatch(source[0], target[0], corpora, pharaoh(found), weights, cut=found.too_long)

    def _texts(self, side: Side, pairs: TextBatch, corpora: npt.NDArray[np.int32], examples: Examples) -> _Side:
        assert self.vocabularies is not None
        inside, _ = _inside(examples.first[side], examples.end)
        offsets = _ends(examples.end - examples.first[side])
        lines = joined_items(_side_of(pairs, side).take(pa.array(inside)), offsets, self.separator)
        tags = self.tags.get(side, ())
        starts = pa.array([f"{tag} " if tag else "" for tag in tags], lines.type).take(pa.array(corpora))
        before = np.array([len(f"{tag} ".encode()) if tag else 0 for tag in tags], np.int32)[corpora]
        return places_of_lines(self.form, self.vocabularies[side].load(), lines, starts, before)

    def _pieces(
        self,
        side: Side,
        pairs: TextBatch,
        words: Words,
        ids: IdBatch,
        joined: Ragged,
        examples: Examples,
        joining: Joining,
    ) -> _Side:
        """Returns piece lines; spans refer to the segments' text without separators."""
        assert self.vocabularies is not None
        tokenizer, text = self.vocabularies[side].load(), TextColumn.from_arrow(_side_of(pairs, side))
        rows = ids.sources if side == "source" else ids.targets
        before, after = (sizes[side][pairs.corpora] for sizes in (joining.before, joining.after))
        bodies = rows.lengths - before - after
        inner = Ragged(rows.values[spans(rows.offsets[:-1] + before, bodies)], _ends(bodies))
        places, _ = pieces_of(text, inner, tokenizer)
        inside, example = _inside(examples.first[side], examples.end)
        first = examples.first[side][example]
        bytes_before = text.offsets[inside] - text.offsets[first]
        moved = _moved(words, inside, bytes_before)
        taken = _moved(places, inside, bytes_before)
        gap = int(joining.separator(side) is not None)
        ids_before = inner.offsets[inside] - inner.offsets[first] + gap * (inside - first)
        at = spans(joined.offsets[example] + before[first] + ids_before, bodies[inside])
        # Ids of frames and separators get empty spans after the previous piece.
        row = np.repeat(np.arange(len(joined)), joined.lengths) << 32
        ends, is_piece = row.copy(), np.zeros(len(row), np.bool_)
        ends[at] += taken.ends
        is_piece[at] = True
        ends = (np.maximum.accumulate(ends) - row).astype(np.int32)
        begins = ends.copy()
        begins[at] = taken.begins
        per_line = np.bincount(example, np.diff(words.offsets)[inside], minlength=len(examples)).astype(np.int64)
        line_words = Words(moved.begins, moved.ends, _ends(per_line))
        return piece_lines_of(tokenizer).lines(joined), line_words, Words(begins, ends, joined.offsets)


def _side_of(pairs: TextBatch, side: Side) -> pa.Array:
    return pairs.sources if side == "source" else pairs.targets


def _ends(sizes: Int64s) -> Int64s:
    return np.concatenate([[0], np.cumsum(sizes)])


def _inside(first: Int64s, end: Int64s) -> tuple[Int64s, Int64s]:
    """Returns the segments in examples, and each segment's example index."""
    return spans(first, end - first), np.repeat(np.arange(len(first)), end - first)


def _moved(places: Words, lines: Int64s, by: Int64s) -> Words:
    """Returns the spans in some lines, each line's shifted by a byte count."""
    counts = np.diff(places.offsets)[lines]
    chosen, moves = spans(places.offsets[lines], counts), np.repeat(by, counts).astype(np.int32)
    return Words(places.begins[chosen] + moves, places.ends[chosen] + moves, _ends(counts))


def _joined_links(pairs: TextBatch, words: Mapping[Side, Words], examples: Examples, between: int) -> Links:
    """Returns the word links of examples, given the number of words between two segments."""
    numbers, offsets = numbers_of(pairs.links)
    inside, example = _inside(np.maximum(*(examples.first[side] for side in SIDES)), examples.end)
    counts = np.diff(offsets)[inside]
    chosen = numbers.reshape(-1, 2)[spans(offsets[inside], counts)]
    for place, side in enumerate(SIDES):
        first = examples.first[side][example]
        before = words[side].offsets[inside] - words[side].offsets[first] + between * (inside - first)
        chosen[:, place] += np.repeat(before, counts).astype(np.int32)
    per_example = np.bincount(example, counts, minlength=len(examples)).astype(np.int64)
    return Links(chosen, _ends(per_example), 0)
