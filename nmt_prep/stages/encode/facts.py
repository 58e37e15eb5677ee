"""What stages that write rows know of a run: the frames of the rows of each corpus, and facts for outputs.

A frame is the special pieces around the ids of a row: the tag and the end of sentence, or what ``vocab.frame`` says.
"""

from __future__ import annotations

from pathlib import Path

from nmt_prep.config import Config, Corpus
from nmt_prep.errors import VocabularyError
from nmt_prep.outputs import RunFacts, kind_of, wanted_outputs
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.pair_files import pair_files
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies
from nmt_prep.stages.vocab.facts import VocabularyFacts
from nmt_prep.subwords.frame import Frame


def tag_settings(config: Config) -> dict[str, object]:
    """Returns the tags and frames in the config, as settings of a stage that inserts them."""
    frames = config.vocab.frame.model_dump(exclude_none=True)
    return {f"vocab.frame.{side}": text for side, text in frames.items()} | {
        f"splits.{split}.{corpus.name}.tag.{side}": tag
        for split, corpora in config.splits.items()
        for corpus in corpora
        for side, tag in corpus.tags.items()
    }


def corpus_frames(job: Job) -> dict[str, dict[str, dict[Side, Frame]]]:
    """Returns the frames by split, corpus and side, for a stage after vocab.

    Args:
        job: job of the stage.

    Raises:
        VocabularyError: a tag is not a piece of its side's vocabulary (the message names its config key), or the
            vocabulary has no eos piece and the config no frame.
    """
    vocab = job.read(Vocabulary)
    vocabularies = built_vocabularies(job)
    framed = [side for side in SIDES if job.config.vocab.frame.of(side) is not None]
    ends = {side: _end(facts) for side, facts in vocab.sides().items() if side not in framed}

    def frame(split: str, corpus: Corpus, side: Side) -> Frame:
        tag = corpus.tags.get(side)
        text = job.config.vocab.frame.of(side)
        if text is not None:
            try:
                return Frame.parse(vocabularies[side].load(), text, tag)
            except VocabularyError as error:
                raise VocabularyError(f"vocab.frame.{side}: {error}") from error
        if tag is None:
            return Frame((), ends[side])
        if tag not in vocab.pieces[side]:
            raise VocabularyError(
                f"splits.{split}.{corpus.name}.tag.{side}: {tag!r} is not a piece of {vocab.sides()[side].file}; "
                "add it to vocab.reserved"
            )
        return Frame((vocab.pieces[side][tag],), ends[side])

    return {
        split: {
            corpus.name: {side: frame(split, corpus, side) for side in SIDES}
            for corpus in corpora
            if corpus.role != "vocab"
        }
        for split, corpora in job.config.splits.items()
    }


def _end(facts: VocabularyFacts) -> tuple[int]:
    if facts.eos_id is None:
        raise VocabularyError(f"{facts.file} has no eos piece, which must end every row; train it with one")
    return (facts.eos_id,)


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
