"""Properties of the environment that the program runs in: cores and optional libraries."""

from __future__ import annotations

import os
import resource
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import _nmt_prep_core

from nmt_prep.errors import MissingPackageError, NmtPrepError


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
    """Imports a module that comes with an extra.

    Args:
        module: name of the module.
        extra: the extra of this package that installs it.
        what: what needs it, for the message.
        kind: type of the error.

    Raises:
        NmtPrepError: an error of that type; the module is not installed, and the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise kind(_missing(error.name or module, extra, what)) from error


def check_extra(module: str, extra: str, what: str) -> None:
    """Checks that a module of an extra is installed, without loading it.

    Raises:
        MissingPackageError: it is not installed; the arguments and the message are those of ``needed_extra``.
    """
    if find_spec(module) is None:
        raise MissingPackageError(_missing(module, extra, what))


def _missing(module: str, extra: str, what: str) -> str:
    return f"{what} needs {module}: {installing(extra)}"


def installing(extra: str) -> str:
    """Returns the command that installs an extra, for messages. No registry has the package yet."""
    return f"pip install '.[{extra}]' in a checkout of nmt_prep"
