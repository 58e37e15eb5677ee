"""Commands that train on the outputs of a run: one module per trainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from nmt_prep.recipes.eole import eole
from nmt_prep.recipes.fairseq import fairseq
from nmt_prep.recipes.huggingface import huggingface
from nmt_prep.recipes.marian import marian
from nmt_prep.recipes.pytorch import pytorch

RECIPES: Mapping[str, Callable[[Path], str]] = {
    "marian": marian,
    "eole": eole,
    "fairseq": fairseq,
    "huggingface": huggingface,
    "pytorch": pytorch,
}
"""For each trainer, a function from the directory of a run to shell commands."""

__all__ = ["RECIPES"]
