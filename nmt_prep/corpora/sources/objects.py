"""Objects in cloud storage, or in any other storage that fsspec opens. The storage's library finds the credentials.

:class:`ObjectStore` has the objects below a URL. Its requests are idempotent, and are retried after transient errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from nmt_prep.base.artefacts import writing
from nmt_prep.base.digests import HashedFile
from nmt_prep.base.errors import ConfigError, DownloadError, NmtPrepError, OutputError
from nmt_prep.base.progress import StoppedError
from nmt_prep.base.runtime import installing, missing_module, needed_extra
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.hub import EXTRA as HUB_EXTRA
from nmt_prep.corpora.sources.hub import endpoint, token
from nmt_prep.corpora.sources.transfers import Answer, Clock, TransientError, repeated

_CHUNK = 1 << 20
_EXTRA = "cloud"
_IN_EXTRAS = ("fsspec", "gcsfs", "huggingface_hub", "s3fs")
_BLOCK = 16 << 20  # Bytes per upload part; S3 takes up to 10,000 parts with at least 5 MiB each

_LOCAL = ("file", "local")

_T = TypeVar("_T")


@contextmanager
def opened_object(url: str) -> Iterator[Answer]:
    """Opens an object at its start."""
    with object_file(url) as (file, facts):
        etag, chunks = facts.get("ETag") or facts.get("etag"), iter(lambda: file.read(_CHUNK), b"")
        yield Answer(url, 0, facts["size"], delimited=True, etag=etag, modified=None, chunks=chunks)


@contextmanager
def object_file(url: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Opens an object as a file, with the facts that its storage gives, such as ``size``."""
    try:
        with object_errors(shown(url), _EXTRA, DownloadError):
            fsspec = needed_extra("fsspec", _EXTRA, shown(url))
            system, path = fsspec.core.url_to_fs(url)
            facts = system.info(path)
            with system.open(path, "rb") as file:
                yield file, facts
    except FileNotFoundError as error:
        raise DownloadError(f"{shown(url)}: there is no such object; check the url in the config") from error


@contextmanager
def object_errors(where: str, extra: str, kind: type[NmtPrepError]) -> Iterator[None]:
    """Converts errors of the storage's library to errors with advice; FileNotFoundError passes."""
    try:
        yield
    except (NmtPrepError, StoppedError, FileNotFoundError):
        raise
    except ImportError as error:
        raise _missing(where, extra, error) from error
    except PermissionError as error:
        raise kind(
            f"{where}: access denied ({_in_words(error)}); check the credentials of this machine for the storage, and "
            "their permissions"
        ) from error
    except Exception as error:
        if "Credential" in type(error).__name__:  # class names of botocore and google-auth
            raise kind(
                f"{where}: no credentials were found; set them up for this machine as for the storage's own tools (for "
                "S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE)"
            ) from error
        raise TransientError(
            f"{where}: the request failed ({_in_words(error)}); check the network and the storage, and run again"
        ) from error


def _missing(where: str, extra: str, error: ImportError) -> ConfigError:
    name = missing_module(error)
    if name is None:
        return ConfigError(f"{where} needs a library that cannot be loaded ({error}): {installing(extra)}")
    how = installing(extra) if name in _IN_EXTRAS else f"install its package ({error})"
    return ConfigError(f"{where} needs {name}: {how}")


def _in_words(error: Exception) -> str:
    """Returns an error on one line; only the type for errors whose messages may contain signed URLs."""
    text = " ".join(str(error.strerror or error).split()) if isinstance(error, OSError) else ""
    return f"{type(error).__name__}{': ' * bool(text)}{text[:200].partition('?')[0]}"


RETRIES = 5  # further attempts of a failed request


