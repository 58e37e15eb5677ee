"""A draft of a config: what ``nmt-prep init`` was told, in the terms of a config."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import langcodes
from pydantic_core import PydanticCustomError

from nmt_prep.checks.languages import check_language, suggestion
from nmt_prep.cli.draft_corpus import DraftCorpus, of_mtdata
from nmt_prep.config import Languages
from nmt_prep.errors import ArgumentError, ConfigError
from nmt_prep.sources.catalogues import describe_mtdata
from nmt_prep.sources.mtdata_recipes import MtdataRecipe

SPLITS = ("train", "dev", "test")
"""The splits of a draft, in the order of the file."""


@dataclass
class Draft:
    """A config to write.

    Attributes:
        languages: source and target.
        name: of the data set.
        output_dir: directory of the run.
        splits: corpora by split.
        left_out: remarks by split about corpora of a recipe that are left out.
        vocab: dialect of the vocabularies.
        size: their size.
        shared: one vocabulary for both sides.
        clean: preset; None for no cleaning.
        seed: seed of the run.
        origin: where the corpora are from, in words; empty if they were named one by one.
    """

    languages: Languages
    name: str
    output_dir: str
    splits: dict[str, list[DraftCorpus]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    vocab: str = "t2t"
    size: int = 32_000
    shared: bool = False
    clean: str | None = None
    seed: int = 1
    origin: str = ""

    @property
    def pair(self) -> str:
        """The language pair, such as ``en-de``."""
        return f"{self.languages.source}-{self.languages.target}"

    def add(self, split: str, corpus: DraftCorpus) -> None:
        """Adds a corpus; its name gets a number if the split has a corpus of that name."""
        corpora = self.splits.setdefault(split, [])
        names = {each.name for each in corpora}
        name, number = corpus.name, 2
        while name in names:
            name, number = f"{corpus.name}-{number}", number + 1
        corpora.append(DraftCorpus(name, corpus.keys))

    def add_recipe(self, recipe: MtdataRecipe) -> None:
        """Adds the corpora of a recipe, and remarks about those that cannot be read.

        Raises:
            ConfigError: no training corpus of the recipe can be read.
        """
        page = f", {recipe.url}" if recipe.url else ""
        self.origin = f"The corpora are those of mtdata's recipe {recipe.name}{page}."
        for split, ids in recipe.splits.items():
            for name in ids:
                address = f"mtdata:{name}"
                try:
                    describe_mtdata(address, self.languages)
                except ConfigError as error:
                    self.left_out.setdefault(split, []).append(str(error))
                else:
                    self.add(split, of_mtdata(name))
        if recipe.monolingual:
            number = f"{recipe.monolingual} corp{'us' if recipe.monolingual == 1 else 'ora'} of one language"
            self.left_out.setdefault("train", []).append(f"{number}: add them with url and role monolingual")
        if not self.splits.get("train"):
            reasons = "; ".join(self.left_out.get("train", ["it has none"]))
            raise ConfigError(f"the recipe {recipe.name} has no training corpus that can be read: {reasons}")


def languages_of(text: str) -> Languages:
    """Returns the languages of a pair such as ``en-de``, ``pt-BR-en`` or ``pt-BR,en``.

    Raises:
        ArgumentError: they are not two languages; the message names the tags that were probably meant.
    """
    parts = [part.strip() for part in re.split(r"[,:\s]+", text.strip())]
    if len(parts) == 1:
        pieces = parts[0].split("-")
        pairs = [("-".join(pieces[:cut]), "-".join(pieces[cut:])) for cut in range(1, len(pieces))]
    else:
        pairs = [(parts[0], parts[1])] if len(parts) == 2 else []
    valid = [pair for pair in pairs if not any(map(_language_fault, pair))]
    if len(valid) > 1:
        options = " or ".join(",".join(pair) for pair in valid)
        raise ArgumentError(f"languages: {text!r} can be read in several ways; write {options}")
    if not valid:
        faults = [fault for part in (pairs[0] if pairs else ()) if (fault := _language_fault(part))]
        raise ArgumentError(
            f"languages: {'; '.join(faults) or f'found {text!r}'}; expected source and target, such as en-de"
        )
    return Languages(source=valid[0][0], target=valid[0][1])


def _language_fault(tag: str) -> str:
    try:
        if re.fullmatch(r"[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*", tag):
            check_language(tag)
            return ""
    except PydanticCustomError:
        pass
    near = suggestion(tag) if tag else None
    return f"{tag!r} is not a language tag{f' (did you mean {near}?)' if near else ''}"


def languages_of_recipe(recipe: MtdataRecipe, given: Languages | None) -> Languages:
    """Returns the languages of a recipe in the direction of the config, as short tags.

    Raises:
        ConfigError: the given ones are others.
    """
    own = [langcodes.standardize_tag(tag.replace("_", "-")) for tag in recipe.languages]
    if given is None:
        return Languages(source=own[0], target=own[1])
    asked = [langcodes.standardize_tag(tag.replace("_", "-")) for tag in (given.source, given.target)]
    if sorted(asked) != sorted(own):
        raise ConfigError(f"the recipe {recipe.name} is for {'-'.join(own)}, not {given.source}-{given.target}")
    return given
