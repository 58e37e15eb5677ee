"""The frames of the rows of each corpus: its tag and the end-of-sentence piece, or what ``vocab.frame`` says."""

from __future__ import annotations

from nmt_prep.config import Config, Corpus
from nmt_prep.errors import VocabularyError
from nmt_prep.pipeline.stage import Job
from nmt_prep.sides import SIDES, Side
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies
from nmt_prep.stages.vocab_facts import VocabularyFacts
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
