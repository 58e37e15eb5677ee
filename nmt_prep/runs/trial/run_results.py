"""Results of a run or a model for the sampled pairs: values of rules that need the whole corpus, and word links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.errors import CleaningError
from nmt_prep.base.runtime import available_cores
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model import Model
from nmt_prep.cleaning.cleaner import Cleaner
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES, CORPUS_RULES
from nmt_prep.cleaning.corpus_rules.top import TOP
from nmt_prep.cleaning.corpus_rules.translation import auto_threshold
from nmt_prep.cleaning.pair_sample import ALL, KEY, PairSample, Read, column_of, drawn, lines_of, sample_limits
from nmt_prep.cleaning.presets import Cleaning
from nmt_prep.cleaning.rejects import EMPTY
from nmt_prep.cleaning.repaired import EDGES, LEAST_PAIRS, DrawnPairs, bins_of, learn_translation
from nmt_prep.cleaning.rule import Context, Values
from nmt_prep.corpora import iter_pairs
from nmt_prep.corpora.parts import SCORE, score_column
from nmt_prep.runs.trial.trial_sample import Drawn, Run
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.parts import REJECTED

Places: TypeAlias = "npt.NDArray[np.int64]"


@dataclass
class Known:
    """A run's results for the pairs in a corpus."""

    # the reason for each pair that was dropped because of other pairs, by its index in the sample; None for a pair that
    # passed the rules and was dropped without a record
    reasons: dict[int, str | None] = field(default_factory=dict)
    # by index of a dropped pair, a side and its words without a counterpart on the other side
    unanswered: dict[int, tuple[str, str]] = field(default_factory=dict)
    # scores that it computed, by name: float64, shape `[pairs]`; NaN for none
    scores: dict[str, Values] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)  # the lowest score that passes, by the rule
    # the options of the rules with thresholds, by the rule
    options: dict[str, dict[str, Any]] = field(default_factory=dict)

    def scores_of(self, name: str, pairs: int) -> Values:
        """Returns the scores with a name, which can be changed; NaN at first."""
        return self.scores.setdefault(name, np.full(pairs, np.nan))


def known_from(run: Run, drawn: Drawn, context: Context) -> Known:
    """Returns what a run with cleaned pairs recorded about a corpus's pairs.

    The verdicts of rules are not among them: the page judges the values of all pairs itself.
    """
    known = Known(dict.fromkeys(range(len(drawn.rows))))
    for batch, here, places in _batches_of(run, drawn):
        for at, place in zip(here.tolist(), places.tolist(), strict=True):
            if "rule" not in batch.schema.names:
                known.reasons.pop(place)
                continue
            rule, value = batch.column("rule")[at].as_py(), batch.column("value")[at].as_py()
            known.reasons[place] = rule
            if "unanswered" in batch.schema.names and (words := batch.column("unanswered")[at].as_py()) is not None:
                known.unanswered[place] = batch.column("column")[at].as_py(), words
            if rule in COMPUTED_SCORES and value is not None:
                known.scores_of(rule, len(drawn.rows))[place] = value
        for name in COMPUTED_SCORES & {column.removeprefix(SCORE) for column in batch.schema.names}:
            scores = np.asarray(batch.column(score_column(name)).to_numpy(zero_copy_only=False), np.float64)
            known.scores_of(name, len(drawn.rows))[places] = scores[here]
    for rule, facts in run.outputs.observed(Clean).rules.get(drawn.of.split, {}).get(drawn.of.corpus.name, {}).items():
        lows = [bounds.low for bounds in facts.columns.values() if bounds.low is not None]
        if rule in CORPUS_RULES and lows:
            known.thresholds[rule], known.options[rule] = lows[0], facts.options
    settings: Mapping[str, Any] = run.outputs.manifest(Clean).settings
    cleaning = Cleaning(
        settings.get(f"{drawn.of.name}.fix", ()),
        {rule: settings[f"{drawn.of.name}.rules.{rule}"] for rule in settings.get(f"{drawn.of.name}.rules", ())},
    )
    passed = _passed(cleaning, context, drawn)
    if TOP in known.thresholds and (own := drawn.scores.get(known.options[TOP]["score"])) is not None:
        passed &= own >= known.thresholds[TOP]
    known.reasons = {
        place: reason
        for place, reason in known.reasons.items()
        if (passed[place] if reason is None else reason not in {EMPTY, *cleaning.rules, *CORPUS_RULES})
    }
    return known


