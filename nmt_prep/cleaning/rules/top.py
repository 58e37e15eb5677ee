"""Rule ``top``: the best share of a corpus's pairs by a score (:mod:`nmt_prep.cleaning.corpus_rules.top`)."""

from __future__ import annotations

from nmt_prep.cleaning.corpus_rules.top import TopOptions
from nmt_prep.cleaning.rule import Context, PairRule, Pairs, Values


class TopRule(PairRule[TopOptions]):
    """The rule in a stream of pairs, where it cannot be applied."""

    def __init__(self, options: TopOptions, context: Context) -> None:
        raise ValueError("needs the whole corpus, which a stream does not have; remove it")

    def pair_values(self, pairs: Pairs) -> Values:
        raise NotImplementedError
