"""Subword dialects behind one interface."""
