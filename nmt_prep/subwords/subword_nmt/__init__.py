"""The dialect of subword-nmt."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from nmt_prep.config.vocab import SubwordNMTVocab
from nmt_prep.subwords.dialect import Dialect, Training, TrainingText
from nmt_prep.subwords.subword_nmt.codes import looks_like_codes, looks_like_list, looks_like_words
from nmt_prep.subwords.subword_nmt.tokenizer import MARK, SubwordNMTTokenizer
from nmt_prep.subwords.subword_nmt.training import WordCounts
from nmt_prep.subwords.tokenizer import IdLayout, Tokenizer

__all__ = ["SUBWORD_NMT", "SubwordNMTTokenizer"]

_OF_BYTE_BPE = ("vocab.bpe", "merges.txt")


class SubwordNMTDialect(Dialect[SubwordNMTVocab]):
    """subword-nmt's dialect; a run stores codes, IDs and options in one file."""

    kind: ClassVar[str] = "subword_nmt"
    suffixes: ClassVar[tuple[str, ...]] = (".codes", ".bpe")

    def new_counts(self, options: SubwordNMTVocab) -> WordCounts:
        return WordCounts()

    def train(self, text: TrainingText, options: SubwordNMTVocab, run: Training) -> SubwordNMTTokenizer:
        assert isinstance(text, WordCounts)
        assert isinstance(run.other, WordCounts | None)
        return SubwordNMTTokenizer.train(
            text,
            other=run.other,
            shared=options.shared,
            merges=options.merges,
            total_symbols=options.total_symbols,
            min_frequency=options.min_frequency,
            threshold=options.threshold,
            reserved=options.reserved,
            separator=options.separator,
            glossaries=options.glossaries,
            progress=run.progress,
            threads=run.threads,
            memory=run.memory,
        )

    def file_name(self, options: SubwordNMTVocab, stem: str, side: str) -> str:
        return f"{stem}{side}.subword_nmt.json"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Accepts subword-nmt and fastBPE codes, lists of words after special words, and this dialect's files."""
        if head.replace(b"\n", b"").startswith(MARK):
            return True
        return path.name not in _OF_BYTE_BPE and (looks_like_codes(head) or looks_like_words(head))

    def load(self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None) -> SubwordNMTTokenizer:
        with path.open("rb") as file:
            head = file.read(64)
        words = looks_like_words(head) or looks_like_list(head)
        return SubwordNMTTokenizer.of_words(path) if words else SubwordNMTTokenizer.load(path)

    def numbered(self, tokenizer: Tokenizer, path: Path, numbering: Path, threshold: int | None) -> SubwordNMTTokenizer:
        return SubwordNMTTokenizer.load(path, vocabulary=numbering, threshold=threshold)


SUBWORD_NMT = SubwordNMTDialect()
