"""Loads a checked config from a YAML file and overrides; one error lists every problem.

The model of a whole config has the sections that all configs have, and those that stages add.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from nmt_prep import outputs, stages, subwords
from nmt_prep.checks.catalogues import catalogue_problems, check_corpus, check_format, fill_in
from nmt_prep.checks.languages import check_language
from nmt_prep.checks.outputs import output_problems
from nmt_prep.cleaning.cleaning import Cleaning, cleaning_of
from nmt_prep.cleaning.presets import PRESET_AGAINST, effective_dedup
from nmt_prep.cleaning.top import TOP
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.config import (
    ByteBPEVocab,
    CleanSettings,
    Config,
    DecontaminateSettings,
    ExistingVocab,
    Languages,
    Section,
    SentencePieceVocab,
    T2TVocab,
    Vocab,
)
from nmt_prep.config.file import read_file
from nmt_prep.config.outputs import OutputOptions, outputs_of
from nmt_prep.config.problems import UNKNOWN_NAME, located, problems_of
from nmt_prep.config.section import ConfigLanguages, checked_above
from nmt_prep.config.url import is_hub_id
from nmt_prep.config.vocab import VocabOptions, any_of
from nmt_prep.config.yaml_text import KeyPath
from nmt_prep.errors import ArgumentError, ConfigError, NmtPrepError
from nmt_prep.publishing.hub import hub_url_problem
from nmt_prep.sources.hub import repository_address
from nmt_prep.stages.publish import PUBLISHABLE, published
from nmt_prep.subwords import dialect_of


def check_vocab(options: Vocab) -> None:
    """Checks options that only the dialect can check, such as patterns and a library's training options.

    Raises:
        ValueError: the dialect refuses them.
    """
    try:
        dialect = dialect_of(options)
        if isinstance(options, ExistingVocab):  # the stage checks the files
            for sides in options.keys.values():
                for address in filter(is_hub_id, options.files.of(sides[0])):
                    repository_address(address, "models")
        else:
            dialect.check(options)
    except NmtPrepError as error:
        raise ValueError(str(error)) from error


def check_published(name: str) -> None:
    """Checks a name in ``publish.stages``.

    Raises:
        PydanticCustomError: no such stage can be published.
    """
    names = [stage.name for stage in PUBLISHABLE]
    if name not in names:
        message = "found the text {name}, which is not a stage that can be published (allowed: {names})"
        raise PydanticCustomError(UNKNOWN_NAME, message, {"name": repr(name), "names": ", ".join(names)})


CHECKS: Mapping[str, Callable[[Any], None]] = {
    "language": check_language,
    "format": check_format,
    "corpus": check_corpus,
    "vocab": check_vocab,
    "published": check_published,
}
"""The checks that the config leaves to this layer; see :func:`nmt_prep.config.section.checked_above`."""

_Parts: TypeAlias = (
    "tuple[tuple[tuple[str, type[Section]], ...], tuple[type[VocabOptions], ...], tuple[type[OutputOptions], ...]]"
)
"""What the model of a config is made from: the named sections of stages, the dialects, and the kinds of outputs."""


class _CheckedConfig(Config):
    """The base of the models of whole configs, which are made when a config is checked.

    No module has such a model under its name. So a config is pickled with the parts of its model, and another process
    makes the same model from them.
    """

    parts: ClassVar[_Parts]

    def __reduce__(self) -> tuple[Callable[..., Config], _Parts, dict[Any, Any]]:
        return _empty, self.parts, self.__getstate__()


def config_model() -> type[Config]:
    """Returns the model that configs are checked with, including the sections of all stages in the list.

    Raises:
        ArgumentError: a stage's section has the name of an existing section.
    """
    sections = tuple((stage.name, stage.section) for stage in stages.STAGES if stage.section is not None)
    dialects = tuple(dialect.options for dialect in subwords.DIALECTS)
    return _model_with(sections, dialects, tuple(kind.options for kind in outputs.KINDS))


def stage_problems(config: Config) -> Iterator[str]:
    """Yields the problems with the stages that a config names."""
    if config.publish is not None:
        if config.publish.url.startswith("hf://") and (problem := hub_url_problem(config.publish.url)):
            yield f"config: publish.url: {problem}"
        asked = {stage.name for stage in stages.STAGES if stage.applies(config)}
        for stage in published(config):
            if stage.name not in asked:
                yield f"config: publish.stages names {stage.name}, but the config does not ask for that stage"


def json_schema() -> dict[str, Any]:
    """Returns the JSON schema of a config, for editors that complete and check YAML."""
    schema = config_model().model_json_schema(mode="validation")
    definitions = schema["$defs"]
    mirrors = [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
    for side in ("both", "source", "target"):
        definitions["Urls"]["properties"][side]["anyOf"] = mirrors
        definitions["VocabFiles"]["properties"][side]["anyOf"] = mirrors
    files = definitions["ExistingVocab"]["properties"]
    files["from"] = {"anyOf": [*mirrors, {"$ref": files["from"].pop("$ref")}], **files["from"]}
    corpus = definitions["Corpus"]["properties"]
    for key, whole in (("url", mirrors), ("sha256", [{"type": "string"}])):
        corpus[key] = {"anyOf": [*whole, {"$ref": corpus[key].pop("$ref")}], **corpus[key]}
    place = definitions["ScorePlace"]["properties"]
    place["url"]["anyOf"] = [*mirrors, {"type": "null"}]
    number_or_name = [kind for kind in place["at"]["anyOf"] if kind["type"] != "null"]
    for pattern, whole_place in corpus["scores"]["patternProperties"].items():
        corpus["scores"]["patternProperties"][pattern] = {"anyOf": [*number_or_name, whole_place]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@cache
def _model_with(
    sections: tuple[tuple[str, type[Section]], ...],
    dialects: tuple[type[VocabOptions], ...],
    kinds: tuple[type[OutputOptions], ...],
) -> type[Config]:
    listed = Field((), description=Config.model_fields["outputs"].description)
    fields: dict[str, Any] = {"outputs": (outputs_of(kinds), listed)}
    if not {*dialects} <= {T2TVocab, ByteBPEVocab, SentencePieceVocab}:
        any_dialect: Any = any_of(dialects)
        meaning = Config.model_fields["vocab"].description
        fields["vocab"] = (
            Annotated[any_dialect, checked_above("vocab")],
            Field(default_factory=T2TVocab, description=meaning),
        )
    for name, section in sections:
        if name in Config.model_fields or name in fields:
            raise ArgumentError(
                f"the section of the stage {name} needs another name: the config already has a section {name}"
            )
        required = any(field.is_required() for field in section.model_fields.values())
        summary = (section.__doc__ or name).partition("\n")[0].rstrip(".")
        description = f"a mapping: {summary[:1].lower()}{summary[1:]}"
        fields[name] = (section, Field(default=... if required else section(), description=description))
    model = create_model("Config", __base__=_CheckedConfig, __doc__=Config.__doc__, **fields)
    model.parts = (sections, dialects, kinds)
    return model


def _empty(*parts: Any) -> Config:
    """Returns a config without values, of the model with these parts; unpickling gives it its values."""
    model = _model_with(*parts)
    return model.__new__(model)


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Reads and checks a config.

    Args:
        path: the YAML file.
        overrides: assignments such as ``vocab.size=4096``, with the value in YAML; list items are addressed by number.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a valid config; the message lists every problem.
    """
    data, lines = read_file(Path(path), overrides)
    return check_config(data, str(path), lines)


