"""Where corpora come from: paths, servers, cloud storage, and ids of catalogues.

:mod:`~nmt_prep.sources.supply` is where to start: it takes a file from what is at hand, else has
:mod:`~nmt_prep.sources.fetch` bring it. Modules are imported one by one, so that whoever only wants to show a URL does
not load all that it takes to fetch one.
"""
