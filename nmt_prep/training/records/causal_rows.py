"""Rows with layout ``causal``: one ID sequence per pair, with the spans that count for the loss.

A row's ids are what the tokenizer gives for its whole text. Its spans begin at the first id that the prompt alone does
not have, as in TRL, so an id that crosses the border counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import join_pairs

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError, EncodeError, VocabularyError
from nmt_prep.base.runtime import kept
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.config.prompts import CausalSettings
from nmt_prep.subwords.added import AddedTokenFinder
from nmt_prep.subwords.chat.shapes import (
    ANSWER,
    USER,
    Border,
    Segment,
    Shapes,
    Treatment,
    TurnShape,
    ids_before,
    rendered_pairs,
    rendered_row,
    shapes_of,
)
from nmt_prep.subwords.chat.template import ChatTemplate
from nmt_prep.subwords.facts import BuiltVocabulary
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.tokenizer import Tokenizer
from nmt_prep.training.prompts import Prompter
from nmt_prep.training.records.dataset_json import CausalInfo, DatasetInfo
from nmt_prep.training.records.shard_reader import PairColumns, loss_mask
from nmt_prep.training.records.text_records import Subwords, TextEncoder

_WHITE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_STRIPS = {"strip": "utf8_trim", "lstrip": "utf8_ltrim", "rstrip": "utf8_rtrim"}  # functions of pyarrow.compute
_SWALLOWED = "".join(character for character in _WHITE if character not in "\x1c\x1d\x1e\x1f")


def divided_rows(rows: PairColumns) -> tuple[Ragged, Ragged]:
    """Returns the ids of each row that do not count for the loss, and those that do."""
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

    def shapes(self, system: str | None) -> Shapes:
        """Returns the shapes of conversations with a system turn."""
        return _shapes(self, system)

    def rows(self, prompts: pa.Array, answers: pa.Array, system: str | None, threads: int | None = None) -> PairColumns:
        """Returns a row for each pair of prompt and answer, both ``large_string``."""
        shapes, tokenizer = self.shapes(system), self.vocabulary.load()
        user, answer, odd = _treated(self.template, shapes, system, prompts, answers, tokenizer)
        ids, bounds = _encoded(shapes.only, tokenizer, user, answer, threads)
        if odd.any() and self.template is not None:
            order, rows = np.arange(len(ids)), list[list[int]]()
            special = _special_finder(tokenizer)
            for number in np.flatnonzero(odd).tolist():
                pair = prompts[number].as_py(), answers[number].as_py()
                if any(map(special.occurs, pair)):
                    continue  # a whole rendering would make ids of them
                row, bounds[number] = rendered_row(self.template, system, *pair, tokenizer)
                order[number] = len(ids) + len(rows)
                rows.append(row)
            ids = Ragged.joined([ids, Ragged.from_lists(rows)]).taken(order)
        return _columns(ids, Ragged(bounds.ravel(), np.arange(0, 2 * len(ids) + 1, 2)))

    def changed(self, prompts: pa.Array, answers: pa.Array, system: str | None) -> npt.NDArray[np.bool_]:
        """Returns True for pairs whose prompt has other last ids alone than before its answer."""
        shape, tokenizer = self.shapes(system).only, self.vocabulary.load()
        if shape.start.before is None:
            return np.zeros(len(prompts), np.bool_)
        segment = shape.parts[shape.start.part]
        assert isinstance(segment, Segment)
        alone, whole = (
            _ids(tokenizer, segment, _filled(text, prompts, answers), 1) for text in (shape.start.before, segment.text)
        )
        return _common(alone, whole) < alone.lengths

    def end_of_prompt(self, system: str | None) -> str:
        """Returns what stands between a prompt and its answer, in the piece of text where the answer begins."""
        return (self.shapes(system).only.start.before or "").rpartition(USER)[2]

    def conversations(
        self,
        prompts: pa.Array,
        answers: pa.Array,
        system: str | None,
        turns: npt.NDArray[np.int64],
        threads: int | None = None,
        *,
        last_only: bool = False,
    ) -> PairColumns:
        """Returns a row of several turns for each pair: the turns that end with the pair's own, or none.

        Args:
            turns: turn count of each row, 0 for an empty row; int64, shape ``[pairs]``.
            last_only: True if only the last answer counts for the loss.
        """
        shapes, tokenizer, pairs = self.shapes(system), self.vocabulary.load(), len(prompts)
        if isinstance(shapes.several, str) and turns.max(initial=0) > 1:
            raise VocabularyError(shapes.several)
        user, answer, _ = _treated(self.template, shapes, system, prompts, answers, tokenizer)
        items = _ranges(np.arange(1, pairs + 1) - turns, turns)  # index of each turn's pair
        number, of = _ranges(np.zeros(pairs, np.int64), turns), np.repeat(turns, turns)
        kinds = np.where(of == 1, 0, np.where(number == 0, 1, np.where(number == of - 1, 3, 2)))
        forms = (shapes.only, *(() if isinstance(shapes.several, str) else shapes.several))
        ids, bounds, places = list[Ragged](), list[npt.NDArray[np.int32]](), np.empty(len(items), np.int64)
        made = 0
        for kind, shape in enumerate(forms):
            used, inverse = np.unique(items[kinds == kind], return_inverse=True)
            taken = pa.array(used)
            rows, spans = _encoded(shape, tokenizer, user.take(taken), answer.take(taken), threads)
            ids.append(rows)
            bounds.append(spans)
            places[kinds == kind] = inverse + made
            made += len(used)
        joined = Ragged.joined(ids).taken(places)
        rows_end = np.cumsum(turns)
        row_offsets = np.concatenate([[0], joined.offsets[rows_end]])
        spans = np.concatenate(bounds)[places] + (joined.offsets[:-1] - np.repeat(row_offsets[:-1], turns))[:, None]
        counted = number == of - 1 if last_only else np.ones(len(items), np.bool_)
        counts = np.concatenate([[0], np.cumsum(counted)])[np.concatenate([[0], rows_end])]
        return _columns(Ragged(joined.values, row_offsets), Ragged(spans[counted].ravel().astype(np.int32), 2 * counts))


@kept(64)
def _shapes(maker: RowMaker, system: str | None) -> Shapes:
    tokenizer = maker.vocabulary.load()
    if maker.template is not None:
        return shapes_of(maker.template, system, tokenizer)
    frame = Frame.parse(tokenizer, maker.frame)
    parts: tuple[int | Segment, ...] = (*frame.before, Segment(USER + ANSWER, first=True), *frame.after)
    only = TurnShape(parts, Border(len(frame.before), USER), Border(len(parts)))
    without = "records of documents need a chat template: set records.template to chat"
    return Shapes(only, without, Treatment("keep"), Treatment("keep"), (), ("", "", ""))


def _columns(ids: Ragged, bounds: Ragged) -> PairColumns:
    return PairColumns(ids, bounds, None, np.empty(0, np.int32))


def _treated(
    template: ChatTemplate | None,
    shapes: Shapes,
    system: str | None,
    prompts: pa.Array,
    answers: pa.Array,
    tokenizer: Tokenizer,
) -> tuple[pa.Array, pa.Array, npt.NDArray[np.bool_]]:
    """Returns texts as the template writes them, of which only those that it may change are rendered.

    Texts around which it writes other text are unchanged, and marked with True.
    """
    asked, treated = np.zeros(len(prompts), np.bool_), list[pa.Array]()
    for texts, treatment in ((prompts, shapes.user), (answers, shapes.answer)):
        if treatment.method == "render":
            asked[:] = True
        elif template is not None:
            asked |= np.asarray(pc.equal(pc.binary_length(pc.utf8_trim(texts, characters=_WHITE)), 0))
            for searched in shapes.searched:
                asked |= np.asarray(pc.match_substring(texts, searched))
        strip = _STRIPS.get(treatment.method)
        treated.append(getattr(pc, strip)(texts, characters=treatment.characters or _WHITE) if strip else texts)
    odd = asked.copy()
    if template is not None and asked.any():
        rows = pa.array(asked)
        pairs = [*zip(*(texts.filter(rows).to_pylist() for texts in (prompts, answers)), strict=True)]
        special = _special_finder(tokenizer)
        made = [  # a special token that the template writes is no text
            None if pair is None or any(map(special.occurs, pair)) > any(map(special.occurs, given)) else pair
            for pair, given in zip(rendered_pairs(template, system, shapes.around, pairs), pairs, strict=True)
        ]
        odd[asked] = [pair is None for pair in made]
        for side, texts in enumerate((prompts, answers)):
            rendered = pa.array([None if pair is None else pair[side] for pair in made], pa.large_string())
            treated[side] = pc.coalesce(pc.replace_with_mask(treated[side], rows, rendered), texts)
    return treated[0], treated[1], odd


def _special_finder(tokenizer: Tokenizer) -> AddedTokenFinder:
    return AddedTokenFinder({name: token for name, token in tokenizer.added.items() if token.special})


def _encoded(
    shape: TurnShape, tokenizer: Tokenizer, prompts: pa.Array, answers: pa.Array, threads: int | None
) -> tuple[Ragged, npt.NDArray[np.int32]]:
    """Returns the IDs of turns, and each turn's counted span: int32, shape ``[turns, 2]``."""
    segments: dict[int, Ragged] = {}
    for number, part in enumerate(shape.parts):
        if isinstance(part, Segment):
            segments[number] = _ids(tokenizer, part, _filled(part.text, prompts, answers), threads)
    places = dict(zip(segments, (-1, -2), strict=False))
    parts = np.array([places.get(number, part) for number, part in enumerate(shape.parts)], np.int32)
    none = Ragged(np.empty(0, np.int32), np.zeros(len(prompts) + 1, np.int64))
    sides = [*segments.values(), none][:2]
    ids = Ragged(*join_pairs(*sides[0].contiguous(), *sides[1].contiguous(), parts, -1, -1))

    def place(border: Border, *, is_end: bool) -> npt.NDArray[np.int64]:
        before = np.full(len(prompts), border.part - sum(number < border.part for number in segments), np.int64)
        for number, segment in segments.items():
            if number < border.part:
                before += segment.lengths
        if border.before is None:
            return before
        part = shape.parts[border.part]
        assert isinstance(part, Segment)
        alone = _ids(tokenizer, part, _filled(border.before, prompts, answers), threads)
        same = _common(alone, segments[border.part])
        crossed = same < alone.lengths
        place = before + same + (crossed if is_end else 0)
        if border.in_text:
            whole, rows = segments[border.part], np.flatnonzero(crossed)
            texts = _filled(border.before, prompts.take(pa.array(rows)), answers.take(pa.array(rows))).to_pylist()
            for row, ids, text in zip(rows.tolist(), whole.taken(rows).to_lists(), texts, strict=True):
                place[row] = before[row] + ids_before(ids, text, tokenizer, int(same[row]), is_end=is_end)
        return place

    return ids, np.stack([place(shape.start, is_end=False), place(shape.end, is_end=True)], axis=1).astype(np.int32)


