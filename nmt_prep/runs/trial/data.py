"""The page's data: the sampled pairs, the values of all rules, and the rules of the config and presets."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.align.word_vocabulary import words_of
from nmt_prep.cleaning.cleaner import Cleaner, filled_pairs
from nmt_prep.cleaning.corpus_rules import CORPUS_RULES
from nmt_prep.cleaning.corpus_rules.adequacy import ADEQUACY
from nmt_prep.cleaning.corpus_rules.top import TOP, TopOptions
from nmt_prep.cleaning.corpus_rules.translation import SCORE_EDGES, TRANSLATION, TranslationOptions
from nmt_prep.cleaning.dedup.records import comparisons_of
from nmt_prep.cleaning.evaluation_segments import set_name
from nmt_prep.cleaning.presets import (
    PRESET_FIXES,
    PRESETS,
    Preset,
    effective_decontamination,
    effective_dedup,
    is_off,
    overrides_of,
)
from nmt_prep.cleaning.rule import Bounds, Pairs, Values
from nmt_prep.config import CleanSettings, Config
from nmt_prep.config.problems import checked_options
from nmt_prep.runs.trial.controls import Control, Limit, Part, control_of, spec_key
from nmt_prep.runs.trial.run_results import Translations, known_from, learn
from nmt_prep.runs.trial.trial_sample import Drawn, Run, draw, run_of
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import RuleBounds, cleaned_corpora, section_of
from nmt_prep.stages.clean.computed import column_of
from nmt_prep.stages.clean.duplicates import STEPS
from nmt_prep.stages.clean.near_rounds import NEAR
from nmt_prep.text.computed import close_columns

Json: TypeAlias = "dict[str, Any]"

_LEAST_FOR_LINKS = 50  # Minimum number of pairs to learn a model from
_MOST_WORDS = 200  # Words of a line that the page can link; more would make the page large
_FIRST_CHARACTER, _LARGEST = 40, 50_000  # All between are characters: surrogates begin at 55,296


def trial_data(config: Config, number: int, asked: Mapping[str, Collection[int]] | None = None) -> Json:
    """Returns the page's data."""
    if config.clean is None:
        config = config.model_copy(update={"clean": CleanSettings(preset="none")})
    Clean().check(config)
    run = run_of(config)
    found = _Trial(config, run, draw(config, run, number, asked)).data()
    close_columns()
    return found


