"""Trains a small translator with attention on a run with Keras, and translates sentences with it."""

# pip install '.[tensorflow]'
# python docs/examples/tutorial_keras.py runs/tutorial

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np

from nmt_prep import load_tokenizer, make_dataset
from nmt_prep.training.records import load_dataset_info

RUN = Path(sys.argv[1])
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
WIDTH = 192
SENTENCES = [
    "The teacher bought the coat in Shanghai yesterday.",
    "My sister visited the museum last week.",
    "We will build a new hospital next year.",
    "The airline announced on 8 April that it will invest 37.3 million euros.",
    "They read three books at school.",
]

vocabularies = load_dataset_info(RUN / "records").vocab
source_tokenizer = load_tokenizer(RUN / "records" / vocabularies.source.file)
target_tokenizer = load_tokenizer(RUN / "records" / vocabularies.target.file)
keras.utils.set_random_seed(1)


def translator() -> keras.Model:
    """Returns a model from source and target IDs to logits of shape [rows, target length, pieces]."""
    source, target = (keras.Input([None], dtype="int32") for _ in range(2))
    read = keras.layers.Embedding(vocabularies.source.size, WIDTH)(source)
    read = keras.layers.Bidirectional(keras.layers.GRU(WIDTH // 2, return_sequences=True))(read)
    state = keras.layers.Dense(WIDTH, "tanh")(keras.layers.GlobalAveragePooling1D()(read))
    written = keras.layers.Embedding(vocabularies.target.size, WIDTH)(target)
    written = keras.layers.GRU(WIDTH, return_sequences=True)(written, initial_state=state)
    context = keras.layers.Attention(use_scale=True)([written, read])
    joined = keras.layers.Dense(WIDTH, "tanh")(keras.layers.Concatenate()([written, context]))
    return keras.Model([source, target], keras.layers.Dense(vocabularies.target.size)(joined))


def batches() -> Iterator[tuple[tuple[object, object], object, object]]:
    """Yields inputs, labels and the weight of each label, epoch after epoch."""
    epoch = 0
    while True:
        for batch in make_dataset(RUN, "train", batch_tokens=2048, max_length=128, seed=1, epoch=epoch):
            length = batch.target_output.shape[1]
            weights = np.arange(length) < batch.target_sequence_length.numpy()[:, None]
            yield (batch.source, batch.target_input), batch.target_output, weights.astype("float32")
        epoch += 1


def translate(model: keras.Model, sentence: str) -> str:
    """Returns the translation that takes the most probable piece at each step."""
    source = np.array([[*source_tokenizer.encode(sentence), vocabularies.source.eos_id]])
    target = [vocabularies.target.padding_id]
    while len(target) < 60:
        piece = int(np.argmax(model([source, np.array([target])])[0, -1]))
        if piece == vocabularies.target.eos_id:
            break
        target.append(piece)
    return target_tokenizer.decode(target[1:])


model = translator()
model.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(batches(), steps_per_epoch=250, epochs=STEPS // 250, verbose=2, shuffle=False)
for sentence in SENTENCES:
    print(f"{sentence}\n  {translate(model, sentence)}")  # noqa: T201
