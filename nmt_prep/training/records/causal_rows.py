"""Rows with layout ``causal``: one ID sequence per pair, with the spans that count for the loss.

A row's IDs are what the tokenizer gives for its whole text. Its spans begin at the first ID that the prompt alone does
not have, as in TRL, so an ID that crosses the border counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError, EncodeError
from nmt_prep.base.runtime import kept
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.prompts import CausalSettings
from nmt_prep.subwords.chat.shapes import Border, Segment, Shape, mark, rendered_rows
from nmt_prep.subwords.chat.template import ChatTemplate, PairRenderingError
from nmt_prep.subwords.facts import BuiltVocabulary
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.tokenizer import Tokenizer
from nmt_prep.training.prompts import Prompter
from nmt_prep.training.records.dataset_json import CausalInfo, DatasetInfo
from nmt_prep.training.records.shard_reader import PairColumns, loss_mask
from nmt_prep.training.records.text_records import TextEncoder


def divided_rows(rows: PairColumns) -> tuple[Ragged, Ragged]:
    """Returns the IDs of each row that do not count for the loss, and those that do."""
    mask = loss_mask(rows)
    values = rows.inputs.values[rows.inputs.offsets[0] : rows.inputs.offsets[-1]]
    before = np.concatenate([[0], np.cumsum(mask)])[rows.inputs.offsets]
    return Ragged(values[~mask], rows.inputs.offsets - before), Ragged(values[mask], before)


def text_of(tokenizer: Tokenizer, ids: list[int]) -> str:
    """Returns the text in a part of a row, with the names of special tokens."""
    try:
        return tokenizer.decode(ids)
    except EncodeError:  # a border is within a character
        words = tokenizer.words()
        return "".join(words[number] for number in ids)


@dataclass(frozen=True)
class RowMaker:
    """Makes rows of prompts and answers."""

    vocabulary: BuiltVocabulary
    template: ChatTemplate | None  # None for the frame, the prompt and the answer
    frame: str | None = None  # the pieces around a row without a template, as in `vocab.frame`

    def rows(
        self,
        prompts: pa.Array,
        answers: pa.Array,
        systems: Sequence[str | None] = (None,),
        corpora: npt.NDArray[np.int32] | None = None,
        turns: npt.NDArray[np.int64] | None = None,
        *,
        threads: int | None = None,
        last_only: bool = False,
    ) -> PairColumns:
        """Returns a row for each pair of prompt and answer, both ``large_string``.

        Args:
            systems: the system turn of each corpus, or None for none.
            corpora: corpus index of each pair; None for the first.
            turns: turn count of each row, which ends with its pair, and has pairs of one corpus; 0 for an empty row;
                None for single turns.
            last_only: True if only the last answer counts for the loss.
        """
        corpora = np.zeros(len(prompts), np.int32) if corpora is None else corpora
        turns = np.ones(len(prompts), np.int64) if turns is None else turns
        known = list(dict.fromkeys(systems))
        groups = np.array([known.index(system) for system in systems], np.int64)[corpora]
        empty = np.flatnonzero(turns == 0)
        none = Ragged(np.empty(0, np.int32), np.zeros(len(empty) + 1, np.int64))
        made, places = [(none, none)], [empty]
        for group, count in {*zip(groups.tolist(), turns.tolist(), strict=True)}:
            ends = np.flatnonzero((groups == group) & (turns == count))
            before = [ends - turn for turn in reversed(range(count))]
            columns = [lines.take(pa.array(pairs)) for pairs in before for lines in (prompts, answers)]
            for own, ids, bounds in self._alike(ends, columns, known[group], threads) if count else ():
                made.append((ids, bounds))
                places.append(own)
        order = np.argsort(np.concatenate(places))
        ids, bounds = (Ragged.joined(parts).taken(order) for parts in zip(*made, strict=True))
        if last_only:
            last = np.arange(len(bounds.values)) >= np.repeat(bounds.offsets[1:] - 2, bounds.lengths)
            bounds = Ragged(bounds.values[last], np.concatenate([[0], np.cumsum(last)])[bounds.offsets])
        return PairColumns(ids, bounds, corpora, np.empty(0, np.int32))

    def _alike(
        self, ends: npt.NDArray[np.int64], columns: Sequence[pa.Array], system: str | None, threads: int | None
    ) -> Iterator[tuple[npt.NDArray[np.int64], Ragged, Ragged]]:
        """Yields rows of one shape: their last pairs, which are some of ``ends``, their IDs and their bounds."""
        shape, tokenizer = self.shape(system, len(columns) // 2), self.vocabulary.load()
        odd = np.zeros(len(ends), np.bool_) if shape.odd is None else shape.odd.among(columns)
        if not odd.all():
            yield ends[~odd], *shape.rows([lines.filter(pa.array(~odd)) for lines in columns], tokenizer, threads)
        if self.template is not None and odd.any():
            texts = zip(*(lines.filter(pa.array(odd)).to_pylist() for lines in columns), strict=True)
            rows = dict(zip(ends[odd].tolist(), texts, strict=True))
            for own, ids, bounds in rendered_rows(self.template, shape, system, rows, tokenizer):
                yield np.array(own), ids, bounds

    @kept(1024)
    def shape(self, system: str | None, turns: int) -> Shape:
        """Returns the shape of conversations with a system turn."""
        tokenizer = self.vocabulary.load()
        if self.template is not None:
            return Shape.of(self.template, system, turns, tokenizer)
        frame, text = Frame.parse(tokenizer, self.frame), mark(0) + mark(1)
        parts: tuple[int | Segment, ...] = (*frame.before, Segment(text, first=True), *frame.after)
        borders = Border(len(frame.before), Segment(mark(0), first=True)), Border(len(parts))
        return Shape(text, parts, borders, blocks=False)


@dataclass(frozen=True)
class CausalRows:
    """Makes the rows for a split's pairs."""

    prompter: Prompter
    maker: RowMaker

    @classmethod
    def of(
        cls,
        info: CausalInfo,
        directory: Path,
        split: str,
        seed: int,
        pairs: Sequence[LanguagePair],
        vocabulary: BuiltVocabulary,
        frame: str | None,
    ) -> Self:
        """Returns the maker of a split's rows, given the files' directory and each corpus's language pair."""
        settings = CausalSettings.model_validate_json(json.dumps(info.settings))
        template = None if info.template is None else parse_json_as(ChatTemplate, info.template)
        glossary = None if info.glossary is None else directory / info.glossary
        pools = [None if name is None else directory / name for name in info.examples.get(split, ())]
        prompter = Prompter.of(settings, pairs, split, seed, glossary, pools)
        return cls(prompter, RowMaker(vocabulary, template, frame))

    def rows(
        self,
        sources: pa.Array,
        targets: pa.Array,
        corpora: npt.NDArray[np.int32],
        first: int,
        context: pa.Array | None = None,
        turns: npt.NDArray[np.int64] | None = None,
        *,
        threads: int | None = None,
        last_only: bool = False,
    ) -> PairColumns:
        """Returns the rows for consecutive pairs; ``first`` is the first pair's index, by which prompts are drawn."""
        own, answers = (lines.cast(pa.large_string()) for lines in (sources, targets))
        prompts = self.prompter.filled(own, answers, corpora, first, context)
        return self.maker.rows(
            prompts, answers, self.prompter.systems, corpora, turns, threads=threads, last_only=last_only
        )


