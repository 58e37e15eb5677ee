"""Finds the corpora that the stage clean cleans, and builds their cleaners from the config."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_prep.cleaning.cleaning import cleaning_of
from nmt_prep.cleaning.rule import Context
from nmt_prep.cleaning.top import TOP, top_options
from nmt_prep.cleaning.translation import TRANSLATION
from nmt_prep.config import CleanSettings, Config, Corpus, DedupSettings
from nmt_prep.errors import CleaningError, NmtPrepError, OutputError
from nmt_prep.sides import SIDES, Side

if TYPE_CHECKING:
    from nmt_prep.cleaning.cleaner import Cleaner
    from nmt_prep.cleaning.cleaning import Cleaning


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
            [cleaning.fix, cleaning.rules, cleaning.top, cleaning.translation, sides_of(corpus), sorted(corpus.scores)],
            default=str,
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
    if cleaning.top is not None and not tops_translation(cleaning, corpus):
        wanted[TOP] = (top_options(cleaning.top).score,)
    if scores_translation(cleaning, corpus):
        if TRANSLATION in corpus.scores:
            raise CleaningError(
                f"{cleaning.keys[TRANSLATION]}{TRANSLATION}: the corpus splits.{split}.{corpus.name} already has a "
                f"score of that name; rename it below scores of the corpus, or set {TRANSLATION}: off"
            )
        _check_model(cleaning, context, corpus)
    for rule, names in wanted.items():
        for name in names:
            if name not in corpus.scores:
                raise CleaningError(
                    f"{cleaning.keys[rule]}{rule}: the corpus splits.{split}.{corpus.name} has no score {name!r} (its "
                    f"scores: {', '.join(sorted(corpus.scores)) or 'none'}); name it below scores of the corpus, or "
                    f"set {rule}: off below clean.overrides.{corpus.name}.rules"
                )
    return cleaner


def scores_translation(cleaning: Cleaning, corpus: Corpus) -> bool:
    """Returns true if the rule ``translation`` applies to a corpus: it has both sides."""
    return cleaning.translation is not None and len(sides_of(corpus)) == len(SIDES) and corpus.role == "parallel"


def tops_translation(cleaning: Cleaning, corpus: Corpus) -> bool:
    """Returns true if the rule ``top`` keeps the best pairs by the score of the rule ``translation``."""
    return (
        cleaning.top is not None
        and scores_translation(cleaning, corpus)
        and top_options(cleaning.top).score == TRANSLATION
    )


def model_files(config: Config, corpus: Corpus, base_dir: Path) -> dict[str, Path]:
    """Returns the model that the rule ``translation`` names for a corpus, by its name in the config."""
    from nmt_prep.cleaning.translation.options import model_path, translation_options  # noqa: PLC0415  (loads yaml)

    cleaning = cleaning_of(section_of(config), config.languages, corpus.name)
    model = translation_options(cleaning.translation).model if scores_translation(cleaning, corpus) else None
    path = model_path(model, base_dir)
    return {} if model is None or path is None else {model: path}


def _check_model(cleaning: Cleaning, context: Context, corpus: Corpus) -> None:
    """Checks the model that the rule ``translation`` names.

    Raises:
        CleaningError: the model cannot be read.
    """
    from nmt_prep.align.loading import shared_model  # noqa: PLC0415  (loads numpy)
    from nmt_prep.cleaning.translation.options import model_path, translation_options  # noqa: PLC0415  (loads yaml)

    path = model_path(translation_options(cleaning.translation).model, context.base_dir)
    try:
        if path is not None:
            shared_model(path)
    except NmtPrepError as error:
        where = f"{cleaning.keys[TRANSLATION]}{TRANSLATION}.model, for the corpus {corpus.name}"
        raise CleaningError(f"{where}: {error}") from error


def is_deduplicated(settings: DedupSettings, corpus: Corpus) -> bool:
    """Returns true if the pairs of a corpus are compared with others: all corpora except those of role ``vocab``."""
    return settings.active and corpus.role != "vocab"


def unknown_scores(settings: DedupSettings, split: str, corpus: Corpus, *, scored: bool) -> Iterator[str]:
    """Yields a problem for each score that ranks pairs and is missing in a corpus.

    Args:
        settings: the settings of deduplication.
        split: split of the corpus.
        corpus: the corpus.
        scored: true if the score of the rule ``translation`` may rank its pairs.
    """
    for name in settings.keep[:-1] if is_deduplicated(settings, corpus) else ():
        if name not in corpus.scores and not (name == TRANSLATION and scored):
            yield (
                f"clean.dedup.keep: the corpus splits.{split}.{corpus.name} has no score {name!r} (its scores: "
                f"{', '.join(sorted(corpus.scores)) or 'none'}); name it below scores of the corpus, or remove it here"
            )
