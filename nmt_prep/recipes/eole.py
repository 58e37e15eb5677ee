"""The recipe for Eole."""

from __future__ import annotations

from pathlib import Path

import yaml

from nmt_prep.errors import OutputError
from nmt_prep.recipes.run import TRAIN, find_output, here_document


def eole(run: Path) -> str:
    """Returns commands that train a transformer with Eole on the output of kind text.

    Raises:
        OutputError: the run has no output of pieces with vocabularies for Eole.
    """
    advice = "{kind: text, pieces: true, vocab: [eole]}"
    output = find_output(run, "text", {"pieces": True}, advice)
    source, target = output.languages
    vocabularies = [output.directory / f"vocab.eole.{side}" for side in (source, target)]
    if not all(path.exists() for path in vocabularies):
        raise OutputError(f"{output.directory} has no vocabularies for Eole; set {advice} in outputs, and run it again")
    data: dict[str, object] = {}
    for split, prefix in ((TRAIN, "train"), (output.held_out, "valid")):
        if split is not None:
            sides = zip(output.shards(split, f".{source}"), output.shards(split, f".{target}"), strict=True)
            for number, (path_src, path_tgt) in enumerate(sides):
                name = prefix if prefix == "valid" else f"{prefix}_{number:05d}"
                data.setdefault(name, {"path_src": str(path_src), "path_tgt": str(path_tgt)})
    config = {
        "src_vocab": str(vocabularies[0]),
        "tgt_vocab": str(vocabularies[1]),
        "share_vocab": output.shared,
        "save_data": "eole_data",
        "seed": output.facts["seed"],
        "data": data,
        "training": {
            "world_size": 1,
            "gpu_ranks": [0],
            "model_path": "eole_model",
            "batch_type": "tokens",
            "batch_size": 8192,
            "train_steps": 100_000,
            "valid_steps": 5_000,
            "save_checkpoint_steps": 5_000,
            "optim": "adam",
            "learning_rate": 2.0,
            "warmup_steps": 8_000,
            "decay_method": "noam",
            "label_smoothing": 0.1,
        },
        "model": {
            "architecture": "transformer",
            "hidden_size": 512,
            "layers": 6,
            "heads": 8,
            "transformer_ff": 2048,
            "embeddings": {"word_vec_size": 512, "position_encoding_type": "SinusoidalInterleaved"},
        },
    }
    head = "# Trains a transformer with Eole on lines of pieces; no transforms are needed. Each shard is a corpus.\n\n"
    return head + here_document("eole.yml", yaml.safe_dump(config, sort_keys=False)) + "eole train -config eole.yml\n"
