"""The stage vocab: ``vocab_stage.py`` declares it and checks given vocabularies, ``vocab_training.py`` trains them."""

from nmt_prep.stages.vocab.vocab_stage import (
    VocabOutput,
    Vocabulary,
    built_vocabularies,
    corpus_frames,
    steps_dir,
    tag_settings,
)
from nmt_prep.subwords.facts import BuiltVocabulary

__all__ = [
    "BuiltVocabulary",
    "VocabOutput",
    "Vocabulary",
    "built_vocabularies",
    "corpus_frames",
    "steps_dir",
    "tag_settings",
]
