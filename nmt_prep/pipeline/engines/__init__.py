"""Engines that run the tasks of stages. Results do not depend on the engine or on the number of workers."""

from nmt_prep.pipeline.engines.engine import Done, Engine, LocalEngine, Task, Tick, Work

__all__ = ["Done", "Engine", "LocalEngine", "Task", "Tick", "Work"]
