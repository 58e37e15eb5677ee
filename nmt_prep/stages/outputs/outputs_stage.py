"""outputs: writes the splits in other trainers' files, one directory per entry in the list ``outputs``.

Kinds that hold IDs convert the records, which are encoded and shuffled already. Kinds that hold text shuffle the text
of the parts themselves (:mod:`~nmt_prep.stages.outputs.shuffled_text`), by the same permutation. A shard is a task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nmt_prep.base.artefacts import write_json
from nmt_prep.base.digests import digest_of
from nmt_prep.base.errors import EncodeError, RecordsError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config
from nmt_prep.config.outputs import PROMPTED, HuggingFaceOptions
from nmt_prep.config.prompts import PromptSettings
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts, Manifest
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.stages.align import Align, aligned_splits
from nmt_prep.stages.encode.encode_causal import POOL, check_glossaries, draw_pools, glossary_of
from nmt_prep.stages.encode.encode_stage import Encode, check_outputs, name_settings, origin_settings, run_facts
from nmt_prep.stages.outputs.joined_pairs import DocumentLines, JoinedIds, JoinedText, Windows
from nmt_prep.stages.outputs.shuffled_text import SPILL_TEXT, Wanted, is_linked, shuffled_text
from nmt_prep.stages.pair_files import pair_files, pair_stages
from nmt_prep.stages.vocab import BuiltVocabulary, Vocabulary, built_vocabularies, steps_dir, tag_settings
from nmt_prep.training.outputs import (
    Form,
    Made,
    OutputOptions,
    RunFacts,
    ShardMade,
    ShardTask,
    kind_of,
    wanted_outputs,
)
from nmt_prep.training.outputs.output_pairs import EncodedPairs, IdPairs, SegmentedPairs, TextPairs, id_pairs
from nmt_prep.training.records.dataset_json import DATASET_FILE, DatasetInfo, load_dataset_info
from nmt_prep.training.records.text_records import TextEncoder

DESCRIPTION = "output.json"  # Name of the file that describes an output
_FACTS = ("kind", "size", "pad_id", "eos_id", "bos_id", "unk_id")  # The facts of a vocabulary that training code needs


def write_output(task: ShardTask[Any], tick: Tick) -> ShardMade:
    """Writes a shard's files. Ticks are pairs."""
    read = 0

    def count(pairs: int) -> None:
        nonlocal read
        read += pairs
        tick(pairs)

    try:
        made = kind_of(task.options).write(task, count)
    except EncodeError as error:
        raise EncodeError(
            f"the output {task.options.directory}: {task.label}: {error}; ID outputs can hold it: {{kind: "
            "huggingface, rows: ids}, megatron"
        ) from error
    if read != task.count and not isinstance(task.pairs, JoinedIds | JoinedText):
        raise RecordsError(
            f"{task.directory / task.label}: {read} pairs were read, but the shard has {task.count}; run again with "
            "--force encode"
        )
    why = "turns_of_other_rows" if task.run.causal and isinstance(task.pairs, IdPairs) else "without_rejected"
    counts = {why: read - made.pairs} if read > made.pairs else {}
    return replace(made, counts={**made.counts, **counts})


def _written(task: ShardTask[Any], made: ShardMade) -> Iterator[Path]:
    yield from (task.directory / file.name for file in made.files)
    yield from map(Path, made.scratch)


WRITE = Round("outputs", write_output, ShardMade, made=_written, words="writing files")


@dataclass(frozen=True)
class OutputFacts:
    """An output, as later stages see it."""

    kind: str
    pairs: dict[str, int]  # pair count of each split
    files: int  # file count of its shards
    bytes: int  # their size


@dataclass(frozen=True)
class OutputsOutput:
    """The outputs."""

    outputs: dict[str, OutputFacts]  # their facts by the names of their directories