class _Trial:
    """The sample after the fixes, and the known facts about it."""

    def __init__(self, config: Config, run: Run, drawn: Sequence[Drawn]) -> None:
        self._config, self._clean, self._run, self._drawn = config, section_of(config), run, drawn
        self._firsts = np.cumsum([0, *(len(corpus.rows) for corpus in drawn)]).tolist()
        self._size: int = self._firsts[-1]
        self._controls: dict[str, int] = {}
        self._made: list[Control] = []
        self._notes: list[str] = []
        self._known = [known_from(run, corpus, corpus.of.context(config)) if run.cleaned else None for corpus in drawn]
        fixed = [self._fixed(corpus, first) for corpus, first in zip(drawn, self._firsts, strict=False)]
        self._parts = [part for _, part, _ in fixed]
        self._source, self._target = (pa.concat_arrays([text[side] for text, _, _ in fixed]) for side in SIDES)
        self._learned = list(self._learn(np.concatenate([chosen for _, _, chosen in fixed])))

    def _learn(self, good: npt.NDArray[np.bool_]) -> Iterator[tuple[npt.NDArray[np.int64], Translations]]:
        """Yields a model per language pair, learned from its ``good`` pairs, with the indexes of all its pairs."""
        # As in a run: pairs that other rules drop teach nothing, but have scores, so that the page can let them pass.
        numbers = self._numbers()
        spoken = [str(part.context.languages) for part in self._parts]
        for languages in dict.fromkeys(spoken):
            places = np.flatnonzero(np.isin(numbers, [n for n, own in enumerate(spoken) if own == languages]))
            if np.count_nonzero(good[places]) >= _LEAST_FOR_LINKS:
                chosen = pa.array(places)
                corpora = np.where(good, numbers, -1)[places]
                lines = self._source.take(chosen), self._target.take(chosen)
                rules = self._drawn[spoken.index(languages)].of.cleaning.corpus_rules
                options = checked_options(TRANSLATION, TranslationOptions, rules.get(TRANSLATION, {}))
                yield places, learn(*lines, corpora, options.pairs, self._config.seed)

    def _numbers(self) -> npt.NDArray[np.int64]:
        """Returns the corpus index of each pair."""
        return np.repeat(np.arange(len(self._drawn)), [len(corpus.rows) for corpus in self._drawn])

    def _fixed(self, corpus: Drawn, first: int) -> tuple[dict[Side, pa.Array], Part, npt.NDArray[np.bool_]]:
        """Returns a corpus's lines after the fixes, its pairs with text, and a mask of the pairs to learn from."""
        context, cleaning = corpus.of.context(self._config), corpus.of.cleaning
        raw: dict[Side, pa.Array] = {"source": corpus.source, "target": corpus.target}
        judged = Cleaner(cleaning, context, corpus.name).clean(raw, corpus.scores)
        fixed = judged.text
        filled = filled_pairs(fixed)
        pairs = Pairs(
            {side: lines.filter(pa.array(filled)) for side, lines in fixed.items()},
            {name: values[filled] for name, values in corpus.scores.items()},
        )
        good = judged.kept & (context.sides == SIDES and corpus.of.corpus.role == "parallel")
        return {**raw, **fixed}, Part(pairs, first + np.flatnonzero(filled), context), good

    def data(self) -> Json:
        base = self._layer(self._clean.rules, range(len(self._drawn)))
        presets = {name: self._layer(rules, range(len(self._drawn)), preset=name) for name, rules in PRESETS.items()}
        overrides = {
            key: self._layer(layer.rules, [n for n, corpus in enumerate(self._drawn) if key in self._overrides(corpus)])
            for key, layer in self._clean.overrides.items()
        }
        columns: list[list[Any]] = []
        places: dict[bytes, int] = {}
        return {
            "name": self._config.name,
            "notes": list(dict.fromkeys([*self._remarks(), *self._notes])),
            "corpora": [
                {
                    "name": corpus.name,
                    "size": corpus.size,
                    "languages": [corpus.of.context(self._config).language(side) for side in SIDES],
                    "overrides": self._overrides(corpus),
                    "thresholds": {} if known is None else known.thresholds,
                }
                for corpus, known in zip(self._drawn, self._known, strict=True)
            ],
            "preset": self._clean.preset,
            "fix": list(PRESET_FIXES[self._clean.preset]),
            "fixes": {} if self._clean.fix is not None else {name: list(PRESET_FIXES[name]) for name in PRESETS},
            "comparing": {name: self._comparing(name) for name in PRESETS},
            "rules": base,
            "presets": presets,
            "overrides": overrides,
            "controls": [_control(control, columns, places, self._config.computed) for control in self._made],
            "values": columns,
            "pairs": self._pairs(),
        }

    def _comparing(self, preset: Preset) -> Json:
        """Returns which decisions of a run about pairs because of other pairs hold with a preset."""
        clean = self._clean.model_copy(update={"preset": preset})
        leaks, dedup = effective_decontamination(clean, self._config.own_splits), effective_dedup(clean)
        reasons = [STEPS[comparison.compared].reason for comparison in comparisons_of(dedup)]
        return {
            "leaks": [set_name(entry) for entry in leaks.against or () if leaks.action == "drop"],
            "duplicates": [*reasons, *([NEAR] if dedup.pair == "near" else [])],
        }

    def _overrides(self, corpus: Drawn) -> list[str]:
        return [
            key
            for key, _ in overrides_of(self._clean, corpus.of.context(self._config).languages, corpus.of.corpus.name)
        ]

    def _remarks(self) -> Iterator[str]:
        """Yields remarks about the sample for the page's reader."""
        for corpus in self._drawn:
            if corpus.note:
                yield f"{corpus.name}: {corpus.note}."
        for made in cleaned_corpora(self._config):
            if made.corpus.is_made and not self._run.compiled:
                yield f"{made.split}/{made.corpus.name}: not shown before a run, which makes its pairs."
        if not self._run.cleaned:
            yield (
                "There is no run of this config yet: duplicates, near duplicates and leaks of test sets are unknown, "
                "and are in no count."
            )
        elif not self._run.current:
            yield "The run was cleaned with other settings: scores, duplicates and leaks come from that run."
        else:
            yield (
                "Duplicates and leaks come from the run, whatever the thresholds are. For pairs that an "
                "earlier rule of the run dropped, they are unknown, and so are the scores of learned rules."
            )
        known = [reason for each in self._known if each is not None for reason in each.reasons.values()]
        if unrecorded := known.count(None):
            yield (
                f"{unrecorded:,} pairs were dropped as duplicates, as leaks or by a learned rule, but the run did not "
                "record why, so no threshold brings them back here: set rejects: all in the section clean, and run "
                "again."
            )

    def _layer(
        self, rules: Mapping[str, Any], corpora: Sequence[int], preset: str | None = None
    ) -> list[tuple[str, int | None]]:
        """Returns the rules of a config layer with their control indexes, or None for a rule that is off."""
        # The config, its presets and its overrides share most rules. Equal rules for the same corpora are one control,
        # so that their values are computed and written once.
        layer: list[tuple[str, int | None]] = []
        for key, spec in rules.items():
            if is_off(spec):
                layer.append((key, None))
                continue
            identity = f"{spec_key(key, spec)} {sorted(corpora)}"
            if identity not in self._controls:
                try:
                    parts = [self._parts[number] for number in corpora]
                    control = (
                        self._whole(key, spec) if key in CORPUS_RULES else control_of(key, spec, parts, self._size)
                    )
                except CleaningError as error:
                    if preset in (None, self._clean.preset) and key not in self._clean.rules:
                        raise
                    self._notes.append(f"The preset {preset} is shown without {key}: {error}.")
                    continue
                if control is None:
                    continue
                self._controls[identity] = len(self._made)
                self._made.append(control)
            layer.append((key, self._controls[identity]))
        return layer

    def _whole(self, key: str, spec: object) -> Control:
        """Returns a rule that needs the whole corpus, with values from the run or from the sample's model."""
        options = dict(spec) if isinstance(spec, Mapping) else {}
        score = str(options["score"]) if key == TOP else key
        values, judged, note = self._scores(score)
        control = Control(
            key, options, ("pair",), (Bounds(),), (), (), values[np.newaxis], judged[np.newaxis], note=note
        )
        control.edges = (
            tuple(map(float, SCORE_EDGES[::10])) if score in CORPUS_RULES else _edges(values[np.isfinite(values)])
        )
        if key == TOP:
            keep = checked_options(TOP, TopOptions, spec).keep
            control.limits = (Limit(("keep",), keep, False, (), (), 0.01, 1),)
            for corpus, known in zip(self._drawn, self._known, strict=True):
                if known is not None and self._run.current and known.options.get(TOP) == {"score": score, "keep": keep}:
                    control.thresholds[corpus.name] = known.thresholds[TOP]
            return control
        if options.get("action") == "report":
            control.note = f"{note}; with action: report it drops nothing"
            return control
        # With `min: auto`, each corpus has a threshold of its own: from the run if it applied the same option, else
        # from the model of the sample.
        low = options.get("min", "auto")
        control.limits = (Limit(("min",), low, False, ((0, "low"),)),)
        if low != "auto":
            control.bounds = (Bounds(low=float(low)),)
            return control
        learned = {n: score for _, model in self._learned for n, score in model.thresholds.items()}
        for number, (corpus, known) in enumerate(zip(self._drawn, self._known, strict=True)):
            if known is not None and key in known.thresholds and known.options[key].get("min", low) == low:
                control.thresholds[corpus.name] = known.thresholds[key]
            elif key == TRANSLATION and number in learned:
                control.thresholds[corpus.name] = learned[number]
        return control

    def _scores(self, name: str) -> tuple[Values, npt.NDArray[np.bool_], str]:
        """Returns all pairs' scores, a mask of the scores known or known to be missing, and their origin."""
        values, judged = np.full(self._size, np.nan), np.zeros(self._size, np.bool_)
        note = "scores of the corpus"
        for corpus, part, known, first in zip(self._drawn, self._parts, self._known, self._firsts, strict=False):
            inside = slice(first, first + len(corpus.rows))
            if (use := corpus.of.computed.get(name)) is not None:
                column = column_of(use, part.context, corpus.of.name)
                values[part.places], judged[part.places], note = part.pairs.score(name, column), True, "computed values"
            elif name in corpus.scores:
                values[inside], judged[inside] = corpus.scores[name], True
            elif known is not None and name in known.scores:
                values[inside] = known.scores[name]
                judged[inside] = ~np.isnan(values[inside])
                note = "values of the run; pairs that it did not score pass"
        if judged.any():
            return values, judged & self._filled(both=False), note
        if name == TRANSLATION and self._learned:
            for places, learned in self._learned:
                values[places], judged[places] = learned.scores, True
            pairs = sum(learned.pairs for _, learned in self._learned)
            note = f"values of a model that was learned from {pairs:,} pairs of the sample"
            return values, judged & self._filled(both=True), note
        what = "incomplete pairs are" if name == ADEQUACY else "scores are"
        return values, judged, f"{what} not known before a run, so all pairs pass"

    def _filled(self, *, both: bool) -> npt.NDArray[np.bool_]:
        """Returns true for pairs that have text, and with ``both`` only for pairs with two sides to compare."""
        filled = np.zeros(self._size, np.bool_)
        for part in self._parts:
            filled[part.places] = part.context.sides == SIDES or not both
        return filled

    def _pairs(self) -> Json:
        raw = [pa.concat_arrays([getattr(corpus, side) for corpus in self._drawn]).to_pylist() for side in SIDES]
        fixed = [lines.to_pylist() for lines in (self._source, self._target)]
        reasons = {
            first + place: reason
            for first, known in zip(self._firsts, self._known, strict=False)
            if known is not None
            for place, reason in known.reasons.items()
        }
        return {
            "corpus": self._numbers().tolist(),
            "row": np.concatenate([corpus.rows for corpus in self._drawn]).tolist(),
            "source": fixed[0],
            "target": fixed[1],
            "raw": {
                place: [first, second]
                for place, (first, second, *now) in enumerate(zip(*raw, *fixed, strict=True))
                if [first, second] != now
            },
            "key": [text_key(*sides) for sides in zip(*raw, strict=True)],
            "empty": np.flatnonzero(~self._filled(both=False)).tolist(),
            "added": np.flatnonzero(np.concatenate([corpus.added for corpus in self._drawn])).tolist(),
            "run": dict(sorted(reasons.items())),
            "unanswered": {
                first + place: list(told)
                for first, known in zip(self._firsts, self._known, strict=False)
                if known is not None
                for place, told in known.unanswered.items()
            },
            **self._links(),
        }

    def _links(self) -> Json:
        """Returns the positions of the words, and the links between words, where a model was learned."""
        if not self._learned:
            return {}
        linked = [""] * self._size
        for places, learned in self._learned:
            chosen = pa.array(places)
            source, target = (TextColumn.from_arrow(lines.take(chosen)) for lines in (self._source, self._target))
            links = learned.model.align(source, target)
            for number, place in enumerate(places.tolist()):
                own = links.links[links.offsets[number] : links.offsets[number + 1]]
                linked[place] = _packed(own[(own < _MOST_WORDS).all(axis=1)].ravel().tolist())
        return {"words": [_word_places(lines) for lines in (self._source, self._target)], "links": linked}


