"""Rows for causal language models in the `encode` stage: what they are made with, and the turns in documents.

One round draws the train pairs from which examples in prompts are taken.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.columns import joined_items
from nmt_prep.base.digests import seed_of, sha256_of
from nmt_prep.base.errors import ConfigError, VocabularyError
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.config.documents import DocumentSettings
from nmt_prep.config.prompts import CausalSettings, PromptSettings
from nmt_prep.corpora import row_groups, strip_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.corpora.scores import document_starts
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.vocab import Vocabulary
from nmt_prep.stages.vocab.chat_files import CHAT_FILE
from nmt_prep.training.modifiers.draws import mixed, uniform
from nmt_prep.training.outputs import RunFacts
from nmt_prep.training.prompts import Glossary
from nmt_prep.training.records.causal_rows import CausalRows
from nmt_prep.training.records.dataset_json import CausalInfo

GLOSSARY_FILE = "glossary.tsv"  # Name of the glossary's copy, for loaders

_ROW_KEYS = set(CausalSettings.model_fields) - {"chat_template"}
_VERSION = 2  # Must be increased if rows have other bytes than before
_GROUPS, _PAIRS_OF_GROUP = 16, 64
_CHECKED = 200  # Number of pairs whose prompts are checked
_MOST_CHANGED = 0.5  # Share of pairs that a prompt's end may change for: a few words join with any character
_LONGEST = 600  # bytes of an example


@dataclass(frozen=True)
class PoolTask:
    """A train corpus from which examples are drawn."""

    key: str
    parts: tuple[PairFile, ...]
    seed: int
    output: Path


def draw_pool(task: PoolTask, tick: Tick) -> int:
    """Writes a few pairs of a corpus, from row groups that are drawn; returns their number."""
    places = [(part, group) for part in task.parts for group in range(len(row_groups(part.path)))]
    key = np.array([seed_of(f"nmt_prep example pool 1\n{task.seed}\n{task.key}")], np.uint64)
    chosen: dict[str, str] = {}
    for place in np.argsort(mixed(key, np.arange(len(places))), kind="stable")[:_GROUPS].tolist():
        part, group = places[place]
        for batch in part.batches([group], SIDES):
            order = np.argsort(mixed(key + np.uint64(place), np.arange(len(batch))), kind="stable")[:_PAIRS_OF_GROUP]
            pairs = (strip_lines(batch.column(side).take(pa.array(order))).to_pylist() for side in SIDES)
            chosen |= {
                source: target
                for source, target in zip(*pairs, strict=True)
                if source and target and len(f"{source}{target}".encode()) <= _LONGEST
            }
    table = pa.table(
        {"source": [*chosen], "target": [*chosen.values()]}, pa.schema([(side, pa.string()) for side in SIDES])
    )
    with atomic_write(task.output) as beside, pa.ipc.new_file(str(beside), table.schema) as file:
        file.write_table(table)
    tick(1)
    return len(chosen)


POOL = Round("examples", draw_pool, int, unit="corpora", words="drawing examples", made=lambda task, _: [task.output])


def draw_pools(
    run: RunFacts, settings: PromptSettings, train: Sequence[PairFile], directory: Path
) -> Rounds[dict[str, tuple[Path | None, ...]]]:
    """Yields the round for examples; returns each corpus's file in each split.

    Corpora outside of train take their examples from the largest train corpus in their languages.
    """
    if "examples" not in settings.fields:
        return {split: (None,) * len(names) for split, names in run.corpora.items()}
    tasks = [
        PoolTask(
            f"examples-{name}",
            tuple(part for part in train if part.corpus == name),
            run.seed,
            directory / f"examples-{number:05d}.arrow",
        )
        for number, name in enumerate(run.corpora["train"])
    ]
    yield from POOL.run(tasks, len(tasks))
    by_size = sorted(
        zip(run.pairs_of("train"), tasks, strict=True), key=lambda own: sum(part.pairs for part in own[1].parts)
    )
    largest = {pair: task.output for pair, task in by_size}
    others = {split: tuple(map(largest.get, run.pairs_of(split))) for split in run.corpora}
    return {**others, "train": tuple(task.output for task in tasks)}


def glossary_of(config: Config, settings: PromptSettings) -> Path | None:
    """Returns the glossary of prompts."""
    return None if settings.glossary is None else config.base_dir / Path(settings.glossary).expanduser()


def causal_rows(run: RunFacts, info: CausalInfo, directory: Path) -> dict[str, CausalRows]:
    """Returns the makers of each split's rows, with the files in a directory."""
    vocabulary, frame = run.vocabularies["target"], run.frames.get("target")
    return {
        split: CausalRows.of(info, directory, split, run.seed, run.pairs_of(split), vocabulary, frame)
        for split in run.corpora
    }


def check_rows(config: Config, rows: CausalRows, part: PairFile) -> None:
    """Checks each prompt, with the first train pairs.

    Raises:
        VocabularyError: a prompt is too long for the rows that loaders read, or its end changes before translations.
    """
    limit = config.input.max_length
    batch = next(part.batches(columns=SIDES), None)
    if batch is None:
        return
    batch = batch[:_CHECKED]
    shape = rows.maker.shape(rows.prompter.systems[0], 1)
    for number, prompt in enumerate(rows.prompter.prompts):
        one = replace(rows, prompter=replace(rows.prompter, prompts=(prompt,), shares=(1 << 32,)))
        where = f"records.prompts.{number}"
        nothing = pa.array([""])
        length = int(one.rows(nothing, nothing, np.zeros(1, np.int32), 0, threads=1).inputs.lengths[0])
        if length >= limit:
            raise VocabularyError(
                f"{where}: without a source, the prompt makes a row of {length:,} IDs, and loaders skip rows of "
                f"more than input.max_length = {limit:,}; shorten the prompt, or raise input.max_length"
            )
        source, target = (batch.column(side).cast(pa.large_string()) for side in SIDES)
        filled = one.prompter.filled(source, target, np.zeros(len(batch), np.int32), 0)
        joined = shape.ends_joined([filled, target], rows.maker.vocabulary.load())
        if len(joined) > _MOST_CHANGED * len(batch):
            raise VocabularyError(
                f"{where}: the prompt ends in {joined[0][-10:]!r}, and for {len(joined) / len(batch):.0%} of "
                "translations the tokenizer joins this with their beginning, so the model would learn other IDs than "
                "it sees in a prompt; end the prompt with a newline, or with a token that joins with no text"
            )


