"""The `vocab` stage, which ``vocab_stage.py`` declares.

``vocab_training.py`` trains vocabularies, ``vocab_existing.py`` takes existing ones, ``vocab_resizing.py`` prunes them.
"""

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
