"""Deduplication: keys of pairs, and which pairs with the same key stay."""
