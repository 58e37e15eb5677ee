"""Gives a model of transformers the vocabulary that a run pruned or extended, and compares the outputs for old text."""

# pip install 'transformers[torch]'
# python docs/examples/resize_transformers.py Helsinki-NLP/opus-mt-en-de runs/ende/vocab/embeddings.json small-model

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig, PreTrainedConfig

_TABLES = ("shared", "embed_tokens", "lm_head", "wte", "final_logits_bias")  # Parameters with a row or entry per ID
_SIZES = ("vocab_size", "decoder_vocab_size")


def resized(model: Any, rows: list[int | list[int]], multiple: int = 8) -> Any:
    """Returns a copy of a model with other embeddings; their number is padded to a multiple."""
    old_size, size = model.config.vocab_size, -(-len(rows) // multiple) * multiple
    changed = {
        name: table(weight, rows, size, 1 if name.endswith("final_logits_bias") else 0)
        for name, weight in model.state_dict().items()
        if old_size in weight.shape and any(part in name for part in _TABLES)
    }
    ids = {row: number for number, row in enumerate(rows) if isinstance(row, int)}
    config = renumbered(model.config, ids)
    for key in _SIZES:
        if hasattr(config, key):
            setattr(config, key, size)
    new = type(model)(config).to(model.dtype).eval()
    new.load_state_dict({**model.state_dict(), **changed})
    new.tie_weights()
    if model.generation_config is not None:
        new.generation_config = renumbered(model.generation_config, ids)
    return new


def table(weight: torch.Tensor, rows: list[int | list[int]], size: int, dim: int) -> torch.Tensor:
    """Returns old entries, means of old entries, and the mean of all for IDs without a start and for padding."""
    old = weight.transpose(0, dim)
    mean = old.mean(0)
    made = [old[row] if isinstance(row, int) else old[row].mean(0) if row else mean for row in rows]
    return torch.stack([*made, *[mean] * (size - len(rows))]).transpose(0, dim)


def renumbered(config: PreTrainedConfig | GenerationConfig, ids: dict[int, int]) -> Any:
    """Returns a config with the new numbers of special pieces."""

    def number(value: Any) -> Any:
        return [*map(number, value)] if isinstance(value, list) else ids.get(value, value)

    keys = [key for key in config.to_dict() if key.endswith(("token_id", "tokens", "_words_ids"))]
    settings = {key: number(value) for key in keys if isinstance(value := getattr(config, key, None), int | list)}
    return type(config).from_dict({**config.to_dict(), **settings})


def greatest_difference(old: Any, new: Any, rows: list[int | list[int]]) -> float:
    """Returns the greatest difference between the outputs of two models for random text of kept pieces."""
    kept = [(number, row) for number, row in enumerate(rows) if isinstance(row, int)]
    new_ids, old_ids = torch.tensor(kept).T
    text = torch.randint(len(kept), (4, 16), generator=torch.Generator().manual_seed(1))

    def outputs(model: Any, ids: torch.Tensor) -> torch.Tensor:
        decoder = {"decoder_input_ids": ids[text]} if model.config.is_encoder_decoder else {}
        with torch.no_grad():
            return model(input_ids=ids[text], attention_mask=torch.ones_like(text), **decoder).logits[..., ids]

    return float((outputs(old, old_ids) - outputs(new, new_ids)).abs().max())


def main() -> None:
    """Resizes the model that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="directory or name of the model")
    parser.add_argument("rows", type=Path, help="embeddings.json")
    parser.add_argument("output", help="directory for the new model")
    parser.add_argument("--multiple", type=int, default=8, help="pad the number of embeddings to a multiple")
    options = parser.parse_args()
    rows = json.loads(options.rows.read_bytes())["rows"]
    config = PreTrainedConfig.get_config_dict(options.model)[0]
    kind = AutoModelForSeq2SeqLM if config.get("is_encoder_decoder") else AutoModelForCausalLM
    model = kind.from_pretrained(options.model).eval()
    new = resized(model, rows, options.multiple)
    print(f"greatest difference of outputs: {greatest_difference(model, new, rows):.2g}")  # noqa: T201
    new.save_pretrained(options.output)


if __name__ == "__main__":
    main()