class OutputsStage(Stage[OutputsOutput, dict[str, Made[Any]]]):
    """Writes ``outputs/<name>/``, if the config asks for outputs."""

    name = "outputs"
    version = 4
    directory = "outputs"
    output = OutputsOutput
    rounds = (SPILL_TEXT, POOL, WRITE)

    def check(self, config: Config) -> None:
        check_glossaries(self.local_files(config))

    def local_files(self, config: Config) -> dict[str, Path]:
        found = {
            f"outputs.{name}.glossary": _glossary(options, config) for name, options in wanted_outputs(config).items()
        }
        return {key: path for key, path in found.items() if path is not None}

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        return self.rounds if _with_examples(config) else (SPILL_TEXT, WRITE)

    def applies(self, config: Config) -> bool:
        return bool(wanted_outputs(config))

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        linked = any(map(is_linked, _forms(config)))
        return (
            *pair_stages(config),
            *((Align,) if linked else ()),
            Vocabulary,
            *((Encode,) if _reads_records(config) else ()),
        )

    def settings(self, config: Config) -> dict[str, object]:
        return {
            **name_settings(config),
            **{f"outputs.{name}": _settings(options, config) for name, options in wanted_outputs(config).items()},
            **tag_settings(config),
            **origin_settings(config),
            **({} if config.documents is None else {"documents": config.documents.model_dump()}),
        }

    def digest_of_input(self, earlier: Manifest) -> str:
        if earlier.stage != Encode.name:
            return super().digest_of_input(earlier)
        # dataset.json has the section input, which changes no shard. The rest of it follows from shards and settings.
        return digest_of([{name: digest for name, digest in earlier.files.items() if name != DATASET_FILE}])

    def work(self, job: Job) -> Rounds[dict[str, Made[Any]]]:
        wanted, parts, run = wanted_outputs(job.config), pair_files(job), run_facts(job, job.directory_of(Encode))
        check_outputs(job.config, run)
        texts = [
            _lines_of(options, job.config, split)
            for options in wanted.values()
            for split in parts
            if form_of(options, job.config, split) != "ids" or options.order == "corpus"
        ]
        shuffled = yield from shuffled_text(job, parts, texts)
        examples, pools = _with_examples(job.config), dict[str, tuple[Path | None, ...]]()
        if examples:
            pools = yield from draw_pools(run, examples[0], parts["train"], job.scratch)
        records = load_dataset_info(job.directory_of(Encode)) if _reads_records(job.config) else None
        tasks = [
            task
            for name, options in wanted.items()
            for task in _shard_tasks(job, name, options, run, parts, records, shuffled, pools)
        ]
        results = yield from WRITE.run(tasks, sum(task.count for task in tasks))
        shards: dict[str, dict[str, list[ShardMade]]] = {name: {split: [] for split in parts} for name in wanted}
        for task, result in zip(tasks, results, strict=True):
            shards[task.options.directory][task.split].append(result)
        return {name: Made(options, run, job.directory / name, shards[name]) for name, options in wanted.items()}

    def finish(self, job: Job, made: dict[str, Made[Any]]) -> Result[OutputsOutput]:
        digests: dict[str, str] = {}
        facts: dict[str, OutputFacts] = {}
        counts: dict[str, int] = {}
        for name, output in made.items():
            kind_of(output.options).finish(output)
            write_json(output.directory / DESCRIPTION, _description(output))
            shards = [shard for listed in output.shards.values() for shard in listed]
            files = [file for shard in shards for file in shard.files]
            digests |= {f"{name}/{file.name}": file.sha256 for file in files}
            held = {split: output.pairs(split) for split in output.shards}
            facts[name] = OutputFacts(output.options.kind, held, len(files), sum(file.bytes for file in files))
            counts[f"{name}_files"] = len(files)
            for shard in shards:
                for what, number in shard.counts.items():
                    counts[f"{name}_{what}"] = counts.get(f"{name}_{what}", 0) + number
        pairs = sum(part.pairs for listed in pair_files(job).values() for part in listed)
        return Result(OutputsOutput(facts), Counts(pairs, pairs, other=counts), digests=digests)


def form_of(options: OutputOptions, config: Config, split: str) -> Form:
    """Returns the form in which an output gets a split's pairs; without links if the split has no links."""
    form = kind_of(options).form(options, config)
    if not is_linked(form) or split in aligned_splits(config):
        return form
    return "ids" if form == "linked_pieces" else "text"


def _lines_of(options: OutputOptions, config: Config, split: str) -> Wanted:
    """Returns a split's lines that a text output needs."""
    kind, has_tags = kind_of(options), any(corpus.tags for corpus in config.directed(split))
    form = form_of(options, config, split)
    tagged = (kind.tagged(options) and form != "ids") or not has_tags  # without tags, all outputs share the lines
    shards = kind.shards(options, config, split)
    score = getattr(options, "score", None) or ""
    words = form == "ids" and bool(config.vocab.words) and config.documents is None
    return Wanted(split, shards, "text" if form == "ids" else form, tagged, options.order == "corpus", score, words)


def _forms(config: Config) -> set[Form]:
    return {form_of(options, config, split) for options in wanted_outputs(config).values() for split in config.splits}


def _reads_records(config: Config) -> bool:
    """Returns true if outputs contain IDs or columns of the records."""
    return "ids" in _forms(config) or config.weight is not None or config.documents is not None


def _with_examples(config: Config) -> list[PromptSettings]:
    """Returns the outputs whose prompts have examples."""
    prompted = (options for options in wanted_outputs(config).values() if isinstance(options, HuggingFaceOptions))
    return [options for options in prompted if "examples" in options.fields]


def _glossary(options: OutputOptions, config: Config) -> Path | None:
    return glossary_of(config, options) if isinstance(options, HuggingFaceOptions) else None


def _settings(options: OutputOptions, config: Config) -> dict[str, object]:
    kind = kind_of(options)
    shards = {split: kind.shards(options, config, split) for split in config.splits}
    return {**options.model_dump(mode="json"), "shards": shards}


