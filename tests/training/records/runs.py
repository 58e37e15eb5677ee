"""Builders of run directories for loaders, written like those of the encode stage."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nmt_prep.base.columns import Ragged
from nmt_prep.training.records.dataset_json import (
    CorpusInfo,
    DatasetInfo,
    InputInfo,
    LanguageCodes,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    write_dataset_info,
)
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, Layout, ShardPlan, shard_name
from nmt_prep.training.records.writer import SpillWriter, write_shards

Pair = tuple[list[int], list[int]]

_VOCABULARY = b"'<pad>_'\n'<EOS>_'\n'a'\n'b_'\n'_'\n"


@pytest.fixture
def encode_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes the files that loaders read, as the stage encode does; corpora are spans of the pairs."""

    def encode(
        corpora: dict[str, list[Pair]],
        layout: Layout = "chunk",
        shards: int = 2,
        row_length: int = 32,
        bos_id: int | None = None,
        languages: Sequence[str] = (),
    ) -> Path:
        run = tmp_path / f"{layout}-run"
        (run / "vocab").mkdir(parents=True)
        (run / "vocab" / "plain").write_bytes(_VOCABULARY)
        rows = sum(map(len, corpora.values()))
        plan = ShardPlan(GlobalShuffle(rows, 1, "train"), shards, 1, layout, row_length)
        row = 0
        with SpillWriter(run / "spill", plan) as spill:
            for number, pairs in enumerate(corpora.values()):
                spill.add(row, *(Ragged.from_lists([pair[side] for pair in pairs]) for side in (0, 1)), number)
                row += len(pairs)
            stats = spill.close()
        paths = [run / "records" / shard_name("toy", "train", number, shards) for number in range(shards)]
        infos = write_shards(paths, plan, 0, [run / "spill"])
        vocabulary = VocabularyInfo(
            file="../vocab/plain",
            kind="t2t",
            size=5,
            sha256=hashlib.sha256(_VOCABULARY).hexdigest(),
            fingerprint="",
            pad_id=0,
            eos_id=1,
            bos_id=bos_id,
        )
        dataset = DatasetInfo(
            name="toy",
            config_fingerprint="",
            layout=layout,
            row_length=row_length if layout == "packed" else None,
            seed=1,
            languages=LanguageCodes(source="en", target="de"),
            vocab=Vocabularies(source=vocabulary, target=vocabulary),
            input=InputInfo(batch_tokens=4096, max_length=256),
            corpora={
                "train": tuple(
                    CorpusInfo(name=name, pairs=len(pairs), language_pair=languages[number] if languages else "")
                    for number, (name, pairs) in enumerate(corpora.items())
                )
            },
            splits={"train": SplitInfo.of(stats, infos)},
        )
        write_dataset_info(run / "records", dataset)
        return run

    return encode
