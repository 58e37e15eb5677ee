"""Turns counts of pairs and records into warnings. The limits are such that clean corpora give no warnings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from _nmt_prep_core import Lines, script_weights

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CleaningError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.evaluation_segments import against_of, is_split
from nmt_prep.cleaning.languages import LID_176, LanguageIdentifier, load_identifier
from nmt_prep.cleaning.languages.tags import Expected, chinese_script, chinese_shares, languages_of_labels
from nmt_prep.cleaning.lengths import expansion
from nmt_prep.cleaning.pair_observer import PairFacts
from nmt_prep.config import Config, Languages
from nmt_prep.corpora.sources.known_corpora import is_public, traps_of
from nmt_prep.pipeline.stage import HealthWarning
from nmt_prep.training.records.dataset_json import DatasetInfo

_LEAST_COUNT = 10  # Minimum count for a warning; smaller counts may be chance

_EQUAL_SHARE = 0.05
_SCRIPT_SHARE = 0.1
_UNEVEN_SHARE = 0.1
_MEAN_RATIO = 2.0
_TRAIN_SHARE = 0.001
_LOST_SHARE = 0.5
_TOKEN_RATIO = 3.0
_LONG_SHARE = 0.01
_ALONE_SHARE = 0.1
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 60

CHINESE = "chinese_script"  # Code of the warning about lines in the other script of Chinese


@dataclass(frozen=True)
class FrequentLine:
    """A line that makes up more than 1 % of a side: its text, cut if long, and its count."""

    text: str
    count: int


def pair_warnings(
    split: str,
    corpus: str,
    languages: Languages,
    facts: PairFacts,
    frequent: Mapping[Side, Sequence[FrequentLine]],
) -> Iterator[HealthWarning]:
    """Yields the warnings about a corpus's pairs."""
    for side, lines in frequent.items():
        certain = [line for line in lines if line.count >= _LEAST_COUNT]
        if certain:
            total, count = facts.sides[side].lines, sum(line.count for line in certain)
            text = _frequent_text(certain, side, total)
            yield HealthWarning("frequent_line", text, corpus, split, side, certain[0].count, count / total)
    if facts.equal >= max(_LEAST_COUNT, _EQUAL_SHARE * facts.pairs):
        share = facts.equal / facts.pairs
        text = (
            f"both sides of {facts.equal:,} of {facts.pairs:,} pairs ({share:.1%}) are the same text; "
            "clean.rules.copy drops such pairs"
        )
        yield HealthWarning("equal_sides", text, corpus, split, None, facts.equal, share)
    for side, counted in facts.sides.items():
        if counted.other_script >= max(_LEAST_COUNT, _SCRIPT_SHARE * counted.examined):
            share, language = counted.other_script / counted.examined, getattr(languages, side)
            text = (
                f"{share:.1%} of the {side} lines are not in the script of their language, {language}; "
                "check languages, the order of the sides, and the encoding"
            )
            yield HealthWarning("script", text, corpus, split, side, counted.other_script, share)
        if counted.other_chinese >= max(_LEAST_COUNT, _SCRIPT_SHARE * counted.examined):
            share, language = counted.other_chinese / counted.examined, getattr(languages, side)
            own, other = ("Simplified", "Traditional")[:: 1 if chinese_script(language) == "Hans" else -1]
            text = (
                f"{share:.1%} of the {side} lines are {other} Chinese, but {language} stands for {own}; the fix han: "
                f"{own.lower()} converts them, without which the rules script and language drop them"
            )
            yield HealthWarning(CHINESE, text, corpus, split, side, counted.other_chinese, share)
    yield from _length_warnings(split, corpus, languages, facts)


