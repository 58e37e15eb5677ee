"""Sources of corpora: paths, servers, cloud storage, and ids of catalogues.

The entry point is :mod:`~nmt_prep.sources.supply`: it takes a file from the run, the cache or a local path, else calls
:mod:`~nmt_prep.sources.fetch`. Import modules one by one, so that code that only shows a URL does not load the network
libraries.
"""
