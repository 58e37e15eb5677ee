"""The model of a whole config: the sections that all configs have, and those that stages add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic_core import PydanticCustomError

from nmt_prep import stages, subwords
from nmt_prep.checks.corpora import check_corpus, check_format
from nmt_prep.checks.languages import check_language
from nmt_prep.checks.vocab import check_vocab
from nmt_prep.config import ByteBPEVocab, Config, Section, SentencePieceVocab, T2TVocab
from nmt_prep.config.problems import UNKNOWN_NAME
from nmt_prep.config.section import checked_above
from nmt_prep.config.vocab import VocabOptions, any_of
from nmt_prep.errors import ArgumentError
from nmt_prep.stages.publish import PUBLISHABLE, published


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


def config_model() -> type[Config]:
    """Returns the model that configs are checked with, including the sections of all stages in the list.

    Raises:
        ArgumentError: a stage's section has the name of an existing section.
    """
    sections = tuple((stage.name, stage.section) for stage in stages.STAGES if stage.section is not None)
    return _model_with(sections, tuple(dialect.options for dialect in subwords.DIALECTS))


def stage_problems(config: Config) -> Iterator[str]:
    """Yields the problems with the stages that a config names."""
    if config.publish is not None:
        asked = {stage.name for stage in stages.STAGES if stage.applies(config)}
        for stage in published(config.publish):
            if stage.name not in asked:
                yield f"config: publish.stages names {stage.name}, but the config does not ask for that stage"


def json_schema() -> dict[str, Any]:
    """Returns the JSON schema of a config, for editors that complete and check YAML."""
    schema = config_model().model_json_schema(mode="validation")
    definitions = schema["$defs"]
    mirrors = [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
    for side in ("both", "source", "target"):
        definitions["Urls"]["properties"][side]["anyOf"] = mirrors
    corpus = definitions["Corpus"]["properties"]
    for key, whole in (("url", mirrors), ("sha256", [{"type": "string"}])):
        corpus[key] = {"anyOf": [*whole, {"$ref": corpus[key].pop("$ref")}], **corpus[key]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@cache
def _model_with(
    sections: tuple[tuple[str, type[Section]], ...], dialects: tuple[type[VocabOptions], ...]
) -> type[Config]:
    fields: dict[str, Any] = {}
    if not {*dialects} <= {T2TVocab, ByteBPEVocab, SentencePieceVocab}:
        kinds: Any = any_of(dialects)
        meaning = Config.model_fields["vocab"].description
        fields["vocab"] = (
            Annotated[kinds, checked_above("vocab")],
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
    if not fields:
        return Config
    return create_model("Config", __base__=Config, __doc__=Config.__doc__, **fields)
