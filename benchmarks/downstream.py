"""Measures what cleaning does for a translator: chrF and BLEU on Multi30k's test set, after equally many steps.

    python -m benchmarks.downstream --steps 1000          # under an hour on two cores

A small model (GRU with attention, greedy search) is trained on the clean training text, on the same text with 20 % of
the targets exchanged, 10 % copied from the source and 5 % in another language, and on that text after the presets
``light``, ``standard`` and ``strict``. Each text has vocabularies of its own, as in a run for training. Needs
TensorFlow and sacrebleu. The texts are those of the folder beside the checkout.
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
from nmt_prep.checks import check_config
from nmt_prep.records import load_dataset_info
from nmt_prep.subwords import load_tokenizer

SHARED = Path(__file__).resolve().parents[2] / "shared" / "corpora"
MULTI30K = SHARED / "multi30k-ende"
FRENCH = SHARED / "wmt22-xml" / "wmttest2022.fr-de.all.xml.gz"

ROTATED, COPIED, FOREIGN = 0.20, 0.10, 0.05
UNITS, PIECES, BATCH_TOKENS, LONGEST = 192, 4000, 2048, 60

Pair = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, help="steps of training, for each text")
    parser.add_argument("--pairs", type=int, help="use only the first pairs of the training text")
    parser.add_argument("--test", type=int, help="use only the first pairs of the test set")
    parser.add_argument("--only", nargs="+", choices=("clean", "dirty", "light", "standard", "strict"))
    options = parser.parse_args()
    clean = list(zip(lines_of("train.en"), lines_of("train.de"), strict=True))[: options.pairs]
    test = list(zip(lines_of("test_2016_flickr.en"), lines_of("test_2016_flickr.de"), strict=True))[: options.test]
    dirty = damaged(clean, french_lines())
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


def damaged(pairs: Sequence[Pair], foreign: Sequence[str], seed: int = 1) -> list[Pair]:
    """Returns the pairs with defects: exchanged targets, copies of the source, targets in another language."""
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
    nmt_prep.run(config, base_dir=directory)
    return directory / "run"


class Translator(tf.keras.Model):
    """A bidirectional GRU that reads, and a GRU with attention that writes."""

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.pieces = tf.keras.layers.Embedding(pieces, UNITS)
        self.reader = tf.keras.layers.Bidirectional(
            tf.keras.layers.GRU(UNITS, return_sequences=True, return_state=True), merge_mode="sum"
        )
        self.writer = tf.keras.layers.GRU(UNITS, return_sequences=True, return_state=True)
        self.joined = tf.keras.layers.Dense(UNITS, activation="tanh")
        self.output_pieces = tf.keras.layers.Dense(pieces)
        self.dropout = tf.keras.layers.Dropout(0.2)

    def read(self, source: tf.Tensor, lengths: tf.Tensor, *, training: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns the states of the source, their mask, and the first state of the writer."""
        mask = tf.sequence_mask(lengths, tf.shape(source)[1])
        embedded = self.dropout(self.pieces(source), training=training)
        states, ahead, back = self.reader(embedded, mask=mask)
        return states, mask, ahead + back

    def write(
        self, read: tuple[tf.Tensor, tf.Tensor], target: tf.Tensor, state: tf.Tensor, *, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the logits of the next pieces, and the last state."""
        states, mask = read
        written, state = self.writer(self.dropout(self.pieces(target), training=training), initial_state=state)
        weights = tf.matmul(written, states, transpose_b=True) / UNITS**0.5
        weights += tf.where(mask, 0.0, -1e9)[:, tf.newaxis, :]
        seen = tf.matmul(tf.nn.softmax(weights), states)
        joined = self.dropout(self.joined(tf.concat([written, seen], -1)), training=training)
        return self.output_pieces(joined), state


def trained(run: Path, steps: int) -> Translator:
    """Returns a model after a number of steps, the same batches for the same text."""
    tf.keras.utils.set_random_seed(1)
    model = Translator(load_dataset_info(run / "records").vocab.target.size)
    optimizer = tf.keras.optimizers.Adam(2e-3)

    @tf.function(reduce_retracing=True)
    def update(batch: Any) -> None:
        with tf.GradientTape() as tape:
            states, mask, state = model.read(batch.source, batch.source_sequence_length, training=True)
            logits, _ = model.write((states, mask), batch.target_input, state, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(batch.target_output, logits)
            weights = tf.sequence_mask(batch.target_sequence_length, tf.shape(losses)[1], dtype=tf.float32)
            loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
        variables = model.trainable_variables
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 1.0)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    for _, batch in zip(range(steps), batches_of(run), strict=False):
        update(batch)
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
    for first in range(0, len(lines), rows):
        ids = [[*row, end] for row in tokenizer.encode_batch(list(lines[first : first + rows])).to_lists()]
        source = tf.ragged.constant(ids, dtype=tf.int32)
        states, mask, state = model.read(source.to_tensor(end), source.row_lengths(), training=False)
        target = tf.fill([len(ids), 1], begin)
        found = []
        for _ in range(LONGEST):
            logits, state = model.write((states, mask), target, state, training=False)
            target = tf.argmax(logits[:, -1:], -1, output_type=tf.int32)
            found.append(target.numpy()[:, 0])
        for row in zip(*found, strict=True):
            pieces = [int(piece) for piece in row]
            yield tokenizer.decode(pieces[: pieces.index(end)] if end in pieces else pieces)


def first_piece(run: Path) -> int:
    """Returns the piece that the inputs of the decoder begin with."""
    batch = next(iter(nmt_prep.make_dataset(run, "train", batch_tokens=BATCH_TOKENS, seed=1)))
    return int(batch.target_input[0, 0])


if __name__ == "__main__":
    main()
