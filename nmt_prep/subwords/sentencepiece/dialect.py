"""The SentencePiece dialect for the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.columns import Lines
from nmt_prep.config.vocab import SentencePieceVocab
from nmt_prep.errors import TrainingError
from nmt_prep.subwords.counts import TextCounts
from nmt_prep.subwords.dialect import Dialect, Speed
from nmt_prep.subwords.sentencepiece.native_training import library_reason
from nmt_prep.subwords.sentencepiece.options import check_options, check_pieces, least_size
from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer
from nmt_prep.subwords.sentencepiece.training import check_trainer, library_settings
from nmt_prep.subwords.tokenizer import IdLayout, ProgressCallback
from nmt_prep.subwords.tokenizer_json import is_of_sentencepiece


class SentencePieceDialect(Dialect[SentencePieceVocab]):
    """Models of the ``sentencepiece`` library, trained from lines."""

    kind: ClassVar[str] = "sentencepiece"
    options = SentencePieceVocab
    speed: ClassVar[Speed] = Speed(encoding=48e6, sample=9.5e6, seconds=1.5, memory=50e6)

    def check(self, options: SentencePieceVocab) -> None:
        """Checks the options against the rules of the library.

        Raises:
            MissingPackageError: the library is needed for the training, and not installed.
            TrainingError: an option is invalid, or the size is too small for the required pieces.
        """
        check_options(options.options, options.model_type)
        check_pieces(options.special_ids, options.reserved, options.options)
        least = least_size(options.special_ids, options.reserved, options.byte_fallback, options.options)
        if options.size < least:
            raise TrainingError(
                f"size is {options.size}: it must be {least} or more, to have room for special pieces, reserved, "
                "byte_fallback, control_symbols and a character"
            )
        check_trainer(_settings(options))

    def training_note(self, options: SentencePieceVocab) -> str | None:
        """Returns a note if the library trains the model."""
        if (reason := library_reason(_settings(options))) is None:
            return None
        return (
            f"the sentencepiece library trains the vocabulary, more slowly and with more memory, since it is {reason}"
        )

    def train(
        self,
        text: TextCounts | Lines,
        options: SentencePieceVocab,
        *,
        progress: ProgressCallback | None,
        threads: int,
        memory: int,
    ) -> SentencePieceTokenizer:
        assert not isinstance(text, TextCounts)
        return SentencePieceTokenizer.train(
            text,
            options.size,
            model_type=options.model_type,
            character_coverage=options.character_coverage,
            byte_fallback=options.byte_fallback,
            user_defined_symbols=options.reserved,
            normalization_rule_name=options.normalization,
            progress=progress,
            memory=memory,
            **{**{f"{name}_id": number for name, number in options.special_ids.items()}, **options.options},
        )

    def file_name(self, stem: str, side: str) -> str:
        return f"{stem}{side}.model"

    def name_for(self, options: SentencePieceVocab, stem: str, side: str) -> str:
        return f"{stem}{side}.spm" if options.id_layout == "marian" else self.file_name(stem, side)

    def id_layout(self, options: SentencePieceVocab) -> IdLayout:
        """Returns the layout to load the file with. A file for Marian is trained with the ids that it has there."""
        return "fairseq" if options.id_layout == "fairseq" else "sentencepiece"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Accepts files with the suffix ``.model`` or ``.spm``, and those that start like a model's protocol buffer.

        It also accepts a ``tokenizer.json`` made from such a model.
        """
        if path.suffix in (".model", ".spm") or (head[:1] == b"\n" and head[2:3] == b"\n"):
            return True
        return head.lstrip()[:1] == b"{" and is_of_sentencepiece(path)

    def load(self, path: Path, *, id_layout: IdLayout | None = None) -> SentencePieceTokenizer:
        return SentencePieceTokenizer.load(path, id_layout=id_layout or "sentencepiece")

    def variant(self, options: SentencePieceVocab) -> str:
        return f"{self.kind}-{options.model_type}"


def _settings(options: SentencePieceVocab) -> dict[str, Any]:
    return library_settings(
        options.size,
        options.model_type,
        options.character_coverage,
        options.byte_fallback,
        options.reserved,
        options.normalization,
        options.special_ids,
        options.options,
    )


SENTENCEPIECE = SentencePieceDialect()
