"""Measures what cleaning does for a translator: chrF and BLEU on Multi30k's test set, after equally many steps.

    python -m benchmarks.downstream [--halved 0.2]         # under an hour on two cores

A small Transformer (two layers a side, greedy search) is trained on the clean training text, on the same text with
20 % of the targets exchanged, 10 % copied from the source, 5 % in another language and a share of them without half of
their words, and on that text after the presets ``light``, ``standard`` and ``strict``. Each text has vocabularies of
its own, as in a run for training. Needs TensorFlow and sacrebleu. The texts are those of the folder beside the
checkout.
"""

from __future__ import annotations

import argparse
import gzip
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import sacrebleu
import tensorflow as tf

import nmt_prep
from nmt_prep.runs.checks import check_config
from nmt_prep.subwords import load_tokenizer
from nmt_prep.training.records import load_dataset_info

SHARED = Path(__file__).resolve().parents[2] / "shared" / "corpora"
MULTI30K = SHARED / "multi30k-ende"
FRENCH = SHARED / "wmt22-xml" / "wmttest2022.fr-de.all.xml.gz"

ROTATED, COPIED, FOREIGN = 0.20, 0.10, 0.05
UNITS, HEADS, LAYERS, PIECES, BATCH_TOKENS, LONGEST = 192, 4, 2, 4000, 2048, 60
RATE, WARM_UP = 2e-3, 300
ROWS, LENGTHS = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600, help="steps of training, for each text")
    parser.add_argument("--pairs", type=int, help="use only the first pairs of the training text")
    parser.add_argument("--test", type=int, help="use only the first pairs of the test set")
    parser.add_argument("--only", nargs="+", choices=("clean", "dirty", "light", "standard", "strict"))
    parser.add_argument("--halved", type=float, default=0.0, help="share of targets that lack half of their words")
    options = parser.parse_args()
    clean = list(zip(lines_of("train.en"), lines_of("train.de"), strict=True))[: options.pairs]
    test = list(zip(lines_of("test_2016_flickr.en"), lines_of("test_2016_flickr.de"), strict=True))[: options.test]
    dirty = damaged(clean, french_lines(), options.halved)
    texts = {
        "clean": (clean, None),
        "dirty": (dirty, None),
        **{preset: (dirty, preset) for preset in ("light", "standard", "strict")},
    }
    print(f"{'text':<10}{'pairs':>8}{'chrF':>8}{'BLEU':>8}{'minutes':>9}")
    for name, (pairs, preset) in texts.items():
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as directory:
            started = time.monotonic()
            run = prepared(Path(directory), pairs, preset)
            model = trained(run, options.steps)
            translations = list(translated(model, run, [source for source, _ in test]))
            references = [[target for _, target in test]]
            kept = load_dataset_info(run / "records").splits["train"].pairs
            chrf, bleu = (
                score(translations, references).score for score in (sacrebleu.corpus_chrf, sacrebleu.corpus_bleu)
            )
            minutes = (time.monotonic() - started) / 60
            print(f"{name:<10}{kept:>8,}{chrf:>8.1f}{bleu:>8.1f}{minutes:>9.1f}", flush=True)


def lines_of(name: str) -> list[str]:
    """Returns the lines of a file of Multi30k."""
    return gzip.decompress((MULTI30K / f"{name}.gz").read_bytes()).decode().removesuffix("\n").split("\n")


def french_lines() -> list[str]:
    """Returns lines in a language that is neither that of the source nor that of the target."""
    root = ET.fromstring(gzip.decompress(FRENCH.read_bytes()))
    return [segment.text or "" for source in root.iter("src") for segment in source.iter("seg")]


