"""Scores pairs with COMET-Kiwi, for a computed value. Not run by nmt_prep's tests: it needs a model and a GPU.

pip install unbabel-comet; accept the licence of Unbabel/wmt22-cometkiwi-da and log in with `huggingface-cli login`.

    computed:
      kiwi: {program: [python, computed_comet_kiwi.py], end: mark, batch: 1024, by_length: true, version: wmt22-da}
"""

import logging
import os

from comet import download_model, load_from_checkpoint

# Libraries print to standard output too; the answers go to a copy of it, and all else to standard error.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

model = load_from_checkpoint(download_model("Unbabel/wmt22-cometkiwi-da"))
batch = []
for line in open(0, encoding="utf-8", newline="\n"):
    line = line.rstrip("\n")
    if line:
        source, target = line.split("\t")
        batch.append({"src": source, "mt": target})
        continue
    scores = model.predict(batch, batch_size=64, gpus=1, progress_bar=False).scores if batch else []
    for score in scores:
        print(f"{score:.5f}", file=answers)
    print(file=answers, flush=True)
    batch = []
