"""Compares rows of a chat template with transformers and datasets: rows per second from text to ids and masks.

    python -m benchmarks.rows [--rows 100000] [--peer-rows 10000] [--processes 2]

The environment needs transformers and datasets. A byte-level vocabulary is trained on generated text. The peer does
what TRL does for prompts and completions: it renders and encodes the prompt, and then the whole conversation, in a
process per core. The templates insert texts as they are (as Qwen 2.5's), strip them (as Llama 3's), or change them in
another way, so that each text must be rendered.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from toy_corpus.grammar import Grammar

from nmt_prep import load_tokenizer
from nmt_prep.subwords import ByteBPETokenizer
from nmt_prep.subwords.chat.template import ChatTemplate
from nmt_prep.subwords.facts import BuiltVocabulary, describe_vocabulary
from nmt_prep.training.records.causal_rows import RowMaker

_TURN = "{%% for m in messages %%}{{ '<|im_start|>' + m.role + '\\n' + %s + '<|im_end|>\\n' }}{%% endfor %%}"
_PROMPT = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
TEMPLATES = {
    "inserted": _TURN % "m.content" + _PROMPT,
    "stripped": _TURN % "m.content | trim" + _PROMPT,
    "rendered": _TURN % "m.content | replace('  ', ' ')" + _PROMPT,
}
_BATCH = 10_000


def written(directory: Path, texts: list[str]) -> Path:
    """Writes a vocabulary for chats; returns its path."""
    path = directory / "tokenizer.json"
    ByteBPETokenizer.train(texts, 8000, eos="<|im_end|>", reserved=["<|im_start|>"]).save(path)
    return path


def own_rate(path: Path, template: str, prompts: list[str], answers: list[str], threads: int) -> float:
    """Returns the rows per second of nmt_prep."""
    facts = describe_vocabulary(load_tokenizer(path), path.name, None, ()).facts
    maker = RowMaker(BuiltVocabulary(path, facts), ChatTemplate(template, "the template"))
    columns = [pa.array(texts, pa.large_string()) for texts in (prompts, answers)]
    begin = time.perf_counter()
    for first in range(0, len(prompts), _BATCH):
        prompt, answer = (column[first : first + _BATCH] for column in columns)
        maker.rows(prompt, answer, None, threads)
    return len(prompts) / (time.perf_counter() - begin)


def peer_rate(path: Path, template: str, prompts: list[str], answers: list[str], processes: int) -> float:
    """Returns the rows per second of transformers and datasets."""
    import datasets  # noqa: PLC0415  (an environment of its own)
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    datasets.disable_progress_bars()
    datasets.disable_caching()
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path), eos_token="<|im_end|>", chat_template=template)

    def ids(row: dict[str, Any]) -> dict[str, list[int]]:
        prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=True)["input_ids"]
        whole = tokenizer.apply_chat_template(row["prompt"] + row["completion"], return_dict=True)["input_ids"]
        same = next((n for n, (a, b) in enumerate(zip(prompt, whole, strict=False)) if a != b), len(prompt))
        return {"input_ids": whole, "completion_mask": [0] * same + [1] * (len(whole) - same)}

    rows = {
        name: [[{"role": role, "content": text}] for text in texts]
        for name, role, texts in (("prompt", "user", prompts), ("completion", "assistant", answers))
    }
    data = datasets.Dataset.from_dict(rows)
    begin = time.perf_counter()
    data.map(ids, num_proc=processes, remove_columns=["prompt", "completion"])
    return len(prompts) / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peer-rows", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    pairs = list(islice(Grammar(1).pairs(), options.rows))
    prompts = [f"Translate from English into Chinese.\nEnglish: {source}\nChinese:" for source, _ in pairs]
    answers = [target for _, target in pairs]
    rates: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        path = written(Path(name), [text for pair in pairs[:20_000] for text in pair])
        for kind, template in TEMPLATES.items():
            own = own_rate(path, template, prompts, answers, options.processes)
            few = prompts[: options.peer_rows], answers[: options.peer_rows]
            peer = peer_rate(path, template, *few, options.processes)
            rates[kind] = {"rows/s": round(own), "peer": round(peer), "ratio": round(own / peer, 1)}
            print(json.dumps({kind: rates[kind]}), flush=True)


if __name__ == "__main__":
    main()
