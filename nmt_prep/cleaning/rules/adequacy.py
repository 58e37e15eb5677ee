"""Rule ``adequacy``: whether a side lacks something that the other side has.

Value: a classifier's judgment on the pair (:mod:`nmt_prep.cleaning.adequacy`). 1 % of good pairs have values
below 0. A pair passes if ``value >= min``. A pair that has no words on a side is not judged and passes.

In a run, the classifier is learned from the corpora themselves, after misaligned pairs are dropped, in separate rounds
(:mod:`nmt_prep.stages.clean.adequacy`). ``min: auto`` finds the threshold for each corpus. In a stream the rule needs a
model, and a number for ``min``.
"""

from __future__ import annotations

import numpy as np

from nmt_prep.cleaning.adequacy.classifier import shared_classifier
from nmt_prep.cleaning.corpus_rules.adequacy import AdequacyOptions
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES
from nmt_prep.cleaning.rule import Context, PairRule, Pairs, Values


class AdequacyRule(PairRule[AdequacyOptions]):
    """Judges pairs by a given model, for streams."""

    edges = SCORE_EDGES

    def __init__(self, options: AdequacyOptions, context: Context) -> None:
        path, bounds = options.in_stream(context.base_dir)
        self.files, self.bounds = {str(options.model): path}, (bounds,)
        self._classifier = shared_classifier(path)

    def pair_values(self, pairs: Pairs) -> Values:
        values = self._classifier.judge(pairs.side("source"), pairs.side("target")).values
        return np.where(np.isnan(values), SCORE_EDGES[-1], values)
