"""Word alignment: learns word translations from line pairs, links the words of pairs, and scores pairs.

docs/alignment.md describes the method.
"""
