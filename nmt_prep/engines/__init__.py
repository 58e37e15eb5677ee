"""Where a stage's tasks run. Whichever engine it is, however many workers it has: not a byte of a result changes."""

from nmt_prep.engines.engine import Done, Engine, Task, Tick, Work
from nmt_prep.engines.local import LocalEngine, available_cores

__all__ = ["Done", "Engine", "LocalEngine", "Task", "Tick", "Work", "available_cores"]
