"""Decompression of gzip, bzip2, xz and zstd, recognised by their first bytes; concatenated streams are supported."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
from collections.abc import Callable
from typing import IO, cast

import pyarrow as pa

from nmt_prep.corpora.archives.entry import Peekable, Readable

_CHUNK = 1 << 18
_XZ_MEMORY = 256 << 20  # four times what files of xz -9 need

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")  # or a frame to skip, with which pzstd begins files
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)")  # a first block, or the end of an empty stream


def decompressed(stream: Peekable) -> Readable:
    """Returns the decompressed stream; the stream itself if it does not begin with the magic bytes of a compression.

    No UTF-8 text begins with the magic bytes of gzip, xz or zstd. A text that begins with the ten bytes of bzip2, or
    the four of a frame of zstd to skip, is possible, but not to be expected.
    """
    head = stream.peek(10)[:10]
    if head.startswith(_GZIP):
        return gzip.open(cast("IO[bytes]", stream), "rb")
    if head.startswith(_XZ):
        return io.BufferedReader(_Streams(stream, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)), _CHUNK)
    if _BZIP2.match(head):
        return io.BufferedReader(_Streams(stream, bz2.BZ2Decompressor), _CHUNK)
    if _ZSTD.match(head):
        return cast("Readable", pa.CompressedInputStream(pa.PythonFile(_Unclosed(stream), mode="r"), "zstd"))
    return stream


class _Streams(io.RawIOBase):
    """Concatenated compressed streams. Zero bytes may follow each stream; other bytes are damage."""

    def __init__(self, stream: Readable, make: Callable[[], lzma.LZMADecompressor | bz2.BZ2Decompressor]) -> None:
        self._stream = stream
        self._make = make
        self._decompressor = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._decompressor.eof:
                rest = self._decompressor.unused_data
                while not rest.strip(b"\0"):
                    rest = self._stream.read(_CHUNK)
                    if not rest:
                        return 0
                self._decompressor = self._make()
                data = self._decompressor.decompress(rest.lstrip(b"\0"), len(buffer))
            else:
                fresh = self._stream.read(_CHUNK) if self._decompressor.needs_input else b""
                if self._decompressor.needs_input and not fresh:
                    raise EOFError("the compressed stream is cut short")
                data = self._decompressor.decompress(fresh, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)


class _Unclosed:
    """A stream that Arrow may read, but not close."""

    closed = False

    def __init__(self, stream: Readable) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        return self._stream.read(size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass
