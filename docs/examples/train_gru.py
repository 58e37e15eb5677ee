"""A small GRU translator, trained from a run's shards; start it again and it goes on at the batch where it stopped.

    python -m nmt_prep run configs/toy.yaml
    python docs/examples/train_gru.py runs/toy checkpoints/toy --steps 300

Beside the model's and the optimiser's variables the checkpoint holds two integers, the epoch and the number of its
batches that were taken. With them ``make_dataset`` gives the rest of the epoch, bit for bit as if nothing had happened.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

import nmt_prep
from nmt_prep.training.records import load_dataset_info

UNITS = 64


def translator(source_size: int, target_size: int) -> tf.keras.Model:
    """An encoder whose last state begins the decoder; gives logits, shape ``[rows, longest target, pieces]``."""
    source, target = (tf.keras.Input([None], dtype="int32") for _ in range(2))
    read = tf.keras.layers.Embedding(source_size, UNITS, mask_zero=True)(source)
    _, state = tf.keras.layers.GRU(UNITS, return_state=True)(read)
    written = tf.keras.layers.Embedding(target_size, UNITS)(target)
    states = tf.keras.layers.GRU(UNITS, return_sequences=True)(written, initial_state=state)
    return tf.keras.Model([source, target], tf.keras.layers.Dense(target_size)(states))


def batches_from(run: Path, epoch: tf.Variable, taken: tf.Variable) -> Iterator[nmt_prep.BatchedInput]:
    """Batches without end, from the place that the variables say, which they follow."""
    while True:
        dataset = nmt_prep.make_dataset(
            run, "train", batch_tokens=2048, seed=1, epoch=int(epoch), skip_batches=int(taken), check="quick"
        )
        for batch in dataset:
            taken.assign_add(1)
            yield batch
        epoch.assign_add(1)
        taken.assign(0)


def train(run: Path, checkpoints: Path, steps: int, save_every: int = 50) -> list[float]:
    """Trains up to a number of steps in all; returns the loss of each step that was taken now."""
    vocab = load_dataset_info(run / "records").vocab
    model = translator(vocab.source.size, vocab.target.size)
    optimizer = tf.keras.optimizers.Adam(5e-3)
    epoch, taken, step = (tf.Variable(0, dtype=tf.int64, trainable=False) for _ in range(3))
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch, taken=taken, step=step)
    manager = tf.train.CheckpointManager(checkpoint, str(checkpoints), max_to_keep=2)
    manager.restore_or_initialize()

    @tf.function(reduce_retracing=True)
    def update(batch: nmt_prep.BatchedInput) -> tf.Tensor:
        with tf.GradientTape() as tape:
            logits = model([batch.source, batch.target_input])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(batch.target_output, logits)
            weights = tf.sequence_mask(batch.target_sequence_length, dtype=tf.float32)
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    losses: list[float] = []
    if int(step) >= steps:
        return losses
    for batch in batches_from(run, epoch, taken):
        losses.append(float(update(batch)))
        step.assign_add(1)
        if int(step) % save_every == 0 or int(step) == steps:
            manager.save()
        if int(step) == steps:
            break
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="directory of the run")
    parser.add_argument("checkpoints", type=Path, help="directory of the checkpoints")
    parser.add_argument("--steps", type=int, default=300, help="steps in all")
    options = parser.parse_args()
    train(options.run, options.checkpoints, options.steps)