def _length_warnings(split: str, corpus: str, languages: Languages, facts: PairFacts) -> Iterator[HealthWarning]:
    if facts.compared < _LEAST_COUNT:
        return
    characters = {side: counted.characters for side, counted in facts.sides.items()}
    ratio = relative_length(languages, characters)
    share = facts.uneven / facts.compared
    if not 1 / _MEAN_RATIO <= ratio <= _MEAN_RATIO:
        longer, times = ("source", ratio) if ratio > 1 else ("target", 1 / ratio if ratio else float("inf"))
        text = (
            f"the {longer} side is {times:.1f} times as long as usual for {languages.source} and {languages.target}; "
            "check that the sides belong together, and the languages"
        )
        yield HealthWarning("length_ratio", text, corpus, split, None, round(ratio, 4))
    elif share >= _UNEVEN_SHARE and facts.uneven >= _LEAST_COUNT:
        text = (
            f"in {share:.1%} of the pairs, one side is more than three times as long as the other, allowing for the "
            "languages; check the alignment; clean.rules.length_ratio drops such pairs"
        )
        yield HealthWarning("length_ratio", text, corpus, split, None, facts.uneven, share)


def relative_length(languages: Languages, characters: Mapping[Side, int]) -> float:
    """Returns the length ratio of source and target, divided by the languages' usual ratio."""
    usual = expansion(languages.source, "char") / expansion(languages.target, "char")
    return characters["source"] / (characters["target"] * usual) if characters["target"] else float("inf")


def leak_warning(split: str, corpus: str, pairs: int, leaks: int, by_corpus: Mapping[str, int]) -> HealthWarning | None:
    """Returns a warning if a corpus outside of train has pairs that are also in train."""
    if not leaks or leaks < _TRAIN_SHARE * pairs:
        return None
    places = ", ".join(f"{name} {count:,}" for name, count in by_corpus.items() if count)
    share = f"{leaks:,} of {pairs:,} pairs ({leaks / pairs:.1%})"
    text = f"{share} {'is' if leaks == 1 else 'are'} also in train ({places}); scores on them are too high"
    return HealthWarning("eval_in_train", text, corpus, split, None, leaks, leaks / pairs)


def drops_most(pairs: int, dropped: Mapping[str, int], share: float = _LOST_SHARE) -> bool:
    """Returns True if more than a share of a corpus's pairs was dropped."""
    lost = sum(dropped.values())
    return lost >= _LEAST_COUNT and lost > share * pairs


def loss_warning(
    split: str,
    corpus: str,
    pairs: int,
    dropped: Mapping[str, int],
    what: str,
    explained: str = "",
    *,
    first: bool = False,
) -> HealthWarning:
    """Returns the warning about a corpus of which most pairs, or most of the ``first`` pairs, were dropped."""
    lost = sum(dropped.values())
    reasons = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons[:_SHOWN_LINES])
    more = ", …" * (len(reasons) > _SHOWN_LINES)
    text = f"{what} drops {lost:,} of {'the first ' * first}{pairs:,} pairs ({lost / pairs:.1%}): {shown}{more}"
    text = f"{text}; {explained}" if explained else text
    return HealthWarning("most_dropped", text, corpus, split, None, lost, lost / pairs)


def _frequent_text(lines: Sequence[FrequentLine], side: Side, total: int) -> str:
    first = lines[0]
    if len(lines) == 1:
        return f"{first.count:,} of {total:,} {side} lines ({first.count / total:.1%}) are {quoted(first.text)}"
    count = sum(line.count for line in lines)
    shown = ", ".join(f"{quoted(line.text)} {line.count:,}" for line in lines[:_SHOWN_LINES])
    more = ", …" * (len(lines) > _SHOWN_LINES)
    return f"{len(lines)} lines make up {count / total:.1%} of the {total:,} {side} lines: {shown}{more}"


def quoted(text: str) -> str:
    """Returns the beginning of a text in quotation marks."""
    return f"“{text if len(text) <= _SHOWN_CHARACTERS else f'{text[: _SHOWN_CHARACTERS - 1]}…'}”"


