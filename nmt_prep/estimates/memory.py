"""The buffers that the tasks of the encode stage hold, as ``engine.memory`` decides."""

from __future__ import annotations

from nmt_prep.records import ShardPlan
from nmt_prep.stages.encode_tasks import spill_buffer


def round_buffer(name: str, plan: ShardPlan, spill_bytes: float, parts: int, memory: int) -> int:
    """Bytes that a task of a round holds of its spill file or its bucket; 0 in rounds that have neither.

    Args:
        name: of the round.
        plan: of the split.
        spill_bytes: of all spill files.
        parts: spill files.
        memory: bytes that a task may use.
    """
    if name == "encode":
        return int(2 * min(spill_buffer(memory), spill_bytes / max(parts, 1)))
    if name == "shuffle":
        return int(spill_bytes / plan.buckets)
    return 0
