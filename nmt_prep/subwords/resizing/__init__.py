"""Takes pieces out of existing vocabularies, or adds pieces, without changing what the other pieces do.

:mod:`editing` reads and writes the files, :mod:`pruning` decides what stays, :mod:`extension` learns new pieces.
"""

from nmt_prep.subwords.resizing.editing import EditableVocabulary, NewPiece, editable
from nmt_prep.subwords.resizing.extension import Learning, piece_rate, word_counts
from nmt_prep.subwords.resizing.pruning import kept_ids

__all__ = ["EditableVocabulary", "Learning", "NewPiece", "editable", "kept_ids", "piece_rate", "word_counts"]
