"""Chat templates of tokenizers: rendered as transformers does, and divided at the texts of messages."""
