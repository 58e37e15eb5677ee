"""The evaluation sets that a config names in ``clean.decontaminate.against``.

An entry is the name of a split, ``sacrebleu:<test set>`` for all pairs of a set that have the languages of the config,
``sacrebleu:<test set>/<pair>`` for any pair, or ``file:<path>``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from nmt_prep.base.errors import ConfigError
from nmt_prep.cleaning.presets import effective_decontamination
from nmt_prep.config import Config, Corpus, DecontaminateSettings, Languages
from nmt_prep.config.problems import did_you_mean
from nmt_prep.corpora.sources.catalogues import describe_sacrebleu, sacrebleu_pairs

SACREBLEU = "sacrebleu:"
FILE = "file:"

REASON = "in_test_set:"  # Prefix of reasons for dropping pairs; the name of the evaluation set follows


def set_name(entry: str) -> str:
    """Returns the name of an evaluation set: a split, ``wmt22`` or ``wmt22/en-de``, or the name of a file."""
    return Path(entry.removeprefix(FILE)).name if entry.startswith(FILE) else entry.removeprefix(SACREBLEU)


def is_split(entry: str) -> bool:
    """Returns true if an entry names a split."""
    return not entry.startswith((SACREBLEU, FILE))


def against_of(config: Config) -> tuple[str, ...]:
    """Returns the evaluation sets of a config; none if it does not clean."""
    if config.clean is None:
        return ()
    return effective_decontamination(config.clean, config.splits).against or ()


def is_decontaminated(config: Config, split: str, corpus: Corpus) -> bool:
    """Returns true if the pairs of a cleaned corpus are compared with evaluation sets.

    Returns false for splits that are evaluation sets themselves, and for corpora of role ``vocab``.
    """
    against = against_of(config)
    return bool(against) and split not in against and corpus.role != "vocab"


def against_problems(
    settings: DecontaminateSettings, splits: Collection[str] | None, languages: Languages
) -> Iterator[str]:
    """Yields the problems of the entries of ``against``.

    Args:
        splits: all splits of the config; None for a stream of pairs, which has none.
    """
    entries = settings.against or ()
    names = [set_name(entry) for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        if names.count(name) > 1:
            yield f"two evaluation sets have the name {name!r}, which the report uses; rename one of the files"
        if entry.startswith(SACREBLEU):
            try:
                for address in sacrebleu_pairs(entry, languages):
                    describe_sacrebleu(address, pair_of(address))
            except ConfigError as error:
                yield str(error)
        elif entry.startswith(FILE):
            if not entry.removeprefix(FILE):
                yield "file: must be followed by a path, such as file:extra.txt"
        elif splits is None:
            yield f"{entry!r} is a split, which a stream does not have; name files (file:…) and ids (sacrebleu:…)"
        elif entry not in splits:
            meant = did_you_mean(entry, [*splits, f"{FILE}{entry}", f"{SACREBLEU}{entry}"])
            yield f"there is no split {entry!r} (splits: {', '.join(splits)}; files are named file:…){meant}"


def pair_of(address: str) -> Languages:
    """Returns the languages of an id such as ``sacrebleu:wmt22/en-de``."""
    source, _, target = address.rpartition("/")[2].partition("-")
    return Languages(source=source, target=target)


def sacrebleu_corpora(against: Collection[str], languages: Languages) -> Iterator[tuple[str, str, Corpus]]:
    """Yields the corpora of sacrebleu that entries name: the entry, the name such as ``wmt22/en-de``, and the corpus.

    A corpus that two entries name is yielded once.
    """
    seen: set[str] = set()
    for entry in against:
        for address in sacrebleu_pairs(entry, languages) if entry.startswith(SACREBLEU) else ():
            if address not in seen:
                seen.add(address)
                name, pair = address.removeprefix(SACREBLEU), pair_of(address)
                known = describe_sacrebleu(address, pair)
                corpus = Corpus.model_validate(
                    {**known, "name": name.replace("/", "-"), "languages": pair.model_dump()}
                )
                yield entry, name, corpus


def evaluation_corpora(config: Config) -> list[Corpus]:
    """Returns the corpora of sacrebleu that a config names as evaluation sets."""
    return [corpus for _, _, corpus in sacrebleu_corpora(against_of(config), config.languages)]