def _filled(text: str, prompts: pa.Array, answers: pa.Array) -> pa.Array:
    """Returns a text with the texts of the rows in their places; a single text if there are none."""
    columns: list[pa.Array | pa.Scalar] = []
    for number, piece in enumerate(text.split(USER)):
        columns += [prompts] if number else []
        for inner, constant in enumerate(piece.split(ANSWER)):
            columns += [answers] if inner else []
            columns += [pa.scalar(constant, pa.large_string())] if constant else []
    if len(columns) == 1 and isinstance(columns[0], pa.Array):
        return columns[0]
    if not any(isinstance(column, pa.Array) for column in columns):
        return pa.array([text], pa.large_string()).take(pa.array(np.zeros(len(prompts), np.int64)))
    return pc.binary_join_element_wise(*columns, pa.scalar("", pa.large_string()))


def _ids(tokenizer: Tokenizer, segment: Segment, texts: pa.Array, threads: int | None) -> Ragged:
    if segment.stripped[0]:
        texts = pc.utf8_ltrim(texts, characters=_SWALLOWED)
    if segment.stripped[1]:
        texts = pc.utf8_rtrim(texts, characters=_SWALLOWED)
    return tokenizer.encode_batch(texts, threads) if segment.first else tokenizer.encode_after_token(texts, threads)


