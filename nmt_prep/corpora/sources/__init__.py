"""Corpus sources: paths, servers, cloud storage, and catalog IDs.

The entry point is :mod:`~nmt_prep.corpora.sources.downloads`: it takes a file from the run or the cache, else calls
`fetch`. Import modules one by one, so that code that only shows a URL does not load the network
libraries.
"""
