"""Atomic writes: a file is written under a temporary name, flushed, and renamed into place. Also typed JSON."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from nmt_prep.base.errors import OutputError

_T = TypeVar("_T")
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)

_DEVICES = Path("/dev")

_FLUSHED_TOGETHER = 16

_FLUSHED_EARLY = 6 << 20  # Bytes of a file that are flushed while more is written
_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP}  # Errors of file systems without symbolic links

_PARTIAL = re.compile(r"\..+\.[0-9a-f]{16}\.partial", re.DOTALL)


def output_error(error: OSError, path: Path) -> OutputError:
    """Returns the error for a failed write of ``path``; its message says what happened and what to do."""
    advice = {
        errno.ENOSPC: "the disk is full; free some space, or set output_dir to a larger disk, and run again",
        errno.EDQUOT: "the disk quota is used up; free some space, or set output_dir elsewhere, and run again",
        errno.EACCES: "permission denied; set output_dir to a directory that you may write",
        errno.EPERM: "permission denied; set output_dir to a directory that you may write",
        errno.EROFS: "the file system is read-only; set output_dir to one that can be written",
    }.get(
        error.errno or 0,
        f"{error.strerror or error}; nothing complete was lost: fix the cause and run again",
    )
    return OutputError(f"cannot write {path}: {advice}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Converts an OSError raised in the block into the :class:`OutputError` of :func:`output_error`."""
    try:
        yield
    except OSError as error:
        raise output_error(error, Path(error.filename) if isinstance(error.filename, str) else path) from error


def flush(path: Path) -> None:
    """Flushes a file's bytes, or a directory's entries, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(directory: Path) -> None:
    """Flushes everything below a directory to the disk, except unfinished files of :func:`atomic_write`.

    The targets of symbolic links are not flushed.
    """
    with writing(directory):
        for path in sorted(directory.rglob("*")):
            if not is_partial(path) and not path.is_symlink():
                flush(path)
        flush(directory)


def link_or_copy(source: Path, target: Path) -> bool:
    """Hard-links a file, or copies it if the file system cannot link; returns False if the source is missing."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:
        shutil.copyfile(source, target)
    return True


def link_files(source: Path, target: Path, names: Iterable[str]) -> bool:
    """Hard-links or copies files into another directory; returns False if one is missing."""
    for name in names:
        path = target / name
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if not link_or_copy(source / name, path):
                return False
    return True


