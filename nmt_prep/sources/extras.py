"""Libraries that only some sources need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nmt_prep.errors import ConfigError


def needed_extra(module: str, extra: str, what: str) -> Any:
    """Imports a module that comes with an extra.

    Args:
        module: its name.
        extra: the extra of this package that has it.
        what: the address that needs it, for the message.

    Raises:
        ConfigError: it is not installed; the message says how to.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{what} needs {error.name or module}: pip install 'nmt_prep[{extra}]'") from error
