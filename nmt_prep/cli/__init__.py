"""The command line: one module per command or command group, on top of the Python API."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

LIBRARIES = (
    ("numpy", "numpy.typing", "pyarrow", "pyarrow.compute", "pyarrow.parquet"),
    ("requests", "urllib3"),
    ("filelock",),
    ("langcodes",),
    ("regex",),
)
"""The delayed libraries. The libraries of a group import each other, so they are loaded together."""

_CHANGING = threading.Lock()


# Modules that are loaded when they are first used, so that commands start fast.
#
# A run with nothing to do would spend half of its time on loading libraries such as NumPy and Arrow, which only tasks
# use, and a help text would wait for all stages. A stand-in takes the place of such a module until one of its
# attributes is used. A command imports slow modules of nmt_prep in `with delayed_imports():`, below its other imports.
#
# The program puts the stand-ins of libraries into `sys.modules`, where all imports find them. Other programs that
# import nmt_prep get the libraries themselves.


class StandIn(ModuleType):
    """A module that is loaded when one of its attributes is used; safe to use from threads."""

    def __getattr__(self, name: str) -> object:
        _withdraw(self.__name__)
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))  # later lookups do not reach this method
        return getattr(module, name)


@contextmanager
def delayed_imports() -> Iterator[None]:
    """Lets ``from nmt_prep… import module`` give stand-ins of modules. Within it, other imports are ordinary."""
    original = builtins.__import__

    def stand_ins(name: str, *arguments: Any, **named: Any) -> Any:
        modules = arguments[2] if len(arguments) > 2 else named.get("fromlist")
        if not (name.startswith("nmt_prep") and modules):
            return original(name, *arguments, **named)
        package = ModuleType(name)
        vars(package).update({module: StandIn(f"{name}.{module}") for module in modules})
        return package

    builtins.__import__ = stand_ins
    try:
        yield
    finally:
        builtins.__import__ = original


def delay_libraries() -> None:
    """Puts a stand-in for each library that is installed and not loaded yet into ``sys.modules``."""
    for name in (name for group in LIBRARIES for name in group):
        package, _, child = name.rpartition(".")
        spec = None if package else importlib.util.find_spec(name)
        if name in sys.modules or not (package or spec):
            continue
        stand_in = sys.modules[name] = StandIn(name)
        stand_in.__spec__ = spec  # other code may ask whether a library is installed
        if isinstance(sys.modules.get(package), StandIn):
            setattr(sys.modules[package], child, stand_in)


def _withdraw(name: str) -> None:
    """Removes the stand-ins of a library's group from ``sys.modules``."""
    group = next((group for group in LIBRARIES if name in group), ())
    with _CHANGING:
        for member in group:
            if isinstance(sys.modules.get(member), StandIn):
                del sys.modules[member]
