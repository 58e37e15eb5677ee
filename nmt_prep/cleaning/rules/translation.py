"""Rule ``translation``: whether a pair's sides translate each other, by a word alignment model.

Value: the pair's score, see :meth:`~nmt_prep.cleaning.align.model.Model.score`. A pair passes if ``value >= min``. A
pair that has no words on a side is not judged and passes.

In a run, the model is learned from the corpora themselves, and each pair is scored leave-one-out: without its own
counts and the counts of pairs with the same normalized text. This needs the whole text, so the rule is applied in
separate rounds, after duplicates are dropped (:mod:`nmt_prep.stages.clean.translation`). ``min: auto`` finds the
threshold for each corpus (:mod:`nmt_prep.cleaning.corpus_rules.translation`). In a stream the rule needs a model, and a
number for ``min``.
"""

from __future__ import annotations

import numpy as np

from nmt_prep.cleaning.align.model import shared_model
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, TranslationOptions
from nmt_prep.cleaning.rule import Context, PairRule, Pairs, Values


class TranslationRule(PairRule[TranslationOptions]):
    """Scores pairs by a given model, for streams."""

    edges = SCORE_EDGES

    def __init__(self, options: TranslationOptions, context: Context) -> None:
        path, bounds = options.in_stream(context.base_dir)
        self.files, self.bounds = {str(options.model): path}, (bounds,)
        self._model = shared_model(path)

    def pair_values(self, pairs: Pairs) -> Values:
        scores = self._model.score(pairs.side("source"), pairs.side("target"))
        return np.where(np.isnan(scores), SCORE_EDGES[-1], scores)
