"""The files that a config uses of repositories on the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.corpus import Corpus
from nmt_prep.corpora.parquet import check_fields
from nmt_prep.errors import CorpusError, DownloadError
from nmt_prep.sources.hub import repository_address
from nmt_prep.sources.hub_choice import files_of_split, vocabulary_file
from nmt_prep.sources.hub_listing import HubFile, Listing


def choose_files(config: Config, lists: Iterable[tuple[str, Listing]]) -> dict[str, list[HubFile]]:
    """Returns the files of each repository that are to be fetched, in the order of their rows.

    Args:
        config: the config.
        lists: the files of each repository, with the key of its corpus, ``<split>/<corpus>/both``, or vocabulary.

    Raises:
        DownloadError: a repository does not have what the config asks for; the message names its key in the config.
    """
    chosen: dict[str, list[HubFile]] = {}
    problems = []
    for key, listing in lists:
        try:
            chosen[key] = _chosen(config, key, listing)
        except DownloadError as error:
            problems.append(f"{_config_key(key)}: {error}")
    if problems:
        raise DownloadError("\n  ".join(problems))
    return chosen


def check_first_files(config: Config, paths: Mapping[str, Path]) -> None:
    """Checks the fields of corpora in the first of their files, given by the keys of their repositories.

    Raises:
        CorpusError: a field is missing; the message names the key of the corpus in the config.
    """
    for key, path in paths.items():
        if (corpus := corpus_of(config, key)) is not None:
            try:
                check_fields(path, f"{corpus.url.hub_id}: {path.name}", corpus)
            except CorpusError as error:
                raise CorpusError(f"{_config_key(key)}: {error}") from error


def _chosen(config: Config, key: str, listing: Listing) -> list[HubFile]:
    corpus = corpus_of(config, key)
    if corpus is not None:
        address = corpus.url.hub_id or ""
        _, name = repository_address(address, "datasets")
        return files_of_split(listing, name, corpus.split or key.partition("/")[0], address)
    assert isinstance(config.vocab, ExistingVocab)
    [address] = config.vocab.files.of(config.vocab.keys[key][0])
    return [vocabulary_file(listing, address)]


def corpus_of(config: Config, key: str) -> Corpus | None:
    """Returns the corpus of a key; None for the key of a vocabulary."""
    split, _, rest = key.partition("/")
    name = rest.partition("/")[0]
    return next((corpus for corpus in config.splits.get(split, ()) if corpus.name == name), None)


def _config_key(key: str) -> str:
    split, _, rest = key.partition("/")
    return f"splits.{split}.{rest.partition('/')[0]}" if rest else key
