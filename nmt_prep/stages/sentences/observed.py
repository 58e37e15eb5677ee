"""Notes about aligned documents, for the report and for warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nmt_prep.cleaning.sentences.aligner import Level, cut_text
from nmt_prep.cleaning.sentences.search import Beads
from nmt_prep.pipeline.stage import HealthWarning

_POINTS = 32  # Maximum number of points in a document's path
_KEPT = 200  # Number of documents per corpus whose paths are in the report: the worst documents
_NAMED = 20  # Maximum number of documents that a warning names
_LEAST_FIDELITY = 0.35  # Minimum fidelity of documents that count as translations


@dataclass(frozen=True)
class DocumentNote:
    """A document, or a piece of a long one."""

    name: str
    sentences: tuple[int, int]  # sentence counts of both sides
    kinds: dict[str, int]  # bead counts by the beads' sentence counts, such as `1-2`
    alone: int  # number of sentences without counterpart
    score: float  # summed score of the scored beads
    scored: int  # number of scored beads
    translated: bool  # False if the sides do not seem to translate each other
    path: tuple[tuple[int, int], ...]  # points of the path, as positions on both sides

    @property
    def aligned(self) -> float:
        """Share of the sentences that have a counterpart."""
        return 1 - self.alone / max(sum(self.sentences), 1)

    def followed_by(self, piece: DocumentNote) -> DocumentNote:
        """Returns the note of this part of a document joined with the next part."""
        x, y = self.sentences
        path = (*self.path, *((a + x, b + y) for a, b in piece.path))
        return DocumentNote(
            self.name,
            (x + piece.sentences[0], y + piece.sentences[1]),
            dict(Counter(self.kinds) + Counter(piece.kinds)),
            self.alone + piece.alone,
            self.score + piece.score,
            self.scored + piece.scored,
            self.translated or piece.translated,
            tuple(path[:: -(-len(path) // _POINTS)]),
        )


def note_of(
    name: str, beads: Beads, scores: npt.NDArray[np.float64], level: Level, sentences: tuple[int, int]
) -> DocumentNote:
    """Returns a document's note; scores are NaN for beads without one."""
    sizes = np.column_stack([beads[:, 1] - beads[:, 0], beads[:, 3] - beads[:, 2]])
    kinds = Counter(f"{a}-{b}" for a, b in sizes.tolist())
    known = scores[~np.isnan(scores)]
    ends = beads[:, [1, 3]]
    points = ends[np.unique(np.linspace(0, len(ends) - 1, _POINTS).astype(np.int64))] if len(ends) else ends
    path: tuple[tuple[int, int], ...] = tuple((int(a), int(b)) for a, b in points.tolist())
    alone = int(sizes[sizes.min(axis=1) == 0].sum())
    total = round(math.fsum(known), 6)
    aligned = 1 - alone / max(sum(sentences), 1)
    translated = aligned > 0 and (not len(known) or level.fidelity(aligned, total / len(known)) >= _LEAST_FIDELITY)
    return DocumentNote(name, sentences, dict(sorted(kinds.items())), alone, total, len(known), translated, path)


@dataclass(frozen=True)
class CorpusNote:
    """A corpus's documents."""

    documents: int  # number of aligned documents
    sentences: tuple[int, int]  # sentence counts of both sides
    kinds: dict[str, int]  # bead counts by the beads' sentence counts, such as `1-2`
    alone: int  # number of sentences without counterpart
    pairs: int  # number of pairs that were written
    weak: int  # number of pairs with a lower score than `documents.min`
    # documents that are left out, with the reason: `empty`, `unequal`, `repeated` or `untranslated`
    refused: tuple[tuple[str, str], ...]
    # the documents with the smallest shares of sentences with a counterpart, and the untranslated ones
    worst: tuple[DocumentNote, ...]


def joined_notes(notes: Iterable[DocumentNote]) -> Iterator[DocumentNote]:
    """Yields a note for each document; the pieces of a document follow one another."""
    held: DocumentNote | None = None
    for note in notes:
        if held is not None and note.name == held.name:
            held = held.followed_by(note)
            continue
        if held is not None:
            yield held
        held = note
    if held is not None:
        yield held


def corpus_note(notes: Sequence[DocumentNote], pairs: int, weak: int, refused: Iterable[tuple[str, str]]) -> CorpusNote:
    """Returns a corpus's note, from its documents' notes, and the documents that were not aligned."""
    kept = [note for note in notes if note.translated]
    kinds: Counter[str] = Counter()
    for note in kept:
        kinds.update(note.kinds)
    untranslated = [note for note in notes if not note.translated]
    worst = sorted(kept, key=lambda note: note.aligned)[: max(_KEPT - len(untranslated), 1)]
    return CorpusNote(
        len(kept),
        (sum(note.sentences[0] for note in kept), sum(note.sentences[1] for note in kept)),
        dict(kinds.most_common()),
        sum(note.alone for note in kept),
        pairs,
        weak,
        (*refused, *((note.name, "untranslated") for note in untranslated)),
        (*untranslated[: _KEPT - 1], *worst),
    )


_TEXTS = {
    "empty": "have no text on a side",
    "unequal": "have ten times as much text on one side",
    "repeated": "have the same text as an earlier document",
    "untranslated": "do not translate each other",
}


@dataclass(frozen=True)
class SentencesObserved:
    """The stage's observations."""

    corpora: dict[str, dict[str, CorpusNote]] = field(default_factory=dict)  # notes by split and corpus
    warnings: tuple[HealthWarning, ...] = ()  # warnings about documents that were left out


def warnings_of(corpora: Mapping[str, Mapping[str, CorpusNote]]) -> Iterator[HealthWarning]:
    """Yields a warning for each reason for which documents of a corpus were left out."""
    for split, notes in corpora.items():
        for corpus, note in notes.items():
            for reason, text in _TEXTS.items():
                names = [name for name, why in note.refused if why == reason]
                if names:
                    share = len(names) / (len(note.refused) + note.documents)
                    what = f"{len(names):,} documents {text}, and are skipped: {_named(names)}"
                    yield HealthWarning(f"{reason}_documents", what, corpus, split, value=len(names), share=share)


def doubts_of(
    split: str, corpus: str, strange: Sequence[tuple[str, str]], documents: int, level: Level
) -> Iterator[HealthWarning]:
    """Yields warnings about documents that are kept."""
    if strange:
        names = _named([name for name, _ in strange])
        what = f"{len(strange):,} documents seem to be in other languages, and are kept: {names}"
        text = f"{what}; {strange[0][0]}: {strange[0][1]}"
        share = len(strange) / max(documents, 1)
        yield HealthWarning("strange_documents", text, corpus, split, value=len(strange), share=share)
    if level.cut:
        yield HealthWarning("cut_sentences", cut_text(level.cut), corpus, split, value=level.cut)
    if level.unrelated:
        text = "the documents do not seem to translate each other; compare their sides"
        yield HealthWarning("unrelated_documents", text, corpus, split)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" * (len(names) > _NAMED)
    return f"{', '.join(names[:_NAMED])}{more}"
