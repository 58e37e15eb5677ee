"""What to draw at random when a SentencePiece model spells a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from nmt_prep.errors import EncodeError

_MOST_BEST = 512


@dataclass(frozen=True, slots=True)
class Sampling:
    """Checked options of subword sampling.

    Attributes:
        dropout: BPE models: probability that a merge is left out.
        alpha: unigram models: probabilities are in proportion to ``exp(alpha * score)``.
        nbest: unigram models: among how many best ways, 0 for all.
        seed: where the draws begin.
    """

    dropout: float
    alpha: float
    nbest: int
    seed: int

    @classmethod
    def checked(
        cls, model_type: str, alpha: float | None, nbest: int | None, dropout: float | None, seed: int | None
    ) -> Self | None:
        """Sampling for a kind of model, None where no option asks for it.

        Raises:
            EncodeError: the options do not fit the model or each other.
        """
        if alpha is None and dropout is None:
            if nbest is not None or seed is not None:
                raise EncodeError("nbest and seed are for sampling; set alpha (unigram) or dropout (BPE) as well")
            return None
        if alpha is not None and model_type != "unigram":
            raise EncodeError(f"this is a {model_type} model: alpha is for unigram models, dropout for BPE models")
        if dropout is not None and model_type != "bpe":
            raise EncodeError(f"this is a {model_type} model: dropout is for BPE models, alpha for unigram models")
        if seed is None or not 0 <= seed < 1 << 64:
            raise EncodeError(f"seed {seed}: sampling needs a seed from 0 to 2**64 - 1, so that it can be repeated")
        if dropout is not None and (nbest is not None or not 0 <= dropout <= 1):
            raise EncodeError(
                f"dropout {dropout}, nbest {nbest}: dropout is from 0 to 1, and nbest is not for BPE models"
            )
        if alpha is not None and not 0 <= alpha < float("inf"):
            raise EncodeError(f"alpha {alpha}: it must be 0 or more, and finite")
        if nbest is not None and not 1 <= nbest <= _MOST_BEST:
            raise EncodeError(f"nbest {nbest}: it must be from 1 to {_MOST_BEST}; leave it out to draw among all ways")
        return cls(dropout or 0.0, alpha or 0.0, nbest or 0, seed)
