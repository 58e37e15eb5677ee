"""The facts of a run that outputs need, and the checks of outputs against its vocabularies."""

from __future__ import annotations

from pathlib import Path

from nmt_prep.config import Config
from nmt_prep.outputs import RunFacts, kind_of, wanted_outputs
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.pair_files import pair_files
from nmt_prep.stages.vocab import built_vocabularies


def run_facts(job: Job, records: Path) -> RunFacts:
    """Returns the facts of a run, for a stage after vocab.

    Args:
        job: job of the stage.
        records: directory of the records.
    """
    config = job.config
    corpora: dict[str, tuple[str, ...]] = {
        split: tuple(dict.fromkeys(part.corpus for part in listed)) for split, listed in pair_files(job).items()
    }
    languages: dict[Side, str] = {"source": config.languages.source, "target": config.languages.target}
    frames = {side: config.vocab.frame.of(side) for side in SIDES}
    return RunFacts(
        name=config.name,
        seed=config.seed,
        languages=languages,
        shared=config.vocab.shared,
        vocabularies=built_vocabularies(job),
        frames={side: frame for side, frame in frames.items() if frame is not None},
        corpora=corpora,
        licences={
            corpus.name: corpus.licence
            for listed in config.splits.values()
            for corpus in listed
            if corpus.licence is not None
        },
        fingerprint=job.fingerprint,
        records=records,
    )


def check_outputs(config: Config, run: RunFacts) -> None:
    """Checks that the outputs of a run can hold its ids and pieces.

    Raises:
        VocabularyError: one cannot.
    """
    for options in wanted_outputs(config).values():
        kind_of(options).check(options, run)
