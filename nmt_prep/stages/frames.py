"""The frame of each corpus's rows: its tag and, where rows end with one, the end of the sentence."""

from __future__ import annotations

from collections.abc import Mapping

from nmt_prep.config import SIDES, Config, Corpus, Side
from nmt_prep.errors import VocabularyError
from nmt_prep.stages.vocab import BuiltVocabulary
from nmt_prep.subwords.frame import Frame


def tag_settings(config: Config) -> dict[str, object]:
    """The settings of a stage that inserts tags: one for each tag, and none for corpora without."""
    return {
        f"splits.{split}.{corpus.name}.tag.{side}": tag
        for split, corpora in config.splits.items()
        for corpus in corpora
        for side, tag in corpus.tags.items()
    }


def corpus_frames(
    config: Config, vocabularies: Mapping[Side, BuiltVocabulary], *, eos: bool
) -> dict[str, dict[str, dict[Side, Frame]]]:
    """The frames by split, corpus and side, made before any row so that a missing piece is found first.

    Raises:
        VocabularyError: a tag is no piece of its side's vocabulary, or rows shall end with eos and there is no such
            piece; the message names the config key of a tag.
    """
    return {
        split: {
            corpus.name: {side: _frame(split, corpus, side, vocabularies[side], eos=eos) for side in SIDES}
            for corpus in corpora
            if corpus.role != "vocab"
        }
        for split, corpora in config.splits.items()
    }


def _frame(split: str, corpus: Corpus, side: Side, vocabulary: BuiltVocabulary, *, eos: bool) -> Frame:
    tokenizer, tag = vocabulary.load(), corpus.tags.get(side)
    try:
        return Frame.of(tokenizer, tag, eos=eos)
    except VocabularyError as error:
        where = str(vocabulary.path) if tag is None else f"splits.{split}.{corpus.name}.tag.{side}, {vocabulary.path}"
        raise VocabularyError(f"{where}: {error}") from error
