"""Documents in files, and files of their aligned sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from nmt_prep.align.loading import check_known, shared_model
from nmt_prep.artefacts import output_file
from nmt_prep.columns import TextColumn
from nmt_prep.config import Languages
from nmt_prep.errors import CorpusError
from nmt_prep.lines.blocks import iter_lines
from nmt_prep.sentences.aligner import Aligner
from nmt_prep.sentences.beads import agreement, bead_lines, ladder_lines, listed, read_gold
from nmt_prep.sentences.document import Beads
from nmt_prep.sides import SIDES

Format: TypeAlias = Literal["tsv", "beads", "ladder"]

_WITHOUT_SPACES = frozenset({"zh", "yue", "ja", "th", "lo", "km", "my", "bo"})
"""Languages whose sentences are joined without a space."""

_MOST_TIMES = 10
"""Sides whose numbers of sentences differ by this factor are no translations of each other."""


@dataclass(frozen=True)
class AlignedDocument:
    """A document and its beads.

    Attributes:
        name: stem for the name of the file of results.
        sides: the sentences of both sides, as ``large_string`` arrays.
        joints: what joins sentences of each side.
        beads: the beads.
    """

    name: str
    sides: tuple[pa.Array, pa.Array]
    joints: tuple[str, str]
    beads: Beads

    def lines(self, form: Format) -> Iterator[str]:
        """Yields the lines of the result."""
        if form == "beads":
            yield from bead_lines(self.beads)
        elif form == "ladder":
            yield from ladder_lines(self.beads)
        else:
            yield from self._pairs()

    def _pairs(self) -> Iterator[str]:
        texts = [side.to_pylist() for side in self.sides]
        for source, source_end, target, target_end in self.beads.tolist():
            if source < source_end and target < target_end:
                bounds = ((source, source_end), (target, target_end))
                joined = (
                    joint.join(text[start:end]).replace("\t", " ")
                    for text, joint, (start, end) in zip(texts, self.joints, bounds, strict=True)
                )
                yield "\t".join(joined)


def align_files(source: Path, target: Path, languages: str, model: Path | None, threads: int) -> list[AlignedDocument]:
    """Aligns two files, or the files of two directories that have the same names.

    Args:
        source: a file with a sentence a line, or a directory of such files.
        target: the same for the other side.
        languages: two language tags, such as ``de-fr``.
        model: a model of word alignment of other text; None to learn from the documents alone.
        threads: number of threads; it does not change the result.

    Raises:
        CorpusError: a file cannot be read or is empty, has no counterpart, or the sides cannot be translations.
        InvalidTextError: a file is not UTF-8.
        AlignmentModelError: the model cannot be read, or is of other languages.
        OSError: a directory cannot be read.
    """
    joints = _joints(languages)
    pairs = _files(source, target) if source.is_dir() else [(source, target)]
    documents = [_document(*pair) for pair in pairs]
    prior = None if model is None else shared_model(model)
    if model is not None and prior is not None:
        first = [TextColumn.from_arrow(side) for side in documents[0]]
        check_known(prior, pairs[0][0], first[0], first[1])
    beads = Aligner(documents, prior, threads).align()
    return [
        AlignedDocument(pair[0].stem, document, joints, path)
        for pair, document, path in zip(pairs, documents, beads, strict=True)
    ]


def write_document(document: AlignedDocument, form: Format, directory: Path) -> None:
    """Writes the result of a document to a file with the stem of its source.

    Raises:
        OutputError: the file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with output_file(directory / f"{document.name}.{form}") as file:
        for line in document.lines(form):
            file.write(f"{line}\n".encode())


def compare(document: AlignedDocument, gold: Path) -> str:
    """Returns a line with precision, recall and F1 of a document.

    Raises:
        CorpusError: the gold beads cannot be read, or are those of another document.
    """
    sizes = len(document.sides[0]), len(document.sides[1])
    shares = agreement(listed(document.beads), read_gold(gold, sizes))
    return (
        f"strict: precision {shares.precision:.4f}, recall {shares.recall:.4f}, F1 {shares.f1:.4f}; "
        f"lax: precision {shares.lax_precision:.4f}, recall {shares.lax_recall:.4f}, F1 {shares.lax_f1:.4f}"
    )


def _joints(languages: str) -> tuple[str, str]:
    source, _, target = languages.partition("-")
    try:
        tags = Languages(source=source, target=target)
    except ValueError:
        raise CorpusError(f"--languages {languages!r}: expected two language tags, such as en-de") from None
    first, second = ("" if tag.split("-")[0] in _WITHOUT_SPACES else " " for tag in (tags.source, tags.target))
    return first, second


def _files(source: Path, target: Path) -> list[tuple[Path, Path]]:
    """Returns the files of two directories that have the same names.

    Raises:
        CorpusError: there are none, or a file has no counterpart.
    """
    names = [{path.name for path in directory.iterdir() if path.is_file()} for directory in (source, target)]
    for lacking, directory, other in ((names[0] - names[1], source, target), (names[1] - names[0], target, source)):
        if lacking:
            raise CorpusError(
                f"{directory / min(lacking)} has no counterpart of the same name in {other}; add or remove it"
            )
    if not names[0]:
        raise CorpusError(f"{source} has no files; name directories with a document a file")
    return [(source / name, target / name) for name in sorted(names[0])]


def _document(source: Path, target: Path) -> tuple[pa.Array, pa.Array]:
    sides = []
    for side, path in zip(SIDES, (source, target), strict=True):
        blocks = list(iter_lines(path))
        if not blocks:
            raise CorpusError(f"{path} is empty; the {side} side needs sentences, one a line")
        sides.append(pa.concat_arrays(blocks))
    sizes = len(sides[0]), len(sides[1])
    if max(sizes) >= _MOST_TIMES * min(sizes) and max(sizes) > _MOST_TIMES:
        raise CorpusError(
            f"{source} has {sizes[0]:,} sentences and {target} has {sizes[1]:,}: they do not translate each other, or "
            "one of them does not have a sentence a line"
        )
    return sides[0], sides[1]