def encoded_warnings(info: DatasetInfo, max_length: int, documented: Collection[str] = ()) -> Iterator[HealthWarning]:
    """Yields the warnings about a dataset's splits."""
    limit, key = max_length, "input.max_length"
    if info.row_length is not None:
        limit, key = info.row_length, "records.row_length"
    for name, split in info.splits.items():
        if split.pairs < _LEAST_COUNT:
            continue
        ratio = split.source_tokens / max(split.target_tokens, 1)
        if info.layout != "causal" and not 1 / _TOKEN_RATIO <= ratio <= _TOKEN_RATIO:
            longer, times = ("source", ratio) if ratio > 1 else ("target", 1 / ratio if ratio else float("inf"))
            text = (
                f"the {longer} side of {name} has {times:.1f} times as many tokens as the other; check that the "
                "vocabularies and the tags are those of their sides"
            )
            yield HealthWarning("token_ratio", text, None, name, None, round(ratio, 4))
        dropped = sum(count for length, count in split.max_lengths if length > limit)
        if dropped >= max(_LEAST_COUNT, _LONG_SHARE * split.pairs):
            share = dropped / split.pairs
            text = (
                f"training skips {dropped:,} of {split.pairs:,} pairs of {name} ({share:.1%}), because a "
                f"{'row' if info.layout == 'causal' else 'side'} has more than {limit} tokens ({key}); raise "
                "it, or use a larger vocabulary"
            )
            yield HealthWarning("max_length_drops", text, None, name, None, dropped, share)
        if info.documents is None or name not in documented:
            continue
        alone = sum(count for length, count in split.max_lengths if length > info.documents.max_tokens)
        if alone >= max(_LEAST_COUNT, _ALONE_SHARE * split.pairs):
            share = alone / split.pairs
            text = (
                f"{alone:,} of {split.pairs:,} segments of {name} ({share:.1%}) are joined with no others, because a "
                f"side has more than {info.documents.max_tokens} tokens (documents.max_tokens); raise it"
            )
            yield HealthWarning("segments_alone", text, None, name, None, alone, share)


_LEAST_LETTERS = 20
"""Minimum letter count to identify a line's language; a Han character counts as four letters."""

_LEAST_OF_SCRIPT = 0.1

_LEAST_SHARE = 0.01  # Minimum share of the lines for a language to be reported
_LOOKED_AT = 200  # Number of sentences per document whose languages are identified

_LEAST_LINES = 5
_LEAST_FITTING = 0.5


@dataclass(frozen=True)
class SideFacts:
    """The languages in a side's first lines."""

    language: str  # the language of the config
    lines: int  # number of lines that are long enough to identify their language
    shares: dict[str, float]  # share of these lines by language, the most frequent first
    # share of these lines in the language of the config or a similar one; None if the model does not know the language
    fitting: float | None


_OPUS_VERSION = re.compile(r"(?:opus:|.*/OPUS-)(?P<name>[^/]+)/(?P<version>[^/]+)/(moses/)?(?P<pair>[^/.]+)")


def corpus_warnings(config: Config) -> Iterator[HealthWarning]:
    """Yields the warnings about the training corpora of a config that are known before anything is fetched."""
    sets, public = against_of(config), ""
    versions: dict[tuple[str, frozenset[str]], str] = {}
    for corpus in config.splits.get("train", ()):
        addresses = [*(corpus.url.both or ()), *(corpus.url.source or ()), *(corpus.url.target or ())]
        for trap in traps_of(addresses):
            if trap.kind != "test sets" or all(map(is_split, sets)):
                yield HealthWarning("known_trap", f"{trap.kind}: {trap}", corpus.name, "train")
        public = public or corpus.name * any(map(is_public, addresses))
        if found := _OPUS_VERSION.match(addresses[0] if addresses else ""):
            other = versions.setdefault((found["name"], frozenset(found["pair"].split("-"))), corpus.name)
            if other != corpus.name:
                text = f"duplicates: {other} is {found['name']} of OPUS, too; keep the latest version only"
                yield HealthWarning("known_trap", text, corpus.name, "train")
    if public and not sets:
        yield HealthWarning(
            "no_evaluation_sets",
            f"public corpora such as {public} may contain test sets, but are not compared with any; set "
            "clean.decontaminate.against, such as [dev, test, sacrebleu:all]",
        )


