"""make_dataset under a distribution strategy and through the tf.data service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nmt_prep.training.tensorflow import make_dataset

pytestmark = [pytest.mark.tensorflow, pytest.mark.slow]

PAIRS = [([100 + i, *[2] * (i % 9), 1], [100 + i, *[3] * (i % 7), 1]) for i in range(900)]


def sources(batch: Any) -> list[int]:
    return [int(first) for first in batch.source[:, 0]]


@pytest.mark.filterwarnings("ignore:Encoding a StructuredValue with type tf.NoneTensorSpec")
@pytest.mark.parametrize("layout", ["example", "chunk"])
def test_the_data_service_gives_the_same_batches(encode_run: Callable[..., Path], layout: str) -> None:
    dataset = make_dataset(encode_run({"a": PAIRS}, layout), "train", batch_tokens=300)
    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    address = dispatcher.target.split("://")[1]
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    served = dataset.apply(service.distribute(service.ShardingPolicy.OFF, dispatcher.target))
    assert [sources(batch) for batch in served] == [sources(batch) for batch in dataset]
    del worker


REPLICAS = """
import sys
from collections import Counter
import tensorflow as tf
from nmt_prep.training.tensorflow import make_dataset

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
dataset = make_dataset(sys.argv[1], "train", batch_size=32, pad_to=[16], drop_remainder=True)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
found = Counter()
for batch in strategy.experimental_distribute_dataset(dataset.with_options(options)):
    for part in strategy.experimental_local_results(batch.source):
        assert part.shape == (16, 16), part.shape
        found.update(int(first) for first in part[:, 0])
print(len(found), sum(found.values()))
"""


def test_replicas_divide_a_batch(encode_run: Callable[..., Path]) -> None:
    run = encode_run({"a": PAIRS})
    done = subprocess.run([sys.executable, "-c", REPLICAS, str(run)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2000:]
    assert done.stdout.split() == ["896", "896"]


def test_the_graph_has_no_python_function(encode_run: Callable[..., Path]) -> None:
    dataset = make_dataset(encode_run({"a": PAIRS}), "train", packed=True, features="t2t")
    graph = dataset._as_serialized_graph().numpy()
    assert b"TFRecordDatasetV2" in graph
    assert b"PyFunc" not in graph