def _ranges(starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Concatenates the ranges from ``start`` to before ``start + size``."""
    return np.arange(sizes.sum()) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)


def _common(alone: Ragged, whole: Ragged) -> npt.NDArray[np.int64]:
    """Returns the length of the rows' common start."""
    lengths = np.minimum(alone.lengths, whole.lengths)
    within = _ranges(np.zeros_like(lengths), lengths)
    row = np.repeat(np.arange(len(lengths)), lengths)
    differs = alone.values[alone.offsets[row] + within] != whole.values[whole.offsets[row] + within]
    common = lengths.copy()
    np.minimum.at(common, row[differs], within[differs])
    return common


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
        """Returns what makes a split's rows, given the files' directory and each corpus's pair."""
        settings = CausalSettings.model_validate_json(json.dumps(info.settings))
        template = None if info.template is None else parse_json_as(ChatTemplate, info.template)
        glossary = None if info.glossary is None else directory / info.glossary
        pools = [None if name is None else directory / name for name in info.examples.get(split, ())]
        prompter = Prompter.of(settings, pairs, split, seed, glossary, pools)
        return cls(prompter, RowMaker(vocabulary, template, frame))

    def prompts(
        self, sources: pa.Array, targets: pa.Array, corpora: npt.NDArray[np.int32], first: int, context: pa.Array | None
    ) -> tuple[pa.Array, pa.Array]:
        """Returns the prompts and answers of pairs, as ``large_string``."""
        own, answers = (lines.cast(pa.large_string()) for lines in (sources, targets))
        return self.prompter.filled(own, answers, corpora, first, context), answers

    def rows(
        self,
        sources: pa.Array,
        targets: pa.Array,
        corpora: npt.NDArray[np.int32],
        first: int,
        context: pa.Array | None = None,
        threads: int | None = None,
    ) -> PairColumns:
        """Returns the rows for consecutive pairs; ``first`` is the first pair's index, by which prompts are drawn."""
        prompts, answers = self.prompts(sources, targets, corpora, first, context)
        systems = [self.prompter.system_of(corpus) for corpus in range(len(self.prompter.languages))]
        groups = np.array([systems.index(system) for system in systems], np.int64)[corpora]
        parts, places = list[PairColumns](), list[npt.NDArray[np.int64]]()
        for group in np.unique(groups).tolist():
            mine = np.flatnonzero(groups == group)
            parts.append(
                self.maker.rows(prompts.take(pa.array(mine)), answers.take(pa.array(mine)), systems[group], threads)
            )
            places.append(mine)
        if len(parts) == 1:
            return replace(parts[0], corpora=corpora)
        joined = PairColumns.joined(parts or [_columns(*[Ragged.from_lists([])] * 2)])
        order = np.argsort(np.concatenate([np.empty(0, np.int64), *places]))
        return replace(joined, inputs=joined.inputs.taken(order), targets=joined.targets.taken(order), corpora=corpora)


@dataclass(frozen=True)
class CausalEncoder(TextEncoder):
    """Makes rows from a split's text pairs."""

    made_by: CausalRows | None = None

    @classmethod
    def of(
        cls,
        records_dir: Path,
        info: DatasetInfo,
        split: str,
        subwords: Subwords | None = None,
        seed: int = 0,
        base_dir: Path | None = None,
    ) -> Self:
        """Loads the vocabulary and what rows are made with.

        Raises:
            ArgumentError: the records do not say how rows are made, or there are options of subword sampling.
        """
        if info.causal is None:
            raise ArgumentError(
                "dataset.json does not say how rows are made; set records.prompt, or records.template, and run again"
            )
        if subwords:
            raise ArgumentError("subwords are not sampled in rows of a causal language model; remove the option")
        encoder = super().of(records_dir, info, split, None, seed, base_dir)
        default = LanguagePair(info.languages.source, info.languages.target)
        pairs = [
            LanguagePair.parse(corpus.language_pair) if corpus.language_pair else default
            for corpus in info.corpora[split]
        ]
        vocabulary, frame = encoder.vocabularies["target"], info.vocab.target.frame
        made_by = CausalRows.of(info.causal, records_dir, split, info.seed, pairs, vocabulary, frame)
        return replace(encoder, made_by=made_by)

    def pairs(self, text: pa.RecordBatch, first: int, epoch: int, threads: int | None = None) -> PairColumns:
        """Returns the rows for pairs; prompts are drawn by ``first``, the first pair's index, and the epoch."""
        assert self.made_by is not None
        return self.made_by.rows(
            text.column("source"), text.column("target"), self.corpora_of(text), first + (epoch << 40), threads=threads
        )
