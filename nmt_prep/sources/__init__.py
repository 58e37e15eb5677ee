"""Where corpora come from: paths, servers, cloud storage, and ids of catalogues."""

from nmt_prep.sources.address import file_name, local_path, scheme_of, shown
from nmt_prep.sources.cache import DownloadCache
from nmt_prep.sources.fetch import Expected, Fetched, Fetcher
from nmt_prep.sources.limits import Clock, Limits

__all__ = [
    "Clock",
    "DownloadCache",
    "Expected",
    "Fetched",
    "Fetcher",
    "Limits",
    "file_name",
    "local_path",
    "scheme_of",
    "shown",
]
