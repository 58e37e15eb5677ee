"""Turns the options of ``nmt-prep init``, and answers to questions, into a draft of a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.cli import init_questions as questions
from nmt_prep.cli.draft import Draft, languages_of, languages_of_recipe
from nmt_prep.cli.draft_corpus import corpus_of, safe_name
from nmt_prep.config import Languages
from nmt_prep.errors import ArgumentError, OutputError
from nmt_prep.sources.mtdata_recipes import MtdataRecipe, mtdata_recipe

DIALECTS = ("t2t", "byte_bpe", "sentencepiece")
PRESETS = ("none", "light", "standard", "strict")
SIZE = 32_000


@dataclass(frozen=True)
class Given:
    """The options of the command; None for those that are not given.

    Attributes:
        file: the config to write.
        languages: the language pair.
        corpora: texts that name corpora, by split.
        recipe: name of a recipe of mtdata.
        vocab: dialect of the vocabularies.
        size: pieces of each vocabulary.
        shared: one vocabulary for both sides.
        clean: preset of cleaning.
        output_dir: directory of the run.
        name: name of the data set.
        force: replace the file if it exists.
    """

    file: Path | None
    languages: str | None
    corpora: Mapping[str, Sequence[str]]
    recipe: str | None
    vocab: str | None
    size: int | None
    shared: bool
    clean: str | None
    output_dir: str | None
    name: str | None
    force: bool


@dataclass(frozen=True)
class Target:
    """The file to write, and whether it may replace an existing one."""

    file: Path
    replace: bool


def draft_of(given: Given, *, interactive: bool) -> tuple[Draft, Target]:
    """Returns the draft, and where to write it.

    Args:
        given: the options.
        interactive: ask for what is missing.

    Raises:
        ArgumentError: an option is wrong, or what is needed is neither given nor can be asked for.
        ConfigError: a catalogue has no such corpus or recipe, or is not installed.
        OutputError: the file exists and may not be replaced.
    """
    ask = interactive and given.recipe is None and not (given.languages and given.corpora["train"])
    recipe = mtdata_recipe(given.recipe) if given.recipe is not None else None
    languages = _languages(given, recipe, ask=ask)
    target = _target(given, languages, ask=ask)
    name = given.name or safe_name(target.file.stem) or "data"
    draft = Draft(languages, name, given.output_dir or f"runs/{name}", shared=given.shared)
    if recipe is not None:
        draft.add_recipe(recipe)
    _add_corpora(draft, given, target.file.parent, ask=ask)
    draft.vocab, draft.size, clean = given.vocab or DIALECTS[0], given.size or SIZE, given.clean
    if ask:
        draft.vocab = given.vocab or questions.ask_choice("Vocabularies", DIALECTS, DIALECTS[0])
        draft.size = given.size or questions.ask_size(SIZE)
        clean = given.clean or questions.ask_choice("Cleaning", PRESETS, "standard")
        draft.output_dir = given.output_dir or questions.ask_text("Directory of the run", draft.output_dir)
    draft.clean = None if clean == "none" else clean
    return draft, target


def _languages(given: Given, recipe: MtdataRecipe | None, *, ask: bool) -> Languages:
    languages = languages_of(given.languages) if given.languages is not None else None
    if recipe is not None:
        return languages_of_recipe(recipe, languages)
    if languages is None and not ask:
        raise ArgumentError("the languages are missing: give --languages, such as --languages en-de, or --recipe")
    return languages or questions.ask_languages()


def _target(given: Given, languages: Languages, *, ask: bool) -> Target:
    usual = Path(f"{languages.source}-{languages.target}.yaml")
    file = given.file or (Path(questions.ask_text("Config to write", str(usual))) if ask else usual)
    if not (file.exists() or file.is_symlink()):
        return Target(file, replace=False)
    if file.is_dir():
        raise OutputError(f"{file} is a directory; name the file to write")
    if given.force or (ask and questions.ask_yes(f"{file} exists. Replace it?")):
        return Target(file, replace=True)
    raise exists_error(file)


def exists_error(file: Path) -> OutputError:
    """Returns the error for a file that may not be replaced."""
    return OutputError(f"{file} exists; name another file, or give --force to replace it")


def _add_corpora(draft: Draft, given: Given, config_dir: Path, *, ask: bool) -> None:
    for split, texts in given.corpora.items():
        for text in texts:
            draft.add(split, corpus_of(text, draft.languages, config_dir))
    if ask and "train" not in draft.splits:
        for corpus in questions.ask_training(draft.languages, config_dir):
            draft.add("train", corpus)
    if ask and "dev" not in draft.splits:
        for corpus in questions.ask_evaluation("dev", draft.languages, config_dir):
            draft.add("dev", corpus)
    if "train" not in draft.splits:
        raise ArgumentError("no training corpus is named: give --train, --opus, --mtdata or --recipe")
