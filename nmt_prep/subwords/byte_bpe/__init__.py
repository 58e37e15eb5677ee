"""GPT-2's subword dialect: byte-level BPE."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.sides import SIDES
from nmt_prep.config.vocab import ByteBPEVocab
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer
from nmt_prep.subwords.byte_bpe.training import PretokenCounts, check_specials
from nmt_prep.subwords.dialect import Dialect, Training, TrainingText
from nmt_prep.subwords.tokenizer import IdLayout
from nmt_prep.subwords.tokenizer_json import USUAL_NAMES, is_of_sentencepiece, usual_name

__all__ = ["BYTE_BPE", "ByteBPETokenizer"]

_RANK = re.compile(rb"[A-Za-z0-9+/]+=* [0-9]+\n")
_OPENAI_NAMES = ("encoder.json", "vocab.json", "vocab.bpe", "merges.txt")


class ByteBPEDialect(Dialect[ByteBPEVocab]):
    """GPT-2's dialect; vocabularies are saved as ``tokenizer.json``."""

    kind: ClassVar[str] = "byte_bpe"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".tiktoken")

    def check(self, options: ByteBPEVocab) -> None:
        """Checks that ``tokenizers``, which also reads the vocabulary file, takes the pattern, and the names of tokens.

        The file does not say which token is ``eos``, so its usual names decide.
        """
        try:
            self.new_counts(options)
        except VocabularyError as error:
            raise VocabularyError(f"pattern {options.pattern!r}: {error}") from error
        specials = (*options.special_pieces, *options.reserved)
        check_specials(specials)
        for role, name in (("pad", options.pad), ("eos", options.eos), ("bos", options.bos)):
            found = usual_name(role, specials)
            unknown = found is None and role == "eos" and None in map(options.frame.of, SIDES)
            if name is not None and (unknown or found not in (None, name)):
                what = "no token" if found is None else repr(found)
                raise VocabularyError(
                    f"{role} is {name!r}, but {what} will be taken for it when the file is read; name it "
                    f"{' or '.join(USUAL_NAMES[role])}, and reserve none of the names that come before it"
                )

    def new_counts(self, options: ByteBPEVocab) -> PretokenCounts:
        return PretokenCounts(options.pattern or GPT2_PATTERN)

    def train(self, text: TrainingText, options: ByteBPEVocab, run: Training) -> ByteBPETokenizer:
        assert isinstance(text, PretokenCounts)
        return ByteBPETokenizer.train(
            text,
            options.size,
            min_frequency=options.min_frequency,
            pad=options.pad,
            eos=options.eos,
            bos=options.bos,
            reserved=options.reserved,
            progress=run.progress,
            threads=run.threads,
            memory=run.memory,
        )

    def file_name(self, options: ByteBPEVocab, stem: str, side: str) -> str:
        return f"{stem}{side}.tokenizer.json"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Accepts directories, files with OpenAI's file names, JSON objects, and tiktoken's ranks under any name.

        Does not accept a ``tokenizer.json`` made from a SentencePiece model.
        """
        if path.is_dir() or path.name in _OPENAI_NAMES or path.suffix == ".tiktoken" or _RANK.match(head):
            return True
        is_json = (path.suffix == ".json" and head[:1] != b"\n") or _opens_json(head)
        return is_json and not is_of_sentencepiece(path)

    def load(self, path: Path, *, id_layout: IdLayout | None = None, merges: Path | None = None) -> ByteBPETokenizer:
        return ByteBPETokenizer.load(path, merges=merges)


def _opens_json(head: bytes) -> bool:
    """Returns True if text starts with ``{"``, as a JSON object does; a vocabulary piece may start with ``{`` alone."""
    text = head.lstrip()
    return text[:1] == b"{" and text[1:].lstrip()[:1] == b'"'


BYTE_BPE = ByteBPEDialect()
