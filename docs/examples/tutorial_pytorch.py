"""Trains a small transformer on a run with PyTorch, and translates sentences with it."""

# pip install '.[torch]'
# python docs/examples/tutorial_pytorch.py runs/tutorial

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nmt_prep import load_tokenizer
from nmt_prep.torch import Batches
from nmt_prep.training.records import load_dataset_info

RUN = Path(sys.argv[1])
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
SENTENCES = [
    "The teacher bought the coat in Shanghai yesterday.",
    "My sister visited the museum last week.",
    "We will build a new hospital next year.",
    "The airline announced on 8 April that it will invest 37.3 million euros.",
    "They read three books at school.",
]

info = load_dataset_info(RUN / "records")
vocabularies = info.vocab
source_tokenizer = load_tokenizer(RUN / "records" / vocabularies.source.file)
target_tokenizer = load_tokenizer(RUN / "records" / vocabularies.target.file)
torch.manual_seed(1)


class Translator(nn.Module):
    """A transformer of two layers on each side."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.source = nn.Embedding(vocabularies.source.size, width)
        self.target = nn.Embedding(vocabularies.target.size, width)
        self.position = nn.Embedding(160, width)
        self.transformer = nn.Transformer(width, 4, 2, 2, 4 * width, dropout=0.1, batch_first=True)

    def forward(self, source: Any, padding: Any, target: Any) -> Any:
        """Returns logits of shape [rows, target length, pieces]."""
        ahead = nn.Transformer.generate_square_subsequent_mask(target.shape[1]).isinf()
        states = self.transformer(
            self.source(source) + self.position.weight[: source.shape[1]],
            self.target(target) + self.position.weight[: target.shape[1]],
            tgt_mask=ahead,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return states @ self.target.weight.T  # the output layer shares the embeddings of the target


def batches() -> Any:
    """Yields batches, epoch after epoch."""
    epochs = Batches(RUN, "train", batch_tokens=2048, max_length=128, seed=1)
    while True:
        yield from epochs


def translate(model: Translator, sentence: str) -> str:
    """Returns the translation that takes the most probable piece at each step."""
    source = torch.tensor([[*source_tokenizer.encode(sentence), vocabularies.source.eos_id]])
    target = torch.tensor([[vocabularies.target.padding_id]])
    for _ in range(60):
        piece = model(source, None, target)[0, -1].argmax()
        if piece == vocabularies.target.eos_id:
            break
        target = torch.cat([target, piece.reshape(1, 1)], 1)
    return target_tokenizer.decode(target[0, 1:].tolist())


model, began = Translator(), time.monotonic()
for parameter in model.parameters():
    if parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
loss_of = nn.CrossEntropyLoss(ignore_index=-100)
for step, batch in enumerate(islice(batches(), STEPS), 1):
    labels = batch["labels"]
    start = torch.full((len(labels), 1), vocabularies.target.padding_id)
    shifted = torch.cat([start, labels[:, :-1].clamp(min=0)], 1)
    loss = loss_of(model(batch["input_ids"], batch["attention_mask"] == 0, shifted).flatten(0, 1), labels.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 250 == 0:
        print(f"step {step}: loss {loss.item():.2f}, {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201

model.eval()
with torch.no_grad():
    for sentence in SENTENCES:
        print(f"{sentence}\n  {translate(model, sentence)}")  # noqa: T201
