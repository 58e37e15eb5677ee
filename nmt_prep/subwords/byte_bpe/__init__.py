"""GPT-2's subword dialect: byte-level BPE."""

from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer

__all__ = ["ByteBPETokenizer"]
