"""The stage sentences: stage.py declares it, reading.py and tasks.py have its rounds, observed.py its observations."""

from nmt_prep.stages.sentences.sentences_stage import Sentences, documents_stages

__all__ = ["Sentences", "documents_stages"]
