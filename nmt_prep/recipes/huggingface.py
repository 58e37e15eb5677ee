"""The recipe for a Seq2SeqTrainer of transformers."""

from __future__ import annotations

from pathlib import Path

from nmt_prep.recipes.run import TRAIN, find_output, here_document

_SCRIPT = '''
import argparse

import torch
from datasets import load_dataset
from transformers import MarianConfig, MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

arguments = argparse.ArgumentParser()
arguments.add_argument("--steps", type=int, default=100_000)
arguments.add_argument("--width", type=int, default=512, help="size of the hidden states")
arguments.add_argument("--batch", type=int, default=64, help="pairs on each device")
arguments.add_argument("--longest", type=int, default=256, help="pairs with a longer side are left out")
arguments.add_argument("--directory", default="hf_model")
options = arguments.parse_args()


def collate(rows):
    """Pads the ids of a batch; padded labels are -100, which the loss ignores."""

    def padded(name, value):
        width = max(len(row[name]) for row in rows)
        return torch.tensor([row[name] + [value] * (width - len(row[name])) for row in rows])

    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    ids, labels = padded("input_ids", PAD), padded("labels", -100)
    return {
        "input_ids": ids,
        "attention_mask": (torch.arange(ids.shape[1])[None] < lengths[:, None]).long(),
        "labels": labels,
        "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels),
    }


data = load_dataset(DATA).filter(lambda row: max(len(row["input_ids"]), len(row["labels"])) <= options.longest)
config = MarianConfig(
    vocab_size=SOURCE_SIZE,
    decoder_vocab_size=TARGET_SIZE,
    share_encoder_decoder_embeddings=SHARED,
    d_model=options.width,
    encoder_layers=6,
    decoder_layers=6,
    encoder_attention_heads=8,
    decoder_attention_heads=8,
    encoder_ffn_dim=4 * options.width,
    decoder_ffn_dim=4 * options.width,
    max_position_embeddings=options.longest,
    scale_embedding=True,
    pad_token_id=PAD,
    eos_token_id=EOS,
    forced_eos_token_id=EOS,
    decoder_start_token_id=PAD,
)
model = MarianMTModel(config)
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
        report_to="none",
        seed=SEED,
    ),
    train_dataset=data[TRAIN],
    eval_dataset=data[HELD_OUT] if HELD_OUT else None,
    data_collator=collate,
)
trainer.train()
if HELD_OUT:
    print(trainer.evaluate())
trainer.save_model()
'''


def huggingface(run: Path) -> str:
    """Returns commands that train a MarianMTModel with a Seq2SeqTrainer on an output of ids for Hugging Face.

    Raises:
        OutputError: the run has no such output.
    """
    output = find_output(run, "huggingface", {"rows": "ids"}, "{kind: huggingface, rows: ids}")
    source, target = output.vocab("source"), output.vocab("target")
    padding = target["eos_id"] if target["pad_id"] is None else target["pad_id"]
    values = {
        "DATA": str(output.directory),
        "TRAIN": TRAIN,
        "HELD_OUT": output.held_out,
        "SOURCE_SIZE": source["size"],
        "TARGET_SIZE": target["size"],
        "SHARED": output.shared,
        "PAD": padding,
        "EOS": target["eos_id"],
        "SEED": output.facts["seed"] % 2**32,
    }
    facts = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    head = '"""Trains a transformer with transformers.Seq2SeqTrainer on rows of ids."""\n'
    written = here_document("train_hf.py", head + _SCRIPT.replace("\n\narguments =", f"\n\n{facts}\narguments =", 1))
    note = "# Trains a transformer with Hugging Face: pip install 'transformers[torch]' datasets\n\n"
    return note + written + "python train_hf.py --steps 100000\n"