def damaged(pairs: Sequence[Pair], foreign: Sequence[str], halved: float = 0.0, seed: int = 1) -> list[Pair]:
    """Returns the pairs with defects: targets that are exchanged, copied, foreign, or without half of their words."""
    draw = random.Random(seed)
    order = draw.sample(range(len(pairs)), len(pairs))
    rotated, copied, strange = (int(share * len(pairs)) for share in (ROTATED, COPIED, FOREIGN))
    targets = [target for _, target in pairs]
    exchanged = order[:rotated]
    for place, other in zip(exchanged, [*exchanged[1:], *exchanged[:1]], strict=True):
        targets[place] = pairs[other][1]
    for place in order[rotated : rotated + copied]:
        targets[place] = pairs[place][0]
    for place in order[rotated + copied : rotated + copied + strange]:
        targets[place] = draw.choice(foreign)
    done = rotated + copied + strange
    for place in order[done : done + int(halved * len(pairs))]:
        words = targets[place].split(" ")
        targets[place] = " ".join([*words[: len(words) // 2], words[-1]])
    return [(source, target) for (source, _), target in zip(pairs, targets, strict=True)]


def prepared(directory: Path, pairs: Sequence[Pair], preset: str | None) -> Path:
    """Runs nmt_prep on a text; returns the directory of the run."""
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        (directory / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = check_config(
        {
            "name": "downstream",
            "languages": {"source": "en", "target": "de"},
            "seed": 1,
            "output_dir": str(directory / "run"),
            "splits": {"train": [{"name": "train", "url": {"source": "source", "target": "target"}}]},
            **({} if preset is None else {"clean": {"preset": preset}}),
            "vocab": {"kind": "sentencepiece", "size": PIECES, "shared": True},
            "records": {"layout": "chunk"},
        },
        "downstream",
    )
    nmt_prep.run(config)
    return directory / "run"


class Layer(tf.keras.layers.Layer):
    """A layer of the Transformer, normalised before each part; that of a writer also attends to the source."""

    def __init__(self, *, writes: bool) -> None:
        super().__init__()
        self.own = tf.keras.layers.MultiHeadAttention(HEADS, UNITS // HEADS)
        self.other = tf.keras.layers.MultiHeadAttention(HEADS, UNITS // HEADS) if writes else None
        self.inner = tf.keras.layers.Dense(4 * UNITS, activation="relu")
        self.outer = tf.keras.layers.Dense(UNITS)
        self.norms = [tf.keras.layers.LayerNormalization() for _ in range(3)]
        self.dropout = tf.keras.layers.Dropout(0.1)

    def call(
        self,
        x: tf.Tensor,
        own_mask: tf.Tensor,
        source: tf.Tensor = None,
        mask: tf.Tensor = None,
        training: bool = False,
    ) -> tf.Tensor:
        y = self.norms[0](x)
        x += self.dropout(self.own(y, y, attention_mask=own_mask), training=training)
        if self.other is not None:
            x += self.dropout(self.other(self.norms[1](x), source, attention_mask=mask), training=training)
        return x + self.dropout(self.outer(self.inner(self.norms[2](x))), training=training)


class Translator(tf.keras.Model):
    """A small Transformer; the embeddings of the pieces are also the weights of the output."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.pieces = tf.keras.layers.Embedding(
            pieces, UNITS, embeddings_initializer=tf.keras.initializers.RandomNormal(stddev=UNITS**-0.5)
        )
        self.places = tf.keras.layers.Embedding(1024, UNITS)
        self.readers, self.writers = ([Layer(writes=writes) for _ in range(LAYERS)] for writes in (False, True))
        self.ends = [tf.keras.layers.LayerNormalization() for _ in range(2)]
        self.dropout = tf.keras.layers.Dropout(0.1)

    def _embedded(self, ids: tf.Tensor, *, training: bool) -> tf.Tensor:
        x = self.pieces(ids) * UNITS**0.5 + self.places(tf.range(tf.shape(ids)[1]))
        return self.dropout(x, training=training)

    def read(self, source: tf.Tensor, lengths: tf.Tensor, *, training: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the states of the source, and their mask."""
        mask = tf.sequence_mask(lengths, tf.shape(source)[1])[:, tf.newaxis, :]
        x = self._embedded(source, training=training)
        for layer in self.readers:
            x = layer(x, mask, training=training)
        return self.ends[0](x), mask

    def write(self, read: tuple[tf.Tensor, tf.Tensor], target: tf.Tensor, *, training: bool) -> tf.Tensor:
        """Returns the states from which the next piece after each piece is predicted."""
        length = tf.shape(target)[1]
        before = tf.linalg.band_part(tf.ones([1, length, length], tf.bool), -1, 0)
        x = self._embedded(target, training=training)
        for layer in self.writers:
            x = layer(x, before, *read, training=training)
        return self.ends[1](x)

    def logits(self, states: tf.Tensor) -> tf.Tensor:
        """Returns the logits of all pieces."""
        return tf.matmul(states, self.pieces.embeddings, transpose_b=True)


def trained(run: Path, steps: int) -> Translator:
    """Returns a model after a number of steps, the same batches for the same text."""
    tf.keras.utils.set_random_seed(1)
    model = Translator(load_dataset_info(run / "records").vocab.target.size)
    optimizer = tf.keras.optimizers.Adam(0.0, beta_2=0.98)

    @tf.function(input_signature=[ROWS, LENGTHS, ROWS, ROWS, LENGTHS])  # one graph for batches of all sizes
    def update(
        source: tf.Tensor, source_lengths: tf.Tensor, before: tf.Tensor, after: tf.Tensor, lengths: tf.Tensor
    ) -> None:
        with tf.GradientTape() as tape:
            read = model.read(source, source_lengths, training=True)
            logits = model.logits(model.write(read, before, training=True))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(after, logits)
            weights = tf.sequence_mask(lengths, tf.shape(losses)[1], dtype=tf.float32)
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        variables = model.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    for step, batch in zip(range(1, steps + 1), batches_of(run), strict=False):
        optimizer.learning_rate.assign(RATE * min(step / WARM_UP, (WARM_UP / step) ** 0.5))
        update(
            batch.source,
            batch.source_sequence_length,
            batch.target_input,
            batch.target_output,
            batch.target_sequence_length,
        )
    return model


def batches_of(run: Path) -> Iterator[Any]:
    """Yields batches without end."""
    epoch = 0
    while True:
        yield from nmt_prep.make_dataset(run, "train", batch_tokens=BATCH_TOKENS, seed=1, epoch=epoch)
        epoch += 1


def translated(model: Translator, run: Path, lines: Sequence[str], rows: int = 100) -> Iterator[str]:
    """Yields translations by greedy search."""
    vocab = load_dataset_info(run / "records").vocab.source
    tokenizer = load_tokenizer(run / "vocab" / Path(vocab.file).name)
    end = tokenizer.eos_id
    assert end is not None
    begin = first_piece(run)

    @tf.function(input_signature=[ROWS, LENGTHS])
    def read(source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return model.read(source, lengths, training=False)

    @tf.function(input_signature=[tf.TensorSpec([None, None, UNITS]), tf.TensorSpec([None, 1, None], tf.bool), ROWS])
    def longer(states: tf.Tensor, mask: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        last = model.write((states, mask), target, training=False)[:, -1:]
        return tf.concat([target, tf.argmax(model.logits(last), -1, output_type=tf.int32)], 1)

    for first in range(0, len(lines), rows):
        ids = [[*row, end] for row in tokenizer.encode_batch(list(lines[first : first + rows])).to_lists()]
        source = tf.ragged.constant(ids, dtype=tf.int32)
        states, mask = read(source.to_tensor(end), tf.cast(source.row_lengths(), tf.int32))
        target = tf.fill([len(ids), 1], begin)
        for _ in range(LONGEST):
            target = longer(states, mask, target)
            if (target.numpy()[:, 1:] == end).any(axis=1).all():
                break
        for row in target.numpy()[:, 1:].tolist():
            pieces = [int(piece) for piece in row]
            yield tokenizer.decode(pieces[: pieces.index(end)] if end in pieces else pieces)


def first_piece(run: Path) -> int:
    """Returns the piece that the inputs of the decoder begin with."""
    batch: Any = next(iter(nmt_prep.make_dataset(run, "train", batch_tokens=BATCH_TOKENS, seed=1)))
    return int(batch.target_input[0, 0])


if __name__ == "__main__":
    main()
