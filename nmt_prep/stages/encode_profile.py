"""Counts of the stage encode for the report: the profile of the encoded text, from the samples of its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from nmt_prep.records import PairStats
from nmt_prep.reporting.profile import CorpusProfile, TextProfile, VocabularyUse, corpus_profile, vocabulary_use
from nmt_prep.reporting.sample import PairSample
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords.frame import Frame


@dataclass(frozen=True)
class EncodedPart:
    """A part after encoding.

    Attributes:
        split: its split.
        corpus: name of its corpus.
        stats: counts of its pairs.
        sample: file with its sample.
        frames: for each side, the frame of its rows.
    """

    split: str
    corpus: str
    stats: PairStats
    sample: Path
    frames: Mapping[Side, Frame]


def profile_of(parts: list[EncodedPart], vocabularies: Mapping[Side, BuiltVocabulary]) -> TextProfile:
    """Returns the profile of all parts; reads the files with their samples.

    Args:
        parts: all parts, those of a corpus in its order.
        vocabularies: vocabulary of each side.
    """
    tokenizers = {side: vocabulary.load() for side, vocabulary in vocabularies.items()}
    words_of = {tokenizer: tokenizer.words() for tokenizer in set(tokenizers.values())}  # one, if the sides share it
    words = {side: words_of[tokenizer] for side, tokenizer in tokenizers.items()}
    corpora: dict[str, dict[str, CorpusProfile]] = {}
    uses: dict[Side, VocabularyUse] = {}
    splits = list(dict.fromkeys(part.split for part in parts))
    told = "train" if "train" in splits else splits[0]
    for split in splits:
        corpora[split] = {}
        ids = {side: np.zeros(len(tokenizers[side]), np.int64) for side in SIDES}
        characters: dict[Side, Counter[int]] = {side: Counter() for side in SIDES}
        for corpus in dict.fromkeys(part.corpus for part in parts if part.split == split):
            own = [part for part in parts if (part.split, part.corpus) == (split, corpus)]
            sample = reduce(add, (PairSample.load(part.sample) for part in own))
            stats = reduce(add, (part.stats for part in own))
            corpora[split][corpus] = corpus_profile(sample, stats, words)
            for side in SIDES:
                for number in (*own[0].frames[side].before, *own[0].frames[side].after):
                    sample.ids[side][number] -= stats.pairs
                ids[side] += sample.ids[side]
                characters[side] += sample.characters[side]
        if split == told:
            uses = {
                side: vocabulary_use(split, tokenizers[side], words[side], ids[side], characters[side])
                for side in SIDES
            }
    return TextProfile(corpora, uses)
