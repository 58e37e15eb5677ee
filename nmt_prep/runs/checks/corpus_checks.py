"""Checks corpora against the readers of their formats, and completes corpora that a catalog ID names.

Nothing is fetched: OPUS and hf: IDs are resolved at download; IDs of mtdata and sacrebleu become URLs here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.corpus_rules import COMPUTED_SCORES, CORPUS_RULES
from nmt_prep.cleaning.evaluation_segments import against_problems
from nmt_prep.cleaning.opusfilter import opusfilter_rules
from nmt_prep.cleaning.presets import (
    PRESET_AGAINST,
    Cleaning,
    cleaning_of,
    effective_dedup,
    effective_rules,
    steps_of,
)
from nmt_prep.cleaning.rules import rule_problems
from nmt_prep.config import (
    CleanSettings,
    ComputedValue,
    Config,
    Corpus,
    CorpusCleaning,
    DecontaminateSettings,
    Languages,
    Section,
)
from nmt_prep.config.corpus import Columns, Fields
from nmt_prep.config.file import as_tuples, read_file
from nmt_prep.config.language_pairs import ConfigLanguages, are_languages, splits_of
from nmt_prep.config.problems import KeyPath, Problem, did_you_mean, located, message_of, problems_of, refusal, worded
from nmt_prep.config.section import Checksums, Name, Urls, descriptions, is_hub_id
from nmt_prep.corpora.registry import column_files, format_of, option_keys, parts_of, reader_of
from nmt_prep.corpora.sources.catalogues import describe_mtdata, describe_opus
from nmt_prep.corpora.sources.hub import repository_address
from nmt_prep.corpora.sources.known_corpora import licence_of
from nmt_prep.corpora.sources.sacrebleu_sets import describe_sacrebleu
from nmt_prep.stages.clean.cleaned_corpora import named_in
from nmt_prep.text.steps import parse_step

_MEMBERS = {"source", "target", "member"}


def completed(corpus: Corpus, languages: Languages | None) -> tuple[Corpus, list[Problem]]:
    """Completes and checks a corpus.

    Args:
        languages: the config's languages, or None if they are wrong, so that IDs are not looked up.

    Returns:
        The corpus with the url, members, format and fields that its catalog ID stands for, and its problems; without
        an ID, the same corpus.
    """
    if corpus.pivot is not None:
        return corpus, []  # checked with its types
    if corpus.format is not None and (problem := _format_problem(corpus.format)):
        return corpus, [(("format",), problem)]
    address, hub_id = corpus.url.catalogue_id, corpus.url.hub_id
    if languages is None and (address or hub_id):
        return corpus, []
    try:
        if address is not None and languages is not None:
            corpus = _from_catalogue(corpus, address, languages)
        elif hub_id is not None and languages is not None:
            corpus = _from_hub(corpus, hub_id, languages)
    except ConfigError as error:
        return corpus, [(("url",), str(error))]
    except ValidationError as error:
        problem = "; ".join(map(message_of, error.errors()))
    else:
        corpus = _in_one_file(corpus)
        # Files of documents are checked with their types.
        files, sides = ((), ()) if corpus.documents else (_file_problems(corpus), _one_side_problems(corpus))
        problem = next(chain(files, _option_problems(corpus), _column_problems(corpus), sides), "")
    if problem and address is not None:
        problem = f"{address} conflicts with the other keys: {problem}"
    return corpus, [((), problem)] if problem else []


def _in_one_file(corpus: Corpus) -> Corpus:
    """Returns a corpus of one side with its file as the one for both sides, if its format has places for the sides."""
    kind = format_of(corpus)
    if len(corpus.sides) != 1 or corpus.documents is not None or not _has_places(kind):
        return corpus
    (side,) = corpus.sides
    given: dict[str, Any] = {"member": getattr(corpus, side), "source": None, "target": None}
    if corpus.url.both is None:
        given["url"] = Urls(both=getattr(corpus.url, side))
        given["sha256"] = Checksums(both=getattr(corpus.sha256, side))
    if isinstance(corpus.encoding, dict):
        given["encoding"] = corpus.encoding_of(side)
    if "columns" in reader_of(kind).options and corpus.columns is None:
        given["columns"] = Columns(**{side: 0})
    return corpus.model_copy(update=given)


def _has_places(kind: str) -> bool:
    """Returns true if files in a format have places for the sides, and so may hold one of them."""
    return not {"columns", "fields"}.isdisjoint(reader_of(kind).options)


def _format_problem(name: str) -> str:
    try:
        reader_of(name)
    except ValueError as error:
        allowed = descriptions(Corpus).get("format")  # None in an installation without source files
        end = " " if str(error).endswith("?") else "; "
        return f"{error}{end}allowed: {allowed}" if allowed else str(error)
    return ""


def _file_problems(corpus: Corpus) -> Iterator[str]:
    kind, sides = format_of(corpus), corpus.sides
    if corpus.url.hub_id is not None:
        if kind != "parquet":
            yield f"format {kind} cannot be combined with an hf: ID, which stands for Parquet files; name files as hf://…"
        if corpus.source or corpus.target or corpus.member:
            yield "an hf: ID stands for the files of a split: choose them with split, not source, target or member"
    if reader_of(kind).parts == ("both",):
        if corpus.source or corpus.target or (corpus.url.both is None and len(sides) > 1):
            yield f"format {kind} holds both sides in one file: name it with member, not source and target"
        return
    if corpus.member is not None:
        yield f"format {kind} has one file per side: name them with source and target, not member"
    if not sides:
        yield (
            f"format {kind} has one file per side: name the members of the archive with source and target, or give "
            "url as {source: …, target: …}"
        )
    if corpus.source is not None and corpus.source == corpus.target and corpus.url.both is not None:
        yield "source and target are the same member"


def _one_side_problems(corpus: Corpus) -> Iterator[str]:
    kind = format_of(corpus)
    if len(corpus.read_sides) == 1 and reader_of(kind).parts == ("both",) and not _has_places(kind):
        yield f"a corpus of one side has format plain, tsv, csv, jsonl, parquet or sgm, not {kind}; name both sides"
    if len(corpus.read_sides) == 1 and corpus.translate is None and corpus.role == "parallel":
        yield (
            f"the corpus has only the side {corpus.read_sides[0]}: name the other one too, or give translate, the name "
            "of a computed text that makes it, or set role to vocab"
        )


def _option_problems(corpus: Corpus) -> Iterator[str]:
    kind = format_of(corpus)
    reader = reader_of(kind)
    of_documents = {"encoding"} if corpus.documents is not None else set()  # the encoding of the documents
    if isinstance(corpus.encoding, dict) and parts_of(corpus) == ("both",) and not corpus.is_local:
        yield "encoding must be one value, because both sides are in one file"
    for option in sorted(option_keys() & corpus.model_fields_set - reader.options - of_documents):
        yield f"{option} does not belong to format {kind}, which takes {', '.join(sorted(reader.options))}"
    if "fields" in reader.options and corpus.fields is None and corpus.url.hub_id is None:
        fields = "{source: translation.en, target: translation.zh}, or {target: text} for one side"
        yield f"format {kind} needs fields, such as {fields}"
    if corpus.columns is not None and corpus.columns.source == corpus.columns.target:
        yield "columns.source and columns.target are the same column"
    if reader.section is None:
        if corpus.options:
            yield f"format {kind} has no options"
        return
    try:
        reader.section.model_validate(corpus.options)
    except ValidationError as error:
        yield "; ".join(f"options.{problem}" for problem in sorted(problems_of(error, reader.section, {})))


_COLUMN_FILE = "give {url: …}, a file with one value on each line"


def _column_problems(corpus: Corpus) -> Iterator[str]:
    kind = format_of(corpus)
    own = reader_of(kind).own_documents
    for key, place in column_files(corpus).items():
        at = corpus.places[key].at
        if any(map(is_hub_id, place.url or ())):
            yield f"{key}: an hf: ID names a whole data set; name a file of it: hf://datasets/…"
        if isinstance(at, int):
            yield f"{key}: format {kind} has no columns: {_COLUMN_FILE}"
        elif place.url is None and (corpus.url.both is None or corpus.url.hub_id is not None):
            what = "is a data set" if corpus.url.hub_id else "has one file per side"
            yield f"{key}: the corpus {what}, not an archive with a member for the values"
        elif isinstance(at, str) and at.startswith("prop:"):
            yield f"{key}: only format tmx has properties: {_COLUMN_FILE}"
        elif at in ("docid", "original"):
            takes = f"format {kind} has its documents at {own}" if own else f"format {kind} has no documents of its own"
            yield f"{key}: {takes}: {_COLUMN_FILE}"


def _from_catalogue(corpus: Corpus, address: str, languages: Languages) -> Corpus:
    known = _CATALOGUES[address.partition(":")[0]](address, languages)
    # The config takes precedence: it may name other members than the catalog, or another format.
    given = {name: getattr(corpus, name) for name in corpus.model_fields_set if name != "url"}
    if _MEMBERS & given.keys():
        known = {key: value for key, value in known.items() if key not in _MEMBERS}
    url = known["url"]
    known |= _known_licence(address)
    if "both" in url:
        url = {"both": (*url["both"], *(corpus.url.both or ())[1:])}
    return Corpus.model_validate({**known, **given, "url": url})


def _from_hub(corpus: Corpus, address: str, languages: Languages) -> Corpus:
    """Returns a Hugging Face Hub data set with its license and its fields, by default those that a Translation has."""
    repository_address(address, "datasets")
    usual = Fields(source=f"translation.{languages.source}", target=f"translation.{languages.target}")
    known = _known_licence(address) if "licence" not in corpus.model_fields_set else {}
    if corpus.fields is None:
        known["fields"] = usual
    return corpus.model_copy(update=known)


def _known_licence(address: str) -> dict[str, Any]:
    licence = licence_of(address)
    return {} if licence is None else {"licence": licence}


_CATALOGUES: Mapping[str, Callable[[str, Languages], dict[str, Any]]] = {
    "opus": describe_opus,
    "mtdata": describe_mtdata,
    "sacrebleu": describe_sacrebleu,
}


# Checks the `clean` section: names of rules, fixes, corpora and languages, and the options of rules.
#
# Checks that need files, such as models, are made by the stage, which knows the config's directory. For the filter
# `nmt-prep clean`, `load_cleaning` reads the sections `languages` and `clean` alone.


def clean_problems(config: Config, settings: CleanSettings) -> Iterator[Problem]:
    """Yields the problems in a config's ``clean`` section."""
    yield from layer_problems(settings)
    yield from _evaluation_problems(settings, config)
    yield from _weight_problems(config, settings)
    yield from _computed_problems(config)
    corpora = {corpus.name for split in settings.splits for corpus in config.own_splits.get(split, ())}
    for name in settings.overrides:
        if name not in corpora and not any(map(are_languages, splits_of(name))):
            known = sorted(corpora)
            problem = f"neither a corpus that is cleaned nor a language pair such as en-de{did_you_mean(name, known)}"
            yield ("clean", "overrides", name), f"{problem} (corpora: {', '.join(known)})"


