"""The stage download: ``stage.py`` declares it, ``needed.py`` lists files, ``hub.py`` chooses those of repositories."""

from nmt_prep.stages.download.needed import (
    SACREBLEU,
    Needed,
    addresses_of,
    fetched_corpora,
    needed_by,
    needed_files,
    needed_vocabularies,
)
from nmt_prep.stages.download.stage import (
    Download,
    Downloaded,
    DownloadOutput,
    HubSource,
    downloaded_file,
    downloaded_files,
    file_of_repository,
    hub_sources,
)

__all__ = [
    "SACREBLEU",
    "Download",
    "DownloadOutput",
    "Downloaded",
    "HubSource",
    "Needed",
    "addresses_of",
    "downloaded_file",
    "downloaded_files",
    "fetched_corpora",
    "file_of_repository",
    "hub_sources",
    "needed_by",
    "needed_files",
    "needed_vocabularies",
]
