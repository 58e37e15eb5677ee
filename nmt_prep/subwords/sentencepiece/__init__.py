"""The SentencePiece dialect."""

from nmt_prep.subwords.sentencepiece.tokenizer import SentencePieceTokenizer

__all__ = ["SentencePieceTokenizer"]