class ObjectStore:
    """The objects below a URL; safe to use from threads.

    Args:
        options: options of fsspec's file system.
        error: type of the error to raise when all retries failed.
    """

    def __init__(
        self,
        url: str,
        options: Mapping[str, Any],
        error: type[NmtPrepError],
        clock: Clock | None = None,
    ) -> None:
        self.url = shown(url)
        self.retries = RETRIES
        self._error = error
        self._clock = clock or Clock()
        scheme = url.partition("://")[0]
        self._extra = HUB_EXTRA if scheme == "hf" else _EXTRA
        fsspec = needed_extra("fsspec", self._extra, self.url)
        fixed: dict[str, Any] = {"auto_mkdir": True} if scheme in _LOCAL else {}
        if scheme == "hf":  # its library reads the environment only once
            fixed = {"endpoint": endpoint(), "token": token()}
        try:
            self._system, root = fsspec.core.url_to_fs(url, **{**fixed, **options})
        except ImportError as missing:
            raise _missing(self.url, self._extra, missing) from missing
        except Exception as fault:
            raise ConfigError(
                f"{self.url} cannot be opened ({type(fault).__name__}); correct the url or its options"
            ) from fault
        self._root = str(root).rstrip("/")
        self._is_local = scheme in _LOCAL

    def sizes(self) -> dict[str, int]:
        """Returns the names and sizes in bytes of all objects."""

        def find() -> dict[str, int]:
            self._system.invalidate_cache()
            objects = self._system.find(self._root, detail=True)
            return {str(path)[len(self._root) + 1 :]: int(facts["size"]) for path, facts in objects.items()}

        return self._repeated("", find) or {}

    def links(self, names: Iterable[str]) -> list[str]:
        """Returns the files and directories of these names that are symbolic links, sorted; only local ones can be."""
        if not self._is_local:
            return []
        paths = {str(path) for name in names for path in (PurePosixPath(name), *PurePosixPath(name).parents[:-1])}
        return sorted(path for path in paths if Path(self._path(path)).is_symlink())

    def read(self, name: str) -> bytes | None:
        """Reads a small object, or returns None if it does not exist."""

        def read() -> bytes:
            self._system.invalidate_cache()
            return bytes(self._system.cat_file(self._path(name)))

        return self._repeated(name, read)

    def write(self, name: str, content: bytes) -> None:
        """Writes a small object."""
        self._found(name, self._repeated(name, lambda: (self._system.pipe_file(self._path(name), content),)))

    def remove(self, name: str) -> None:
        """Removes an object, if it exists."""
        self._repeated(name, lambda: self._system.rm_file(self._path(name)))

    def upload(self, path: Path, name: str, tick: Callable[[int], None]) -> str:
        """Copies a file to an object, and returns the SHA-256 of the bytes that were sent. Ticks are bytes."""

        def send() -> str:
            remote = self._system.open(self._path(name), "wb", block_size=_BLOCK)
            hashed = HashedFile(remote)
            try:
                for chunk in _file_chunks(path):
                    hashed.write(chunk)
                    tick(len(chunk))
            except BaseException:
                _discard(remote)
                raise
            remote.close()
            return hashed.sha256

        return self._found(name, self._repeated(name, send))

    def download(self, name: str, path: Path, tick: Callable[[int], None]) -> str:
        """Copies an object to a file, and returns the SHA-256 of the received bytes. Ticks are bytes."""

        def fetch() -> str:
            with writing(path), path.open("wb") as file:
                hashed = HashedFile(file)
                for chunk in self._chunks(name):
                    hashed.write(chunk)
                    tick(len(chunk))
            return hashed.sha256

        return self._found(name, self._repeated(name, fetch))

    def _chunks(self, name: str) -> Iterator[bytes]:
        with self._worded(name), self._system.open(self._path(name), "rb", block_size=_BLOCK) as remote:
            while chunk := remote.read(_CHUNK):
                yield chunk

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _found(self, name: str, result: _T | None) -> _T:
        if result is None:
            raise self._error(
                f"{self.url}/{name}: there is no such object or bucket; create the bucket, or correct the url"
            )
        return result

    def _repeated(self, name: str, request: Callable[[], _T]) -> _T | None:
        """Runs a request with retries; returns its result, or None if the object does not exist."""

        def worded() -> _T:
            with self._worded(name):
                return request()

        try:
            return repeated(worded, self.retries, self._clock, self._error)
        except FileNotFoundError:
            return None

    def _worded(self, name: str) -> AbstractContextManager[None]:
        return object_errors(f"{self.url}/{name}".rstrip("/"), self._extra, self._error)


def _file_chunks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise OutputError(f"cannot read {path}: {error.strerror or error}; run again to recreate it") from error


def _discard(remote: Any) -> None:
    """Aborts an upload, if the storage supports that; closing it would store a truncated object."""
    with suppress(Exception):
        remote.discard()
        remote.closed = True
    with suppress(Exception):
        if not remote.closed:
            remote.close()
