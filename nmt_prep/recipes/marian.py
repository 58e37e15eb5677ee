"""The recipe for Marian."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from nmt_prep.recipes.run import TRAIN, MadeOutput, find_output, here_document


def marian(run: Path) -> str:
    """Returns commands that train a transformer with Marian on the output of kind marian.

    Raises:
        OutputError: the run has no such output.
    """
    output = find_output(run, "marian", {}, "{kind: marian}")
    vocabularies = sorted(output.directory.glob("vocab*"))
    if not output.shared:
        vocabularies.sort(key=lambda path: path.name.split(".")[1] != output.languages[0])
    config: dict[str, object] = {
        "type": "transformer",
        "model": "model/model.npz",
        "tsv": True,
        "train-sets": ["train.tsv"],
        "vocabs": [str(path) for path in (vocabularies * 2)[:2]],
        "tied-embeddings-all" if output.shared else "tied-embeddings": True,
        "mini-batch-fit": True,
        "workspace": 9000,
        "maxi-batch": 1000,
        "learn-rate": 0.0003,
        "lr-warmup": 16000,
        "lr-decay-inv-sqrt": 16000,
        "label-smoothing": 0.1,
        "exponential-smoothing": True,
        "early-stopping": 10,
        "save-freq": 5000,
        "seed": output.facts["seed"],
    }
    if pieces_of_model(output):
        config["no-spm-encode"] = True
    if output.facts["options"].get("alignments"):
        config |= {"guided-alignment": "2", "guided-alignment-cost": "ce", "guided-alignment-weight": 0.1}
    if output.held_out is not None:
        config |= {"valid-sets": ["valid.tsv"], "valid-metrics": ["ce-mean-words"], "valid-freq": 5000}
    lines = [
        "# Trains a transformer with Marian. Lines are shuffled already; Marian shuffles them again in every epoch.",
        "",
    ]
    for split, command, name in ((TRAIN, "cat", "train.tsv"), (output.held_out, "cut -f 1,2", "valid.tsv")):
        if split is not None:
            lines.append(f"{command} {shlex.join(map(str, output.shards(split, '.tsv')))} >{name}")
    written = here_document("marian.yml", yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return "\n".join([*lines, "mkdir -p model", written]) + "marian -c marian.yml --devices 0\n"


def pieces_of_model(output: MadeOutput) -> bool:
    """Returns True if the lines are pieces of a SentencePiece model, which Marian must not segment again."""
    return output.vocab("source")["kind"] == "sentencepiece" and output.facts["options"]["pieces"] is True