_AGAINST = ("clean", "decontaminate", "against")


def _evaluation_problems(settings: CleanSettings, config: Config) -> Iterator[Problem]:
    decontaminate = settings.decontaminate
    for problem in against_problems(decontaminate, config.own_splits, config.languages):
        yield _AGAINST, problem
    if decontaminate.model_fields_set and decontaminate.against is None and not PRESET_AGAINST[settings.preset]:
        problem = f"no evaluation sets are named, and the preset {settings.preset} brings none"
        yield _AGAINST, f"{problem}; name splits such as dev, sacrebleu:… or file:…"
    against = decontaminate.against or ()
    if against and all(split in against for split in settings.splits):
        cleaned = ", ".join(settings.splits)
        yield _AGAINST, f"names all splits that are cleaned ({cleaned}); nothing is compared with them"


def _weight_problems(config: Config, settings: CleanSettings) -> Iterator[Problem]:
    """Yields a problem if weights use the score of a rule that the config lacks, and no corpus has this score."""
    name = "" if config.weight is None else config.weight.origin.removeprefix("score:")
    if name not in COMPUTED_SCORES or any(name in corpus.scores for _, corpus in config.corpora):
        return
    layers = [{}, *(overrides.rules for overrides in settings.overrides.values())]
    if not any(name in effective_rules(settings.preset, settings.rules, layer) for layer in layers):
        yield (
            ("weight", "from"),
            f"no corpus has the score {name!r}, and no rule of clean computes it; add {name} to rules",
        )