def text_key(source: str, target: str) -> str:
    """Returns a key for a pair's text, which connects a judgment with its pair."""
    return hashlib.sha256(f"{source}\t{target}".encode()).hexdigest()[:12]


def _word_places(lines: pa.Array) -> list[str]:
    """Returns, per line, gaps before words and lengths of words in UTF-16 units, for :data:`_MOST_WORDS` words."""
    words = words_of(TextColumn.from_arrow(lines))
    bounds = np.stack([words.begins, words.ends], axis=1)
    places = []
    for number, text in enumerate(lines.to_pylist()):
        data, first = text.encode(), int(words.offsets[number])
        own = bounds[first : min(int(words.offsets[number + 1]), first + _MOST_WORDS)]
        cuts = [0, *own.ravel().tolist()]
        places.append(_packed(_units(data[begin:end]) for begin, end in pairwise(cuts)))
    return places


def _packed(numbers: Iterable[int]) -> str:
    """Returns small numbers as a text with one character per number, which is shorter than JSON."""
    return "".join(chr(_FIRST_CHARACTER + min(number, _LARGEST)) for number in numbers)


def _units(data: bytes) -> int:
    """Returns the length of a UTF-8 text in UTF-16 units, as JavaScript counts it."""
    return len(data.decode().encode("utf-16-le")) // 2


