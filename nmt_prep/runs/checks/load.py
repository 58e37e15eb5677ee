"""Loads a config from a YAML file and overrides, and checks it; one error lists every problem."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nmt_prep import stages
from nmt_prep.base.errors import NmtPrepError
from nmt_prep.config import CleanSettings, Config, Corpus, ExistingVocab, Section, Vocab
from nmt_prep.config.file import as_tuples, read_file
from nmt_prep.config.language_pairs import ConfigLanguages
from nmt_prep.config.problems import KeyPath, Problem, did_you_mean, problems_of, refusal, worded, wrong_keys
from nmt_prep.config.section import descriptions, is_hub_id
from nmt_prep.corpora.sources.hub import repository_address
from nmt_prep.runs.checks.corpus_checks import completed
from nmt_prep.runs.checks.language_pair_checks import by_pair, only_with_pairs
from nmt_prep.stages.publish.hub import hub_url_problem
from nmt_prep.stages.publish.publish_stage import published
from nmt_prep.subwords import dialect_of
from nmt_prep.training.outputs import OutputOptions, kind_of
from nmt_prep.training.prompts import language_problems

_PLACEHOLDERS: Mapping[str, object] = {"name": "x", "output_dir": "x", "seed": 0}
"""Stand-ins for required keys that are missing or wrong, so that the rest of the config can be checked."""

_WRONG_SECTIONS: Mapping[str, Mapping[str, object]] = {"align": {}, "clean": {}, "documents": {"separator": "space"}}
"""Stand-ins for optional sections with wrong values, which other sections need."""


def load_config(path: str | os.PathLike[str], overrides: Iterable[str] = ()) -> Config:
    """Reads and checks a config.

    Args:
        path: the YAML file.
        overrides: assignments such as ``vocab.size=4096``, with the value in YAML; list items are addressed by number.

    Returns:
        The config. Local paths in it are relative to the file's directory.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a valid config; the message lists every problem.
    """
    data, lines = read_file(Path(path), overrides)
    return check_config(data, str(path), lines).read_from(Path(path))


def check_config(data: Mapping[str, object], origin: str, lines: Mapping[KeyPath, int] | None = None) -> Config:
    """Checks a config given as a mapping.

    Args:
        data: the mapping, as the YAML file would give it.
        origin: name of the config in messages.
        lines: line numbers of keys, if known.

    Returns:
        The config. Corpora with a catalog ID have the keys from the catalog.

    Raises:
        ConfigError: the mapping is not a valid config; the message lists every problem.
    """
    lines = lines or {}
    values = as_tuples(data)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        others = _other_problems(values, wrong_keys(error, Config), lines)
        raise refusal(origin, {*problems_of(error, Config, lines), *others}) from None
    config, problems = _checked(config)
    if problems:
        raise refusal(origin, set(worded(problems, lines)))
    return config


def _checked(config: Config, *, known_vocab: bool = True) -> tuple[Config, list[Problem]]:
    """Returns a config whose types are right, with completed corpora, and its problems."""
    config, problems = _completed(config)
    config = config.with_cleaning().with_held_out().with_limits()
    wrong_vocab = [*_vocab_problems(config.vocab)]
    problems += [*wrong_vocab, *_clean_problems(config), *_publish_problems(config), *_training_problems(config)]
    if config.records.causal:
        problems += [(("records", "language_names"), found) for found in language_problems(config.records, config)]
    problems += _output_problems(config, with_vocab=known_vocab and not wrong_vocab)
    return config, problems


def _other_problems(
    values: Mapping[str, Any], wrong: Collection[KeyPath], lines: Mapping[KeyPath, int]
) -> Iterator[str]:
    """Yields a config's problems other than values with wrong types."""
    rest: Any = values
    for path in filter(None, wrong):
        rest = _without(rest, path) or {}
    for key, stand_in in _WRONG_SECTIONS.items():
        if any(path[:1] == (key,) for path in wrong):
            rest = {**rest, key: {**stand_in, **(rest.get(key) or {})}}
    if values.get("pairs") is not None:
        rest = {"pairs": "all", **rest}  # a config of one pair has other keys
    try:
        config = Config.model_validate({**_PLACEHOLDERS, **rest})
    except ValidationError as error:
        untouched = {"splits", "vocab"}.isdisjoint(path[0] if path else "splits" for path in wrong)
        if untouched and wrong_keys(error, Config) == {()}:  # not caused by the parts left out
            yield from problems_of(error, Config, lines)
        yield from worded(_problems_of_valid_parts({**rest, "splits": values.get("splits")}), lines)
        return
    known_vocab = all(path[:1] != ("vocab",) for path in wrong)
    for path, problem in _checked(config, known_vocab=known_vocab)[1]:
        if not any(path[: len(key)] == key[: len(path)] for key in wrong):
            yield from worded([(path, problem)], lines)


