"""A classifier of pairs in which a side lacks something, or has something that the other side lacks.

It learns from a corpus: from good pairs, and from pairs made of them by cutting, omitting, appending and exchanging
words (:mod:`~nmt_prep.cleaning.adequacy.defects`). It scores features of the links between a pair's words
(`classifier`), which come from a word alignment model (`align`).
"""
