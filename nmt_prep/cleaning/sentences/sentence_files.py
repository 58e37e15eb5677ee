"""Aligns documents in files; writes beads as pairs or as vecalign and hunalign do; compares them with gold beads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from nmt_prep.base.artefacts import output_file
from nmt_prep.base.columns import TextColumn
from nmt_prep.base.errors import CorpusError
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.model import check_known, shared_model
from nmt_prep.cleaning.sentences.aligner import Level, align_documents
from nmt_prep.cleaning.sentences.document_texts import (
    MOST_TIMES,
    PLAIN,
    files_of_directories,
    joined,
    lines_of_html,
    read_document,
    sentences_of,
)
from nmt_prep.cleaning.sentences.search import Beads
from nmt_prep.config import Languages
from nmt_prep.config.documents import Splitting

Listed: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The sentence indexes on both sides of a bead, from 0."""

_MEND = "name its encoding with --encoding, such as utf-8,latin-1 for the two sides, or convert the file to UTF-8"
_NUMBER = re.compile(r"[0-9]+")
_SIDE = r"\[([, ]*(?:[0-9]{1,9}(?![0-9])[, ]*)*)\]"
_LINE = re.compile(f"{_SIDE}:{_SIDE}(:.*)?")


@dataclass(frozen=True)
class Agreement:
    """How well beads agree with gold beads, as vecalign counts it.

    A bead is correct (strict) if it is a gold bead, and (lax) if it overlaps a gold bead on both sides. Beads with an
    empty side count for precision, and not for recall.
    """

    precision: float
    recall: float
    lax_precision: float
    lax_recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _mean(self.precision, self.recall)

    @property
    def lax_f1(self) -> float:
        """Harmonic mean of lax precision and recall."""
        return _mean(self.lax_precision, self.lax_recall)


def listed(beads: Beads) -> list[Listed]:
    """Returns beads as lists of sentence numbers."""
    return [(tuple(range(a, b)), tuple(range(c, d))) for a, b, c, d in beads.tolist()]


def bead_lines(beads: Beads) -> list[str]:
    """Returns beads in vecalign's format, such as ``[0, 1]:[0]``."""
    return [f"{list(source)}:{list(target)}" for source, target in listed(beads)]


def read_gold(path: Path, sizes: tuple[int, int]) -> list[Listed]:
    """Reads gold beads in vecalign's format."""
    gold = []
    for at, line in enumerate(read_document(path, "text", PLAIN).split("\n"), 1):
        if not line.strip():
            continue
        matched = _LINE.fullmatch(line.strip())
        if matched is None:
            raise CorpusError(f"{path}: line {at} is not a bead such as [0, 1]:[0]: {line[:80]!r}")
        source, target = (tuple(map(int, _NUMBER.findall(side))) for side in matched.group(1, 2))
        for name, side, size in zip(("source", "target"), (source, target), sizes, strict=True):
            if side and max(side) >= size:
                raise CorpusError(
                    f"{path}: line {at} names {name} sentence {max(side)}, but there are {size}, counted from 0; "
                    "these beads belong to other files"
                )
        gold.append((source, target))
    return gold


def agreement(beads: Sequence[Listed], gold: Sequence[Listed]) -> Agreement:
    """Compares beads with gold beads."""
    precision, lax_precision = _shares(beads, gold)
    recall, lax_recall = _shares([bead for bead in gold if all(bead)], beads)
    return Agreement(precision, recall, lax_precision, lax_recall)


def _shares(beads: Sequence[Listed], others: Sequence[Listed]) -> tuple[float, float]:
    """Returns the share of beads that are among others, and the share that overlaps one of the others on both sides."""
    known = set(others)
    of_source: dict[int, set[int]] = {}
    for number, (source, _) in enumerate(others):
        for sentence in source:
            of_source.setdefault(sentence, set()).add(number)
    strict = lax = 0
    for bead in beads:
        source, target = bead
        near = {number for sentence in source for number in of_source.get(sentence, ())}
        strict += bead in known
        lax += bead in known or any(set(target) & set(others[number][1]) for number in near)
    return strict / max(len(beads), 1), lax / max(len(beads), 1)


def _mean(first: float, second: float) -> float:
    return 0.0 if first + second == 0 else 2 * first * second / (first + second)


Format: TypeAlias = Literal["tsv", "beads"]


