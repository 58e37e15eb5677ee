"""Scores pairs by the margin of LaBSE's similarity, for a computed value. Not run by nmt_prep's tests.

The margin is the similarity of the sides divided by their mean similarity with the nearest lines of a fixed sample, so
that the score of a pair depends on no other pair. The sample has a pair per line, separated by a tab; 20,000 pairs of
the corpora will do.

    computed:
      labse: {program: [python, computed_labse.py, sample.tsv], end: mark, batch: 2048, by_length: true}
"""

import sys

import torch
from sentence_transformers import SentenceTransformer

NEAREST = 4
model = SentenceTransformer("sentence-transformers/LaBSE")


def embedded(lines):
    return model.encode(lines, batch_size=256, convert_to_tensor=True, normalize_embeddings=True)


with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
    pairs = [line.rstrip("\n").split("\t") for line in file]
sample = [embedded([pair[side] for pair in pairs]) for side in (0, 1)]
batch = []
for line in open(0, encoding="utf-8", newline="\n"):
    line = line.rstrip("\n")
    if line:
        batch.append(line.split("\t"))
        continue
    if batch:
        source, target = (embedded([pair[side] for pair in batch]) for side in (0, 1))
        near = [(a @ b.T).topk(NEAREST).values.mean(1) for a, b in ((source, sample[1]), (target, sample[0]))]
        for score in ((source * target).sum(1) / torch.stack(near).mean(0)).tolist():
            print(f"{score:.5f}")
    print(flush=True)
    batch = []
