"""Rules that need all pairs of a corpus.

The `clean` stage applies them in rounds of their own. A module in this package defines a rule's options; the
module with the same name in :mod:`nmt_prep.cleaning.rules` applies the rule to a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nmt_prep.cleaning.corpus_rules.adequacy import ADEQUACY
from nmt_prep.cleaning.corpus_rules.top import TOP
from nmt_prep.cleaning.corpus_rules.translation import TRANSLATION


@dataclass(frozen=True)
class CorpusRule:
    """A rule that needs all pairs of a corpus."""

    # true if the rule compares the sides of parallel pairs; other corpora are cleaned without it
    compares: bool = False
    computes_score: bool = False  # true if the pairs get a score with the name of the rule, which may rank them later
    keeps_share: bool = False  # true if the config says what share of the pairs the rule keeps
    in_stream: str = "it needs the whole corpus"  # for streams, why the rule is left out if a preset has it


CORPUS_RULES: Mapping[str, CorpusRule] = MappingProxyType(
    {
        **dict.fromkeys(
            (TRANSLATION, ADEQUACY),
            CorpusRule(
                compares=True,
                computes_score=True,
                in_stream="it learns from all pairs; in a stream it needs a model, and a number for min",
            ),
        ),
        TOP: CorpusRule(keeps_share=True),
    }
)
"""The rules by name."""

COMPUTED_SCORES = frozenset(name for name, rule in CORPUS_RULES.items() if rule.computes_score)
"""The names of the scores that rules compute."""

SHARES = frozenset(name for name, rule in CORPUS_RULES.items() if rule.keeps_share)
"""The rules that keep a share of the pairs, set in the config."""
