"""Translates lines with CTranslate2, for a computed value. Not run by nmt_prep's tests: it needs a model.

computed:
  bt:
    program: [python, computed_ctranslate2.py, model-directory, "4"]
    input: target
    output: text
    candidates: 4
    end: mark
    batch: 2048
    by_length: true
    version: de-en-2026-03
"""

import sys

import ctranslate2
import sentencepiece

directory, candidates = sys.argv[1], int(sys.argv[2])
translator = ctranslate2.Translator(directory, device="auto", compute_type="auto")
source = sentencepiece.SentencePieceProcessor(model_file=f"{directory}/source.spm")
target = sentencepiece.SentencePieceProcessor(model_file=f"{directory}/target.spm")
batch = []
for line in open(0, encoding="utf-8", newline="\n"):
    line = line.rstrip("\n")
    if line:
        batch.append(source.encode(line, out_type=str)[:500])
        continue
    results = translator.translate_batch(
        batch, max_batch_size=8192, batch_type="tokens", beam_size=max(candidates, 4), num_hypotheses=candidates
    )
    for result in results:
        texts = (target.decode(hypothesis) for hypothesis in result.hypotheses)
        print("\t".join(" ".join(text.split()) for text in texts))
    print(flush=True)
    batch = []
