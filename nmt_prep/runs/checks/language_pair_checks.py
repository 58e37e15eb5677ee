"""Divides the corpora in a config with ``pairs`` into corpora with one language pair each.

Each corpus has the languages of its sides, and with them its tags, rules and thresholds. A corpus that is used in both
directions stays one corpus: its files, compiled parts and cleaned parts have one direction, and the records
have both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config, Corpus, ExistingVocab, Languages
from nmt_prep.config.corpus import ColumnPlace
from nmt_prep.config.language_pairs import MULTIPLE, LanguagePair, asked_pairs, check_language
from nmt_prep.config.problems import KeyPath, Problem, message_of
from nmt_prep.corpora.registry import format_of, reader_of
from nmt_prep.runs.checks.corpus_checks import completed


def by_pair(config: Config) -> tuple[Config, list[Problem]]:
    """Returns a config whose corpora are complete and have one language pair each, and its problems."""
    assert config.pairs is not None
    asked, problems = asked_pairs(config.pairs), list[Problem]()
    config = _with_joined_languages(config, problems)
    train = config.splits["train"]
    asked = asked or tuple(
        dict.fromkeys(way for corpus in train for pair in _pairs_of(corpus) for way in _directions(corpus, pair))
    )
    # A pivot corpus is joined from two corpora after these are divided, so it comes after them. Of equal pairs,
    # cleaning keeps the first, so corpora for both directions come before those for one: the kept pair then trains
    # both.
    splits: dict[str, tuple[Corpus, ...]] = {}
    for split in sorted(config.splits, key=lambda split: split != "train"):
        made: list[Corpus] = []
        for number, corpus in sorted(enumerate(config.splits[split]), key=lambda item: item[1].pivot is not None):
            for pair, both, single in _divided(corpus, asked, problems, ("splits", split, number)):
                joins = single.pivot is not None
                whole, wrong = _joining(single, made) if joins else completed(single, _languages_in_files(single, pair))
                problems += [(("splits", split, number, *path), problem) for path, problem in wrong]
                made.append(_used(whole, pair, config, both=both))
        splits[split] = tuple(sorted(made, key=lambda one: one.reverse is None))
        used = [used for one in made for used in (one.pair, one.pair and one.pair.reverse if one.reverse else None)]
        if not problems:
            problems += _lacking(split, asked, [*filter(None, used)])
    config = config.model_copy(
        update={"splits": {split: splits[split] for split in config.splits}, "languages": _common(asked)}
    )
    named = [(corpus.name, str(corpus.pair)) for corpus in config.directed("train") if corpus.role != "vocab"]
    config = config.model_copy(update={"training": config.training.by_direction(named)})
    return _with_tags(config, problems), [*problems, *_repeated(config)]


def only_with_pairs(config: Config) -> Iterator[Problem]:
    """Yields the keys that have no meaning in a config of one pair."""
    for key in ("tag", "codes"):
        if getattr(config, key):
            yield (key,), "is for a config with pairs; give tag to each corpus, or pairs instead of languages"
    for split, corpora in config.splits.items():
        for number, corpus in enumerate(corpora):
            for key in ("both_directions", "texts", "pivot"):
                if getattr(corpus, key):
                    yield ("splits", split, number, key), "is for a config with pairs; give pairs instead of languages"


def _with_joined_languages(config: Config, problems: list[Problem]) -> Config:
    """Returns the config with the languages of each pivot corpus filled in, where they follow from its two corpora."""
    splits: dict[str, tuple[Corpus, ...]] = {}
    for split, corpora in config.splits.items():
        made = [*corpora]
        for number, corpus in enumerate(corpora):
            if corpus.pivot is None:
                continue
            try:
                made[number] = corpus.model_copy(update={"languages": _joined_languages(corpus, corpora)})
            except ValueError as error:
                problems.append((("splits", split, number, "corpora"), str(error)))
        splits[split] = tuple(made)
    return config.model_copy(update={"splits": splits})


def _joined_languages(corpus: Corpus, others: Sequence[Corpus]) -> Languages:
    """Returns the languages of a pivot corpus: its two corpora each have one beside the pivot."""
    pairs = {
        name: pair
        for other in others
        for pair in _pairs_of(other)
        for name in ([f"{other.name}.{way}" for way in (pair, pair.reverse)] if other.texts else [other.name])
        if corpus.pivot in pair and other.role == "parallel" and other.pivot is None
    }
    languages: list[str] = []
    for name in corpus.corpora or ():
        if name not in pairs:
            known = ", ".join(pairs) or "none"
            raise ValueError(f"{name!r} is no corpus of the split with the language {corpus.pivot}; there is {known}")
        languages += (language for language in pairs[name] if language != corpus.pivot)
    if len(set(languages)) < 2:
        raise ValueError(f"both corpora have {languages[0]} beside {corpus.pivot}; name corpora of different languages")
    return LanguagePair(*languages).languages


def _joining(corpus: Corpus, others: Sequence[Corpus]) -> tuple[Corpus, list[Problem]]:
    """Returns a pivot corpus that names the divided corpora, and has the scores and licenses of both."""
    both: list[Corpus] = []
    for name in corpus.corpora or ():
        found = [other for other in others if other.pair is not None and name in _names_of(other, other.pair)]
        if not found:
            return corpus, [(("corpora",), f"the pair of {name} is not in pairs; add it there")]
        both += found[:1]
    licences = dict.fromkeys(other.licence for other in both if other.licence is not None)
    joined = {
        "corpora": tuple(other.name for other in both),
        "scores": {name: ColumnPlace(at=name) for name in both[0].scores if name in both[1].scores},
        "licence": corpus.licence or " AND ".join(licences) or None,
    }
    return corpus.model_copy(update=joined), []


def _names_of(corpus: Corpus, pair: LanguagePair) -> tuple[str, str]:
    """Returns the names of a corpus and its reverse direction."""
    return corpus.name, f"{corpus.name.removesuffix(f'.{pair}')}.{pair.reverse}"


def _divided(
    corpus: Corpus, asked: Sequence[LanguagePair], problems: list[Problem], path: KeyPath
) -> Iterator[tuple[LanguagePair, bool, Corpus]]:
    """Yields each language pair of a corpus, whether both its directions are used, and its corpus."""
    if corpus.pivot is not None and corpus.languages is None:
        return  # the problem is known
    for side, tag in corpus.languages or ():
        try:
            check_language(tag)
        except PydanticCustomError as error:
            problems.append(((*path, "languages", side), error.message()))
            return
    if (corpus.languages is None) == (corpus.texts is None):
        problems.append(
            (path, "in a config with pairs, give languages ({source: …, target: …}), or texts for several languages")
        )
        return
    used = 0
    for pair in _pairs_of(corpus):
        wanted = [way for way in asked if way in _directions(corpus, pair)]
        if not wanted:
            continue
        used += 1
        try:
            yield wanted[0], len(wanted) > 1, _of_pair(corpus, wanted[0], swapped=wanted[0] != pair)
        except (ValueError, ValidationError) as error:
            text = message_of(error.errors()[0]) if isinstance(error, ValidationError) else str(error)
            problems.append((path, text))
            return
    if not used:
        known = ", ".join(map(str, _pairs_of(corpus)))
        problems.append((path, f"the corpus has {known}, which is not in pairs; add it there, or remove the corpus"))


def _pairs_of(corpus: Corpus) -> list[LanguagePair]:
    """Returns the language pairs of a corpus, each in one direction."""
    if corpus.texts is not None:
        return [LanguagePair(*two) for two in combinations(corpus.texts, 2)]
    return [] if corpus.languages is None else [LanguagePair.of(corpus.languages)]


def _directions(corpus: Corpus, pair: LanguagePair) -> tuple[LanguagePair, ...]:
    """Returns the directions in which a corpus may use a language pair."""
    return (pair, pair.reverse) if corpus.texts or corpus.both_directions else (pair,)


def _of_pair(corpus: Corpus, pair: LanguagePair, *, swapped: bool) -> Corpus:
    """Returns the corpus with one language pair's text; ``swapped`` exchanges the sides of its files."""
    if corpus.corpora is not None:
        return corpus.model_copy(update={"corpora": corpus.corpora[:: -1 if swapped else 1], "languages": None})
    given = corpus.model_dump(exclude_unset=True, exclude={"languages", "texts", "both_directions"})
    kind = format_of(corpus)
    multilingual = reader_of(kind).multilingual
    if corpus.texts is None:
        if swapped:
            given["swap"] = not corpus.swap
        if multilingual:
            given["languages"] = _languages_in_files(corpus.model_copy(update=given), pair).model_dump()
        return Corpus.model_validate(given)
    places = corpus.texts if isinstance(corpus.texts, dict) else dict.fromkeys(corpus.texts)
    source, target = (places[language] for language in pair)
    name = f"{corpus.name}.{pair}"
    if multilingual:
        tags = {side: str(places[tag] or tag) for side, tag in zip(SIDES, pair, strict=True)}
        return Corpus.model_validate({**given, "name": name, "languages": tags})
    if kind in ("jsonl", "parquet") and source is None:
        source, target = (f"translation.{language}" for language in pair)
    key = {"tsv": "columns", "csv": "columns", "jsonl": "fields", "parquet": "fields"}.get(kind)
    if isinstance(corpus.encoding, dict):
        sides_of = zip(SIDES, pair, strict=True)
        given["encoding"] = {side: corpus.encoding.get(language, "utf-8") for side, language in sides_of}
    if source is None or (key is None and kind != "plain"):
        raise ValueError(
            f"texts of format {kind} must be a mapping from languages to places"
            if kind in ("tsv", "csv", "plain")
            else f"format {kind} has no places for several languages"
        )
    sides = {"source": source, "target": target}
    return Corpus.model_validate({**given, "name": name, **({key: sides} if key else sides)})


