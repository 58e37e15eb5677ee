"""Trains a small Llama with random weights on packed rows, and compares their loss with that of single sequences."""

# pip install '.[torch]' transformers
# nmt-prep run configs/toy.yaml --set 'vocab={kind: byte_bpe, size: 2000, shared: true}' \
#     --set 'records={layout: causal, prompt: "Translate into {target_language}: {source}\n"}'
# python docs/examples/train_causal.py runs/toy

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaConfig, LlamaForCausalLM

from nmt_prep.torch import Batches
from nmt_prep.training.records import load_dataset_info

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("run", type=Path, help="directory of the run, with records of layout causal")
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--width", type=int, default=256, help="size of the hidden states")
parser.add_argument("--row-length", type=int, default=512, help="ids of a packed row")
parser.add_argument("--rows", type=int, default=8, help="rows of a batch")
parser.add_argument("--directory", default="causal_model", help="directory for the model")
options = parser.parse_args()

info = load_dataset_info(options.run / "records")
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(info.seed)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=info.vocab.target.size,
        hidden_size=options.width,
        intermediate_size=4 * options.width,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=options.row_length,
        use_cache=False,  # with a cache, transformers does not look for packed sequences
        bos_token_id=info.vocab.target.bos_id,
        eos_token_id=info.vocab.target.eos_id,
        pad_token_id=info.vocab.target.padding_id,
    )
).to(device)


def loss_of(labels: Any, **inputs: Any) -> Any:
    """Returns the mean loss of the IDs that count; each is predicted from the IDs before it in its sequence."""
    logits = model(**inputs).logits[:, :-1]
    return cross_entropy(logits.flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100)


def packed_loss(batch: dict[str, Any]) -> Any:
    """Returns the loss of packed rows, in whose sequences no ID sees another sequence."""
    ids, labels, positions = (batch[name].to(device) for name in ("input_ids", "labels", "position_ids"))
    return loss_of(labels, input_ids=ids, position_ids=positions)


def single_loss(batch: dict[str, Any]) -> Any:
    """Returns the loss of the same sequences, each in a row of its own."""
    bounds = list(pairwise(batch["cu_seqlens"].tolist()))
    ids, labels = (
        pad_sequence([batch[name].flatten()[begin:end] for begin, end in bounds], True, padding).to(device)
        for name, padding in (("input_ids", 0), ("labels", -100))
    )
    lengths = torch.tensor([end - begin for begin, end in bounds], device=device)
    mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
    return loss_of(labels, input_ids=ids, attention_mask=mask.long())


def endless_batches() -> Iterator[dict[str, Any]]:
    """Yields packed rows, epoch after epoch."""
    batches = Batches(options.run, "train", features="causal", row_length=options.row_length, batch_size=options.rows)
    while True:
        yield from batches


optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, batch in enumerate(endless_batches(), 1):
    loss = packed_loss(batch)
    if step % 100 == 1 or step == options.steps:
        with torch.no_grad():
            single = single_loss(batch)
        print(f"step {step}: loss {loss.item():.5f} packed, {single.item():.5f} in single rows", flush=True)  # noqa: T201
        torch.testing.assert_close(loss, single, rtol=1e-4, atol=1e-4)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    if step == options.steps:
        break
model.save_pretrained(options.directory)
