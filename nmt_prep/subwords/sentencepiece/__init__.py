"""The SentencePiece dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.base.errors import TrainingError
from nmt_prep.base.sides import SIDES
from nmt_prep.config.vocab import SentencePieceVocab
from nmt_prep.subwords.dialect import Dialect, TextCounts, Training, TrainingText
from nmt_prep.subwords.sentencepiece.native_training import library_reason
from nmt_prep.subwords.sentencepiece.options import training_arguments
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from nmt_prep.subwords.sentencepiece.training import check_trainer
from nmt_prep.subwords.tokenizer import IdLayout
from nmt_prep.subwords.tokenizer_json import is_of_sentencepiece

__all__ = ["SENTENCEPIECE", "SentencePieceTokenizer"]


class SentencePieceDialect(Dialect[SentencePieceVocab]):
    """Models of the ``sentencepiece`` library, trained from lines."""

    kind: ClassVar[str] = "sentencepiece"
    suffixes: ClassVar[tuple[str, ...]] = (".model", ".spm")
    id_layouts: ClassVar[tuple[IdLayout, ...]] = ("sentencepiece", "fairseq")
    has_spm: ClassVar[bool] = True

    def check(self, options: SentencePieceVocab) -> None:
        """Checks the options against the library's rules, and that the special pieces keep their roles."""
        check_trainer(_arguments(options))
        eos = str(options.options.get("eos_piece", "</s>"))
        if eos in options.reserved and None in map(options.frame.of, SIDES):
            raise TrainingError(f"reserved has {eos!r}, which then ends no row; remove it, or set frame for both sides")
        if options.id_layout == "fairseq":
            fixed = [name for name in options.options if name.endswith("_piece")]
            fixed += [name for name in ("<pad>", "<mask>") if name in options.own_pieces]
            if fixed:
                raise TrainingError(
                    f"{fixed[0]}: id_layout fairseq itself adds and names the special pieces; remove it"
                )

    def training_note(self, options: SentencePieceVocab) -> str | None:
        """Returns a note if the library trains the model."""
        if (reason := library_reason(_arguments(options))) is None:
            return None
        return (
            f"the sentencepiece library trains the vocabulary, more slowly and with more memory, since it is {reason}"
        )

    def train(self, text: TrainingText, options: SentencePieceVocab, run: Training) -> SentencePieceTokenizer:
        assert not isinstance(text, TextCounts)
        return SentencePieceTokenizer.trained(text, _arguments(options), run.progress, run.memory)

    def file_name(self, options: SentencePieceVocab, stem: str, side: str) -> str:
        return f"{stem}{side}.{'spm' if options.id_layout == 'marian' else 'model'}"

    def id_layout(self, options: SentencePieceVocab) -> IdLayout:
        """Returns the layout to load the file with. A file for Marian has Marian's IDs itself."""
        return "fairseq" if options.id_layout == "fairseq" else "sentencepiece"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Accepts ``.model`` and ``.spm`` files, protocol buffers with models, and a model's ``tokenizer.json``."""
        if path.suffix in self.suffixes or (head[:1] == b"\n" and head[2:3] == b"\n"):
            return True
        return head.lstrip()[:1] == b"{" and is_of_sentencepiece(path)

    def load(
        self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None
    ) -> SentencePieceTokenizer:
        return SentencePieceTokenizer.load(path, id_layout=id_layout or "sentencepiece")


def _arguments(options: SentencePieceVocab) -> dict[str, Any]:
    return training_arguments(
        options.size,
        model_type=options.model_type,
        character_coverage=options.character_coverage,
        byte_fallback=options.byte_fallback,
        reserved=options.reserved,
        normalization=options.normalization,
        special_ids=options.special_ids,
        options=options.options,
    )


SENTENCEPIECE = SentencePieceDialect()
