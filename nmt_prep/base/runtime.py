"""The environment of the program: cores, optional libraries, results that threads share, and child processes.

Child processes end with this process. Work that cannot be stopped may be marked, so that the exit does not wait for it.
"""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, Any, TypeVar, TypeVarTuple

import _nmt_prep_core

from nmt_prep.base.errors import MissingPackageError, NmtPrepError

Key = TypeVarTuple("Key")
Content = TypeVar("Content")


def available_cores() -> int:
    """Returns the number of cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_seconds() -> float:
    """Returns the processor time that this process and its ended children have taken so far, in seconds."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def keep_freed_memory() -> None:
    """Makes the C library keep memory that is freed, to use it again, in at most one heap per core.

    This is for the whole process, so only commands do it, before they start threads. It does nothing where the C
    library is not glibc.
    """
    _nmt_prep_core.keep_freed_memory(available_cores())


def needed_extra(module: str, extra: str, what: str, kind: type[NmtPrepError] = MissingPackageError) -> Any:
    """Imports a module that comes with an extra."""
    try:
        return import_module(module)
    except ImportError as error:
        name = missing_module(error) or f"{module}, which cannot be loaded ({error})"
        raise kind(_missing(name, extra, what)) from error


def missing_module(error: ImportError) -> str | None:
    """Returns the module that is not installed; None if an installed one cannot be loaded.

    Libraries such as fsspec raise an ImportError with a sentence after the one that names the module.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__ or cause.__context__
    return None if cause is None else cause.name


def check_extra(module: str, extra: str, what: str) -> None:
    """Checks that a module of an extra is installed, without loading it."""
    if find_spec(module) is None:
        raise MissingPackageError(_missing(module, extra, what))


def _missing(module: str, extra: str, what: str) -> str:
    return f"{what} needs {module}: {installing(extra)}"


def installing(extra: str) -> str:
    """Returns the command that installs an extra, for messages. No registry has the package yet."""
    return f"pip install '.[{extra}]' in a checkout of nmt_prep"


def kept(most: int = 1) -> Callable[[Callable[[*Key], Content]], Callable[[*Key], Content]]:
    """Caches a function's last results for all threads in the process; each result is computed by one thread.

    The oldest result is dropped before another one is computed.
    """

    def decorated(load: Callable[[*Key], Content]) -> Callable[[*Key], Content]:
        held: dict[tuple[*Key], Content] = {}
        lock = threading.Lock()

        @wraps(load)
        def load_once(*key: *Key) -> Content:
            with lock:
                if key not in held:
                    if len(held) == most:
                        del held[next(iter(held))]
                    held[key] = load(*key)
                return held[key]

        return load_once

    return decorated


_GUARD = ("/bin/sh", "-c", "read line || kill -KILL 0")  # Kills its process group if its input ends without a line

_running: set[int] = set()  # Process groups of the programs that run
_stops = 0  # Number of `end_children` calls

_unstoppable: set[int] = set()  # Threads within `unstoppable`

_lock = threading.Lock()


@contextmanager
def unstoppable() -> Iterator[None]:
    """Marks work that may never end and cannot be interrupted, such as a function of the user.

    A signal that ends the process does not wait for it.
    """
    thread = threading.get_ident()
    _unstoppable.add(thread)
    try:
        yield
    finally:
        _unstoppable.discard(thread)


def is_unstoppable() -> bool:
    """Returns True if a thread is within :func:`unstoppable`."""
    return bool(_unstoppable)


@contextmanager
def child(
    command: Sequence[str],
    directory: Path,
    given: IO[bytes],
    output: IO[bytes],
    errors: IO[bytes],
    environment: Mapping[str, str] | None = None,
) -> Iterator[Popen[bytes]]:
    """Starts a program in a process group of its own, and ends it at the exit, or when this process is killed.

    The variables of ``environment`` are added to its environment.

    A shell leads the group. It waits for the end of its input, which the system closes if this process ends in any way.
    If the program has already ended, its children are not ended.
    """
    with ExitStack() as stack:
        with _lock:  # so that end_children does not miss a program that is just starting
            guard = stack.enter_context(Popen(_GUARD, stdin=PIPE, process_group=0))  # noqa: S603
            stack.callback(guard.communicate, b"\n")
            variables = {**os.environ, **(environment or {})}
            streams: dict[str, Any] = {"stdin": given, "stdout": output, "stderr": errors, "env": variables}
            process = stack.enter_context(Popen(command, cwd=directory, process_group=guard.pid, **streams))  # noqa: S603
            _running.add(guard.pid)
        try:
            yield process
        finally:
            with _lock:
                _running.discard(guard.pid)
                if process.poll() is None:
                    _end(guard.pid)


def end_children() -> None:
    """Ends all programs that :func:`child` started, with their children, in any thread."""
    global _stops  # noqa: PLW0603
    with _lock:
        _stops += 1
        for group in _running:
            _end(group)


def stops() -> int:
    """Returns how often all programs were ended. A program that was started before must not be started again."""
    return _stops


def _end(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        os.killpg(group, signal.SIGKILL)
