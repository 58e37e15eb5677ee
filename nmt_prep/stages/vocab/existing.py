"""Existing vocabulary files, which the stage vocab verifies and copies instead of training (``vocab.from``)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.errors import ConfigError, NmtPrepError, VocabularyError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.download import downloaded_file
from nmt_prep.stages.needed_files import MERGES, needed_vocabularies, openai_names
from nmt_prep.subwords import DIALECTS, Dialect, Tokenizer, dialect_in, dialect_named, dialect_of, expects_spm
from nmt_prep.subwords.facts import DescribedVocabulary, describe_vocabulary
from nmt_prep.subwords.tokenizer import IdLayout


def existing_settings(config: Config, options: ExistingVocab) -> dict[str, object]:
    """Returns the settings of the stage: the options, and the tags, whose ids it records."""
    return {
        "vocab.kind": options.kind,
        "vocab.id_layout": options.id_layout,
        "vocab.from": sorted(options.keys),
        **({} if options.threshold is None else {"vocab.threshold": options.threshold}),
        **({} if options.ids is None else {"vocab.ids": sorted({options.ids_key(side) for side in SIDES})}),
        **{f"tags.{side}": sorted(set(_tags(config, side).values())) for side in SIDES},
    }


def check_local(config: Config, options: ExistingVocab) -> None:
    """Checks the local files among the vocabularies, before any stage runs."""
    paths: dict[str, Path | None] = {}
    for needed in needed_vocabularies(config):
        try:
            paths[needed.key] = needed.local(config.base_dir)
        except ConfigError as error:
            raise VocabularyError(f"{needed.key}: {error}") from error
    for key in options.keys:
        files = {part: paths[part] for part in _keys_of(key, options) if part in paths}
        local = {part: path for part, path in files.items() if path is not None}
        if len(local) == len(files):
            _load(local, key, config, options)


def install_existing(job: Job, options: ExistingVocab) -> dict[Side, DescribedVocabulary]:
    """Verifies the files and copies them to the stage's directory; returns their descriptions by side."""
    needed = {file.key: file for file in needed_vocabularies(job.config)}
    found = {key: downloaded_file(job, file) for key, file in needed.items()}
    parts = {key: [part for part in _keys_of(key, options) if part in found] for key in options.keys}
    names = {key: _name(found[key][0]) for key in options.keys}
    digests = {tuple(found[part][1].sha256 for part in listed) for listed in parts.values()}
    alike = len(set(names.values())) < len(digests)  # different files with the same name
    described: dict[Side, DescribedVocabulary] = {}
    for key, sides in options.keys.items():
        tokenizer = _load({part: found[part][0] for part in parts[key]}, key, job.config, options)
        for side in sides:
            name = f"{side}.{names[key]}" if alike else names[key]
            name += tokenizer.suffix_of_all if len(parts[key]) > 1 else ""
            tags = dict.fromkeys(tag for user in sides for tag in _tags(job.config, user).values())
            layout = _layout(tokenizer, options)
            described[side] = describe_vocabulary(tokenizer, name, layout, tags)
            if len(parts[key]) > 1:
                tokenizer.save(job.directory / name)
                continue
            with atomic_write(job.directory / name) as beside:
                shutil.copyfile(found[key][0], beside)
    return described


def _keys_of(key: str, options: ExistingVocab) -> list[str]:
    """Returns the keys of the files that a vocabulary may consist of, its own first."""
    return [key, f"{key}/{MERGES}", options.ids_key(options.keys[key][0])]


def _name(path: Path) -> str:
    """Returns the name for the copy of a vocabulary. OpenAI's two files become one."""
    return path.name if openai_names([path.name]) is None else "tokenizer.json"


def _load(files: Mapping[str, Path], key: str, config: Config, options: ExistingVocab) -> Tokenizer:
    """Loads a vocabulary and checks that the config can use it."""
    path, tokenizer = files[key], _opened(files, key, options)
    if options.kind not in (None, tokenizer.dialect):
        raise VocabularyError(
            f"vocab.kind is {options.kind}, but {path} ({key}) is a vocabulary of kind {tokenizer.dialect}; correct "
            "kind, or leave it out"
        )
    if config.outputs and dialect_of(options).kind != tokenizer.dialect:
        raise VocabularyError(
            f"{key}: {path} is a vocabulary of kind {tokenizer.dialect}, which its name does not show; outputs depend "
            f"on it, so set vocab.kind to {tokenizer.dialect}"
        )
    if config.outputs and expects_spm(options) != tokenizer.has_spm:
        kind, suffix = ("SentencePiece model", ".model") if tokenizer.has_spm else ("tokenizer.json", ".json")
        raise VocabularyError(
            f"{key}: {path} is a {kind}, which its name does not show; outputs depend on it, so name a file that ends "
            f"in {suffix}"
        )
    if options.id_layout not in (None, *dialect_named(tokenizer.dialect).id_layouts):
        raise VocabularyError(
            f"vocab.id_layout is for SentencePiece models, and {path} ({key}) is of kind {tokenizer.dialect}; "
            "leave it out"
        )
    if tokenizer.eos_id is None and any(options.frame.of(side) is None for side in options.keys[key]):
        raise VocabularyError(
            f"{key}: {path} has no end-of-sentence piece, which ends every row; describe in vocab.frame what is "
            "around the ids instead"
        )
    for side in options.keys[key]:
        framing = [(f"vocab.frame.{side}", piece) for piece in options.frame.pieces(side)]
        for where, tag in [*_tags(config, side).items(), *framing]:
            try:
                tokenizer.piece_id(tag)
            except VocabularyError:
                raise VocabularyError(f"{where}: {tag!r} is not a piece of {path} ({key})") from None
    return tokenizer


def _opened(files: Mapping[str, Path], key: str, options: ExistingVocab) -> Tokenizer:
    """Loads a vocabulary from its files."""
    path = files[key]
    if path.is_dir():
        raise VocabularyError(
            f"{key}: {path} is a directory; name the vocabulary file in it, such as tokenizer.json, encoder.json, "
            "or source.spm and target.spm"
        )
    dialect: Dialect[Any] | None = None
    try:
        dialect = dialect_in(path)
        tokenizer = dialect.load(path, id_layout=options.id_layout, merges=files.get(f"{key}/{MERGES}"))
        numbering = files.get(options.ids_key(options.keys[key][0]))
        if numbering is None:
            return tokenizer
        return dialect.numbered(tokenizer, path, numbering, options.threshold)
    except NmtPrepError as error:
        if path.exists() and dialect is DIALECTS[-1] and options.kind is None:
            raise VocabularyError(
                f"{key}: {path} is not a vocabulary of a known kind, which are tokenizer.json, tiktoken's ranks, "
                f"SentencePiece models, codes of subword-nmt "
                f"and Tensor2Tensor's subwords; as the last, which any text may be: {error}"
            ) from error
        raise VocabularyError(f"{key}: {error}") from error


def _layout(tokenizer: Tokenizer, options: ExistingVocab) -> IdLayout | None:
    return options.id_layout or next(iter(dialect_named(tokenizer.dialect).id_layouts), None)


def _tags(config: Config, side: Side) -> dict[str, str]:
    """Returns the tags of a side by their keys in the config."""
    return {
        f"splits.{split}.{corpus.name}.tag.{side}": corpus.tags[side]
        for split in config.splits
        for corpus in config.directed(split)
        if side in corpus.tags
    }
