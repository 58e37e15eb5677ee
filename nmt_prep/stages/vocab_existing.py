"""Existing vocabulary files, which the stage vocab verifies and copies instead of training (``vocab.from``)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt_prep.artefacts import atomic_write
from nmt_prep.config import SIDES, Config, ExistingVocab, Side
from nmt_prep.errors import ConfigError, NmtPrepError, VocabularyError
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.download import downloaded_file, needed_vocabularies
from nmt_prep.stages.vocab_facts import DescribedVocabulary, describe_vocabulary
from nmt_prep.subwords import DIALECTS, Dialect, Tokenizer, dialect_in
from nmt_prep.subwords.tokenizer import IdLayout


def existing_settings(config: Config, options: ExistingVocab) -> dict[str, object]:
    """Returns the settings of the stage: the options, and the tags, whose ids it records."""
    return {
        "vocab.kind": options.kind,
        "vocab.id_layout": options.id_layout,
        "vocab.from": sorted(options.keys),
        **{f"tags.{side}": sorted(set(_tags(config, side).values())) for side in SIDES},
    }


def check_local(config: Config, options: ExistingVocab, base_dir: Path) -> None:
    """Checks the local files among the vocabularies, before any stage runs.

    Raises:
        VocabularyError: a file cannot be used; the message names its key in the config.
    """
    for needed in needed_vocabularies(config):
        try:
            path = needed.local(base_dir)
        except ConfigError as error:
            raise VocabularyError(f"{needed.key}: {error}") from error
        if path is not None:
            _load(path, needed.key, config, options)


def install_existing(job: Job, options: ExistingVocab) -> dict[Side, DescribedVocabulary]:
    """Verifies the files and copies them to the stage's directory; returns their descriptions by side.

    Raises:
        VocabularyError: a file cannot be used; the message names its key in the config.
        OutputError: a file cannot be written.
    """
    files = {needed.key: downloaded_file(job, needed) for needed in needed_vocabularies(job.config)}
    names = {path.name for path, _ in files.values()}
    digests = {entry.sha256 for _, entry in files.values()}
    alike = len(names) < len(digests)  # different files with the same name
    described: dict[Side, DescribedVocabulary] = {}
    for key, (path, _) in files.items():
        tokenizer = _load(path, key, job.config, options)
        for side in options.keys[key]:
            name = f"{side}.{path.name}" if alike else path.name
            tags = dict.fromkeys(tag for user in options.keys[key] for tag in _tags(job.config, user).values())
            layout = _layout(tokenizer, options)
            described[side] = describe_vocabulary(tokenizer, name, layout, tags)
            with atomic_write(job.directory / name) as beside:
                shutil.copyfile(path, beside)
    return described


def _load(path: Path, key: str, config: Config, options: ExistingVocab) -> Tokenizer:
    """Loads a vocabulary and checks that the config can use it.

    Raises:
        VocabularyError: it cannot; the message names the key of the file, or that of what it lacks.
    """
    if path.is_dir():
        raise VocabularyError(f"{key}: {path} is a directory; name the vocabulary file in it, such as tokenizer.json")
    dialect: Dialect[Any] | None = None
    try:
        dialect = dialect_in(path)
        tokenizer = dialect.load(path, id_layout=options.id_layout)
    except NmtPrepError as error:
        if path.exists() and dialect is DIALECTS[-1] and options.kind is None:
            raise VocabularyError(
                f"{key}: {path} is not a vocabulary of a known kind, which are tokenizer.json, tiktoken's ranks, "
                f"SentencePiece models and Tensor2Tensor's subwords; as the last, which any text may be: {error}"
            ) from error
        raise VocabularyError(f"{key}: {error}") from error
    if options.kind not in (None, tokenizer.dialect):
        raise VocabularyError(
            f"vocab.kind is {options.kind}, but {path} ({key}) is a vocabulary of kind {tokenizer.dialect}; correct "
            "kind, or leave it out"
        )
    if config.outputs and options.dialect != tokenizer.dialect:
        raise VocabularyError(
            f"{key}: {path} is a vocabulary of kind {tokenizer.dialect}, which its name does not tell; outputs depend "
            f"on it, so set vocab.kind to {tokenizer.dialect}"
        )
    if config.outputs and options.has_spm != tokenizer.has_spm:
        found, suffix = ("SentencePiece model", ".model") if tokenizer.has_spm else ("tokenizer.json", ".json")
        raise VocabularyError(
            f"{key}: {path} is a {found}, which its name does not tell; outputs depend on it, so name a file that ends "
            f"in {suffix}"
        )
    if options.id_layout is not None and tokenizer.dialect != "sentencepiece":
        raise VocabularyError(
            f"vocab.id_layout is for SentencePiece models, and {path} ({key}) is of kind {tokenizer.dialect}; "
            "leave it out"
        )
    if tokenizer.eos_id is None and any(options.frame.of(side) is None for side in options.keys[key]):
        raise VocabularyError(
            f"{key}: {path} has no end-of-sentence piece, which ends every row; say in vocab.frame what is around the "
            "ids instead"
        )
    for side in options.keys[key]:
        framing = [(f"vocab.frame.{side}", piece) for piece in options.frame.pieces(side)]
        for where, tag in [*_tags(config, side).items(), *framing]:
            try:
                tokenizer.piece_id(tag)
            except VocabularyError:
                raise VocabularyError(f"{where}: {tag!r} is not a piece of {path} ({key})") from None
    return tokenizer


def _layout(tokenizer: Tokenizer, options: ExistingVocab) -> IdLayout | None:
    return options.id_layout or "sentencepiece" if tokenizer.dialect == "sentencepiece" else None


def _tags(config: Config, side: Side) -> dict[str, str]:
    """Returns the tags of a side by their keys in the config."""
    return dict(_listed_tags(config, side))


def _listed_tags(config: Config, side: Side) -> Iterator[tuple[str, str]]:
    for split, corpora in config.splits.items():
        for corpus in corpora:
            if side in corpus.tags:
                yield f"splits.{split}.{corpus.name}.tag.{side}", corpus.tags[side]
