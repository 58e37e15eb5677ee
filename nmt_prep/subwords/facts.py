"""A run's vocabularies: their descriptions, and how tasks in its stages load them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import model_serializer

from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.runtime import kept
from nmt_prep.subwords import Tokenizer, WordsTokenizer, dialect_named
from nmt_prep.subwords.tokenizer import IdLayout
from nmt_prep.subwords.words import after_words


@dataclass(frozen=True)
class VocabularyFacts:
    """A vocabulary, as ``vocab.json`` and ``dataset.json`` describe it."""

    file: str  # name of its file in the stage's directory
    kind: str  # name of the dialect
    id_layout: IdLayout | None  # ID layout of a SentencePiece model; None for other dialects
    size: int  # number of pieces
    fingerprint: str  # fingerprint of the tokenizer
    unicode_version: str | None  # Unicode version of the character classes; None if the dialect does not depend on it
    pad_id: int | None  # ID of padding; None if there is no such piece
    eos_id: int | None  # end-of-sentence ID, or None if there is no such piece
    bos_id: int | None  # start-of-sentence ID, or None if there is no such piece
    unk_id: int | None  # ID of unknown text; None if there is no such piece
    words: str | None = None  # name of the file with the steps before it; omitted in JSON if there are none

    @model_serializer(mode="wrap")
    def _known(self, as_mapping: Callable[[VocabularyFacts], dict[str, object]]) -> dict[str, object]:
        return {name: value for name, value in as_mapping(self).items() if name != "words" or value}


@dataclass(frozen=True)
class DescribedVocabulary:
    """A vocabulary that is ready for use."""

    facts: VocabularyFacts  # description of the vocabulary
    pieces: dict[str, int]  # IDs of the pieces that the config names (such as `vocab.reserved`); frames may use them


def describe_vocabulary(
    tokenizer: Tokenizer, file: str, id_layout: IdLayout | None, named: Iterable[str]
) -> DescribedVocabulary:
    """Describes a loaded vocabulary.

    Args:
        id_layout: ID layout of a SentencePiece model; None for other dialects.
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
    base_dir: Path | None = None  # the directory of programs and modules that its steps may run; None for no such steps
    of_words: bool = False  # true to encode what `words_in` returns

    def load(self) -> Tokenizer:
        """Returns the tokenizer; each process loads it only once."""
        return after_words(_loaded(replace(self, of_words=False))) if self.of_words else _loaded(self)


@kept(2)
def _loaded(vocabulary: BuiltVocabulary) -> Tokenizer:
    dialect, layout = dialect_named(vocabulary.facts.kind), vocabulary.facts.id_layout
    if vocabulary.facts.words is None:
        tokenizer = dialect.load(vocabulary.path, id_layout=layout)
    else:
        words = vocabulary.path.with_name(Path(vocabulary.facts.words).name)
        tokenizer = WordsTokenizer.load(words, lambda path: dialect.load(path, id_layout=layout), vocabulary.base_dir)
    if tokenizer.fingerprint != vocabulary.facts.fingerprint:
        raise VocabularyError(
            f"{vocabulary.path} does not match its recorded fingerprint; run again with --force vocab"
        )
    return tokenizer
