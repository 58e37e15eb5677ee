"""Facts about the corpora of a config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nmt_prep.health.languages import SideFacts
from nmt_prep.sides import Side

Place: TypeAlias = Literal["local", "remote", "fetched"]


@dataclass(frozen=True)
class FileFacts:
    """A file that the config names.

    Attributes:
        part: the part of the corpus: ``both``, ``source``, ``target`` or ``scores.<name>``; for a vocabulary, its key
            in the config.
        address: path or address, without secrets.
        place: the place of the file; ``fetched`` for a remote file that an earlier run has fetched.
        size: size in bytes; None if it is not known.
        kind: ``tar``, ``zip``, ``file`` or ``repository``; None if the file could not be opened.
        members: the number of seen members of an archive, or of used files of a repository.
        complete: true if all members of the archive were seen.
    """

    part: str
    address: str
    place: Place
    size: int | None = None
    kind: str | None = None
    members: int = 0
    complete: bool = True


@dataclass
class CorpusFacts:
    """A corpus.

    Attributes:
        split: name of the split.
        name: name of the corpus.
        format: name of the format.
        files: the files of the corpus.
        members: the members of archives that have its text, by part, with their sizes in bytes.
        pairs: number of pairs with text on both sides; None if not all pairs were read.
        first: the first pairs; None for a side that cannot be seen.
        languages: languages of the first lines, by side.
        problems: errors that a run would end with.
        warnings: properties of the text that look wrong.
        unseen: facts that are not known before the files are fetched.
    """

    split: str
    name: str
    format: str
    files: list[FileFacts] = field(default_factory=list)
    members: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    pairs: int | None = None
    first: list[tuple[str | None, str | None]] = field(default_factory=list)
    languages: dict[Side, SideFacts] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Inspection:
    """The facts about all corpora.

    Attributes:
        corpora: the corpora, in the order of the config.
        vocabularies: existing vocabularies that the config names.
        problems: problems of vocabularies, models, evaluation sets and other files that a run needs.
        model: the model that identified the languages; None if none is installed.
    """

    corpora: tuple[CorpusFacts, ...]
    vocabularies: tuple[FileFacts, ...]
    problems: tuple[str, ...]
    model: str | None

    def all_problems(self) -> Iterator[str]:
        """Yields all problems."""
        for corpus in self.corpora:
            yield from corpus.problems
        yield from self.problems