@dataclass(frozen=True)
class CausalEncoder(TextEncoder):
    """Makes rows from a split's text pairs."""

    made_by: CausalRows = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)  # the names of the corpora

    def pairs(self, text: pa.RecordBatch, first: int, epoch: int, threads: int | None = None) -> PairColumns:
        """Returns the rows for pairs; prompts are drawn by ``first``, the first pair's index, and the epoch."""
        corpora = self.corpora_of(text)
        try:
            return self.made_by.rows(
                text.column("source"), text.column("target"), corpora, first + (epoch << 40), threads=threads
            )
        except PairRenderingError as error:
            raise error.at(f"corpus {self.names[corpora[error.pair]]}", text.column("source")) from error


def causal_encoder(encoder: TextEncoder, records_dir: Path, info: DatasetInfo, split: str) -> CausalEncoder:
    """Returns the maker of a split's rows, given the encoder of its text.

    Raises:
        ArgumentError: there are options of subword sampling.
    """
    if encoder.subwords:
        raise ArgumentError("subwords are not sampled in rows of a causal language model; remove the option")
    assert info.causal is not None
    default = LanguagePair(info.languages.source, info.languages.target)
    pairs = [
        LanguagePair.parse(corpus.language_pair) if corpus.language_pair else default for corpus in info.corpora[split]
    ]
    vocabulary, frame = encoder.vocabularies["target"], info.vocab.target.frame
    made_by = CausalRows.of(info.causal, records_dir, split, info.seed, pairs, vocabulary, frame)
    names = tuple(corpus.name for corpus in info.corpora[split])
    return CausalEncoder(encoder.vocabularies, encoder.frames, seed=encoder.seed, made_by=made_by, names=names)
