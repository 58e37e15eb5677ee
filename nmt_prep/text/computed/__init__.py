"""Values that programs and functions compute of texts, once for each distinct text, and where they are kept."""

from nmt_prep.text.computed.column import Column, Program, close_columns, sides_of

__all__ = ["Column", "Program", "close_columns", "sides_of"]