def _computed_problems(config: Config) -> Iterator[Problem]:
    """Yields a problem for each text that is used as a score."""
    for name in named_in(config).intersection(config.computed):
        if config.computed[name].output == "text":
            yield (
                ("computed", name, "output"),
                "a rule, clean.dedup.keep or weight uses this text as a score",
            )


def filter_problems(settings: CleanSettings, languages: Languages, corpus: str | None) -> Iterator[Problem]:
    """Yields the problems in a ``clean`` section that filters a stream of pairs.

    Args:
        corpus: name of the corpus whose overrides apply; None if there is none.
    """
    yield from layer_problems(settings)
    for problem in against_problems(settings.decontaminate, None, languages):
        yield _AGAINST, problem
    if corpus is not None and corpus not in settings.overrides:
        near = did_you_mean(corpus, settings.overrides)
        yield ("clean", "overrides"), f"--corpus names {corpus!r}, which has no overrides{near}"


def layer_problems(settings: CleanSettings) -> Iterator[Problem]:
    """Yields the problems in the fixes and rules of a ``clean`` section, and in its overrides."""
    yield from _layer_problems(settings, ("clean",))
    for name, override in settings.overrides.items():
        yield from _layer_problems(override, ("clean", "overrides", name))


def _layer_problems(layer: CleanSettings | CorpusCleaning, path: KeyPath) -> Iterator[Problem]:
    for side in SIDES if isinstance(layer.fix, Mapping) else SIDES[:1]:
        for spec in steps_of(layer.fix or (), side):
            try:
                parse_step(spec)
            except ValueError as error:
                yield from (((*path, "fix"), line) for line in str(error).splitlines())
    for name, spec in layer.rules.items():
        for problem in rule_problems({name: spec}):
            key, _, what = problem.partition(": ")
            yield (*path, "rules", *key.split(".")), what


