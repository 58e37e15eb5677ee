"""Word alignment: learns translations of words from pairs of lines, links the words of pairs, and scores pairs.

docs/alignment.md describes the method.
"""
