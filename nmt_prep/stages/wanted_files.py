"""The files that the readers of corpora need, and those of them that are read in their places, without a copy.

Plain local files of line-based formats are. Their readers compare each step of them with the hash that was noted when
the file was digested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.archives import WHOLE_FILE, member_name
from nmt_prep.config import Config, Corpus
from nmt_prep.corpora import format_of, parts_of, reader_of, score_files
from nmt_prep.digests import FileSteps
from nmt_prep.lines.chunks import one_byte_newlines
from nmt_prep.pipeline.stage import Outputs
from nmt_prep.stages.download.needed import SACREBLEU, Needed, fetched_corpora, needed_by
from nmt_prep.stages.download.stage import Downloaded, downloaded_files


@dataclass(frozen=True)
class Wanted:
    """A file that a reader needs.

    Attributes:
        key: ``<split>/<corpus>/<both|source|target|scores.name>``.
        container: the archive that contains it, or the downloaded file itself.
        member: its path in the archive, or a pattern of paths; ``WHOLE_FILE`` if the file is not an archive.
    """

    key: str
    container: Needed
    member: str


@dataclass(frozen=True)
class CorpusFile:
    """A file that a reader reads: an extracted member, or a plain local file in its place.

    Attributes:
        file: path relative to the directory of the stage; None for a file in its place.
        sha256: SHA-256 of its bytes.
        size: size in bytes.
        steps: the steps of a file in its place, which its readers check.
    """

    file: str | None
    sha256: str
    size: int
    steps: FileSteps | None = None


def wanted_by(split: str, corpus: Corpus) -> Iterator[Wanted]:
    """Yields the files that the reader of a corpus needs, one for each of its parts, and the files of scores."""
    containers = {needed.key.rpartition("/")[2]: needed for needed in needed_by(split, corpus)}
    for part in parts_of(corpus):
        member = corpus.member if part == "both" else getattr(corpus, part)
        container = containers.get(part) or containers["both"]
        yield Wanted(f"{split}/{corpus.name}/{part}", container, member_name(member) if member else WHOLE_FILE)
    for name, place in score_files(corpus).items():
        key = f"scores.{name}"
        container = containers.get(key) or containers["both"]
        member = place.member
        yield Wanted(f"{split}/{corpus.name}/{key}", container, member_name(member) if member else WHOLE_FILE)


def in_place(outputs: Outputs) -> dict[str, CorpusFile]:
    """Returns the plain local files that readers read in their places, by :attr:`Wanted.key`."""
    found: dict[str, CorpusFile] = {}
    for split, corpus in fetched_corpora(outputs.config):
        for wanted in wanted_by(split, corpus):
            files = downloaded_files(outputs, wanted.container)
            if is_in_place(outputs.config, split, corpus, wanted, files):
                [(_, entry)] = files
                found[wanted.key] = CorpusFile(None, entry.sha256, entry.size, entry.steps)
    return found


def is_in_place(
    config: Config, split: str, corpus: Corpus, wanted: Wanted, files: Sequence[tuple[Path, Downloaded]]
) -> bool:
    """Returns True if a file needs no copy: it is local and plain, and its reader reads and checks it line by line."""
    return (
        split != SACREBLEU
        and is_read_by_lines(corpus, wanted)
        and all(entry.steps is not None and entry.size <= config.extract.max_member_bytes for _, entry in files)
    )


def is_read_by_lines(corpus: Corpus, wanted: Wanted) -> bool:
    """Returns True if the reader of a corpus reads a file line by line, so that it can check it, if it is plain."""
    reader = reader_of(format_of(corpus))
    if wanted.key.rpartition("/")[2] not in reader.parts or wanted.member != WHOLE_FILE:
        return False
    return reader.lines_apart and not reader.quote and one_byte_newlines(corpus.encoding)
