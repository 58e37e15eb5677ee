"""Recipes of mtdata: lists of corpora for a language pair, by name, as ``mtdata list-recipe`` shows them.

They come from the library, from ``mtdata.recipes*.yml`` in the working directory, and from mtdata's cache directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import metadata
from typing import Any

from nmt_prep.errors import ConfigError
from nmt_prep.runtime import needed_extra
from nmt_prep.sources.catalogues import quiet_mtdata

_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class MtdataRecipe:
    """A recipe.

    Attributes:
        name: its name.
        languages: its two languages, as mtdata writes them, such as ``eng``.
        description: its description; may be empty.
        url: a page about it; may be empty.
        splits: ids of mtdata by split, without empty splits.
        monolingual: number of its monolingual corpora, which a config cannot name by id.
    """

    name: str
    languages: tuple[str, str]
    description: str
    url: str
    splits: Mapping[str, tuple[str, ...]]
    monolingual: int


def mtdata_recipe(name: str) -> MtdataRecipe:
    """Returns a recipe by its name.

    Raises:
        ConfigError: mtdata is not installed, has no such recipe, or cannot read its recipes.
    """
    try:
        metadata.version("mtdata")
    except metadata.PackageNotFoundError:
        raise ConfigError(f"the recipe {name} needs mtdata: pip install 'nmt-prep[mtdata]'") from None
    with quiet_mtdata():
        try:
            recipes: Mapping[str, Any] = needed_extra("mtdata.recipe", "mtdata", f"the recipe {name}").RECIPES
        except ConfigError:
            raise
        except Exception as error:  # mtdata raises what YAML, files and its own checks raise
            raise ConfigError(
                f"mtdata cannot read its recipes ({type(error).__name__}: {error}); check mtdata.recipes*.yml in this "
                "directory and in mtdata's cache directory"
            ) from error
    if name not in recipes:
        near = get_close_matches(name, recipes, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"mtdata has no recipe {name!r}{meant} (recipes: {', '.join(recipes)})")
    recipe = recipes[name]
    languages = tuple(map(str, recipe.langs))
    if len(languages) != 2 or "mul" in languages:
        raise ConfigError(f"the recipe {name} is for {'-'.join(languages)}, but a config has two languages")
    splits = {split: tuple(map(str, getattr(recipe, split) or ())) for split in _SPLITS}
    monolingual = sum(len(getattr(recipe, f"mono_{split}", None) or ()) for split in _SPLITS)
    return MtdataRecipe(
        name,
        (languages[0], languages[1]),
        recipe.desc or "",
        recipe.url or "",
        {split: ids for split, ids in splits.items() if ids},
        monolingual,
    )
