"""The config keys for language model rows: prompts, and what they can contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nmt_prep.config.section import Location, Section, Tag, one_or_more

LABELLED = (
    "Translate the following text from {source_language} into {target_language}.\n"
    "{source_language}: {source}\n{target_language}:"
)
_ALMA = "Translate this from {source_language} to {target_language}:\n{source_language}: {source}\n{target_language}:"
PRESETS = {
    "tower": LABELLED,
    "alma": _ALMA,
    "x-alma": _ALMA,
    "translategemma": (
        "You are a professional {source_language} ({source_code}) to {target_language} ({target_code}) translator. "
        "Your goal is to accurately convey the meaning and nuances of the original {source_language} text while "
        "adhering to {target_language} grammar, vocabulary, and cultural sensitivities.\nProduce only the "
        "{target_language} translation, without any additional explanations or commentary. Please translate the "
        "following {source_language} text into {target_language}:\n\n\n{source}"
    ),
}
"""The prompts of published models, by name."""

DEFAULT_PROMPTS = (
    LABELLED,
    "Translate into {target_language}: {source}",
    "{source}\n\nTranslate this {source_language} text into {target_language}.",
    "What is the {target_language} translation of the following sentence?\n{source}",
)

LANGUAGES = ("source_language", "target_language", "source_code", "target_code")
"""The prompt fields with the same text for all pairs in a corpus."""

FIELDS = ("source", *LANGUAGES, "document context", "examples", "glossary")
_FIELD = re.compile(r"\{([^{}]*)\}")
_LONGEST = 20_000  # characters of a prompt


def prompt_parts(text: str) -> list[str]:
    """Returns the text of a prompt and its fields by turns: text first and last."""
    return _FIELD.split(PRESETS.get(text, text))


def _field_problems(text: str, allowed: tuple[str, ...]) -> Iterator[str]:
    for name in prompt_parts(text)[1::2]:
        if name not in allowed:
            yield f"{{{name}}} is not one of {', '.join(f'{{{field}}}' for field in allowed)}"


PromptText = Annotated[str, Field(max_length=_LONGEST)]


class PromptShare(Section):
    """A prompt, and how often it is drawn."""

    text: PromptText
    """a text with {source}: the prompt"""
    share: float = Field(1.0, gt=0, le=1e6, strict=False)
    """a number > 0: how often it is drawn, relative to the other prompts"""


def _with_share(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


def _listed(value: object) -> object:
    """Returns a single prompt as a list of one; lists as tuples, since a file has no tuples."""
    return tuple(value) if isinstance(value, list) else one_or_more(value)


_Prompt = Annotated[PromptShare, BeforeValidator(_with_share, json_schema_input_type=PromptText | PromptShare)]
Prompts = Annotated[
    tuple[_Prompt, ...],
    Field(min_length=1, max_length=1000),
    BeforeValidator(_listed, json_schema_input_type=str | tuple[PromptText | PromptShare, ...]),
]


class LanguageNames(Section):
    """Names of the two languages in prompts."""

    source: str = Field(min_length=1)
    """a text: the name of that side's language"""
    target: str = Field(min_length=1)
    """a text: the name of that side's language"""


class PromptSettings(Section):
    """The prompts of rows for language models."""

    prompts: Prompts = tuple(PromptShare(text=text) for text in DEFAULT_PROMPTS)
    """a text with {source}, or tower, alma, x-alma or translategemma, or a list of these: the prompts, from which each
    row draws one; other fields are {source_language}, {target_language}, {source_code}, {target_code}, {document
    context}, {examples} and {glossary}"""
    system: PromptText | None = None
    """a text, or null for none: the system turn; it may have the language fields"""
    examples: int = Field(3, ge=1, le=32)
    """an integer from 1 to 32: other pairs of the corpus in {examples}"""
    glossary: Location | None = None
    """a path, or null for none: the term file for {glossary}, in two columns divided by tabs"""
    language_names: LanguageNames | Tag | None = None
    """{source: …, target: …}, or a language tag, or null for en: the language names, or the language to write them
    in"""

    @model_validator(mode="before")
    @classmethod
    def _one_prompt(cls, values: object) -> object:
        if isinstance(values, dict) and "prompt" in values:
            if "prompts" in values:
                raise ValueError("prompt and prompts are the same key; give one of them")
            return {"prompts" if key == "prompt" else key: value for key, value in values.items()}
        return values

    @property
    def fields(self) -> frozenset[str]:
        """The fields that the prompts use."""
        return frozenset(name for prompt in self.prompts for name in prompt_parts(prompt.text)[1::2])

    @property
    def names_languages(self) -> bool:
        """True if prompts or the system turn contain names of languages."""
        used = self.fields | {*prompt_parts(self.system or "")[1::2]}
        return not used.isdisjoint(("source_language", "target_language", "examples"))

    def _problems(self) -> Iterator[str]:
        for number, prompt in enumerate(self.prompts):
            for problem in _field_problems(prompt.text, FIELDS):
                yield f"prompts.{number}: {problem}"
            if prompt_parts(prompt.text)[1::2].count("source") != 1:
                yield f"prompts.{number}: must have {{source}} once, or be one of {', '.join(PRESETS)}"
        for problem in _field_problems(self.system or "", LANGUAGES):
            yield f"system: {problem}"
        if ("glossary" in self.fields) != (self.glossary is not None):
            yield "a prompt with {glossary} and the key glossary must be given together"
        if "examples" in self.model_fields_set and "examples" not in self.fields:
            yield "examples is for prompts with {examples}"


class CausalSettings(PromptSettings):
    """How pairs become rows with one ID sequence."""

    template: Literal["chat"] | None = None
    """chat, or null for the prompt, the target and the end of sentence: use the vocabulary's chat template"""
    chat_template: Location | None = None
    """a path, or null for the template beside the vocabulary: another chat template (.jinja)"""
    variables: dict[str, Any] = Field(default_factory=dict)
    """a mapping: variables for the chat template"""

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if self.template is None:
            for key in sorted({"system", "variables", "chat_template"} & self.model_fields_set):
                yield f"{key} is for rows with a chat template; set template to chat, or remove it"
