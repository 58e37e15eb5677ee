"""Word alignment: learns from pairs of lines which words translate each other; links words, and scores pairs.

:mod:`nmt_prep.align.model` describes the model and how it is trained; docs/alignment.md the method.
"""
