"""The files that a config needs: files of corpora, and existing vocabularies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches

from nmt_prep.base.errors import ConfigError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.evaluation_sets import evaluation_corpora
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.corpus import Corpus
from nmt_prep.config.section import is_hub_id
from nmt_prep.corpora.registry import column_files
from nmt_prep.corpora.sources.downloads import Needed
from nmt_prep.corpora.sources.hub import Kind, repository_address
from nmt_prep.subwords.byte_bpe.files import OPENAI_NAMES

SACREBLEU = "sacrebleu:"
"""Stands for the split of corpora of sacrebleu that are only evaluation sets. No split has this name."""


def fetched_corpora(config: Config) -> Iterator[tuple[str, Corpus]]:
    """Yields all corpora whose files are needed, with their splits: first the config's, then evaluation sets by id."""
    yield from config.corpora
    yield from ((SACREBLEU, corpus) for corpus in evaluation_corpora(config))


def needed_files(config: Config) -> Iterator[Needed]:
    """Yields the files that a config needs: files of its corpora, in its order, and existing vocabularies."""
    for split, corpus in fetched_corpora(config):
        yield from needed_by(split, corpus)
    yield from needed_vocabularies(config)


def needed_vocabularies(config: Config) -> Iterator[Needed]:
    """Yields the files of the existing vocabularies that a config names.

    A vocabulary of OpenAI's two files has a second one with the key ``vocab.from/merges``. Numberings follow.
    """
    if isinstance(config.vocab, ExistingVocab):
        for key, sides in config.vocab.keys.items():
            mirrors = _addresses(config.vocab.files.of(sides[0]), "models")
            yield Needed(key, with_openai_name(mirrors, 0), None)
            if openai_names(mirrors) is not None:
                yield Needed(f"{key}/{MERGES}", with_openai_name(mirrors, 1), None)
        if config.vocab.ids is not None:
            for key, side in {config.vocab.ids_key(side): side for side in SIDES}.items():
                yield Needed(key, _addresses(config.vocab.ids.of(side), "models"), None)


def addresses_of(config: Config, names: Collection[str]) -> set[str]:
    """Returns the addresses of all files that the named corpora need, in any split."""
    addresses: dict[str, set[str]] = {}
    for needed in needed_files(config):
        addresses.setdefault(needed.corpus, set()).update(needed.mirrors)
    for name in names:
        if name not in addresses:
            near = get_close_matches(name, addresses, n=3) or sorted(addresses)[:10]
            raise ConfigError(f"the config has no corpus {name!r}; it has {', '.join(map(repr, near))}")
    return set().union(*(addresses[name] for name in names))


def needed_by(split: str, corpus: Corpus) -> Iterator[Needed]:
    """Yields the files that a corpus needs: one, or one for each side; and one for each column with a url."""
    if not corpus.is_fetched:
        return  # local documents are read in place, and joined corpora have no files
    for part in ("both", "source", "target"):
        mirrors = getattr(corpus.url, part)
        if mirrors is not None:
            key = f"{split}/{corpus.name}/{part}"
            yield Needed(key, _addresses(mirrors, "datasets"), getattr(corpus.sha256, part), corpus.manual)
    for column, place in column_files(corpus).items():
        if place.url is not None:
            yield Needed(f"{split}/{corpus.name}/{column}", place.url, place.sha256)


def _addresses(mirrors: Sequence[str], kind: Kind) -> tuple[str, ...]:
    """Returns addresses with each ``hf:`` id as the address of its repository."""
    return tuple(str(repository_address(url, kind)[0]) if is_hub_id(url) else url for url in mirrors)


MERGES = "merges"  # End of the key of the second file

_LAST_NAME = re.compile(r"(?<![^/])([^/?]+)(\?.*)?$")


def openai_names(mirrors: Sequence[str]) -> tuple[str, str] | None:
    """Returns the names of the two files that one of the addresses belongs to; None for other vocabularies."""
    found = _LAST_NAME.search(mirrors[0])
    return next((names for names in OPENAI_NAMES if found is not None and found[1] in names), None)


def with_openai_name(mirrors: Sequence[str], which: int) -> tuple[str, ...]:
    """Returns the addresses of one of OpenAI's two files, given the addresses of either; other addresses unchanged."""
    names = openai_names(mirrors)
    if names is None:
        return tuple(mirrors)
    return tuple(_LAST_NAME.sub(lambda found: names[which] + (found[2] or ""), address) for address in mirrors)
