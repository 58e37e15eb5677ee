"""Tags: translations of single words in the source, as terminology gives them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from nmt_prep.modifiers.block import Block, Rows, check_share, check_text
from nmt_prep.modifiers.draws import Draws, uniform
from nmt_prep.modifiers.noise import random_words
from nmt_prep.modifiers.retokenize import Side, retokenized
from nmt_prep.modifiers.words import NEW_WORDS, NO_LABEL, Pairs, Part, Rewritten, WordModifier, WordPair


class Tags(WordModifier):
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
        self.template = re.split(rb"(\{src\}|\{trg\})", template.encode())
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
            block = self.rewritten(block, places, Draws.of_rows(block.keys[places], 0))
        return retokenized(block, self.sides[0], self.sides[1])

    def _drawn(self, block: Block) -> Rows:
        """Returns the places of pairs of which a draw for a link is below the probability."""
        counts = pc.count_substring(block.links, "-").to_numpy(zero_copy_only=False).astype(np.int64)
        line = np.repeat(np.arange(len(block)), counts)
        number = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.unique(line[uniform(block.keys[line], number) < self.probability])

    def rewrite(self, pair: WordPair, draws: Draws) -> Rewritten | None:
        """Returns the pair with some words changed; None if none is."""
        changes = _Changes(pair, self.template)
        for link in _candidates(pair):
            if draws.random() < self.probability:
                self._change(changes, link, draws)
        return changes.rewritten() if changes.source else None

    def _change(self, changes: _Changes, link: tuple[int, int], draws: Draws) -> None:
        """Changes the words of a link, as a mode that is drawn says."""
        mode = self.modes[0][0]
        if len(self.modes) > 1:
            sums = np.cumsum([share for _, share in self.modes])
            mode = self.modes[int(np.searchsorted(sums, draws.random(), side="right"))][0]
        if mode == "tag":
            changes.tag(link)
        elif mode == "replace":
            changes.replace(link, _random_words(draws))
        else:
            changes.augment(link, _random_words(draws), [side.detokenizer == "icu" for side in self.sides])


def _random_words(draws: Draws) -> list[bytes]:
    return [word.encode() for word in random_words(draws, 2, 10, 3)]


def _candidates(pair: WordPair) -> Pairs:
    """Returns the links of words that have one link each and differ, from left to right; none if a link is wrong."""
    words = pair.source.words, pair.target.words
    if any(s >= len(words[0]) or t >= len(words[1]) for s, t in pair.links):
        return []
    sources, targets = (Counter(side) for side in zip(*pair.links, strict=True)) if pair.links else ((), ())
    single = sorted(link for link in pair.links if sources[link[0]] == 1 == targets[link[1]])
    source, target = pair.source.text, pair.target.text
    return [(s, t) for s, t in single if source[slice(*words[0][s])] != target[slice(*words[1][t])]]


class _Changes:
    """Changes of the words of a pair.

    Attributes:
        source: what replaces words of the source, by number.
        target: the same of the target.
        links: links between labels, in addition to those of the pair.
    """

    def __init__(self, pair: WordPair, template: list[bytes]) -> None:
        self.source, self.target = dict[int, list[Part]](), dict[int, list[Part]]()
        self.links = Pairs()
        self._pair, self._template, self._labels = pair, template, count(NEW_WORDS)
        self._words = pair.source.words, pair.target.words

    def rewritten(self) -> Rewritten:
        """Returns the changed pair."""
        source = self._pair.source.replaced(self._words[0], self.source)
        return Rewritten(source, self._pair.target.replaced(self._words[1], self.target), self.links)

    def tag(self, link: tuple[int, int]) -> None:
        """Puts the template in place of the source word; the hint is linked with the target word."""
        label = next(self._labels)
        hint = self._pair.target.text[slice(*self._words[1][link[1]])]
        self.source[link[0]] = self._filled(link[0], [(hint, label)])
        self.links.append((label, link[1]))

    def replace(self, link: tuple[int, int], texts: list[bytes]) -> None:
        """Puts random words in place of the target word, and the template with them in place of the source word."""
        labels = [next(self._labels) for _ in texts]
        words = [part for word in zip(texts, labels, strict=True) for part in ((b" ", NO_LABEL), word)][1:]
        self.source[link[0]] = self._filled(link[0], words)
        self.target[link[1]] = list(words)
        self.links += [(link[0], label) for label in labels] + [(label, label) for label in labels]

    def augment(self, link: tuple[int, int], texts: list[bytes], icu: list[bool]) -> None:
        """Inserts random words after the words of a link."""
        words = [(text, next(self._labels)) for text in texts]
        self.links += [(label, label) for _, label in words]
        sides = zip(self._pair[:2], self._words, link, (self.source, self.target), icu, strict=True)
        for line, places, number, edits, mark in sides:
            inserted: list[Part] = [places[number]]
            for word in words:
                inserted += [((" ▁ " if mark else " ").encode(), NO_LABEL), word]
            rest = line.text[places[number][1] :].decode()
            if mark and rest and not rest.startswith(" ▁"):
                inserted.append((" ▁".encode(), NO_LABEL))
            elif not mark and rest and not rest[0].isspace():
                inserted.append((b" ", NO_LABEL))
            edits[number] = inserted

    def _filled(self, word: int, hint: Sequence[Part]) -> list[Part]:
        filled = list[Part]()
        for text in self._template:
            filled += [self._words[0][word]] if text == b"{src}" else hint if text == b"{trg}" else [(text, NO_LABEL)]
        return filled
