"""The stage vocab: ``stage.py`` declares it; vocabularies are trained or exist, and are described and loaded."""

from nmt_prep.stages.vocab.stage import VocabOutput, Vocabulary, built_vocabularies
from nmt_prep.subwords.facts import BuiltVocabulary

__all__ = ["BuiltVocabulary", "VocabOutput", "Vocabulary", "built_vocabularies"]
