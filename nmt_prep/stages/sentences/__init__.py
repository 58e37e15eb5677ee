"""The `sentences` stage, which ``sentences_stage.py`` declares. The other modules have its rounds and observations."""

from nmt_prep.stages.sentences.sentences_stage import Sentences, documents_stages

__all__ = ["Sentences", "documents_stages"]
