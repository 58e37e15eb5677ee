"""The recipe for fairseq."""

from __future__ import annotations

import shlex
from pathlib import Path

from nmt_prep.recipes.run import find_output


def fairseq(run: Path) -> str:
    """Returns a command that trains a transformer with fairseq on the output of kind fairseq.

    Raises:
        OutputError: the run has no such output.
    """
    output = find_output(run, "fairseq", {}, "{kind: fairseq}")
    source, target = output.languages
    held_out = ["--valid-subset", output.held_out] if output.held_out else ["--disable-validation"]
    shared = ["--share-all-embeddings"] if output.shared else ["--share-decoder-input-output-embed"]
    options = [
        ["fairseq-train", str(output.directory), "--source-lang", source, "--target-lang", target],
        [*held_out, "--arch", "transformer", *shared],
        ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--clip-norm", "1.0"],
        ["--lr", "5e-4", "--lr-scheduler", "inverse_sqrt", "--warmup-updates", "8000"],
        ["--criterion", "label_smoothed_cross_entropy", "--label-smoothing", "0.1", "--dropout", "0.1"],
        ["--max-tokens", "8192", "--max-update", "100000", "--seed", str(output.facts["seed"])],
        ["--save-dir", "fairseq_model"],
    ]
    command = " \\\n  ".join(shlex.join(line) for line in options)
    return f"# Trains a transformer with fairseq, which joins the shards of train.\n\n{command}\n"
