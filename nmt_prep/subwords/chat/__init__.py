"""Tokenizer chat templates: rendered as transformers does, and divided at the message texts."""
