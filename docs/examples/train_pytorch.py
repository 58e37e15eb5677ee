"""Trains a transformer with PyTorch on the records of a run."""

# pip install '.[torch]'
# python docs/examples/train_pytorch.py runs/toy

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nmt_prep.torch import Batches
from nmt_prep.training.records import load_dataset_info

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", type=Path, help="directory of the run")
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--width", type=int, default=512, help="size of the hidden states")
parser.add_argument("--batch-tokens", type=int, default=4096)
parser.add_argument("--longest", type=int, default=256, help="pairs with a longer side are left out")
parser.add_argument("--file", type=Path, default="model.pt", help="file for the weights")
options = parser.parse_args()

info = load_dataset_info(options.run / "records")
source_vocab, target_vocab = info.vocab.source, info.vocab.target
first_id = target_vocab.padding_id if target_vocab.bos_id is None else target_vocab.bos_id
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(info.seed)


class Model(nn.Module):
    """A transformer with learned positions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.source = nn.Embedding(source_vocab.size, width, padding_idx=source_vocab.padding_id)
        self.target = nn.Embedding(target_vocab.size, width)
        self.position = nn.Embedding(options.longest + 1, width)
        self.transformer = nn.Transformer(width, 8, 6, 6, 4 * width, batch_first=True)
        self.output = nn.Linear(width, target_vocab.size)

    def forward(self, source: Any, padding: Any, target: Any) -> Any:
        """Returns logits, shape ``[rows, longest target, pieces]``."""

        def embedded(table: nn.Embedding, ids: Any) -> Any:
            return table(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))

        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device).isinf()
        states = self.transformer(
            embedded(self.source, source),
            embedded(self.target, target),
            tgt_mask=mask,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.output(states)


def endless_batches() -> Iterator[dict[str, Any]]:
    """Yields batches, epoch after epoch."""
    batches = Batches(options.run, "train", batch_tokens=options.batch_tokens, max_length=options.longest, packed=False)
    while True:
        yield from batches


model = Model(options.width).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98))
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 4000, (4000 / (step + 1)) ** 0.5))
loss_of = nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)
for step, batch in enumerate(endless_batches(), 1):
    source, mask, labels = (tensor.to(device, non_blocking=True) for tensor in batch.values())
    start = torch.full((len(labels), 1), first_id, device=device)
    shifted = torch.cat([start, labels[:, :-1].clamp(min=0)], 1)
    loss = loss_of(model(source, mask == 0, shifted).flatten(0, 1), labels.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    if step % 100 == 0 or step == options.steps:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)  # noqa: T201
    if step == options.steps:
        break
torch.save(model.state_dict(), options.file)
