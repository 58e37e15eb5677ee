"""Finds the corpora that the stage clean cleans, and builds their cleaners from the config."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_prep.cleaning.cleaning import cleaning_of
from nmt_prep.cleaning.rule import Context
from nmt_prep.cleaning.top import TOP, top_options
from nmt_prep.config import SIDES, CleanSettings, Config, Corpus, DedupSettings, Side
from nmt_prep.errors import CleaningError, OutputError

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Cleaner


def section_of(config: Config) -> CleanSettings:
    """Returns the section ``clean``.

    Raises:
        OutputError: the config has none.
    """
    if config.clean is None:
        raise OutputError("the config has no section clean")
    return config.clean


def cleaned_corpora(config: Config) -> Iterator[tuple[str, int, Corpus]]:
    """Yields each corpus that is cleaned, with its split and its number in the split: split, number, corpus."""
    for split in section_of(config).splits:
        for index, corpus in enumerate(config.splits[split]):
            yield split, index, corpus


def differently_cleaned(config: Config) -> Iterator[tuple[str, Corpus]]:
    """Yields one corpus, with its split, for each different way in which corpora are cleaned."""
    seen = set()
    for split, _, corpus in cleaned_corpora(config):
        cleaning = cleaning_of(section_of(config), config.languages, corpus.name)
        way = json.dumps(
            [cleaning.fix, cleaning.rules, cleaning.top, sides_of(corpus), sorted(corpus.scores)], default=str
        )
        if way not in seen:
            seen.add(way)
            yield split, corpus


def sides_of(corpus: Corpus) -> tuple[Side, ...]:
    """Returns the sides to clean: only the existing side of a ``vocab`` or ``monolingual`` corpus of one side."""
    return corpus.sides if corpus.role != "parallel" and len(corpus.sides) == 1 else SIDES


def build_cleaner(config: Config, split: str, corpus: Corpus, base_dir: Path) -> Cleaner:
    """Returns the cleaner of a corpus.

    Raises:
        CleaningError: a rule cannot be built; each line of the message names a key and the corpus.
    """
    from nmt_prep.cleaning.cleaner import Cleaner  # noqa: PLC0415  (loads all rules)

    cleaning = cleaning_of(section_of(config), config.languages, corpus.name)
    context = Context(config.languages, sides_of(corpus), base_dir)
    cleaner = Cleaner(cleaning, context, f"splits.{split}.{corpus.name}")
    wanted = {rule.key: rule.scores for rule in cleaner.rules}
    if cleaning.top is not None:
        wanted[TOP] = (top_options(cleaning.top).score,)
    for rule, names in wanted.items():
        for name in names:
            if name not in corpus.scores:
                raise CleaningError(
                    f"{cleaning.keys[rule]}{rule}: the corpus splits.{split}.{corpus.name} has no score {name!r} (its "
                    f"scores: {', '.join(sorted(corpus.scores)) or 'none'}); name it below scores of the corpus, or "
                    f"set {rule}: off below clean.overrides.{corpus.name}.rules"
                )
    return cleaner


def is_deduplicated(settings: DedupSettings, corpus: Corpus) -> bool:
    """Returns true if the pairs of a corpus are compared with others: all corpora except those of role ``vocab``."""
    return settings.active and corpus.role != "vocab"


def unknown_scores(settings: DedupSettings, split: str, corpus: Corpus) -> Iterator[str]:
    """Yields a problem for each score that ranks pairs and is missing in a corpus."""
    for name in settings.keep[:-1] if is_deduplicated(settings, corpus) else ():
        if name not in corpus.scores:
            yield (
                f"clean.dedup.keep: the corpus splits.{split}.{corpus.name} has no score {name!r} (its scores: "
                f"{', '.join(sorted(corpus.scores)) or 'none'}); name it below scores of the corpus, or remove it here"
            )