def _edges(values: Values) -> tuple[float, ...]:
    if not len(values):
        return (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    return tuple(np.linspace(low, high if high > low else low + 1, 21).tolist())


def _control(control: Control, columns: list[list[Any]], places: dict[bytes, int], computed: Collection[str]) -> Json:
    """Returns a control for the page; equal columns of values are stored once, in ``columns``."""
    shown = []
    for name, values, judged, bounds in zip(
        control.columns, control.values, control.judged, control.bounds, strict=True
    ):
        identity = values.tobytes() + judged.tobytes()
        if identity not in places:
            places[identity] = len(columns)
            known = zip(values.tolist(), judged.tolist(), strict=True)
            columns.append([_number(value) if there else None for value, there in known])
        shown.append({"name": name, "values": places[identity], **asdict(RuleBounds.of(bounds))})
    return {
        "key": control.key,
        "spec": control.spec,
        "columns": shown,
        "edges": control.edges,
        "limits": [asdict(limit) for limit in control.limits],
        "thresholds": control.thresholds,
        "whole": control.key in CORPUS_RULES,
        "early": control.key == TOP and control.spec["score"] not in {*CORPUS_RULES, *computed},
        "note": control.note,
    }


def _number(value: float) -> float | int | str:
    """Returns a number for JSON, which has no NaN and no infinity."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
