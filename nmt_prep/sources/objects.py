"""Objects in cloud storage, or in any other storage of fsspec, with the credentials that its library finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nmt_prep.errors import ConfigError, DownloadError, NmtPrepError
from nmt_prep.progress import StoppedError
from nmt_prep.runtime import installing, needed_extra
from nmt_prep.sources.address import shown
from nmt_prep.sources.answer import Answer
from nmt_prep.sources.retries import TransientError

_CHUNK = 1 << 20
_EXTRA = "cloud"


@contextmanager
def opened_object(url: str) -> Iterator[Answer]:
    """Opens an object at its start.

    Raises:
        ConfigError: the extra is not installed.
        DownloadError: it cannot be read; a TransientError if a retry may help.
    """
    with object_file(url) as (file, facts):
        etag, chunks = facts.get("ETag") or facts.get("etag"), iter(lambda: file.read(_CHUNK), b"")
        yield Answer(url, 0, facts["size"], delimited=True, etag=etag, modified=None, chunks=_worded(chunks, url))


@contextmanager
def object_file(url: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Opens an object as a file, with what its storage says of it, such as ``size``.

    Raises:
        ConfigError: the extra is not installed.
        DownloadError: it cannot be read; a TransientError if a retry may help.
    """
    try:
        with object_errors(shown(url), _EXTRA, DownloadError):
            fsspec = needed_extra("fsspec", _EXTRA, shown(url))
            system, path = fsspec.core.url_to_fs(url)
            facts = system.info(path)
            with system.open(path, "rb") as file:
                yield file, facts
    except FileNotFoundError as error:
        raise DownloadError(f"{shown(url)}: there is no such object; check the url in the config") from error


def _worded(chunks: Iterator[bytes], url: str) -> Iterator[bytes]:
    with object_errors(shown(url), _EXTRA, DownloadError):
        yield from chunks


@contextmanager
def object_errors(where: str, extra: str, kind: type[NmtPrepError]) -> Iterator[None]:
    """Converts errors of the storage's library to errors with advice, except that an object does not exist.

    Args:
        where: the address without secrets.
        extra: the extra that has the library.
        kind: type of the errors after which a retry will not help.

    Raises:
        ConfigError: a library is not installed.
        FileNotFoundError: there is no such object.
        TransientError: a retry may help.
    """
    try:
        yield
    except (NmtPrepError, StoppedError, FileNotFoundError):
        raise
    except ImportError as error:
        raise ConfigError(f"{where} needs {error.name}: {installing(extra)}") from error
    except PermissionError as error:
        raise kind(
            f"{where}: access denied ({_in_words(error)}); check the credentials of this machine for the storage, and "
            "their permissions"
        ) from error
    except Exception as error:
        if "Credential" in type(error).__name__:  # as botocore and google-auth name theirs
            raise kind(
                f"{where}: no credentials were found; set them up for this machine as for the storage's own tools (for "
                "S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE)"
            ) from error
        raise TransientError(
            f"{where}: the request failed ({_in_words(error)}); check the network and the storage, and run again"
        ) from error


def _in_words(error: Exception) -> str:
    """Returns an error on one line; only the type for errors whose messages may contain signed URLs."""
    text = " ".join(str(error.strerror or error).split()) if isinstance(error, OSError) else ""
    return f"{type(error).__name__}{': ' * bool(text)}{text[:200].partition('?')[0]}"