def installed_identifier() -> tuple[str, LanguageIdentifier] | None:
    """Returns the name and model of lid.176, or None if it is not installed."""
    try:
        return LID_176, load_identifier(LID_176)
    except CleaningError:
        return None


def side_facts(lines: pa.Array, identifier: LanguageIdentifier, tag: str, other: str) -> SideFacts:
    """Returns the languages of lines, an Arrow ``large_string`` array without nulls."""
    column = TextColumn.from_arrow(lines)
    letters, _ = script_weights(Lines(column.data, column.offsets), [])
    column = TextColumn.from_arrow(lines.filter(pa.array(letters >= _LEAST_LETTERS)))
    best = identifier.top(column)[0][:, 0]
    expected = Expected(identifier.labels, tag, other, accept_similar=True)
    fits = np.isin(best, expected.own)
    for scripts, rivals in expected.needing_scripts(best):  # Japanese without kana is Chinese
        fits |= rivals & (script_weights(Lines(column.data, column.offsets), scripts)[1] < _LEAST_OF_SCRIPT)
    spoken = languages_of_labels(identifier.labels)
    own = chinese_shares(Lines(column.data, column.offsets), expected.chinese) >= _LEAST_FITTING
    counts = Counter(
        (tag if fits_script else _other_chinese(tag))
        if fit and expected.own
        else _name(spoken[label], identifier.labels[label])
        for label, fit, fits_script in zip(best.tolist(), fits.tolist(), own.tolist(), strict=True)
        if label >= 0
    )
    identified = counts.total()
    shares = {name: count / identified for name, count in counts.most_common() if count >= _LEAST_SHARE * identified}
    return SideFacts(tag, identified, shares, counts[tag] / max(identified, 1) if expected.own else None)


def language_warnings(facts: Mapping[Side, SideFacts]) -> Iterator[str]:
    """Yields a warning for each side with most lines in other languages than its own."""
    for side, languages in facts.items():
        if warning := language_warning(side, languages, facts.get(SIDES[side == "source"])):
            yield warning


def facts_by_side(
    lines: Mapping[Side, pa.Array], identifier: LanguageIdentifier, languages: Languages
) -> dict[Side, SideFacts]:
    """Returns the lines' languages on each side: Arrow ``large_string`` arrays without nulls."""
    tags: dict[Side, str] = {"source": languages.source, "target": languages.target}
    return {side: side_facts(lines[side], identifier, tags[side], tags[SIDES[side == "source"]]) for side in lines}


def document_warnings(
    documents: Iterable[tuple[str, Mapping[Side, pa.Array]]], languages: Languages
) -> Iterator[tuple[str, str]]:
    """Yields, with a warning, the names of documents with most sentences on a side in other languages."""
    identified = installed_identifier()
    if identified is None:
        return
    for name, sides in documents:
        first: dict[Side, pa.Array] = {side: lines[:_LOOKED_AT] for side, lines in sides.items()}
        if warning := next(language_warnings(facts_by_side(first, identified[1], languages)), None):
            yield name, warning


def language_warning(side: str, facts: SideFacts, other: SideFacts | None) -> str | None:
    """Returns a warning if most lines of a side are in other languages than its own; ``other`` is the other side."""
    if facts.lines < _LEAST_LINES or facts.fitting is None or facts.fitting >= _LEAST_FITTING:
        return None
    name, share = next(iter(facts.shares.items()))
    advice = "check languages, and the file or column that the corpus names for this side"
    if chinese_script(facts.language) and name == _other_chinese(facts.language):
        advice = "the fix han converts them"
    if other is not None and name == other.language and facts.language == next(iter(other.shares), None):
        advice = "the sides seem to be swapped: exchange them in the config, or set swap"
    return f"{share:.0%} of the first {side} lines look like {name}, not {facts.language}; {advice}"


def _other_chinese(tag: str) -> str:
    return f"{tag.partition('-')[0]}-{'Hant' if chinese_script(tag) == 'Hans' else 'Hans'}"


def _name(spoken: tuple[str, str | None] | None, label: str) -> str:
    return label.removeprefix("__label__") if spoken is None else spoken[0]
