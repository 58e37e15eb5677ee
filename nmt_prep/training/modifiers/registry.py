"""The modifiers, by their names in a config.

An installed package adds a modifier with an entry point of the group ``nmt_prep.modifiers``: the entry's name is
the modifier's name, and its value a callable that takes the probability and the options, and returns a function
from :class:`~nmt_prep.training.modifiers.block.Block` to ``Block``.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias, cast

from nmt_prep.base.errors import ConfigError
from nmt_prep.training.modifiers.block import Block

Modifier: TypeAlias = Callable[[Block], Block]

_FOLDER = "nmt_prep.training.modifiers"
BUILT_IN = {
    "UpperCase": "surface",
    "LowerCase": "surface",
    "TitleCase": "surface",
    "RemoveEndPunct": "surface",
    "Typos": "surface",
    "Noise": "noise",
    "Prefix": "prefix",
    "Merge": "merge",
    "WordDrop": "noise",
    "WordBlank": "noise",
    "WordShuffle": "noise",
    "Tags": "tags",
    "Retokenize": "retokenize",
}
"""Module of each built-in modifier, imported on first use."""

GROUP = "nmt_prep.modifiers"


@dataclass(frozen=True)
class Modifiers:
    """A list of modifiers that is applied in order, as one modifier."""

    names: tuple[str, ...] = ()  # their names
    modifiers: tuple[Modifier, ...] = ()

    def __call__(self, block: Block) -> Block:
        """Returns the modified block; it depends on the block alone."""
        for modifier in self.modifiers:
            block = modifier(block.for_next())
        return block

    @property
    def by_pair(self) -> bool:
        """True if no pair depends on later pairs."""
        return all(getattr(modifier, "by_pair", False) for modifier in self.modifiers)

    @property
    def needing_links(self) -> str | None:
        pairs = zip(self.names, self.modifiers, strict=True)
        return next((name for name, modifier in pairs if getattr(modifier, "needs_links", False)), None)


def read_modifiers(entries: Iterable[Mapping[str, Any]], key: str, base_dir: Path) -> Modifiers:
    """Makes the modifiers of a list such as ``[{UpperCase: 0.1}, {Typos: 0.05, char_swap: 0.1}]``."""
    names, modifiers = list[str](), list[Modifier]()
    for number, entry in enumerate(entries):
        name = next(iter(entry), "")
        probability, options = entry.get(name), {option: entry[option] for option in [*entry][1:]}
        make = _factory(str(name), f"{key}.{number}")
        known = inspect.signature(make).parameters
        if "base_dir" in known:
            options["base_dir"] = base_dir
        open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
        unknown = next((option for option in options if option not in known and not open_ended), None)
        if unknown is not None:
            allowed = [option for option in known if option not in ("probability", "base_dir")]
            raise ConfigError(
                f"{key}.{number}.{unknown}: {name} has no such option; "
                + (f"its options are {', '.join(allowed)}" if allowed else "it has none")
            )
        try:
            modifiers.append(make(probability, **options))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{key}.{number}: {name}: {error}") from error
        names.append(str(name))
    last_of_pieces = next((n for n, modifier in enumerate(modifiers) if getattr(modifier, "makes_pieces", False)), None)
    if last_of_pieces is not None and last_of_pieces + 1 < len(modifiers):
        raise ConfigError(f"{key}.{last_of_pieces}: {names[last_of_pieces]} makes links of pieces; put it last")
    return Modifiers(tuple(names), tuple(modifiers))


def _factory(name: str, key: str) -> Callable[..., Modifier]:
    if name in BUILT_IN:
        return cast("Callable[..., Modifier]", getattr(importlib.import_module(f"{_FOLDER}.{BUILT_IN[name]}"), name))
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        known = ", ".join([*BUILT_IN, *sorted(installed)])
        raise ConfigError(f"{key}: no modifier is named {name!r}; the modifiers are {known}")
    try:
        return cast("Callable[..., Modifier]", installed[name].load())
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{key}: the modifier {name!r} of {installed[name].value} cannot be loaded: {error}"
        ) from error
