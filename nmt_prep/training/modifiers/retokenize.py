"""Retokenize: turns tokens into text, and token links into links between words or vocabulary pieces."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import _nmt_prep_core as core
import numpy as np
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.subwords import Tokenizer, load_tokenizer
from nmt_prep.training.modifiers.block import Block, Spans, check_text, lines_of, numbers_of, spans_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Side:
    """How the tokens of a side become text."""

    detokenizer: str  # `spaces`, `icu` or `moses`
    detokenize: Callable[[list[str]], str] | None  # returns the text of tokens; None for `spaces`
    vocabulary: Tokenizer | None  # the vocabulary whose pieces links count; None for words

    @classmethod
    def of(cls, detokenize: str | None, tokenize: str | None, base_dir: Path) -> Side:
        """Reads names such as ``moses:de`` and ``spm:vocab.spm``."""
        check_text(detokenize=detokenize or "", tokenize=tokenize or "")
        name, _, language = (detokenize or "spaces").partition(":")
        if name not in ("spaces", "icu", "moses"):
            raise ValueError(f"unknown detokenizer {name!r}; use spaces, icu:LANGUAGE or moses:LANGUAGE")
        kind, _, path = (tokenize or "spaces").partition(":")
        if kind not in ("spaces", "spm"):
            raise ValueError(f"tokenize is {tokenize!r}; it can be spaces or spm:PATH")
        vocabulary = load_tokenizer(base_dir / path) if kind == "spm" else None
        made = {"spaces": None, "icu": _join_icu}.get(name) or (_moses(language) if name == "moses" else None)
        return cls(name, made, vocabulary)


def _join_icu(tokens: list[str]) -> str:
    return "".join(tokens).replace("▁", " ")


def _moses(language: str) -> Callable[[list[str]], str]:
    try:
        sacremoses: Any = importlib.import_module("sacremoses")
    except ImportError as error:
        raise ValueError(f"moses:{language} needs the package sacremoses; pip install sacremoses") from error
    detokenizer: Any = sacremoses.MosesDetokenizer(language)
    return lambda tokens: str(detokenizer.detokenize(tokens))


class Retokenize:
    """Turns the tokens of all pairs into text; ``probability`` is not used.

    Args:
        src: ``detokenize`` (spaces, icu:LANGUAGE or moses:LANGUAGE) and ``tokenize`` (spaces or spm:PATH)
        trg: the same keys for the target.
    """

    needs_links = True
    by_pair = True

    def __init__(
        self,
        probability: float = 0,
        src: dict[str, str] | None = None,
        trg: dict[str, str] | None = None,
        base_dir: Path = Path(),
    ) -> None:
        sides = [src or {}, trg or {}]
        if unknown := sorted({*sides[0], *sides[1]} - {"detokenize", "tokenize"}):
            raise ValueError(f"src and trg have no key {unknown[0]!r}; their keys are detokenize and tokenize")
        self.sides = [Side.of(side.get("detokenize"), side.get("tokenize"), base_dir) for side in sides]
        self.makes_pieces = any(side.vocabulary for side in self.sides)

    def __call__(self, block: Block) -> Block:
        return retokenized(block, self.sides[0], self.sides[1])


def retokenized(block: Block, source: Side, target: Side) -> Block:
    """Returns the block as text, with piece links where a side has a vocabulary.

    If a link names a word that does not exist, its pair loses all links. Corpus text that is not tokenized stays.
    """
    # Links count tokens. Tokens are found as byte spans in the new text (`spans`), pieces likewise (`pieces`), and a
    # link of two tokens becomes links of all pieces that overlap them. So texts and spans must describe the same bytes.
    sides, texts, spans = (source, target), [block.source, block.target], []
    for number, side in enumerate(sides):
        if side.detokenize is not None and block.units == "spaced":
            texts[number], places = _detokenized(texts[number], side.detokenize)
            spans.append(places)
        else:
            spans.append(spans_of(texts[number], spaced=block.units == "spaced"))
    made = replace(block, source=texts[0], target=texts[1])
    stays = made.source is block.source, made.target is block.target
    vocabularies = [side.vocabulary for side in sides]
    if block.links is None or (vocabularies == [None, None] and all(stays)):
        return made
    numbers, offsets = numbers_of(block.links, [np.diff(places[2]) for places in spans])
    pieces = [
        _pieces(texts[n], vocabulary)
        if vocabulary is not None
        else (spans[n] if stays[n] else spans_of(texts[n], spaced=block.units == "spaced"))
        for n, vocabulary in enumerate(vocabularies)
    ]
    linked, linked_offsets, cut = core.piece_links(numbers, offsets, *spans, *pieces)
    _CUT.add(cut)
    links = lines_of(linked, linked_offsets)
    return replace(made, links=links, units=block.units if vocabularies == [None, None] else "pieces")


class _CutPairs:
    """Counts pairs that lack links for long words; warns about the first, the tenth, the hundredth and so on."""

    def __init__(self) -> None:
        self._count, self._next, self._lock = 0, 1, Lock()

    def add(self, pairs: int) -> None:
        with self._lock:
            self._count += pairs
            if self._count < self._next:
                return
            self._next = 10 ** len(str(self._count))
            count = self._count
        _log.warning("pairs so far with words with too many pieces, whose links are skipped: %s", f"{count:,}")


_CUT = _CutPairs()


def _detokenized(lines: pa.LargeStringArray, detokenize: Callable[[list[str]], str]) -> tuple[pa.Array, Spans]:
    """Returns the tokens' text, and each token's position in the text.

    A line stays unchanged if its tokens are not all in the detokenizer's text.
    """
    texts, begins, ends, counts = [], list[int](), list[int](), [0]
    for line in lines.to_pylist():
        tokens = line.split()
        text = detokenize(tokens)
        spans = _places(tokens, text)
        if spans is None:
            text = line
            spans = _places(tokens, line) or []
        bytes_before = range(len(text) + 1) if text.isascii() else [0, *accumulate(len(c.encode()) for c in text)]
        texts.append(text)
        begins += [bytes_before[begin] for begin, _ in spans]
        ends += [bytes_before[end] for _, end in spans]
        counts.append(len(begins))
    spans_of_tokens = np.array(begins, np.int32), np.array(ends, np.int32), np.array(counts, np.int64)
    return pa.array(texts, pa.large_string()), spans_of_tokens


def _places(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Returns each token's position in a text, empty for a space token; None if the text lacks a token."""
    # A detokenizer moves and removes spaces but keeps the tokens in order, so each is searched from the end of the
    # last.
    places, done = list[tuple[int, int]](), 0
    for word in tokens:
        if word == "▁":
            places.append((done, done))
            continue
        wanted = word if text.find(word, done) >= 0 else word.replace("▁", " ")
        begin = text.find(wanted, done)
        if begin < 0:
            return None
        done = begin + len(wanted)
        places.append((begin, done))
    return places


def _pieces(lines: pa.LargeStringArray, vocabulary: Tokenizer) -> Spans:
    rows = vocabulary.encode_batch(lines, 1)
    spans = vocabulary.piece_spans(TextColumn.from_arrow(lines), rows)
    return spans.begins, spans.ends, rows.offsets
