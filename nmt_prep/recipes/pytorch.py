"""The recipe for a training loop of PyTorch."""

from __future__ import annotations

from pathlib import Path

from nmt_prep.errors import OutputError
from nmt_prep.recipes.run import TRAIN, here_document
from nmt_prep.records import load_dataset_info, records_in

_SCRIPT = '''
import argparse

import torch
from torch import nn

from nmt_prep.torch import Batches

arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int, default=100_000)
arguments.add_argument("--width", type=int, default=512, help="size of the hidden states")
arguments.add_argument("--batch-tokens", type=int, default=4096)
arguments.add_argument("--longest", type=int, default=256, help="pairs with a longer side are left out")
arguments.add_argument("--file", default="model.pt")
options = arguments.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(SEED)


class Model(nn.Module):
    """A transformer with learned positions."""

    def __init__(self, width):
        super().__init__()
        self.source = nn.Embedding(SOURCE_SIZE, width, padding_idx=SOURCE_PAD)
        self.target = nn.Embedding(TARGET_SIZE, width)
        self.position = nn.Embedding(options.longest + 1, width)
        self.transformer = nn.Transformer(width, 8, 6, 6, 4 * width, batch_first=True)
        self.output = nn.Linear(width, TARGET_SIZE)

    def forward(self, source, padding, target):
        def embedded(table, ids):
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


def steps():
    """Yields batches, epoch after epoch; the number of a step fixes its batch, so training can resume at any step."""
    batches = Batches(RUN, TRAIN, batch_tokens=options.batch_tokens, max_length=options.longest, packed=False)
    while True:
        yield from batches


model = Model(options.width).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98))
warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 4000, (4000 / (step + 1)) ** 0.5))
loss_of = nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)
for step, batch in enumerate(steps()):
    if step == options.steps:
        break
    source, mask, labels = (tensor.to(device, non_blocking=True) for tensor in batch.values())
    start = torch.full((len(labels), 1), TARGET_START, device=device)
    shifted = torch.cat([start, labels[:, :-1].clamp(min=0)], 1)
    loss = loss_of(model(source, mask == 0, shifted).flatten(0, 1), labels.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    warm.step()
    if step % 100 == 0 or step + 1 == options.steps:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
torch.save(model.state_dict(), options.file)
'''


def pytorch(run: Path) -> str:
    """Returns commands that train a transformer in a loop of PyTorch, which reads the records of a run.

    Raises:
        OutputError: the run has no records of a split ``train``.
        RecordsError: its records are damaged.
    """
    info = load_dataset_info(records_in(run))
    if TRAIN not in info.splits:
        raise OutputError(f"{run} has no records of train; run a config with that split")
    source, target = info.vocab.source, info.vocab.target
    values = {
        "RUN": str(run.absolute()),
        "TRAIN": TRAIN,
        "SOURCE_SIZE": source.size,
        "TARGET_SIZE": target.size,
        "SOURCE_PAD": source.padding_id,
        "TARGET_START": target.padding_id if target.bos_id is None else target.bos_id,
        "SEED": info.seed,
    }
    facts = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    head = '"""Trains a transformer with PyTorch on the batches of nmt_prep.torch.Batches."""\n'
    written = here_document("train_torch.py", head + _SCRIPT.replace("\n\narguments =", f"\n\n{facts}\narguments =", 1))
    return (
        "# Trains a transformer with PyTorch: pip install 'nmt-prep[torch]'\n\n"
        + written
        + "python train_torch.py --steps 100000\n"
    )
