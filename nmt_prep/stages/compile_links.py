"""Links to the plain files whose lines compiled parts name instead of holding a copy of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.artefacts import point_to
from nmt_prep.config import Corpus
from nmt_prep.corpora import format_of, reader_of
from nmt_prep.corpora.plain import PlainReader
from nmt_prep.digests import StepRange
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.compile_slices import CorpusFiles, CorpusSlice

DIRECTORY = "inputs"
"""Directory of the links, in that of the stage."""


@dataclass(frozen=True)
class LinkedFile:
    """A file whose lines a part can name.

    Attributes:
        link: path of the link to it, relative to the directory of the stage.
        sha256: SHA-256 of its bytes.
        steps: the steps that contain the lines of a slice.
    """

    link: str
    sha256: str
    steps: StepRange


def linked_files(source: CorpusFiles, slice_: CorpusSlice, directory: Path) -> Mapping[Side, LinkedFile]:
    """Links the files whose lines the parts of a slice can name; returns them by the side of the pairs.

    There are none if the parts must hold the text, because it is not a line of a file in its place, or has scores, or
    because the file system has no links.

    Args:
        source: the corpus.
        slice_: the slice.
        directory: directory of the stage.

    Raises:
        OutputError: a link cannot be made.
    """
    if set(slice_.steps) != set(SIDES) or not has_lines_as_they_are(source.corpus):
        return {}
    [files] = slice_.files
    found: dict[Side, LinkedFile] = {}
    for side, part in zip(SIDES, reversed(SIDES) if source.corpus.swap else SIDES, strict=True):
        sha256 = source.digests[files[part]]
        found[side] = LinkedFile(f"{DIRECTORY}/{sha256}", sha256, slice_.steps[part])
        if not point_to(files[part].absolute(), directory / found[side].link):
            return {}
    return found


def has_lines_as_they_are(corpus: Corpus) -> bool:
    """Returns true if the pairs of a corpus are lines of its files, but for carriage returns at their ends."""
    # A reader of another package that is derived from this one may change the text.
    is_plain = reader_of(format_of(corpus)) is PlainReader and set(corpus.sides) == set(SIDES)
    return is_plain and corpus.encoding == "utf-8" and not corpus.scores
