"""Compares byte-level BPE encoding by the patterns of published models: nmt_prep, and tiktoken or tokenizers.

    python -m benchmarks.bpe_patterns text.txt
    python -m benchmarks.bpe_patterns --published ../shared/golden/published --only cl100k GPT-NeoX -- text.txt

Published vocabularies are read from ``--published`` where they are; for other models one is trained on the text, and
combined with the pre-tokenizer, the normalizer and the added tokens of the model. One thread each; packages take turns;
all IDs are compared. The first call of nmt_prep has cold caches. Figures are MB/s by the processor, and by the clock.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import tiktoken
import tokenizers

from benchmarks.bpe_texts import REPOSITORY, column, megabytes, texts
from benchmarks.figures import Figure, Spent, best, record, stopwatch, with_version
from nmt_prep.subwords.byte_bpe.pretokenization import GPT2_PATTERN, byte_level
from nmt_prep.subwords.byte_bpe.ranks import CL100K_PATTERN, O200K_PATTERN
from nmt_prep.subwords.byte_bpe.tokenizer import ByteBPETokenizer

_END = r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+" + _END
QWEN2 = LLAMA3.replace("{1,3}", "")
KIMI_K2 = r"[\p{Han}]+|" + O200K_PATTERN.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace("/]*", "]*")
_DEEPSEEK_END = r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK_V3 = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+" + _DEEPSEEK_END,
]
RANKS = {"GPT-2": GPT2_PATTERN, "cl100k": CL100K_PATTERN, "o200k, Llama 4": O200K_PATTERN, "Kimi K2": KIMI_K2}
PUBLISHED = {"cl100k": "cl100k_base.tiktoken", "GPT-2": "gpt2.tokenizer.json", "GPT-NeoX": "gpt_neox.tokenizer.json"}


def _splits(*patterns: str) -> dict[str, Any]:
    steps = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in patterns]
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level()]}


_NFC = {"type": "NFC"}
_DIGITS = {"type": "Digits", "individual_digits": True}
STEPS: dict[str, tuple[dict[str, Any] | None, dict[str, Any], list[str]]] = {
    "Llama 3": (None, _splits(LLAMA3), []),
    "Qwen 2 and 3": (_NFC, _splits(QWEN2), ["<tool_call>", "</tool_call>"]),
    "DeepSeek V3": (None, _splits(*DEEPSEEK_V3), []),
    "StarCoder": (None, {"type": "Sequence", "pretokenizers": [_DIGITS, byte_level(use_regex=True)]}, []),
    "GPT-NeoX": (_NFC, byte_level(use_regex=True), [" " * size for size in range(24, 1, -1)]),
    "ModernBERT": (_NFC, byte_level(use_regex=True), ["|||EMAIL_ADDRESS|||", "  ", "    "]),
}
Encode = Callable[[], Any]


def by_ranks(name: str, trained: ByteBPETokenizer, published: Path, directory: Path) -> tuple[Any, tiktoken.Encoding]:
    """Returns our tokenizer and that of tiktoken."""
    path = published / PUBLISHED.get(name, "")
    if path.is_file():
        ours = ByteBPETokenizer.load(path)
    else:
        path = directory / "ranks"
        ranks = ((token, number) for number, token in enumerate(trained.vocabulary.tokens) if token)
        path.write_bytes(b"".join(b"%b %d\n" % (base64.b64encode(token), number) for token, number in ranks))
        ours = ByteBPETokenizer.load(path, pattern=RANKS[name], specials={})
    tokens = {token: number for number, token in enumerate(ours.vocabulary.tokens) if token}
    return ours, tiktoken.Encoding("x", pat_str=RANKS[name], mergeable_ranks=tokens, special_tokens={})


def by_steps(
    name: str, trained: ByteBPETokenizer, published: Path, directory: Path
) -> tuple[ByteBPETokenizer, tokenizers.Tokenizer]:
    """Returns our tokenizer and that of tokenizers."""
    path = published / PUBLISHED.get(name, "")
    if not path.is_file():
        path = directory / "tokenizer.json"
        trained.save(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        normalizer, steps, added = STEPS[name]
        content["normalizer"], content["pre_tokenizer"] = normalizer, steps
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
        content["added_tokens"] += [
            {"id": len(trained) + number, "content": text, **flags} for number, text in enumerate(added)
        ]
        path.write_text(json.dumps(content), encoding="utf-8")
    return ByteBPETokenizer.load(path), tokenizers.Tokenizer.from_file(str(path))


def compare(name: str, text: str, lines: list[str], trained: ByteBPETokenizer, published: Path, repeat: int) -> bool:
    array, size = column(lines), megabytes(lines)
    with tempfile.TemporaryDirectory() as directory:
        if name in RANKS:
            ours, ranks = by_ranks(name, trained, published, Path(directory))
            peer: Encode = lambda: [i for line in lines for i in ranks.encode_ordinary(line)]  # noqa: E731
        else:
            ours, model = by_steps(name, trained, published, Path(directory))
            peer = lambda: [  # noqa: E731
                i for row in model.encode_batch_fast(lines, add_special_tokens=False) for i in row.ids
            ]
    packages = {"ours": lambda: ours.encode_batch(array, threads=1).values, "peer": peer}
    times: dict[str, list[Spent]] = {package: [] for package in packages}
    found = {}
    for _ in range(repeat):
        for package, encode in packages.items():
            with stopwatch() as watch:
                found[package] = encode()
            times[package].append(watch.spent)
    ours, theirs = [times["ours"][0], best(times["ours"][1:])], best(times["peer"])
    same = bool(np.array_equal(found["ours"], np.array(found["peer"], np.int64)))
    library = "tiktoken" if name in RANKS else "tokenizers"
    print(
        f"{name:15} first {size / ours[0].processor:6.1f}, best {size / ours[1].processor:6.1f} "
        f"({size / ours[1].clock:.1f} by the clock); {library:10} {size / theirs.processor:5.2f} "
        f"({size / theirs.clock:.2f}); {theirs.processor / ours[0].processor:5.1f} and "
        f"{theirs.processor / ours[1].processor:5.1f} times as fast; {'same ids' if same else 'OTHER IDS'}",
        flush=True,
    )
    what = f"byte-level BPE encoding, pattern of {name}, {text}, one thread, first call / later calls, identical"
    record(Figure(what, "MB/s", ours, with_version(library), [theirs] * 2, size))
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("text", nargs="*", type=Path, help="text files, gzipped or not, one sentence per line")
    parser.add_argument("--published", type=Path, default=REPOSITORY.parent / "shared" / "golden" / "published")
    parser.add_argument("--size", type=int, default=32_000, help="size of the trained vocabulary")
    parser.add_argument("--repeat", type=int, default=4, help="calls of each package, at least 2")
    parser.add_argument("--only", nargs="*", default=[*RANKS, *STEPS], choices=[*RANKS, *STEPS], help="names of models")
    arguments = parser.parse_args()
    same = True
    found = texts(arguments.text)
    if not arguments.text:
        found = {"English, Chinese and German": [line for lines in found.values() for line in lines]}
    for name, lines in found.items():
        print(f"{name}: {len(lines)} distinct lines, {megabytes(lines):.1f} MB")
        trained = ByteBPETokenizer.train(column(lines), arguments.size, pattern=LLAMA3)
        for model in arguments.only:
            same &= compare(model, name, lines, trained, arguments.published, arguments.repeat)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
