"""Vocabularies of a run: their descriptions, and how the tasks of its stages load them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.errors import VocabularyError
from nmt_prep.runtime import kept
from nmt_prep.subwords import Tokenizer, dialect_named
from nmt_prep.subwords.tokenizer import IdLayout


@dataclass(frozen=True)
class VocabularyFacts:
    """A vocabulary, as ``vocab.json`` and ``dataset.json`` describe it.

    Attributes:
        file: name of its file in the stage's directory.
        kind: name of the dialect.
        id_layout: id layout of a SentencePiece model; None for other dialects.
        size: number of pieces.
        fingerprint: fingerprint of the tokenizer.
        unicode_version: Unicode version of the character classes; None if the dialect does not depend on it.
        pad_id: id of padding; None if there is no such piece.
        eos_id: id of the end of sentence; None if there is no such piece.
        bos_id: id of the start of sentence; None if there is no such piece.
        unk_id: id of unknown text; None if there is no such piece.
    """

    file: str
    kind: str
    id_layout: IdLayout | None
    size: int
    fingerprint: str
    unicode_version: str | None
    pad_id: int | None
    eos_id: int | None
    bos_id: int | None
    unk_id: int | None


@dataclass(frozen=True)
class DescribedVocabulary:
    """A vocabulary that is ready for use.

    Attributes:
        facts: description of the vocabulary.
        pieces: ids of the pieces that the config names (such as ``vocab.reserved``); frames may use them.
    """

    facts: VocabularyFacts
    pieces: dict[str, int]


def describe_vocabulary(
    tokenizer: Tokenizer, file: str, id_layout: IdLayout | None, named: Iterable[str]
) -> DescribedVocabulary:
    """Describes a loaded vocabulary.

    Args:
        tokenizer: the loaded vocabulary.
        file: name of its file in the stage's directory.
        id_layout: id layout of a SentencePiece model; None for other dialects.
        named: the pieces that the config names; texts that are not single pieces are skipped.
    """
    facts = VocabularyFacts(
        file=file,
        kind=tokenizer.dialect,
        id_layout=id_layout,
        size=len(tokenizer),
        fingerprint=tokenizer.fingerprint,
        unicode_version=getattr(tokenizer, "unicode_version", None),
        pad_id=tokenizer.pad_id,
        eos_id=tokenizer.eos_id,
        bos_id=tokenizer.bos_id,
        unk_id=tokenizer.unk_id,
    )
    pieces: dict[str, int] = {}
    for piece in named:
        with suppress(VocabularyError):
            pieces[piece] = tokenizer.piece_id(piece)
    return DescribedVocabulary(facts, pieces)


@dataclass(frozen=True)
class BuiltVocabulary:
    """The file of a vocabulary and its description, from which tasks load it."""

    path: Path
    facts: VocabularyFacts

    def load(self) -> Tokenizer:
        """Returns the tokenizer; each process loads it only once.

        Raises:
            VocabularyError: the file cannot be read, or does not match the fingerprint.
        """
        return _loaded(self)


@kept(2)
def _loaded(vocabulary: BuiltVocabulary) -> Tokenizer:
    tokenizer = dialect_named(vocabulary.facts.kind).load(vocabulary.path, id_layout=vocabulary.facts.id_layout)
    if tokenizer.fingerprint != vocabulary.facts.fingerprint:
        raise VocabularyError(
            f"{vocabulary.path} does not match its recorded fingerprint; run again with --force vocab"
        )
    return tokenizer