def check_config(data: Mapping[str, object], origin: str, lines: Mapping[KeyPath, int] | None = None) -> Config:
    """Checks a config given as a mapping.

    Args:
        data: the mapping, as the YAML file would give it.
        origin: name of the config in messages.
        lines: line numbers of keys, if known.

    Raises:
        ConfigError: it is not a valid config; the message lists every problem.
    """
    model, values = config_model(), _tuples(data)
    try:
        config = model.model_validate(values, context=CHECKS)
    except ValidationError as error:
        problems = problems_of(error, model, lines or {}) | set(catalogue_problems(values, CHECKS))
    else:
        config, missing = fill_in(config, CHECKS)
        problems = {
            *missing,
            *stage_problems(config),
            *_clean_problems(config, lines or {}),
            *output_problems(config, lines or {}),
        }
        if not problems:
            return config
    raise _refusal(origin, problems)


def _clean_problems(config: Config, lines: Mapping[KeyPath, int]) -> Iterable[str]:
    if config.clean is None:
        return ()
    from nmt_prep.checks.clean import clean_problems  # noqa: PLC0415  (loads all rules)

    return clean_problems(config, config.clean, lines)


def _refusal(origin: str, problems: Collection[str]) -> ConfigError:
    """Returns the error that lists all problems of a config."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ConfigError("\n".join([f"{origin}: {count}", *(f"  {problem}" for problem in sorted(problems))]))


class FilterConfig(Section):
    """The sections of a config that the filter ``nmt-prep clean`` reads."""

    languages: ConfigLanguages = Field(description="{source: …, target: …}: the languages of the two sides")
    clean: CleanSettings = Field(CleanSettings(), description="a mapping: the fixes and rules")


@dataclass(frozen=True)
class StreamCleaning:
    """Settings of a filter of pairs.

    Attributes:
        languages: the languages of the pairs.
        cleaning: the fixes and rules.
        decontaminate: the evaluation sets that pairs are compared with.
        remarks: remarks for the user.
    """

    languages: Languages
    cleaning: Cleaning
    decontaminate: DecontaminateSettings
    remarks: tuple[str, ...] = ()


def load_cleaning(
    path: Path, overrides: Iterable[str] = (), corpus: str | None = None, opusfilter: Path | None = None
) -> StreamCleaning:
    """Reads the languages and the section ``clean`` of a config, to filter a stream of pairs.

    Args:
        path: the YAML file; its other sections are not read.
        overrides: as for :func:`load_config`.
        corpus: name of the corpus whose overrides apply; None for those of the languages only.
        opusfilter: an OpusFilter config. Its filters replace preset and rules, and only the fixes that the section
            itself names are applied.

    Raises:
        ConfigError: a file cannot be read, or one of the two sections is not valid, or asks for something that needs
            the whole corpus; the message lists every problem.
    """
    from nmt_prep.checks.clean import filter_problems  # noqa: PLC0415  (loads all rules)

    data, lines = read_file(path, overrides)
    values = _tuples({key: data[key] for key in FilterConfig.model_fields if key in data})
    try:
        config = FilterConfig.model_validate(values, context=CHECKS)
    except ValidationError as error:
        raise _refusal(str(path), problems_of(error, FilterConfig, lines)) from None
    remarks: list[str] = []
    if config.clean.dedup.active:
        remarks.append(f"{located(('clean', 'dedup'), lines)}: it is left out: it needs all pairs")
    if opusfilter is not None:
        return _like_opusfilter(config, opusfilter, remarks)
    problems: list[str] = []
    cleaning = cleaning_of(config.clean, config.languages, corpus or "")
    problems.extend(filter_problems(config.clean, config.languages, corpus, lines))
    if not config.clean.dedup.active and effective_dedup(config.clean).active:
        remarks.append(f"clean.preset {config.clean.preset}: dedup is left out: it needs all pairs")
    if config.clean.decontaminate.against is None and PRESET_AGAINST[config.clean.preset]:
        remarks.append(f"clean.preset {config.clean.preset}: decontaminate is left out: a stream has no dev and test")
    if cleaning.top is not None:
        key = cleaning.keys[TOP]
        if key.startswith("clean.preset"):
            remarks.append(f"{key}{TOP} is left out: it needs the whole corpus")
        else:
            problems.append(f"{key}{TOP}: needs the whole corpus, which a stream does not have; remove it")
    if (spec := cleaning.translation) is not None:
        key = cleaning.keys[TRANSLATION]
        if key.startswith("clean.preset"):
            remarks.append(
                f"{key}{TRANSLATION} is left out: it learns from all pairs; in a stream it needs a model, and a number "
                "for min"
            )
        else:  # TranslationRule says what it needs here
            cleaning.rules[TRANSLATION] = spec
    if problems:
        raise _refusal(str(path), problems)
    cleaning = replace(cleaning, top=None, translation=None)
    return StreamCleaning(config.languages, cleaning, config.clean.decontaminate, tuple(remarks))


def _tuples(value: object) -> object:
    """Returns the value with lists replaced by tuples, which the strict models require."""
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    return value


def _like_opusfilter(config: FilterConfig, path: Path, remarks: Iterable[str]) -> StreamCleaning:
    from nmt_prep.cleaning.opusfilter import opusfilter_rules  # noqa: PLC0415  (loads all rules)
    from nmt_prep.cleaning.rules import rule_problems  # noqa: PLC0415  (loads all rules)

    data, _ = read_file(path)
    try:
        found = opusfilter_rules(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if problems := [*rule_problems(found.rules)]:
        raise _refusal(str(path), problems)
    cleaning = Cleaning(config.clean.fix or (), found.rules, keys=dict.fromkeys(found.rules, f"{path}: "))
    return StreamCleaning(
        config.languages,
        cleaning,
        config.clean.decontaminate,
        (*remarks, *(f"{path}: not taken over: {each}" for each in found.left_out)),
    )