@dataclass(frozen=True)
class AlignedDocument:
    """A document and its beads."""

    name: str  # stem of the result file's name
    sides: tuple[pa.Array, pa.Array]  # the sentences of both sides, as `large_string` arrays
    languages: Languages
    beads: Beads
    gold: Sequence[Listed] | None  # the gold beads; None unless asked for

    def lines(self, form: Format) -> Iterator[str]:
        if form == "beads":
            yield from bead_lines(self.beads)
            return
        beads = self.beads[(self.beads[:, 0] < self.beads[:, 1]) & (self.beads[:, 2] < self.beads[:, 3])]
        sides = joined(self.sides, beads, (self.languages.source, self.languages.target))
        for pair in zip(*(side.to_pylist() for side in sides), strict=True):
            yield "\t".join(text.replace("\t", " ") for text in pair)


def align_files(
    source: Path,
    target: Path,
    languages: Languages,
    form: Literal["text", "html"],
    encodings: Sequence[str],
    split: Splitting | None,
    model: Path | None,
    gold: Path | None,
    threads: int,
) -> tuple[list[AlignedDocument], Level]:
    """Aligns two files, or the files of two directories that have the same names; also returns their common level.

    Args:
        split: how the text is divided into sentences; None if each line is one, also an empty one.
        model: a word alignment model from other text, or None to learn from the documents alone.
        gold: gold beads of the first document; None if there is none.
    """
    pairs = _files(source, target) if source.is_dir() else [(source, target)]
    documents = [_document(*pair, languages, form, encodings, split) for pair in pairs]
    sizes = len(documents[0][0]), len(documents[0][1])
    read = None if gold is None else read_gold(gold, sizes)
    prior = None if model is None else shared_model(model)
    if prior is not None:
        first = [TextColumn.from_arrow(side) for side in documents[0]]
        check_known(prior, pairs[0][0], first[0], first[1])
    beads, level = align_documents(documents, prior, threads)
    aligned = [
        AlignedDocument(pair[0].stem, document, languages, path, read)
        for pair, document, path in zip(pairs, documents, beads, strict=True)
    ]
    return aligned, level


def write_document(document: AlignedDocument, form: Format, directory: Path) -> None:
    """Writes a document's result to a file with its source's stem."""
    directory.mkdir(parents=True, exist_ok=True)
    with output_file(directory / f"{document.name}.{form}") as file:
        for line in document.lines(form):
            file.write(f"{line}\n".encode())


def compared(document: AlignedDocument) -> str:
    """Returns a line with precision, recall and F1 of a document that has gold beads."""
    shares = agreement(listed(document.beads), document.gold or ())
    return (
        f"strict: precision {shares.precision:.4f}, recall {shares.recall:.4f}, F1 {shares.f1:.4f}; "
        f"lax: precision {shares.lax_precision:.4f}, recall {shares.lax_recall:.4f}, F1 {shares.lax_f1:.4f}"
    )


def _files(source: Path, target: Path) -> list[tuple[Path, Path]]:
    """Returns the files of two directories that have the same names."""
    files = files_of_directories(source, target)
    stems: dict[str, str] = {}
    for name in files:
        first = stems.setdefault(Path(name).stem, name)
        if first != name:
            raise CorpusError(f"the results of {source / first} and {name} would have one name; rename one of them")
    return list(files.values())


def _document(
    source: Path,
    target: Path,
    languages: Languages,
    form: Literal["text", "html"],
    encodings: Sequence[str],
    split: Splitting | None,
) -> tuple[pa.Array, pa.Array]:
    sides = []
    for side, path, encoding in zip(SIDES, (source, target), encodings, strict=True):
        text = read_document(path, form, replace(PLAIN, encoding=encoding, mend=_MEND))
        if form == "html":
            try:
                sides.append(sentences_of(lines_of_html(text), split or "lines", getattr(languages, side)))
            except CorpusError as error:
                raise CorpusError(f"{path}: {error}") from error
        elif split is None:
            sides.append(pa.array(text.split("\n") if text else [], pa.large_string()))
        else:
            sides.append(sentences_of(text, split, getattr(languages, side)))
        if not len(sides[-1]):
            raise CorpusError(f"{path} is empty; the {side} side needs sentences")
    sizes = len(sides[0]), len(sides[1])
    if max(sizes) >= MOST_TIMES * min(sizes) and max(sizes) > MOST_TIMES:
        raise CorpusError(
            f"{source} has {sizes[0]:,} sentences and {target} has {sizes[1]:,}: they do not translate each other, or "
            "one of them does not have one sentence per line"
        )
    return sides[0], sides[1]