def _shard_tasks(
    job: Job,
    name: str,
    options: OutputOptions,
    run: RunFacts,
    parts: Mapping[str, Sequence[PairFile]],
    records: DatasetInfo | None,
    shuffled: Mapping[Wanted, Sequence[TextPairs]],
    pools: Mapping[str, tuple[Path | None, ...]],
) -> Iterator[ShardTask[Any]]:
    kind = kind_of(options)
    directory = job.directory_of(Encode)
    for split, listed in parts.items():
        shards, rows = kind.shards(options, job.config, split), sum(part.pairs for part in listed)
        form = form_of(options, job.config, split)
        recorded = () if records is None else records.splits[split].shards
        encodes = records is not None and (records.layout == "text" or options.order == "corpus")
        encoder = (
            TextEncoder.of(directory, records, split, base_dir=steps_dir(job.config))
            if records is not None and encodes
            else None
        )
        held = [(directory / shard.file, shard.pairs) for shard in recorded]
        by_name = {corpus.name: corpus for corpus in job.config.directed(split)}
        corpora = [by_name[name] for name in run.corpora[split]]
        tags = {
            side: tuple(corpus.tags.get(side, "") if kind.tagged(options) else "" for corpus in corpora)
            for side in SIDES
        }
        for number in range(shards):
            start, stop = number * rows // shards, (number + 1) * rows // shards
            pairs: IdPairs | TextPairs
            if records is not None and form == "ids" and options.order == "corpus":
                want = _lines_of(options, job.config, split)
                text, vocabularies = shuffled[want][number], _of_words(run.vocabularies, want)
                if encoder is not None:
                    encoder = replace(encoder, vocabularies=_of_words(encoder.vocabularies, want))
                pairs = EncodedPairs(records.layout, (), start, stop - start, encoder, text)
                if options.kind == "text" and run.segments:
                    pairs = SegmentedPairs(text.plan, text.shard, text.spills, vocabularies=vocabularies, tags=tags)
            elif records is not None and form == "ids":
                pairs = id_pairs(records.layout, held, start, stop, encoder)
            else:
                pairs = shuffled[_lines_of(options, job.config, split)][number]
            if job.config.documents is not None and not run.causal:
                windows = Windows(directory, split, run.seed, job.config.documents.epochs, start, stop)
                pairs = _joined(job, options, form, pairs, windows, tags, held, encoder)
            yield ShardTask(
                key=f"{name}-{split}-{number:05d}",
                options=options,
                run=run,
                split=split,
                shard=number,
                shards=shards,
                count=stop - start,
                pairs=pairs,
                directory=job.directory / name,
                scratch=job.scratch / f"output-{name}",
                weights=() if job.config.weight is None else tuple(held),
                start=start,
                glossary=_glossary(options, job.config),
                pools=pools.get(split, ()),
            )


def _of_words(vocabularies: Mapping[Side, BuiltVocabulary], want: Wanted) -> dict[Side, BuiltVocabulary]:
    return {side: replace(built, of_words=want.words) for side, built in vocabularies.items()}


def _joined(
    job: Job,
    options: OutputOptions,
    form: Form,
    pairs: IdPairs | TextPairs,
    windows: Windows,
    tags: Mapping[Side, tuple[str, ...]],
    held: Sequence[tuple[Path, int]],
    encoder: TextEncoder | None,
) -> IdPairs | TextPairs:
    """Returns a shard's pairs with the segments of documents joined, or on lines."""
    assert job.config.documents is not None
    if isinstance(pairs, IdPairs):
        return JoinedIds(**vars(pairs), windows=windows)
    if getattr(options, "documents", "joined") == "lines":
        return DocumentLines(pairs.plan, pairs.shard, pairs.spills, records=tuple(held))
    piece = job.config.documents.piece
    more: dict[str, Any] = {"windows": windows, "tags": tags, "separator": " " if piece is None else f" {piece} "}
    if form == "text":
        prompted = getattr(options, "rows", None) in PROMPTED
        with_field = prompted and "document context" in getattr(options, "fields", ())
        return JoinedText(**vars(pairs), apart=prompted, context_field=with_field, **more)
    from nmt_prep.stages.outputs.joined_links import JoinedLinks  # noqa: PLC0415  (loads numpy)

    more |= {"form": form, "vocabularies": built_vocabularies(job)}
    ids = id_pairs(job.config.records.layout, held, windows.start, windows.stop, encoder)
    return JoinedLinks(**vars(pairs), ids=ids, **more)


def _description(made: Made[Any]) -> dict[str, object]:
    return {
        "format": 1,
        "name": made.run.name,
        "kind": made.options.kind,
        "options": made.options.model_dump(mode="json", exclude={"kind", "name", "shards"}),
        "languages": dict(made.run.languages),
        "seed": made.run.seed,
        "fingerprint": made.run.fingerprint,
        "vocab": {
            side: {"file": f"../../vocab/{built.path.name}"}
            | ({} if built.facts.words is None else {"words": f"../../vocab/{built.facts.words}"})
            | {name: getattr(built.facts, name) for name in _FACTS}
            for side, built in made.run.vocabularies.items()
        },
        "corpora": {split: list(names) for split, names in made.run.corpora.items()},
        "splits": {
            split: {
                "pairs": made.pairs(split),
                "shards": [{"pairs": shard.pairs, "files": [vars(file) for file in shard.files]} for shard in shards],
            }
            for split, shards in made.shards.items()
        },
    }
