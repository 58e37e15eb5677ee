"""Imports of optional libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nmt_prep.errors import ConfigError, NmtPrepError


def needed_extra(module: str, extra: str, what: str, kind: type[NmtPrepError] = ConfigError) -> Any:
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
        raise kind(f"{what} needs {error.name or module}: pip install 'nmt_prep[{extra}]'") from error
