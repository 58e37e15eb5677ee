"""Existing vocabularies: their files, how they are loaded, and the checks before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nmt_prep.base.errors import NmtPrepError, VocabularyError
from nmt_prep.base.runtime import kept
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.vocab import WordSteps
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.stages.download import MERGES, downloaded_file, needed_vocabularies, openai_names
from nmt_prep.stages.vocab.chat_files import has_chat_template
from nmt_prep.subwords import (
    DIALECTS,
    Dialect,
    Tokenizer,
    dialect_in,
    dialect_named,
    dialect_of,
    expects_spm,
    load_tokenizer,
)
from nmt_prep.subwords.resizing import NewPiece, editable
from nmt_prep.subwords.tokenizer import IdLayout
from nmt_prep.subwords.words import is_words


@dataclass(frozen=True)
class GivenVocabulary:
    """The files of an existing vocabulary, as tasks load it."""

    files: tuple[tuple[str, Path], ...]  # its files by key in the config
    key: str  # the key of its first file
    options: ExistingVocab
    name: str  # name for its copy

    @property
    def path(self) -> Path:
        return dict(self.files)[self.key]

    @property
    def where(self) -> str:
        """The key and the file, for messages."""
        return f"{self.key}: {self.path}"

    def load(self) -> Tokenizer:
        """Returns the tokenizer; each process keeps it."""
        return _opened(dict(self.files), self.key, self.options)

    def copied(self, directory: Path) -> GivenVocabulary:
        """Returns its copy in a directory, which may have other pieces."""
        return replace(self, files=((self.key, directory / self.name),))


def given_vocabularies(job: Outputs, options: ExistingVocab) -> dict[Side, GivenVocabulary]:
    """Returns the existing vocabularies by side, after the download."""
    found = {file.key: downloaded_file(job, file) for file in needed_vocabularies(job.config)}
    parts = {key: [part for part in keys_of(key, options) if part in found] for key in options.keys}
    names = {key: copy_name(found[key][0]) for key in options.keys}
    digests = {key: tuple(found[part][1].sha256 for part in listed) for key, listed in parts.items()}
    alike = len(set(names.values())) < len({*digests.values()})  # different files with the same name
    return {
        side: GivenVocabulary(
            tuple((part, found[part][0]) for part in parts[key]),
            key,
            options,
            f"{side}.{names[key]}" if alike else names[key],
        )
        for key, sides in options.keys.items()
        for side in sides
    }


def tags_of(config: Config, options: ExistingVocab, side: Side) -> list[str]:
    """Returns the tags on the sides that use a side's vocabulary."""
    sides = next(sides for sides in options.keys.values() if side in sides)
    return [*dict.fromkeys(tag for user in sides for tag in named_tags(config, user).values())]


def keys_of(key: str, options: ExistingVocab) -> list[str]:
    """Returns the keys of the files that a vocabulary may consist of, its own first."""
    return [key, f"{key}/{MERGES}", options.ids_key(options.keys[key][0])]


def copy_name(path: Path) -> str:
    """Returns the name for a vocabulary's copy. OpenAI's two files become one."""
    return path.name if openai_names([path.name]) is None else "tokenizer.json"


def load_existing(files: Mapping[str, Path], key: str, config: Config, options: ExistingVocab) -> Tokenizer:
    """Loads a vocabulary and checks that the config can use it."""
    path, tokenizer = files[key], _opened(files, key, options)
    if options.kind not in (None, tokenizer.dialect):
        raise VocabularyError(
            f"vocab.kind is {options.kind}, but {path} ({key}) is a vocabulary of kind {tokenizer.dialect}; correct "
            "kind, or remove it"
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
            f"vocab.id_layout is for SentencePiece models, and {path} ({key}) is of kind {tokenizer.dialect}; remove it"
        )
    if (
        tokenizer.eos_id is None
        and not has_chat_template(config)
        and any(options.frame.of(side) is None for side in options.keys[key])
    ):
        raise VocabularyError(
            f"{key}: {path} has no end-of-sentence piece to end rows with; set vocab.frame to the pieces around the IDs"
        )
    for side in options.keys[key]:
        framing = [(f"vocab.frame.{side}", piece) for piece in options.frame.pieces(side)]
        for where, tag in [*named_tags(config, side).items(), *framing]:
            try:
                tokenizer.piece_id(tag)
            except VocabularyError:
                raise VocabularyError(f"{where}: {tag!r} is not a piece of {path} ({key})") from None
    check_resizing(tokenizer, path, key, config, options)
    return tokenizer


