"""The stage vocab: ``stage.py`` declares it; vocabularies are trained or exist, and are described and loaded."""

from nmt_prep.stages.vocab.facts import BuiltVocabulary
from nmt_prep.stages.vocab.stage import VocabOutput, Vocabulary, built_vocabularies

__all__ = ["BuiltVocabulary", "VocabOutput", "Vocabulary", "built_vocabularies"]
