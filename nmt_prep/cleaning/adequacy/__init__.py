"""A classifier of pairs in which a side lacks something, or has something that the other side lacks.

It learns from a corpus: from good pairs, and from pairs made of them by cutting, omitting, appending and exchanging
words (:mod:`~nmt_prep.cleaning.adequacy.defects`). It judges features of the links between the words of a pair
(`classifier`), which come from a model of word alignment (`align`).
"""
