"""Finds the pairs that the stages after cleaning read: the cleaned parts of a split, or else the compiled parts."""

from __future__ import annotations

from nmt_prep.config import Config
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.stage import AnyStage, Outputs
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile


def pair_stages(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output :func:`pair_files` reads."""
    return (Compile,) if config.clean is None else (Compile, Clean)


def pair_files(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the files of the pairs that go into the records, by split, in order."""
    compiled, cleaned = compiled_files(job), {} if job.config.clean is None else job.read(Clean).parts
    directory = job.directory_of(Clean)
    for split, parts in cleaned.items():
        vocab = {corpus.name for corpus in job.config.splits[split] if corpus.role == "vocab"}
        compiled[split] = [part.below(directory) for part in parts if part.corpus not in vocab]
    return compiled


def compiled_files(job: Outputs) -> dict[str, list[PairFile]]:
    """Returns the compiled files, by split, in order."""
    directory = job.directory_of(Compile)
    return {split: [part.below(directory) for part in parts] for split, parts in job.read(Compile).parts.items()}