def _languages_in_files(corpus: Corpus, pair: LanguagePair) -> Languages:
    return pair.reverse.languages if corpus.swap else pair.languages


def _used(corpus: Corpus, pair: LanguagePair, config: Config, *, both: bool) -> Corpus:
    """Returns a corpus with its languages, its tags, and its other direction."""
    tag = corpus.tag or config.tag

    def tagged(used: LanguagePair) -> dict[str, object]:
        texts: dict[str, str] = {} if tag is None else tag.model_dump(exclude_none=True)
        for name, language in used._asdict().items():
            code = config.codes.get(language) or language
            texts = {side: text.replace(f"{{{name}}}", code) for side, text in texts.items()}
        return {"tag": None if tag is None else tag.model_copy(update=texts)}

    reverse = None
    if both:
        named = {"name": _names_of(corpus, pair)[1], **tagged(pair.reverse)}
        reverse = corpus.model_copy(update=named).used_as(pair.reverse, None)
    return corpus.model_copy(update=tagged(pair)).used_as(pair, reverse)


def _lacking(split: str, asked: Sequence[LanguagePair], used: Sequence[LanguagePair]) -> Iterator[Problem]:
    """Yields the pairs that no train corpus has, and the languages that another split lacks."""
    if split == "train":
        for pair in asked:
            if pair not in used:
                yield ("pairs",), f"no corpus of splits.train has the pair {pair}; add one, or remove the pair"
        return
    for language in dict.fromkeys(language for pair in asked for language in pair):
        if not any(language in pair for pair in used):
            yield ("splits", split), f"no corpus has the language {language} of pairs; add one with it"