def _without(value: Any, path: KeyPath) -> Any:
    """Returns a value without the item at a path; None if nothing is left.

    A list is removed as a whole: without one of its items, the items after it would have other indexes.
    """
    key, *rest = path or (None,)
    if isinstance(value, Mapping) and path:
        if key not in value:
            return value  # the key is missing
        inner = _without(value[key], tuple(rest))
        others = {name: other for name, other in value.items() if name != key}
        return others if inner is None else {**others, key: inner}
    if isinstance(value, tuple) and isinstance(key, int) and (inner := _without(value[key], tuple(rest))) is not None:
        return (*value[:key], inner, *value[key + 1 :])
    return None


def _problems_of_valid_parts(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields the problems of corpora, rules and vocabularies with correct types, in a config with wrong types."""
    languages = _valid(ConfigLanguages, values.get("languages"))
    splits = values.get("splits")
    if values.get("pairs") is not None:  # corpora are divided before they are checked
        splits = None
    for split, corpora in splits.items() if isinstance(splits, Mapping) else ():
        for number, data in enumerate(corpora if isinstance(corpora, tuple) else ()):
            if (corpus := _valid(Corpus, data)) is not None:
                yield from _corpus_problems(completed(corpus, languages)[1], split, number)
    if (vocab := _valid(Vocab, values.get("vocab"))) is not None:
        yield from _vocab_problems(vocab)
    if (clean := _valid(CleanSettings, values.get("clean"))) is not None:
        from nmt_prep.runs.checks.corpus_checks import layer_problems  # noqa: PLC0415  (loads all rules)

        yield from layer_problems(clean)


def _valid(kind: Any, value: object) -> Any:
    """Returns a value as a part of a config; None if its types are wrong."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None


def _completed(config: Config) -> tuple[Config, list[Problem]]:
    if config.pairs is not None:
        return by_pair(config)
    splits: dict[str, tuple[Corpus, ...]] = {}
    problems = [*only_with_pairs(config)]
    for split, corpora in config.splits.items():
        made = [completed(corpus, config.languages) for corpus in corpora]
        splits[split] = tuple(corpus for corpus, _ in made)
        for number, (_, wrong) in enumerate(made):
            problems.extend(_corpus_problems(wrong, split, number))
    return config.model_copy(update={"splits": splits}), problems


def _corpus_problems(problems: Iterable[Problem], split: str, number: int) -> Iterator[Problem]:
    for path, problem in problems:
        yield ("splits", split, number, *path), problem


def _vocab_problems(options: Vocab) -> Iterator[Problem]:
    """Yields the problems that only the dialect can detect, such as in patterns and library training options."""
    try:
        dialect = dialect_of(options)
        if isinstance(options, ExistingVocab):  # the stage checks the files
            for sides in options.keys.values():
                for address in filter(is_hub_id, options.files.of(sides[0])):
                    repository_address(address, "models")
        else:
            dialect.check(options)
    except NmtPrepError as error:
        yield ("vocab",), str(error)


def _clean_problems(config: Config) -> Iterable[Problem]:
    if config.clean is None:
        return ()
    from nmt_prep.runs.checks.corpus_checks import clean_problems  # noqa: PLC0415  (loads all rules)

    return clean_problems(config, config.clean)


def _output_problems(config: Config, *, with_vocab: bool) -> Iterator[Problem]:
    """Yields the problems of the list ``outputs``: names, splits, and what each kind can hold.

    Args:
        with_vocab: true if the vocabularies are valid, so that their IDs and pieces can be checked too.
    """
    names: dict[str, int] = {}
    for number, options in enumerate(config.outputs):
        path: KeyPath = ("outputs", number)
        kind = kind_of(options)
        first = names.setdefault(options.directory, number)
        if first != number:
            yield (
                (*path, "name"),
                f"outputs.{first} is written to outputs/{options.directory} already; give one of them another name",
            )
        for split in sorted(set(options.shards) - set(config.splits)):
            near, known = did_you_mean(split, config.splits), ", ".join(config.splits)
            yield (*path, "shards", split), f"there is no split {split!r}{near or ';'} the splits are {known}"
        if options.order == "corpus" and (config.documents is not None or config.weight is not None):
            yield (*path, "order"), "documents and weights come in the order of the records; remove order"
        if options.corpus and not kind.holds_corpus:
            yield (
                (*path, "corpus"),
                f"files of kind {options.kind} cannot hold the name of a corpus; remove corpus",
            )
        if not kind.tagged(options) and kind.form(options, config) in ("ids", "linked_pieces"):
            yield (*path, "tags"), "IDs and pieces always have the tags of the records; remove it"
        if config.records.layout == "causal":
            yield from ((path, problem) for problem in _row_problems(options, config))
        for key, problem in kind.problems(options, config):
            yield (*path, key), problem
        for key, problem in kind.vocab_problems(options, config.vocab) if with_vocab else ():
            yield (*path, key), problem


def _row_problems(options: OutputOptions, config: Config) -> Iterator[str]:
    """Yields the problems of a run's output whose records hold causal language model rows."""
    form, kind = kind_of(options).form(options, config), kind_of(options)
    if form in ("ids", "linked_pieces") and not kind.holds_rows:
        yield "it needs the IDs of each side, and records of layout causal hold whole rows; set records.layout to chunk"
    if form != "ids" and config.documents is not None:
        yield "documents are joined in the order of the records, which layout causal lacks; set records.layout to chunk"
    if form == "ids" and options.order == "corpus":
        yield "rows come in the order of the records; remove order"


def _training_problems(config: Config) -> Iterator[Problem]:
    """Yields the problems of modifiers, and of records that cannot be read with modifiers."""
    training = config.training
    if config.pairs is not None:
        problem = training.problem({corpus.name for corpus in config.directed("train") if corpus.role != "vocab"})
        if problem is not None:
            yield ("training",), problem
    if (training.subwords or not training.is_plain) and config.records.layout != "text":
        yield ("records", "layout"), f"{config.records.layout}: stages, modifiers and subwords of training need text"
    lists: dict[KeyPath, tuple[dict[str, Any], ...]] = {("training", "modifiers"): training.modifiers}
    for number, stage in enumerate(training.stages):
        lists["training", "stages", number, "modifiers"] = stage.modifiers or ()
    for path, entries in lists.items():
        if not entries:
            continue
        from nmt_prep.training.modifiers import read_modifiers  # noqa: PLC0415  (loads pyarrow)

        try:
            modifiers = read_modifiers(entries, ".".join(map(str, path)), config.base_dir)
        except NmtPrepError as error:
            yield path, str(error)
            continue
        if modifiers.needing_links and (config.align is None or "train" not in (config.align.splits or ("train",))):
            yield path, f"{modifiers.needing_links} needs links; add the section align, for the split train too"


def _publish_problems(config: Config) -> Iterator[Problem]:
    if config.publish is None:
        return
    if config.publish.url.startswith("hf://") and (problem := hub_url_problem(config.publish.url)):
        yield ("publish", "url"), problem
    asked = {stage.name for stage in stages.STAGES if stage.applies(config)}
    for stage in published(config):
        if stage.name not in asked:
            yield ("publish", "stages"), f"names {stage.name}, but the config does not include that stage"


def json_schema() -> dict[str, Any]:
    """Returns the JSON schema of a config, for editors that complete and check YAML."""
    schema = Config.model_json_schema(mode="validation")
    _describe_keys(Section, {Config.__name__: schema, **schema["$defs"]})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _describe_keys(base: type[Section], schemas: Mapping[str, Any]) -> None:
    """Adds key descriptions to the schemas of the class-derived sections, by section name."""
    for section in base.__subclasses__():
        _describe_keys(section, schemas)
        if section.__name__ in schemas and section.__module__.startswith("nmt_prep.config"):
            for key, text in descriptions(section).items():
                schemas[section.__name__]["properties"][key]["description"] = text