def _passed(cleaning: Cleaning, context: Context, drawn: Drawn) -> npt.NDArray[np.bool_]:
    """Returns true for pairs that pass a run's rules; for all pairs if its rules can no longer be built."""
    try:
        cleaner = Cleaner(cleaning, context, drawn.name)
        return cleaner.clean({"source": drawn.source, "target": drawn.target}, drawn.scores).kept
    except CleaningError:
        return np.ones(len(drawn.rows), np.bool_)


def _batches_of(run: Run, drawn: Drawn) -> Iterator[tuple[pa.RecordBatch, Places, Places]]:
    """Yields a corpus's cleaned and rejected pairs, with the indexes of drawn pairs in the batch and in the sample."""
    outputs, split, corpus = run.outputs, drawn.of.split, drawn.of.corpus.name
    for part in outputs.read(Clean).parts.get(split, ()):
        if part.corpus == corpus:
            columns = ["row", *map(score_column, sorted(COMPUTED_SCORES))]
            for batch in iter_pairs(outputs.directory_of(Clean) / part.file, columns=columns):
                yield batch, *_places(batch, drawn.rows)
    columns = ["row", "corpus", "rule", "column", "value", "unanswered"]
    for file in outputs.manifest(Clean).files_in(REJECTED):
        if file.partition("/")[0] == split:
            for batch in iter_pairs(outputs.root / REJECTED / file, columns=columns):
                own = batch.filter(pc.equal(batch.column("corpus").cast(pa.string()), corpus))
                yield own, *_places(own, drawn.rows)


def _places(batch: pa.RecordBatch, rows: Places) -> tuple[Places, Places]:
    """Finds rows of a batch among ascending rows; returns their indexes in the batch and among the rows."""
    numbers = np.asarray(batch.column("row").to_numpy(zero_copy_only=False), np.int64)
    here = np.flatnonzero(np.isin(numbers, rows))
    return here, np.searchsorted(rows, numbers[here])


@dataclass(frozen=True)
class Translations:
    """A model that was learned from a sample, and its scores."""

    model: Model
    scores: Values  # the score of each sampled pair
    # the lowest score that passes by `min: auto` in each corpus; none if the pairs are too few
    thresholds: dict[int, float]
    pairs: int  # number of pairs that the model was learned from


def learn(source: pa.Array, target: pa.Array, corpora: Places, most: int, seed: int) -> Translations:
    """Learns a model as the ``translation`` rule does in a run, and scores all pairs.

    Args:
        source: the source lines: Arrow ``large_string`` array.
        corpora: corpus index of each pair to learn from, -1 for other pairs: int64, shape ``[pairs]``.
    """
    pairs = pa.record_batch([source, target], names=SIDES)
    sizes = {str(corpus): int(np.sum(corpora == corpus)) for corpus in np.unique(corpora[corpora >= 0]).tolist()}
    limits = sample_limits(sizes, most)
    chosen = {name: drawn(pairs.filter(pa.array(corpora == int(name))), limits[name], seed) for name in sizes}
    sample = PairSample.of(_reader([*chosen.values()]))
    repaired = [DrawnPairs(_reader([batch]), sizes[name], limits[name]) for name, batch in chosen.items()]
    threads = available_cores()
    model, bad = learn_translation(sample, repaired, threads=threads)
    copies = np.isin(column_of(drawn(pairs, ALL, seed), KEY), sample.keys).astype(np.int64)
    scores = model.score(*lines_of(pairs), copies, threads)
    thresholds = {
        int(name): auto_threshold(EDGES, bins_of(scores[corpora == int(name)]), own.bins[0], own.certain).score
        for name, own in zip(chosen, bad, strict=True)
        if len(sample.keys) >= LEAST_PAIRS and any(own.bins[0])
    }
    return Translations(model, scores, thresholds, len(sample.keys))


def _reader(batches: Sequence[pa.RecordBatch]) -> Read:
    return lambda columns: [batch.select(columns) for batch in batches]
