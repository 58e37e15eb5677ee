"""Where a stage's tasks run. Whichever engine it is, however many workers it has: not a byte of a result changes."""

from nmt_prep.engines.local import Engine, HereEngine, LocalEngine, available_cores

__all__ = ["Engine", "HereEngine", "LocalEngine", "available_cores"]
