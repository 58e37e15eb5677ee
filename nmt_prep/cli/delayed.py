"""Delays the loading of heavy libraries, so that commands that do not need them start fast.

A run with nothing to do would spend half of its time on loading NumPy and Arrow, which only tasks use. The command
line puts a stand-in for each into ``sys.modules``; the first use of an attribute loads the library. Programs that
import nmt_prep get the libraries themselves.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from types import ModuleType

HEAVY = (
    "filelock",
    "numpy",
    "numpy.typing",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.parquet",
    "regex",
    "requests",
    "urllib3",
)
"""The delayed modules; a package comes before its submodules."""

_LOADING = threading.RLock()


class _StandIn(ModuleType):
    """A module that is loaded when one of its attributes is used; safe to use from threads."""

    def __getattr__(self, name: str) -> object:
        with _LOADING:
            _withdraw()
            module = importlib.import_module(self.__name__)
            vars(self).update(vars(module))  # later lookups do not come here
        return getattr(module, name)


def delay_heavy_libraries() -> None:
    """Puts a stand-in for each heavy library that is installed and not loaded yet into ``sys.modules``."""
    for name in HEAVY:
        package, _, child = name.rpartition(".")
        if name in sys.modules or (package and not isinstance(sys.modules.get(package), _StandIn)):
            continue
        if not package and (spec := importlib.util.find_spec(name)) is None:
            continue
        stand_in = sys.modules[name] = _StandIn(name)
        if package:
            setattr(sys.modules[package], child, stand_in)
        else:
            stand_in.__spec__ = spec


def _withdraw() -> None:
    """Removes all stand-ins from ``sys.modules``, because libraries that import each other need the real modules."""
    for name in HEAVY:
        if isinstance(sys.modules.get(name), _StandIn):
            del sys.modules[name]
