"""Builds runs for benchmarks of the input functions: real text as words and characters, records of every layout."""

from __future__ import annotations

import hashlib
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
from _nmt_prep_core import join_pairs

import nmt_prep
from nmt_prep.base.columns import Ragged
from nmt_prep.runs.checks import check_config
from nmt_prep.subwords.frame import Frame
from nmt_prep.training.records.dataset_json import (
    CorpusInfo,
    DatasetInfo,
    DocumentsInfo,
    IndexInfo,
    InputInfo,
    LanguageCodes,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    load_dataset_info,
    write_dataset_info,
)
from nmt_prep.training.records.record_columns import column_file
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, Layout, ShardPlan, shard_name
from nmt_prep.training.records.writer import SpillWriter, write_shards

REPOSITORY = Path(__file__).resolve().parent.parent
SPECIAL = ["<pad>", "</s>", "<unk>", "<s>"]
EOS = 1
SHARDS = 8

Texts = tuple[list[str], list[str]]


def read_text() -> tuple[str, Texts]:
    """Returns the name and both sides: words of the source, characters of the target, separated by spaces."""
    archive = REPOSITORY.parent / "shared/corpora/wmt22-enzh/training-parallel-general-v22.tgz"
    if not archive.exists():
        archive = REPOSITORY / "data/toy/training-parallel-toy.tgz"
    with tarfile.open(archive) as tar:
        sides = sorted(name for name in tar.getnames() if name.endswith((".en", ".zh")))[:2]
        source, target = (member.read().decode() for member in map(tar.extractfile, sides) if member is not None)
    words = [" ".join(re.findall(r"\w+|[^\w\s]", line)) for line in source.split("\n")[:-1]]
    characters = [" ".join(line.replace(" ", "")) for line in target.split("\n")[:-1]]
    return archive.name, (words, characters)


def vocabulary(lines: list[str]) -> dict[str, int]:
    """Returns the 8,192 most frequent tokens, after the special ones."""
    counts = Counter(token for line in lines for token in line.split())
    return {word: number for number, word in enumerate(SPECIAL + [word for word, _ in counts.most_common(8188)])}


def write_text_run(run: Path, texts: Texts, repeat: int, size: int) -> Path:
    """Writes a run with records of layout text, and a shared BPE vocabulary of a given size."""
    run.mkdir()
    for side, lines in zip(("source", "target"), texts, strict=True):
        (run / side).write_text("".join(f"{line}\n" for line in lines) * repeat, encoding="utf-8")
    config = {
        "name": "bench",
        "languages": {"source": "en", "target": "zh"},
        "output_dir": str(run / "run"),
        "seed": 1,
        "splits": {"train": [{"name": "bench", "url": {side: str(run / side) for side in ("source", "target")}}]},
        "vocab": {"kind": "sentencepiece", "model_type": "bpe", "size": size, "shared": True},
        "records": {"layout": "text", "shards": {"train": SHARDS}},
    }
    nmt_prep.run(check_config(config, "benchmark"))
    return run / "run"


def write_run(run: Path, layout: Layout, texts: Texts, vocabularies: list[dict[str, int]], repeat: int) -> Path:
    """Writes the files of a run that make_dataset reads."""
    records = run / "records"
    records.mkdir(parents=True)
    (run / "vocab").write_bytes(b"")
    ids = (
        Ragged.from_lists([[words.get(token, 2) for token in line.split()] for line in lines])
        for lines, words in zip(texts, vocabularies, strict=True)
    )
    sides = [Frame(after=(EOS,)).around(side) for side in ids]
    pairs = len(sides[0])
    rows = pairs * repeat
    if layout == "causal":
        sides = _sequences(*sides)
    plan = ShardPlan(GlobalShuffle(rows, 1, "train"), SHARDS, layout=layout)
    first = 3 * rows // 4  # pairs of the first of two corpora
    with SpillWriter(run / "spill", plan) as spill:
        for before in range(0, rows, pairs):
            cut = min(max(first - before, 0), pairs)
            for corpus, (start, end) in enumerate(((0, cut), (cut, pairs))):
                inputs, targets = (side.part(start, end) for side in sides)
                spill.add(before + start, inputs, targets, corpus)
        stats = spill.close()
    paths = [records / shard_name("bench", "train", number, SHARDS) for number in range(SHARDS)]
    shards = write_shards(paths, plan, 0, [run / "spill"])
    vocab = VocabularyInfo(
        file="../vocab",
        kind="plain",
        size=8192,
        sha256=hashlib.sha256(b"").hexdigest(),
        fingerprint="",
        pad_id=0,
        eos_id=EOS,
    )
    dataset = DatasetInfo(
        name="bench",
        config_fingerprint="",
        layout=layout,
        row_length=plan.row_length if layout == "packed" else None,
        seed=1,
        languages=LanguageCodes(source="en", target="zh"),
        vocab=Vocabularies(source=vocab, target=vocab),
        input=InputInfo(batch_tokens=4096, max_length=256),
        corpora={"train": (CorpusInfo(name="bench", pairs=first), CorpusInfo(name="more", pairs=rows - first))},
        splits={"train": SplitInfo.of(stats, shards)},
    )
    write_dataset_info(records, dataset)
    return run


def _sequences(source: Ragged, target: Ragged) -> list[Ragged]:
    """Returns sequences of a prompt, source and target, and the bounds of what counts, the target."""
    parts = np.array([*range(4, 12), -1, -2], np.int32)
    joined = Ragged(*join_pairs(*source.contiguous(), *target.contiguous(), parts, -1, -1))
    bounds = np.column_stack([joined.lengths - target.lengths, joined.lengths]).astype(np.int32)
    return [joined, Ragged(bounds.ravel(), np.arange(0, 2 * len(joined) + 1, 2))]


def with_documents(run: Path, share: float) -> Path:
    """Gives the records of a run documents of 20 segments, a share of which is joined; returns the run."""
    records = run / "records"
    info = load_dataset_info(records)
    shards = []
    for shard in info.splits["train"].shards:
        with column_file(records / shard.file, "document") as file:
            file.write((np.arange(shard.pairs) % 20 > 0).astype(np.uint8).data)
        shards.append(shard.model_copy(update={"columns": {"document": IndexInfo.of(file)}}))
    documents = DocumentsInfo(
        source_separator=2, target_separator=2, max_tokens=256, max_segments=10, share=share, context=None
    )
    splits = {"train": info.splits["train"].model_copy(update={"shards": tuple(shards)})}
    write_dataset_info(
        records, info.model_copy(update={"splits": splits, "columns": ("document",), "documents": documents})
    )
    return run
