"""Trains a MarianMTModel with a Seq2SeqTrainer of transformers on an output of kind huggingface with rows of IDs."""

# pip install 'transformers[torch]' datasets
# python docs/examples/train_huggingface.py runs/ende/outputs/huggingface

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import load_dataset
from transformers import MarianConfig, MarianMTModel, MarianTokenizer, Seq2SeqTrainer, Seq2SeqTrainingArguments

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("output", type=Path, help="directory of the output")
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--width", type=int, default=512, help="size of the hidden states")
parser.add_argument("--batch", type=int, default=64, help="pairs on each device")
parser.add_argument("--longest", type=int, default=256, help="pairs with a longer side are left out")
parser.add_argument("--directory", default="hf_model", help="directory for the model")
options = parser.parse_args()

facts = json.loads((options.output / "output.json").read_bytes())
source_vocab, target_vocab = facts["vocab"]["source"], facts["vocab"]["target"]
eos_id = target_vocab["eos_id"]
pad_id = eos_id if target_vocab["pad_id"] is None else target_vocab["pad_id"]
sizes, shared = (source_vocab["size"], target_vocab["size"]), source_vocab["file"] == target_vocab["file"]
has_tokenizer = (options.output / "source.spm").exists()
if shared and has_tokenizer:  # the tokenizer adds <pad> after all other IDs if the vocabulary has none
    pieces = json.loads((options.output / "vocab.json").read_bytes())
    pad_id, sizes = pieces["<pad>"], (len(pieces), len(pieces))


def collate(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Pads the IDs of a batch; padded labels are -100, which the loss ignores."""

    def padded(name: str, value: int) -> Any:
        width = max(len(row[name]) for row in rows)
        return torch.tensor([row[name] + [value] * (width - len(row[name])) for row in rows])

    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    ids, labels = padded("input_ids", pad_id), padded("labels", -100)
    return {
        "input_ids": ids,
        "attention_mask": (torch.arange(ids.shape[1])[None] < lengths[:, None]).long(),
        "labels": labels,
        "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels),
    }


data = load_dataset(str(options.output)).filter(
    lambda row: max(len(row["input_ids"]), len(row["labels"])) <= options.longest
)
model = MarianMTModel(
    MarianConfig(
        vocab_size=sizes[0],
        decoder_vocab_size=sizes[1],
        share_encoder_decoder_embeddings=shared,
        d_model=options.width,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * options.width,
        decoder_ffn_dim=4 * options.width,
        max_position_embeddings=options.longest,
        scale_embedding=True,
        pad_token_id=pad_id,
        eos_token_id=eos_id,
        forced_eos_token_id=eos_id,
        decoder_start_token_id=pad_id,
    )
)
trainer = Seq2SeqTrainer(
    model=model,
    args=Seq2SeqTrainingArguments(
        output_dir=options.directory,
        max_steps=options.steps,
        per_device_train_batch_size=options.batch,
        per_device_eval_batch_size=options.batch,
        learning_rate=5e-4,
        warmup_steps=min(4_000, options.steps // 10),
        label_smoothing_factor=0.1,
        logging_steps=max(options.steps // 100, 1),
        save_steps=max(options.steps // 10, 1),
        eval_strategy="steps" if "dev" in data else "no",
        eval_steps=max(options.steps // 10, 1),
        report_to="none",
        seed=facts["seed"] % 2**32,
    ),
    train_dataset=data["train"],
    eval_dataset=data.get("dev"),
    data_collator=collate,
)
trainer.train()
if "dev" in data:
    print(f"loss on dev: {trainer.evaluate()['eval_loss']:.4f}")  # noqa: T201
trainer.save_model()
if has_tokenizer:
    MarianTokenizer.from_pretrained(options.output).save_pretrained(options.directory)
