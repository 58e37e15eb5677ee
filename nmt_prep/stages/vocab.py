"""vocab: from the sampled lines to one subword vocabulary a side, or one for both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from nmt_prep.artefacts import publish_json
from nmt_prep.config import SIDES, Config, Vocab
from nmt_prep.corpora.lines import iter_lines
from nmt_prep.manifest import Counts
from nmt_prep.pipeline import Context, Result, Stage
from nmt_prep.progress import Progress
from nmt_prep.subwords import T2TTokenizer


@dataclass(frozen=True)
class VocabularyTask:
    """One vocabulary to build."""

    key: str
    samples: tuple[Path, ...]
    output: Path
    options: Vocab
    progress: Progress
    threads: int


class Vocabulary(Stage):
    """Builds the vocabulary files that Tensor2Tensor would have named ``vocab.<problem>.<size>.subwords``."""

    name: ClassVar[str] = "vocab"
    inputs: ClassVar[tuple[str, ...]] = ("sample",)
    directory: ClassVar[str] = "vocab"

    def settings(self, config: Config) -> dict[str, object]:
        options = {f"vocab.{key}": value for key, value in config.vocab.model_dump(mode="json").items()}
        names = {"name": config.name, **{f"languages.{key}": value for key, value in config.languages}}
        return {**options, **names}

    def run(self, context: Context) -> Result:
        config = context.config
        sides = {"shared": SIDES} if config.vocab.shared else {side: (side,) for side in SIDES}
        sample = context.workspace.root / "sample"
        tasks = [
            VocabularyTask(
                key=key,
                samples=tuple(sample / f"{side}.txt" for side in read),
                output=context.directory / vocabulary_name(config, key),
                options=config.vocab,
                progress=context.progress,
                threads=max(1, context.engine.workers // len(sides)),
            )
            for key, read in sides.items()
        ]
        built = dict(zip(sides, context.tasks.run(build_vocabulary, tasks), strict=True))
        details: dict[str, object] = {side: built["shared" if config.vocab.shared else side] for side in SIDES}
        publish_json(context.directory / "vocab.json", details)
        sizes = {f"{key}_pieces": int(facts["size"]) for key, facts in built.items()}
        return Result(Counts(other=sizes), details=details)


def vocabulary_name(config: Config, key: str) -> str:
    """File name of a side's vocabulary: as Tensor2Tensor's, with the language where there is one a side."""
    stem = f"vocab.{config.name}.{config.vocab.size}.subwords"
    if key == "shared":
        return stem
    if config.languages.source == config.languages.target:
        return f"{stem}.{key}"
    return f"{stem}.{getattr(config.languages, key)}"


def build_vocabulary(task: VocabularyTask) -> dict[str, Any]:
    """Trains and writes one vocabulary; returns what ``dataset.json`` says of it."""

    def report(event: str, fields: Any) -> None:
        task.progress.event(f"vocab_{event}", side=task.key, **fields)

    tokenizer = T2TTokenizer.train(
        _lines(task),
        task.options.size,
        max_subtoken_length=task.options.max_subtoken_length,
        reserved=task.options.reserved,
        progress=report,
        threads=task.threads,
    )
    tokenizer.save(task.output)
    return {
        "file": task.output.name,
        "kind": tokenizer.dialect,
        "size": len(tokenizer),
        "fingerprint": tokenizer.fingerprint,
        "unicode_version": tokenizer.unicode_version,
        "pad_id": tokenizer.pad_id,
        "eos_id": tokenizer.eos_id,
        "bos_id": tokenizer.bos_id,
        "unk_id": tokenizer.unk_id,
    }


def _lines(task: VocabularyTask) -> Iterator[pa.Array]:
    size = sum(path.stat().st_size for path in task.samples)
    with task.progress.meter(f"vocab {task.key}: counting tokens", size, "bytes") as meter:
        for path in task.samples:
            for lines in iter_lines(path):
                yield lines
                meter.advance(lines.nbytes)