def check_resizing(tokenizer: Tokenizer, path: Path, key: str, config: Config, options: ExistingVocab) -> None:
    """Checks that a vocabulary can be pruned or extended as the config says."""
    if options.prune is None and options.extend is None:
        return
    given = editable(tokenizer, path, f"{key}: {path}")
    if options.extend is None:
        kept_pieces(tokenizer, config, options, SIDES[0])
        return
    if given.fixed_ids_reason is not None:
        raise VocabularyError(f"vocab.extend: {path} ({key}) cannot be extended: {given.fixed_ids_reason}")
    pieces = frozenset(tokenizer.pieces)
    for token in options.extend.tokens:
        if token in pieces:
            raise VocabularyError(f"vocab.extend.tokens: {token!r} is a piece of {path} already; remove it")
    tokens = (NewPiece(token, (), special=True) for token in options.extend.tokens)
    given.edited(np.flatnonzero(given.fixed), [NewPiece("a", ()), *tokens])  # refuses what the file cannot hold


def kept_pieces(tokenizer: Tokenizer, config: Config, options: ExistingVocab, side: Side) -> list[int]:
    """Returns the IDs of the pieces that the config names, which stay."""
    named = [*tags_of(config, options, side), *(piece for each in SIDES for piece in options.frame.pieces(each))]
    if config.documents is not None and config.documents.piece is not None:
        named.append(config.documents.piece)
    numbers = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    ids = [numbers[piece] for piece in named if piece in numbers]
    for piece in options.prune.keep if options.prune is not None else ():
        number = numbers.get(piece, -1) if isinstance(piece, str) else piece
        if not 0 <= number < len(tokenizer):
            what = f"{piece!r} is not a piece of the vocabulary"
            if isinstance(piece, int):
                what = f"the vocabulary has no ID {piece}; its IDs end at {len(tokenizer) - 1}"
            raise VocabularyError(f"vocab.prune.keep: {what}")
        ids.append(number)
    return ids


def _opened(files: Mapping[str, Path], key: str, options: ExistingVocab) -> Tokenizer:
    path = files[key]
    if is_words(path):
        if any(options.words.of(side) for side in options.keys[key]):
            raise VocabularyError(f"{key}: {path} has steps of its own; remove vocab.words, or name its vocabulary")
        if len(files) > 1:
            raise VocabularyError(f"{key}: {path} has steps, and is not numbered by another file; remove vocab.ids")
        return load_tokenizer(path, id_layout=options.id_layout)
    if path.is_dir():
        raise VocabularyError(
            f"{key}: {path} is a directory; name the vocabulary file in it, such as tokenizer.json, encoder.json, "
            "or source.spm and target.spm"
        )
    try:
        states = tuple((part, file, file.stat().st_mtime_ns, file.stat().st_size) for part, file in files.items())
    except OSError as error:
        raise VocabularyError(
            f"{key}: cannot read the vocabulary {error.filename}: {error.strerror or error}; check the path"
        ) from error
    return _kept(states, key, options.model_copy(update={"words": WordSteps()}))  # steps cannot be hashed


@kept(4)
def _kept(states: tuple[tuple[str, Path, int, int], ...], key: str, options: ExistingVocab) -> Tokenizer:
    files = {part: path for part, path, _, _ in states}
    path = files[key]
    dialect: Dialect[Any] | None = None
    try:
        dialect = dialect_in(path)
        # Lists of tokens look like other vocabularies; without a suffix of those, the kind decides.
        is_list = options.kind == "subword_nmt" and dialect.kind == "byte_bpe" and path.suffix not in dialect.suffixes
        if options.kind is not None and (dialect is DIALECTS[-1] or is_list):
            dialect = dialect_named(options.kind)  # whose error says what is wrong
        tokenizer = dialect.load(path, id_layout=options.id_layout, merges=files.get(f"{key}/{MERGES}"))
        numbering = files.get(options.ids_key(options.keys[key][0]))
        if numbering is None:
            return tokenizer
        return dialect.numbered(tokenizer, path, numbering, options.threshold)
    except NmtPrepError as error:
        if path.exists() and dialect is DIALECTS[-1] and options.kind is None:
            raise VocabularyError(
                f"{key}: {path} is not a vocabulary of a known kind: tokenizer.json, tiktoken's ranks, SentencePiece "
                f"models, codes of subword-nmt or Tensor2Tensor's subwords; read as the last kind: {error}"
            ) from error
        raise VocabularyError(f"{key}: {error}") from error


def layout_of(tokenizer: Tokenizer, options: ExistingVocab) -> IdLayout | None:
    """Returns the ID layout of a SentencePiece model; None for other vocabularies."""
    return options.id_layout or next(iter(dialect_named(tokenizer.dialect).id_layouts), None)


def named_tags(config: Config, side: Side) -> dict[str, str]:
    """Returns a side's tags, by their keys in the config."""
    return {
        f"splits.{split}.{corpus.name}.tag.{side}": corpus.tags[side]
        for split in config.splits
        for corpus in config.directed(split)
        if side in corpus.tags
    }
