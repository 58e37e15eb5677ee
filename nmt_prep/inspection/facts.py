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
        part: what the corpus needs it for: ``both``, ``source``, ``target`` or ``scores.<name>``; the key of the config
            for a vocabulary.
        address: its path or address, without secrets.
        place: where it is; ``fetched`` for a remote file that an earlier run has fetched.
        size: its bytes; None if they are not known.
        kind: ``tar``, ``zip``, ``file`` or ``repository``; None if it could not be opened.
        members: the number of members of an archive that were seen, or of files of a repository that are used.
        complete: true if the archive has no other members.
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
        split: its split.
        name: its name.
        format: its format.
        files: the files that it needs.
        members: the members that it is read from, by part, with their bytes in the archive.
        pairs: number of pairs with text on both sides; None if not all of them were read.
        first: the first pairs; None for a side that cannot be seen.
        languages: those of the first lines of each side.
        problems: what a run would fail with.
        warnings: what looks wrong.
        unseen: what cannot be seen before the files are fetched.
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
        corpora: in the order of the config.
        vocabularies: existing vocabularies that the config names.
        problems: those of vocabularies, and of what else a run needs, such as models and evaluation sets.
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
