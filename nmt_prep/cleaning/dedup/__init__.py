"""Deduplication: computes keys of pairs, and chooses the pairs to keep among those with the same key."""