def point_to(target: Path, link: Path) -> bool:
    """Makes a symbolic link, and replaces an existing one; returns False if the file system has no links."""
    beside = link.with_name(f".{link.name}.{secrets.token_hex(8)}.partial")
    with writing(link):
        link.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.symlink_to(target)
        except OSError as error:
            if error.errno in _NO_LINKS:
                return False
            raise
        beside.replace(link)
        flush(link.parent)
    return True


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yields a temporary path in the same directory; renames it to ``path`` on success, else removes it."""
    with atomic_writes([path]) as (beside,):
        yield beside


def _flush_for(beside: Path, path: Path) -> None:
    with writing(path):
        flush(beside)


@contextmanager
def atomic_writes(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yields temporary paths in the files' directories; renames them in order on success, else removes them.

    The files are flushed all at once, which takes about as long as one of them, and then each directory once.
    """
    # A file is flushed before it is renamed: after a power cut, the new name may otherwise lead to an empty file. The
    # directory is flushed after that, which makes the new name itself durable.
    # The random name keeps writers apart, also on several machines that share the directory.
    finals = {path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial"): path for path in paths}
    directories = list(dict.fromkeys(path.parent for path in paths))
    try:
        with writing(paths[0]):
            for directory in directories:
                directory.mkdir(parents=True, exist_ok=True)
            yield list(finals)
        with ThreadPoolExecutor(_FLUSHED_TOGETHER) if len(paths) > 1 else nullcontext() as pool:
            list((pool.map if pool else map)(_flush_for, finals, paths))
        for beside, path in finals.items():
            with writing(path):
                beside.replace(path)
        for directory in directories:
            with writing(directory):
                flush(directory)
    finally:
        for beside in finals:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


class FlushingWriter:
    """Appends to an open file, and flushes it in a thread meanwhile, so that little is left to flush at its end.

    The end of the ``with`` block waits for the thread; it raises the OSError of a failed flush. The caller opens and
    closes the file.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pool = ThreadPoolExecutor(1)
        self._flushes: list[Future[None]] = []
        self._unflushed = 0

    def write(self, data: bytes | memoryview) -> int:
        """Appends bytes; returns their number."""
        size = self._file.write(data)
        self._unflushed += size
        if self._unflushed >= _FLUSHED_EARLY:
            self._unflushed = 0
            self._file.flush()
            self._flushes.append(self._pool.submit(os.fsync, self._file.fileno()))
        return size

    def tell(self) -> int:
        """Returns the file's size so far."""
        return self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown()
        for flushed in self._flushes if kind is None else ():
            flushed.result()


@contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """Opens an output file, named by a user, for writing; it appears under its name when it is complete.

    Devices, pipes, and standard streams such as ``/dev/stderr`` are written in place, because renaming would replace
    them.
    """
    in_place = path.exists() and (not path.is_file() or path.absolute().parent == _DEVICES)
    with (
        writing(path),
        nullcontext(path) if in_place else atomic_write(path) as place,
        place.open("ab" if in_place else "wb") as file,
    ):
        yield file


def check_writable(path: Path) -> None:
    """Checks that :func:`output_file` can write a file, before the work that makes it."""
    if path.exists() and not path.is_file():
        return  # opening a pipe waits for its reader
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
        beside.touch(exist_ok=False)
        beside.unlink()


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    with atomic_write(path) as beside:
        beside.write_bytes(content)


def write_json(path: Path, value: object, *, compact: bool = False) -> None:
    """Writes a value as JSON atomically; equal values give equal bytes.

    Bytes of file names that are not UTF-8, which Python holds as lone surrogates, are written as JSON escapes.
    """
    text = json.dumps(value, ensure_ascii=False, indent=None if compact else 2, sort_keys=True) + "\n"
    write_bytes(path, text.encode(errors="backslashreplace"))


def parse_json(content: bytes | str) -> Any:
    """Parses JSON that may be damaged or hostile."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_json_as(kind: type[_T], value: object) -> _T:
    """Converts a parsed JSON object to a dataclass, after checking the types of its fields."""
    try:
        adapter: TypeAdapter[_T] = _adapter(kind)
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))
        text = problem["msg"].removeprefix("Value error, ")  # pydantic's prefix for the errors of a class itself
        raise ValueError(f"{where}: {text}" if where else text) from None


def as_json(value: object) -> Any:
    """Returns a dataclass as JSON values; the inverse of :func:`parse_json_as`."""
    return _adapter(value.__class__).dump_python(value, mode="json")


def write_json_once(path: Path, value: Callable[[], object]) -> Any:
    """Writes JSON unless the file exists already; returns what the file then holds.

    ``value`` is only called if the file is missing. If several processes call this at once, one of them writes, and all
    return its value.
    """
    with writing(path):
        if not path.exists():
            beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            write_json(beside, value())
            # Unlike a rename, a hard link fails if the name exists. So the first writer wins, and nobody ever reads a
            # file that is replaced later or not yet complete.
            try:
                path.hardlink_to(beside)
            except FileExistsError:
                pass
            except OSError:  # a file system without hard links: the last writer wins
                beside.replace(path)
            flush(path.parent)
            beside.unlink(missing_ok=True)
        try:
            return parse_json(path.read_bytes())
        except ValueError as error:
            raise OutputError(f"{path} is damaged ({error}); run its stage again with --force") from error


def is_partial(path: Path) -> bool:
    """Returns True for the temporary files of :func:`atomic_write`."""
    return _PARTIAL.fullmatch(path.name) is not None


def remove_partial(directory: Path) -> None:
    """Removes the temporary files that killed processes left below a directory.

    Workers of an earlier run may still be writing there, so files may appear and disappear meanwhile.
    """
    with writing(directory):
        for path in directory.rglob(".*.partial"):
            if is_partial(path):
                path.unlink(missing_ok=True)
