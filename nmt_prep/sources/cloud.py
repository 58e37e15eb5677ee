"""Objects in cloud storage, through fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nmt_prep.errors import ConfigError, DownloadError, NmtPrepError
from nmt_prep.runtime.extras import needed_extra
from nmt_prep.sources.address import shown
from nmt_prep.sources.limits import TransientError
from nmt_prep.sources.partial import Answer

_CHUNK = 1 << 20


@contextmanager
def opened_object(url: str) -> Iterator[Answer]:
    """Opens an object at its start, with the credentials that its library finds.

    Raises:
        ConfigError: the extra is not installed.
        DownloadError: it cannot be read.
    """
    fsspec = needed_extra("fsspec", "cloud", shown(url))
    try:
        system, path = fsspec.core.url_to_fs(url)
        facts = system.info(path)
        etag = facts.get("ETag") or facts.get("etag")
        with system.open(path, "rb") as file:
            chunks = _chunks(file, url)
            yield Answer(url, 0, facts["size"], delimited=True, etag=etag, modified=None, chunks=chunks)
    except ImportError as error:
        raise ConfigError(f"{shown(url)} needs {error.name}: pip install 'nmt_prep[cloud]'") from error
    except NmtPrepError:
        raise
    except FileNotFoundError as error:
        raise DownloadError(f"{shown(url)}: there is no such object; check the url in the config") from error
    except PermissionError as error:
        raise DownloadError(
            f"{shown(url)}: access denied; check the credentials of this machine for its storage"
        ) from error
    except Exception as error:  # every storage library has its own errors
        raise TransientError(f"{shown(url)}: {type(error).__name__}; check the network and the credentials") from error


def _chunks(file: Any, url: str) -> Iterator[bytes]:
    try:
        while chunk := file.read(_CHUNK):
            yield chunk
    except Exception as error:  # every storage library has its own errors
        raise TransientError(f"{shown(url)}: reading broke off ({type(error).__name__}); try again later") from error
