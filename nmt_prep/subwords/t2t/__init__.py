"""The subword dialect of Tensor2Tensor."""

from nmt_prep.subwords.t2t.tokenizer import T2TTokenizer

__all__ = ["T2TTokenizer"]
