"""Imports of optional libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nmt_prep.errors import ConfigError


def needed_extra(module: str, extra: str, what: str) -> Any:
    """Imports a module that comes with an extra.

    Args:
        module: name of the module.
        extra: the extra of this package that installs it.
        what: the address that needs it, for the message.

    Raises:
        ConfigError: the module is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{what} needs {error.name or module}: pip install 'nmt_prep[{extra}]'") from error