def _common(asked: Sequence[LanguagePair]) -> Languages:
    """Returns each side's language, ``mul`` if there are several."""
    sides = [{pair[side] for pair in asked} for side in (0, 1)]
    source, target = (side.pop() if len(side) == 1 else MULTIPLE for side in sides)
    return Languages(source=source, target=target)


def _repeated(config: Config) -> Iterator[Problem]:
    for split in config.splits:
        names = [corpus.name for corpus in config.directed(split)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield ("splits", split), f"two corpora are named {name!r}; names must differ"


def _with_tags(config: Config, problems: list[Problem]) -> Config:
    """Returns a config whose vocabularies have the tags of all pairs, if they are trained."""
    tags = {
        tag: (side, f"splits.{split}.{corpus.name}.tag.{side}")
        for split in config.splits
        for corpus in config.directed(split)
        for side, tag in corpus.tags.items()
    }
    for tag, (_, where) in tags.items():
        if place := re.search(r"\{\w*\}", tag):
            problems.append(
                (("tag",), f"{where} has {place[0]}; a tag has {{source}} and {{target}} for the languages")
            )
            break
    for side, where in sorted(set(tags.values())):
        if config.vocab.frame.lacks_tag(side):
            problems.append((("vocab", "frame", side), f"has no place for {where}; put {{tag}} into the frame"))
            break
    vocab = config.vocab
    if isinstance(vocab, ExistingVocab) or not tags:
        return config
    missing = [tag for tag in tags if tag not in vocab.own_pieces]
    given = {key: getattr(vocab, key) for key in vocab.model_fields_set}
    try:
        vocab = type(vocab).model_validate({**given, "reserved": (*vocab.reserved, *missing)})
    except ValidationError as error:
        problems.append((("tag",), message_of(error.errors()[0])))
    return config.model_copy(update={"vocab": vocab})
