"""Tags: translations of single words in the source, as terminology gives them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from nmt_prep.modifiers.block import Block, Line, LineModifier, Units, check_share, check_text
from nmt_prep.modifiers.draws import Draws, uniform
from nmt_prep.modifiers.noise import random_words
from nmt_prep.modifiers.retokenize import Side, retokenized
from nmt_prep.modifiers.words import (
    NEW_WORDS,
    Pairs,
    Part,
    Spans,
    assembled,
    followed,
    labels_of,
    parsed,
    spans_of,
    words_by_label,
)


class Tags(LineModifier):
    """Changes words that are linked with one word each, which differs from them; each with the same probability.

    Args:
        probability: probability of each such word.
        tag: share of the words that get the target word as a hint, in the form of the template.
        replace: share of the words whose target word and hint become random words.
        augment: share of the words after which random words are inserted on both sides.
        template: text in place of the source word.
        custom_detok_src: detokenizer of the source, see :class:`~nmt_prep.modifiers.retokenize.Retokenize`.
        custom_detok_trg: detokenizer of the target.
        spm_vocab_src: vocabulary of the source, whose pieces the links then count.
        spm_vocab_trg: vocabulary of the target.
        base_dir: the directory that the vocabularies' paths are relative to.
    """

    needs_links = True

    def __init__(
        self,
        probability: float,
        custom_detok_src: str | None = None,
        custom_detok_trg: str | None = None,
        spm_vocab_src: str | None = None,
        spm_vocab_trg: str | None = None,
        template: str = "__source__ {src} __target__ {trg} __done__",
        augment: float = 0,
        replace: float = 0,
        tag: float = 1,
        base_dir: Path = Path(),
    ) -> None:
        super().__init__(probability)
        check_share(augment=augment, replace=replace, tag=tag, augment_and_replace=augment + replace)
        check_text(template=template)
        if augment + replace + tag < 1:
            raise ValueError("augment, replace and tag sum to less than 1, so some words would have no change")
        if sorted(re.findall(r"\{\w*\}", template)) != ["{src}", "{trg}"]:
            raise ValueError(f"template is {template!r}; it must have {{src}} and {{trg}} once each")
        self.modes = [
            (name, share) for name, share in (("augment", augment), ("replace", replace), ("tag", tag)) if share
        ]
        self.template = re.split(r"(\{src\}|\{trg\})", template)
        detokenizers = [
            name if name is None or ":" in name else f"moses:{name}" for name in (custom_detok_src, custom_detok_trg)
        ]
        if any((name or "").startswith("icu") for name in detokenizers) and (replace or tag):
            raise ValueError("tokens of ICU go with augment: 1, replace: 0 and tag: 0 alone")
        models = [name and f"spm:{name}" for name in (spm_vocab_src, spm_vocab_trg)]
        self.sides = [Side.of(detok, model, base_dir) for detok, model in zip(detokenizers, models, strict=True)]
        self.makes_pieces = any(models)

    def __call__(self, block: Block) -> Block:
        """Returns the modified block."""
        if block.links is not None:
            places = self._drawn(block)
            edits = [
                self.edit(line, draws, block.units)
                for draws, line in zip(Draws.of_rows(block.keys[places], 0), block.lines(places), strict=True)
            ]
            block = block.edited(places, edits)
        return retokenized(block, self.sides[0], self.sides[1])

    def _drawn(self, block: Block) -> np.ndarray:
        """Returns the places of pairs of which a draw for a link is below the probability."""
        counts = pc.count_substring(block.links, "-").to_numpy(zero_copy_only=False).astype(np.int64)
        line = np.repeat(np.arange(len(block)), counts)
        number = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.unique(line[uniform(block.keys[line], number) < self.probability])

    def edit(self, line: Line, draws: Draws, units: Units) -> Line:
        """Returns the pair with some words changed; the same one if its links are wrong."""
        source, target, links = line
        try:
            pairs = parsed(links or "")
        except ValueError:
            return line
        words = spans_of(source, units), spans_of(target, units)
        if not all(0 <= s < len(words[0]) and 0 <= t < len(words[1]) for s, t in pairs):
            return line
        changes = _Changes(pairs, self.template)
        for s, t in _candidates(line, pairs, words):
            if draws.random() < self.probability:
                self._change(changes, line, (s, t), words, draws)
        if not changes.source:
            return line
        texts, places = [], []
        for text, spans, edits in zip((source, target), words, (changes.source, changes.target), strict=True):
            made, labels = assembled(text, labels_of(text, spans), _parts(text, spans, edits))
            texts.append(made)
            places.append(words_by_label(made, labels, units))
        return Line(texts[0], texts[1], followed(changes.links, *places))

    def _change(
        self, changes: _Changes, line: Line, link: tuple[int, int], words: tuple[Spans, Spans], draws: Draws
    ) -> None:
        """Changes the words of a link, as a mode that is drawn says."""
        mode = self.modes[0][0]
        if len(self.modes) > 1:
            drawn = draws.random()
            sums = np.cumsum([share for _, share in self.modes])
            mode = self.modes[int(np.searchsorted(sums, drawn, side="right"))][0]
        if mode == "tag":
            begin, end = words[1][link[1]]
            changes.tag(link, words[0][link[0]], [line.target[begin:end]])
        elif mode == "replace":
            changes.replace(link, words[0][link[0]], random_words(draws, 2, 10, 3))
        else:
            icu = [side.detokenizer == "icu" for side in self.sides]
            changes.augment(link, words, random_words(draws, 2, 10, 3), line, icu)


def _candidates(line: Line, pairs: Pairs, words: tuple[Spans, Spans]) -> Pairs:
    """Returns the links of words that have one link each and differ, from left to right."""
    sources, targets = (Counter(side) for side in zip(*pairs, strict=True)) if pairs else (Counter(), Counter())
    single = sorted(pair for pair in pairs if sources[pair[0]] == 1 == targets[pair[1]])
    return [(s, t) for s, t in single if line.source[slice(*words[0][s])] != line.target[slice(*words[1][t])]]


class _Changes:
    """Changes of the words of a pair, and its links between labels: numbers of words, and higher ones of new words.

    Attributes:
        source: what replaces words of the source, by number.
        target: the same of the target.
        links: the links.
    """

    def __init__(self, pairs: Pairs, template: list[str]) -> None:
        self.source, self.target = dict[int, list[Part]](), dict[int, list[Part]]()
        self.links, self._template, self._labels = list(pairs), template, count(NEW_WORDS)

    def tag(self, link: tuple[int, int], word: tuple[int, int], hint: list[str]) -> None:
        """Puts the template in place of the source word; the hint is linked with the target word."""
        label = next(self._labels)
        self.source[link[0]] = self._filled(word, [(" ".join(hint), label)])
        self.links.append((label, link[1]))

    def replace(self, link: tuple[int, int], word: tuple[int, int], texts: list[str]) -> None:
        """Puts random words in place of the target word, and the template with them in place of the source word."""
        labels = [next(self._labels) for _ in texts]
        spaced = [part for text, label in zip(texts, labels, strict=True) for part in ((" ", -1), (text, label))][1:]
        self.source[link[0]] = self._filled(word, list(spaced))
        self.target[link[1]] = list(spaced)
        self.links += [(link[0], label) for label in labels] + [(label, label) for label in labels]

    def augment(
        self, link: tuple[int, int], words: tuple[Spans, Spans], texts: list[str], line: Line, icu: list[bool]
    ) -> None:
        """Inserts random words after the words of a link."""
        labels = [next(self._labels) for _ in texts]
        self.links += [(label, label) for label in labels]
        for text, spans, number, edits, mark in zip(
            line[:2], words, link, (self.source, self.target), icu, strict=True
        ):
            inserted: list[Part] = [spans[number]]
            for random, label in zip(texts, labels, strict=True):
                inserted += [(" ▁ " if mark else " ", -1), (random, label)]
            rest = text[spans[number][1] :]
            if mark and rest and not rest.startswith(" ▁"):
                inserted.append((" ▁", -1))
            elif not mark and rest and not rest[0].isspace():
                inserted.append((" ", -1))
            edits[number] = inserted

    def _filled(self, word: tuple[int, int], hint: list[Part]) -> list[Part]:
        filled = list[Part]()
        for text in self._template:
            filled += [word] if text == "{src}" else hint if text == "{trg}" else [(text, -1)]
        return filled


def _parts(text: str, spans: Spans, edits: dict[int, list[Part]]) -> list[Part]:
    parts, done = list[Part](), 0
    for number in sorted(edits):
        parts += [(done, spans[number][0]), *edits[number]]
        done = spans[number][1]
    return [*parts, (done, len(text))]