class FilterConfig(Section):
    """The sections of a config that the filter ``nmt-prep clean`` reads."""

    languages: ConfigLanguages = Field(description="{source: …, target: …}: the languages of the two sides")
    computed: dict[Name, ComputedValue] = Field({}, description="a mapping: values that the rules use")
    clean: CleanSettings = Field(CleanSettings(), description="a mapping: the fixes and rules")


@dataclass(frozen=True)
class StreamCleaning:
    """Settings of a pair filter."""

    languages: Languages
    cleaning: Cleaning
    decontaminate: DecontaminateSettings  # the evaluation sets that pairs are compared with
    computed: Mapping[str, ComputedValue]
    remarks: tuple[str, ...] = ()


def load_cleaning(
    path: Path, overrides: Iterable[str] = (), corpus: str | None = None, opusfilter: Path | None = None
) -> StreamCleaning:
    """Reads a config's languages and its ``clean`` section, to filter a stream of pairs.

    Args:
        corpus: name of the corpus whose overrides apply, or None for the language overrides only.
    """
    data, lines = read_file(path, overrides)
    values = as_tuples({key: data[key] for key in FilterConfig.model_fields if key in data})
    try:
        config = FilterConfig.model_validate(values)
    except ValidationError as error:
        raise refusal(str(path), problems_of(error, FilterConfig, lines)) from None
    remarks: list[str] = []
    if config.clean.dedup.active:
        remarks.append(f"{located(('clean', 'dedup'), lines)}: it is skipped: it needs all pairs")
    if opusfilter is not None:
        return _like_opusfilter(config, opusfilter, remarks)
    problems: list[str] = []
    cleaning = cleaning_of(config.clean, config.languages, corpus or "")
    problems.extend(worded(filter_problems(config.clean, config.languages, corpus), lines))
    if not config.clean.dedup.active and effective_dedup(config.clean).active:
        remarks.append(f"clean.preset {config.clean.preset}: dedup is skipped: it needs all pairs")
    if config.clean.decontaminate.against is None and PRESET_AGAINST[config.clean.preset]:
        remarks.append(f"clean.preset {config.clean.preset}: decontaminate is skipped: a stream has no dev and test")
    for name, spec in cleaning.corpus_rules.items():
        if cleaning.keys[name].startswith("clean.preset"):
            remarks.append(f"{cleaning.keys[name]}{name} is skipped: {CORPUS_RULES[name].in_stream}")
        else:  # the rule itself reports what it needs
            cleaning.rules[name] = spec
    if problems:
        raise refusal(str(path), problems)
    cleaning = replace(cleaning, corpus_rules={})
    return StreamCleaning(config.languages, cleaning, config.clean.decontaminate, config.computed, tuple(remarks))


def _like_opusfilter(config: FilterConfig, path: Path, remarks: Iterable[str]) -> StreamCleaning:
    data, _ = read_file(path)
    try:
        rules, left_out = opusfilter_rules(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if problems := [*rule_problems(rules)]:
        raise refusal(str(path), problems)
    cleaning = Cleaning(config.clean.fix or (), rules, keys=dict.fromkeys(rules, f"{path}: "))
    remarks = (*remarks, *(f"{path}: not converted: {name}" for name in left_out))
    return StreamCleaning(config.languages, cleaning, config.clean.decontaminate, config.computed, remarks)
