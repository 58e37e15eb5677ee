"""Finds the pairs that the stages after cleaning read: the cleaned parts of a split, or else the compiled parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.pipeline.stage import AnyStage, Outputs
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile


@dataclass(frozen=True)
class PairPart:
    """A file of pairs, for :func:`~nmt_prep.corpora.iter_pairs`.

    Attributes:
        path: path of the file.
        pairs: number of pairs in the file.
        bytes: UTF-8 bytes of both sides.
        corpus: name of the corpus.
    """

    path: Path
    pairs: int
    bytes: int
    corpus: str


def pair_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output :func:`pair_parts` reads."""
    return (Compile,) if config.clean is None else (Compile, Clean)


def pair_parts(job: Outputs) -> dict[str, list[PairPart]]:
    """Returns the parts whose pairs go into the records, by split, in order."""
    cleaned = {} if job.config.clean is None else job.read(Clean).parts
    found: dict[str, list[PairPart]] = {}
    for split, parts in job.read(Compile).parts.items():
        if split in cleaned:
            vocab = {corpus.name for corpus in job.config.splits[split] if corpus.role == "vocab"}
            directory = job.directory_of(Clean)
            found[split] = [
                PairPart(directory / part.file, part.pairs, part.text_bytes, part.corpus)
                for part in cleaned[split]
                if part.corpus not in vocab
            ]
        else:
            directory = job.directory_of(Compile)
            found[split] = [PairPart(directory / part.file, part.pairs, part.bytes, part.corpus) for part in parts]
    return found