def causal_info(job: Job, pools: Mapping[str, Sequence[Path | None]], directory: Path) -> CausalInfo:
    """Returns how rows are made, with files in a directory, to which it copies the glossary."""
    settings, glossary, template = job.config.records, glossary_of(job.config, job.config.records), None
    if glossary is not None:
        with atomic_write(directory / GLOSSARY_FILE) as beside:
            shutil.copyfile(glossary, beside)
    if settings.template is not None:
        template = json.loads((job.directory_of(Vocabulary) / CHAT_FILE).read_bytes())
    names = {split: tuple(None if path is None else path.name for path in paths) for split, paths in pools.items()}
    keys = _ROW_KEYS & {"prompts", *settings.model_fields_set}  # loaders check them again, and unset keys may not fit
    return CausalInfo(
        settings=settings.model_dump(mode="json", include=keys),
        template=template,
        glossary=None if glossary is None else GLOSSARY_FILE,
        examples=names if "examples" in settings.fields else {},
    )


def causal_files(config: Config) -> dict[str, Path]:
    """Returns the local files that rows depend on, by their keys."""
    path = glossary_of(config, config.records) if config.records.causal else None
    return {} if path is None else {"records.glossary": path}


def check_glossaries(files: Mapping[str, Path]) -> None:
    """Checks glossaries, given by their keys, before any stage runs."""
    for key, path in files.items():
        try:
            Glossary.load(path)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from error


def files_of(directory: Path, info: CausalInfo | None) -> dict[str, str]:
    """Returns the digests of the files that loaders make rows with."""
    named = () if info is None else (info.glossary, *(name for listed in info.examples.values() for name in listed))
    return {name: sha256_of(directory / name) for name in named if name is not None}


def causal_settings(config: Config) -> dict[str, object]:
    """Returns the row settings as stage settings, or an empty mapping for pairs with two sides."""
    if not config.records.causal:
        return {}
    own = config.records.model_dump(mode="json", include=_ROW_KEYS)
    documents = {} if config.documents is None else config.documents.model_dump(exclude={"epochs", "separator"})
    joined = {"documents": documents} if config.records.layout == "causal" else {}
    return {"records.causal": {"version": _VERSION, **own, **joined}}


def turns_of(
    batch: pa.RecordBatch, lengths: npt.NDArray[np.int64], settings: DocumentSettings, seed: int, *, drawn: bool
) -> npt.NDArray[np.int64]:
    """Returns the turn count of each pair's row, which ends with the pair; int64, shape ``[pairs]``.

    Args:
        batch: consecutive pairs with the columns ``document`` and ``row``.
        lengths: ID count of each pair in a row of its own.
        drawn: True if the documents whose segments are joined are drawn.
    """
    starts, numbers = document_breaks(batch), batch.column("row").to_numpy()
    document = np.cumsum(starts) - 1
    first_rows = numbers[starts]
    joined = np.ones(len(first_rows), np.bool_)
    if drawn:
        key = np.array([seed_of(f"nmt_prep documents of rows 1\n{seed}")], np.uint64)
        joined = uniform(key, first_rows) < settings.share
    context = settings.context and max(settings.context.source, settings.context.target)
    turns, held, size = np.ones(len(batch), np.int64), 0, 0
    for pair, (length, begins, whole) in enumerate(
        zip(lengths.tolist(), starts.tolist(), joined[document].tolist(), strict=True)
    ):
        fits = (
            not begins and whole and (context or held < settings.max_segments) and size + length <= settings.max_tokens
        )
        held, size = (held + 1, size + length) if fits else (1, length)
        if context and fits and held > context + 1:
            held, size = context + 1, int(lengths[pair - context : pair + 1].sum())
        turns[pair] = held
    if not context:  # the last pair of a window has its row
        turns[:-1][turns[1:] > 1] = 0
    return turns


def document_breaks(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Returns True for each pair that does not follow the pair before in the same document."""
    starts = np.ones(len(batch), np.bool_)
    if DOCUMENT not in batch.schema.names:
        return starts
    names = batch.column(DOCUMENT)
    starts[1:] = np.diff(batch.column("row").to_numpy()) != 1
    starts[document_starts(names)] = True
    starts[names.is_null().to_numpy(zero_copy_only=False)] = True
    return starts


def contexts(batch: pa.RecordBatch, sources: pa.Array, count: int) -> pa.Array:
    """Returns the sources before each pair in its document, ``count`` at most, on lines; ``large_string``."""
    from nmt_prep.training.batches.vectors import spans  # noqa: PLC0415  (loads numpy)

    starts = document_breaks(batch)
    place = np.arange(len(batch)) - np.maximum.accumulate(np.where(starts, np.arange(len(batch)), 0))
    before = np.minimum(place, count)
    items = spans(np.arange(len(batch)) - before, before)
    offsets = np.concatenate([[0], np.cumsum(before)])
    return joined_items(sources.take(pa.array(items)), offsets, "\n")
