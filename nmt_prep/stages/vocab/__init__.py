"""The stage vocab: ``stage.py`` declares it, ``training.py`` trains vocabularies, ``existing.py`` checks given ones."""

from nmt_prep.stages.vocab.vocab_stage import VocabOutput, Vocabulary, built_vocabularies, corpus_frames, tag_settings
from nmt_prep.subwords.facts import BuiltVocabulary

__all__ = ["BuiltVocabulary", "VocabOutput", "Vocabulary", "built_vocabularies", "corpus_frames", "tag_settings"]
