"""Reads parts of remote files, to inspect them without fetching them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nmt_prep.base.errors import DownloadError
from nmt_prep.corpora.sources.address import scheme_of, shown
from nmt_prep.corpora.sources.catalogues import resolve
from nmt_prep.corpora.sources.hub import hub_address, storage_url
from nmt_prep.corpora.sources.objects import object_file
from nmt_prep.corpora.sources.partial import check_size
from nmt_prep.corpora.sources.transfers import Answer, TransientError
from nmt_prep.corpora.sources.web import Client, first_words, looks_like_html

BEGINNING = 1 << 20  # Bytes that are read of a remote file at first

_BLOCK = 1 << 18
_BLOCKS_KEPT = 32
_MOST_REQUESTS = 256


@dataclass(frozen=True)
class RemoteFile:
    """A file on a server or in a cloud, with its beginning."""

    address: str  # its address without secrets
    size: int | None  # its bytes; None if the server does not say
    beginning: bytes  # the first `BEGINNING` bytes, or all of a smaller file
    # the file, for reading at any offset until its context ends; None if the server does not send parts
    file: io.RawIOBase | None

    @property
    def whole(self) -> bool:
        """True if the beginning is the whole file."""
        return self.size == len(self.beginning) or (self.size is None and len(self.beginning) < BEGINNING)

    def open(self) -> io.BufferedReader[Any]:
        """Opens the file for reading at any offset."""
        if self.whole:
            return io.BufferedReader(io.BytesIO(self.beginning))
        if self.file is None:
            raise DownloadError(f"{self.address}: the server does not send parts of the file")
        return io.BufferedReader(self.file, _BLOCK)


@contextmanager
def opened_remote(address: str, client: Client) -> Iterator[RemoteFile]:
    """Opens a remote file and reads its beginning; parts can be read until the context ends."""
    scheme, hub = scheme_of(address), hub_address(address)
    if scheme in {"http", "https"}:
        yield _on_server(address, client)
    elif scheme == "opus":
        yield _on_server(resolve(address, client), client)
    elif hub is not None:
        url, token = storage_url(hub, client.limits.stall_seconds)
        yield _on_server(url, client, token)
    else:
        with object_file(address) as (file, facts):
            yield _checked(RemoteFile(shown(address), facts["size"], file.read(BEGINNING), file), client)


def _on_server(url: str, client: Client, token: str | None = None) -> RemoteFile:
    def part(start: int, size: int) -> bytes:
        with client.watch(client.ask_for_part(url, start, size, token), url) as answer:
            if answer.start != start:
                raise DownloadError(f"{shown(url)}: the server does not send parts of the file")
            return _body(answer, url, size)

    with client.watch(client.ask_for_part(url, 0, BEGINNING, token), url) as answer:
        beginning, size = _body(answer, url, BEGINNING), answer.total
        file = _Parts(shown(url), size, part) if answer.part and size is not None else None
        return _checked(RemoteFile(shown(url), size, beginning, file), client)


def _body(answer: Answer, url: str, size: int) -> bytes:
    """Returns an answer's first bytes, fewer only at the file's end."""
    data = bytearray()
    for chunk in answer.chunks:
        data += chunk
        if len(data) >= size:
            break
    wanted = size if answer.total is None else min(size, answer.total - answer.start)
    if len(data) < wanted and (answer.total is not None or not answer.delimited):
        raise TransientError(f"{shown(url)}: the connection ended after {len(data)} of {wanted} bytes; try again later")
    return bytes(data[:size])


def _checked(file: RemoteFile, client: Client) -> RemoteFile:
    if file.size is not None:
        check_size(file.address, file.size, client.limits)
    if not file.beginning:
        raise DownloadError(f"{file.address}: the file there is empty; check the url, or use another mirror")
    if looks_like_html(file.beginning):
        raise DownloadError(f"{file.address}: an HTML page, not a corpus{first_words(file.beginning)}; check the url")
    return file


class _Parts(io.RawIOBase):
    """A remote file for reading at any offset, in blocks; the last few blocks are kept."""

    def __init__(self, address: str, size: int, parts: Callable[[int, int], bytes]) -> None:
        self._address = address
        self._size = size
        self._parts = parts
        self._position = 0
        self._requests = 0
        self._block = lru_cache(_BLOCKS_KEPT)(self._read_block)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._position >= self._size:
            return 0
        number, begin = divmod(self._position, _BLOCK)
        data = self._block(number)[begin : begin + len(buffer)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def _read_block(self, number: int) -> bytes:
        self._requests += 1
        if self._requests > _MOST_REQUESTS:
            raise DownloadError(f"{self._address}: more than {_MOST_REQUESTS} parts are needed")
        start = number * _BLOCK
        return self._parts(start, min(_BLOCK, self._size - start))
