"""The stage sentences: stage.py declares it, tasks.py does the work of its rounds, observed.py notes its results."""

from nmt_prep.stages.sentences.stage import Sentences, documents_stages

__all__ = ["Sentences", "documents_stages"]
