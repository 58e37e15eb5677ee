"""The subword dialect of Tensor2Tensor."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from nmt_prep.config.vocab import T2TVocab
from nmt_prep.subwords.dialect import Dialect, Training, TrainingText
from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer
from nmt_prep.subwords.t2t.training import TokenCounts
from nmt_prep.subwords.tokenizer import IdLayout

__all__ = ["T2T", "T2TTokenizer"]


class T2TDialect(Dialect[T2TVocab]):
    """Tensor2Tensor's dialect, with its file names: ``vocab.<problem>.<size>.subwords``."""

    kind: ClassVar[str] = "t2t"

    def new_counts(self, options: T2TVocab) -> TokenCounts:
        return TokenCounts()

    def train(self, text: TrainingText, options: T2TVocab, run: Training) -> T2TTokenizer:
        assert isinstance(text, TokenCounts)
        return T2TTokenizer.train(
            text,
            options.size,
            max_subtoken_length=options.max_subtoken_length,
            reserved=options.reserved,
            progress=run.progress,
            threads=run.threads,
            memory=run.memory,
        )

    def file_name(self, options: T2TVocab, stem: str, side: str) -> str:
        return f"{stem}.subwords{side}"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Accepts any file, because such a vocabulary is plain text without a signature."""
        return True

    def load(self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None) -> T2TTokenizer:
        return T2TTokenizer.load(path)


T2T = T2TDialect()
