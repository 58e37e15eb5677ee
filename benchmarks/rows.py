"""Compares rows of a chat template with transformers and datasets: from text to IDs and what counts for the loss.

    python -m benchmarks.rows [--rows 100000] [--peer-rows 10000] [--processes 2]

The environment needs transformers and datasets. A byte-level vocabulary is trained on generated text. The peer does
what TRL does for prompts and completions: it renders and encodes the prompt, and then the whole conversation, in a
process per core. Its time for a few rows is multiplied. Templates insert texts as they are (as Qwen 2.5's), strip them
(as Llama 3's), or change them in another way, so that each text must be rendered.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset, disable_caching, disable_progress_bars
from transformers import PreTrainedTokenizerFast

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from toy_corpus.grammar import Grammar

from benchmarks.figures import Figure, Spent, record, with_version
from nmt_prep import load_tokenizer
from nmt_prep.subwords import ByteBPETokenizer
from nmt_prep.subwords.chat.template import ChatTemplate
from nmt_prep.subwords.facts import BuiltVocabulary, describe_vocabulary
from nmt_prep.training.records.causal_rows import RowMaker

_TURN = "{%% for m in messages %%}{{ '<|im_start|>' + m.role + '\\n' + %s + '<|im_end|>\\n' }}{%% endfor %%}"
_PROMPT = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
TEMPLATES = {
    "inserts texts as they are": _TURN % "m.content" + _PROMPT,
    "strips texts": _TURN % "m.content | trim" + _PROMPT,
    "changes texts": _TURN % "m.content | replace('  ', ' ')" + _PROMPT,
}
_BATCH = 10_000


def spent(work: Callable[[], Any]) -> Spent:
    """Returns the time of a function, that of child processes that have ended included."""
    started, cpu = time.perf_counter(), sum(os.times()[:4])
    work()
    return Spent(time.perf_counter() - started, sum(os.times()[:4]) - cpu)


def make(path: Path, template: str, prompts: list[str], answers: list[str], threads: int) -> None:
    """Makes rows with nmt_prep."""
    facts = describe_vocabulary(load_tokenizer(path), path.name, None, ()).facts
    maker = RowMaker(BuiltVocabulary(path, facts), ChatTemplate(template, "the template"))
    columns = [pa.array(texts, pa.large_string()) for texts in (prompts, answers)]
    for first in range(0, len(prompts), _BATCH):
        prompt, answer = (column[first : first + _BATCH] for column in columns)
        maker.rows(prompt, answer, threads=threads)


def make_by_peer(path: Path, template: str, data: Dataset, processes: int) -> None:
    """Makes rows with transformers and datasets."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path), eos_token="<|im_end|>", chat_template=template)

    def ids(row: dict[str, Any]) -> dict[str, list[int]]:
        prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=True)["input_ids"]
        whole = tokenizer.apply_chat_template(row["prompt"] + row["completion"], return_dict=True)["input_ids"]
        same = next((n for n, (a, b) in enumerate(zip(prompt, whole, strict=False)) if a != b), len(prompt))
        return {"input_ids": whole, "completion_mask": [0] * same + [1] * (len(whole) - same)}

    data.map(ids, num_proc=processes, remove_columns=["prompt", "completion"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peer-rows", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    disable_progress_bars()
    disable_caching()
    pairs = list(islice(Grammar(1).pairs(), options.rows))
    prompts = [f"Translate from English into Chinese.\nEnglish: {source}\nChinese:" for source, _ in pairs]
    answers = [target for _, target in pairs]
    sides = {"prompt": ("user", prompts), "completion": ("assistant", answers)}
    data = Dataset.from_dict(
        {
            name: [[{"role": role, "content": text}] for text in texts[: options.peer_rows]]
            for name, (role, texts) in sides.items()
        }
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "tokenizer.json"
        texts = [text for pair in pairs[:20_000] for text in pair]
        ByteBPETokenizer.train(texts, 8000, eos="<|im_end|>", reserved=["<|im_start|>"]).save(path)
        for kind, template in TEMPLATES.items():
            own = spent(lambda: make(path, template, prompts, answers, options.processes))  # noqa: B023
            peer = spent(lambda: make_by_peer(path, template, data, options.processes))  # noqa: B023
            peer = peer.times(options.rows / options.peer_rows)
            what = f"rows of a chat template that {kind}"
            figure = Figure(what, "rows/s", [own], with_version("transformers"), [peer], options.rows)
            record(figure)
            [ratio] = figure.ratios()
            print(f"{what}: {options.rows / own.clock:,.0f} rows/s, {ratio.clock:.0f} times the peer", flush=True)


if __name__ == "__main__":
    main()
