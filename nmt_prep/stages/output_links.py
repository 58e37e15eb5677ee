"""Links of pieces for the outputs that hold them: from links of words, in the segmentation of the output's lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.align.links import Links, pharaoh, piece_links, pieces_of
from nmt_prep.align.vocabulary import Words, words_of
from nmt_prep.columns import TextColumn
from nmt_prep.corpora import iter_pairs
from nmt_prep.outputs import Form
from nmt_prep.outputs.lines import pieces_of as piece_lines_of
from nmt_prep.outputs.pairs import with_links
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.align import Align, links_of
from nmt_prep.stages.frames import corpus_frames
from nmt_prep.stages.vocab import BuiltVocabulary, built_vocabularies
from nmt_prep.subwords.frame import Frame

LinkedForm: TypeAlias = Literal["linked_text", "linked_tsv", "linked_pieces"]


@dataclass(frozen=True)
class Linking:
    """Settings for the links of pieces of the lines of a part.

    Attributes:
        form: the form of the lines.
        links: file with the links of the words of the part.
        vocabularies: vocabulary of each side.
        frames: for each side, the special pieces around the ids of each row.
    """

    form: LinkedForm
    links: Path
    vocabularies: Mapping[Side, BuiltVocabulary]
    frames: Mapping[Side, Frame]

    def batches(self) -> Iterator[Links]:
        """Yields the links of words of the batches of the part.

        Raises:
            CorpusError: the file cannot be read.
        """
        return map(links_of, iter_pairs(self.links))

    def linked(
        self, links: Links, text: Mapping[Side, pa.Array], tags: Mapping[Side, str]
    ) -> tuple[pa.Array, pa.Array]:
        """Returns the lines of both sides, those of the target with the links of pieces behind them.

        Args:
            links: links of the words of the pairs.
            text: the stripped text of each side.
            tags: for each side with a tag, the tag.

        Raises:
            EncodeError: a piece of the text contains white space.
            VocabularyError: a vocabulary cannot be read.
        """
        sides = [self._side(side, text[side], tags.get(side)) for side in SIDES]
        (source, source_words, source_pieces), (target, target_words, target_pieces) = sides
        found = piece_links(links, (source_words, target_words), (source_pieces, target_pieces))
        if self.form == "linked_pieces":
            before = [len(self.frames[side].before) for side in SIDES]
            found = Links(found.links + np.array(before, np.int32), found.offsets, found.too_long)
        return source, with_links(target, pharaoh(found))

    def _side(self, side: Side, text: pa.Array, tag: str | None) -> tuple[pa.Array, Words, Words]:
        """Returns the lines of a side, and the places of their words and pieces."""
        tokenizer = self.vocabularies[side].load()
        words = words_of(TextColumn.from_arrow(text))
        if self.form == "linked_pieces":
            rows = tokenizer.encode_batch(text, threads=1)
            places, _ = pieces_of(TextColumn.from_arrow(text), rows, tokenizer)
            return piece_lines_of(tokenizer).lines(self.frames[side].around(rows)), words, places
        lines = tagged(text, tag)
        read = pc.replace_substring(lines, "\t", " ") if self.form == "linked_tsv" else lines
        places, _ = pieces_of(TextColumn.from_arrow(read), tokenizer.encode_batch(read, threads=1), tokenizer)
        before = 0 if tag is None else len(f"{tag} ".encode())
        moved = Words(words.begins + np.int32(before), words.ends + np.int32(before), words.offsets)
        return lines, moved, places


class Linkings:
    """The linkings of the parts of a run."""

    def __init__(self, job: Job, form: Form) -> None:
        """Takes a job of a stage after align and vocab, and the form of the lines."""
        assert form != "ids"
        assert form != "text"
        self._form = form
        self._directory = job.directory_of(Align)
        self._aligned = job.read(Align).parts
        self._vocabularies = built_vocabularies(job)
        self._frames = corpus_frames(job) if form == "linked_pieces" else {}

    def of_part(self, split: str, number: int, corpus: str) -> Linking:
        """Returns the linking of a part, given its number and its corpus."""
        frames = self._frames[split][corpus] if self._frames else {}
        links = self._directory / self._aligned[split][number].file
        return Linking(self._form, links, self._vocabularies, frames)


def tagged(lines: pa.Array, tag: str | None) -> pa.Array:
    """Returns lines with a tag as their first word; None for no tag."""
    if tag is None:
        return lines
    return pc.binary_join_element_wise(pa.scalar(tag, lines.type), lines, pa.scalar(" ", lines.type))
