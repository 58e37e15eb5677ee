"""Alignment of sentences: from documents to pairs."""
