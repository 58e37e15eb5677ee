"""encode: turns pairs, cleaned if the config requests it, into shuffled shards of token IDs, out of core.

There are two rounds of tasks. The first encodes parts: it writes each pair's IDs to its position's bucket in
the global shuffle, in a spill file. The second writes shards: it collects a bucket's pairs from all spill files
and sorts them, one bucket after another. The number of buckets follows from the memory in the config. The bytes do not
depend on it, or on where or when a task runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from nmt_prep.base.artefacts import link_files, parse_json_as
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.presets import effective_dedup
from nmt_prep.config import Config
from nmt_prep.config.language_pairs import LanguagePair
from nmt_prep.corpora.parts import PairFile, other_columns
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.manifest import Counts, Manifest, differences
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, Result, Stage
from nmt_prep.reporting.pair_samples import CorpusSample
from nmt_prep.reporting.profile import TextProfile
from nmt_prep.stages.align import Align, aligned_splits
from nmt_prep.stages.encode.encode_causal import (
    POOL,
    causal_files,
    causal_info,
    causal_rows,
    causal_settings,
    check_glossaries,
    check_rows,
    draw_pools,
    files_of,
)
from nmt_prep.stages.encode.encode_documents import (
    FIND,
    ORDER,
    document_settings,
    documents_info,
    order_splits,
    tables_of,
)
from nmt_prep.stages.encode.encode_tasks import (
    ENCODE,
    SHUFFLE,
    Encoded,
    ShardTask,
    SpillTask,
    in_buckets,
    profile_of,
    shards_per_task,
    spill_name,
)
from nmt_prep.stages.pair_files import pair_files, pair_stages
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies, corpus_frames, tag_settings
from nmt_prep.training.outputs import RunFacts, kind_of, wanted_outputs
from nmt_prep.training.records.causal_rows import CausalRows
from nmt_prep.training.records.dataset_json import (
    DATASET_FILE,
    CausalInfo,
    CorpusInfo,
    DatasetInfo,
    InputInfo,
    LanguageCodes,
    PairStats,
    ShardInfo,
    SplitInfo,
    Vocabularies,
    VocabularyInfo,
    load_dataset_info,
    write_dataset_info,
)
from nmt_prep.training.records.document_index import shuffle_of
from nmt_prep.training.records.record_columns import REPEATED, column_path, index_path
from nmt_prep.training.records.shuffle_plan import ShardPlan, shard_name
from nmt_prep.training.records.text_records import LINKS, Columns

Parts: TypeAlias = "Mapping[str, Sequence[PairFile]]"  # Parts of pairs by split, in order


Made: TypeAlias = "tuple[Encoded, dict[str, tuple[ShardInfo, ...]], CausalInfo | None]"
"""The encoded parts, each split's shards in order, and how rows are made, if they are."""


@dataclass(frozen=True)
class EncodeOutput:
    """The settings that only ``dataset.json`` records, by dotted key: the ``input`` section and the licences."""

    input: dict[str, Any]


class Encode(Stage[EncodeOutput, Made]):
    """Writes ``<name>-<split>-00000-of-00100`` and ``dataset.json``."""

    name = "encode"
    directory = "records"
    output = EncodeOutput
    observed = TextProfile
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = (FIND, ORDER, POOL, ENCODE, SHUFFLE)
    version = 2

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*pair_stages(config), Vocabulary, *([Align] if _linked(config) else []))

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        documents = (FIND, ORDER) if _ordered(config) else ()
        drawing = (POOL,) if config.records.causal and "examples" in config.records.fields else ()
        return (*documents, *drawing, ENCODE, SHUFFLE)

    def check(self, config: Config) -> None:
        check_glossaries(self.local_files(config))

    def local_files(self, config: Config) -> dict[str, Path]:
        return causal_files(config)

    def settings(self, config: Config) -> dict[str, object]:
        return {
            **name_settings(config),
            "records.layout": config.records.layout,
            "records.row_length": _row_length(config),
            "records.shards": {split: config.shards(split) for split in config.splits},
            **tag_settings(config),
            **({} if config.weight is None else {"weight": config.weight.model_dump(by_alias=True)}),
            **({} if config.documents is None else {"documents": document_settings(config)}),
            **causal_settings(config),
        }

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        # The input section and licenses change only dataset.json, so they are not part of the settings.
        recorded = replace(manifest, settings=manifest.details.get("input", {}))
        return "; ".join(differences(recorded, self.version, _recorded_settings(config), manifest.inputs))

    def renew(self, job: Job, earlier: Manifest) -> Result[EncodeOutput] | None:
        records = job.root / self.directory
        if not link_files(records, job.directory, earlier.files.keys() - {DATASET_FILE}):
            return None
        info = load_dataset_info(records)
        corpora = {split: _with_origins(job.config, split, listed) for split, listed in info.corpora.items()}
        updated = {"input": _input_info(job.config), "corpora": corpora, "documents": documents_info(job)}
        info = info.model_copy(update=updated)
        write_dataset_info(job.directory, info)
        digests = {name: digest for name, digest in earlier.files.items() if name != DATASET_FILE}
        profile = parse_json_as(TextProfile, earlier.observed)
        output = EncodeOutput(_recorded_settings(job.config))
        return Result(output, earlier.counts, digests=digests, observed=profile)

    def work(self, job: Job) -> Rounds[Made]:
        parts = pair_files(job)
        run = run_facts(job, job.directory)
        check_outputs(job.config, run)  # fails early, before useless work
        plans = {
            split: replace(
                shard_plan(job.config, split, listed, job.directory), text_columns=_columns(job.config, split, listed)
            )
            for split, listed in parts.items()
        }
        if _ordered(job.config):
            documents_info(job)  # checks the separator
            yield from order_splits(job, parts, plans)
        rows, info, kept = dict[str, CausalRows](), None, job.directory
        if job.config.records.causal:
            kept = job.directory if job.config.records.layout == "text" else job.scratch
            pools = yield from draw_pools(run, job.config.records, parts["train"], kept)
            info = causal_info(job, pools, kept)
            rows = causal_rows(run, info, kept)
            for part in parts["train"][:1]:
                check_rows(job.config, rows["train"], part)
        total = sum(plan.rows for plan in plans.values())
        spills = list(_spill_tasks(job, parts, plans, rows))
        encoded = yield from ENCODE.run(spills, total)
        ordering = {split: list(_shard_tasks(job, split, plan, parts[split])) for split, plan in plans.items()}
        ordered = yield from SHUFFLE.run_groups(ordering, total)
        shards = {split: tuple(chain.from_iterable(written)) for split, written in ordered.items()}
        if info is not None and kept != job.directory:  # loaders need no files for rows that are made
            info = info.model_copy(update={"glossary": None, "examples": {}})
        return list(zip(spills, encoded, strict=True)), shards, info

    def finish(self, job: Job, made: Made) -> Result[EncodeOutput]:
        encoded, shards, causal = made
        stats = {split: PairStats() for split in shards}
        for task, counts in encoded:
            stats[task.sample.split] += counts
        splits = {split: SplitInfo.of(counts, shards[split]) for split, counts in stats.items()}
        info = _describe(job, splits).model_copy(update={"causal": causal})
        write_dataset_info(job.directory, info)
        pairs = sum(split.pairs for split in splits.values())
        tokens = {
            name: sum(getattr(split, name) for split in splits.values()) for name in ("source_tokens", "target_tokens")
        }
        if info.layout == "causal":
            tokens = {"tokens": tokens["source_tokens"]}
        digests = files_of(job.directory, info.causal)
        for shard in (shard for split in splits.values() for shard in split.shards):
            digests[shard.file] = shard.sha256
            digests[str(index_path(shard.file))] = shard.index.sha256
            digests |= {str(column_path(shard.file, name)): info.sha256 for name, info in shard.columns.items()}
        tables, documents = tables_of(job, splits)
        digests |= tables
        total = Counts(pairs_in=pairs, pairs_out=pairs, other={**tokens, **documents})
        pairs_of = {corpus.name: corpus.pair for corpus in job.config.directed("train") if corpus.pair is not None}
        profile = profile_of(encoded, built_vocabularies(job), pairs_of)
        return Result(EncodeOutput(_recorded_settings(job.config)), total, digests=digests, observed=profile)


def shard_plan(config: Config, split: str, parts: Sequence[PairFile], directory: Path) -> ShardPlan:
    """Returns a split's plan, given its parts and the records' directory."""
    records, rows = config.records, sum(part.pairs for part in parts)
    shuffle = shuffle_of(rows, config.seed, split, directory, documents=_ordered(config))
    plan = ShardPlan(shuffle, config.shards(split), 1, records.layout, records.row_length, columns_of(config))
    return in_buckets(plan, sum(part.text_bytes for part in parts), config.engine.memory)


def _ordered(config: Config) -> bool:
    """Returns true if documents are shuffled as wholes; rows with layout causal contain their documents."""
    return config.documents is not None and config.records.layout != "causal"


def _spill_tasks(
    job: Job, parts: Parts, plans: Mapping[str, ShardPlan], rows: Mapping[str, CausalRows]
) -> Iterator[SpillTask]:
    vocabularies, memory = built_vocabularies(job), job.task_memory
    aligned = job.read(Align).parts if _linked(job.config) else {}
    frames = corpus_frames(job)
    for split, plan in plans.items():
        row = 0
        corpora = {corpus.name: corpus.pairs for corpus in _corpora(job.config, split, parts[split])}
        first_rows: dict[str, int] = {}
        for number, part in enumerate(parts[split]):
            yield SpillTask(
                key=f"spill-{split}-{number:05d}",
                part=part,
                corpus=[*corpora].index(part.corpus),
                first_row=row,
                plan=plan,
                spill=job.scratch / spill_name(split, plan, number),
                vocabularies=vocabularies,
                frames=frames[split][part.corpus],
                links=aligned[split][number].below(job.directory_of(Align)) if split in aligned else None,
                memory=memory,
                sample=CorpusSample(corpora[part.corpus], job.config.seed, split, part.corpus, len(corpora)),
                first_pair=row - first_rows.setdefault(part.corpus, row),
                weight=job.config.weight,
                rows=rows.get(split) if plan.layout == "causal" else None,
                documents=job.config.documents if plan.layout == "causal" else None,
            )
            row += part.pairs


def _shard_tasks(job: Job, split: str, plan: ShardPlan, parts: Sequence[PairFile]) -> Iterator[ShardTask]:
    together = shards_per_task(plan.shards, sum(part.text_bytes for part in parts))
    names = [shard_name(job.config.name, split, number, plan.shards) for number in range(plan.shards)]
    ends = tuple(accumulate(part.pairs for part in parts))
    for first in range(0, plan.shards, together):
        yield ShardTask(
            key=f"shard-{split}-{first:05d}",
            first=first,
            plan=plan,
            spills=job.scratch,
            parts=len(parts),
            outputs=tuple(job.directory / name for name in names[first : first + together]),
            first_rows=(0, *ends[:-1]) if plan.columns else (),
        )


def _describe(job: Job, splits: Mapping[str, SplitInfo]) -> DatasetInfo:
    config, parts = job.config, pair_files(job)
    files = job.manifest(Vocabulary).files
    vocabularies = {
        side: VocabularyInfo(
            **vars(facts) | {"file": f"../vocab/{facts.file}", "words": facts.words and f"../vocab/{facts.words}"},
            sha256=files[facts.file],
            frame=config.vocab.frame.of(side),
        )
        for side, facts in job.read(Vocabulary).sides().items()
    }
    corpora = {split: _corpora(config, split, listed) for split, listed in parts.items()}
    return DatasetInfo(
        name=config.name,
        config_fingerprint=job.fingerprint,
        layout=config.records.layout,
        row_length=_row_length(config),
        seed=config.seed,
        languages=LanguageCodes(source=config.languages.source, target=config.languages.target),
        vocab=Vocabularies(**vocabularies),
        input=_input_info(config),
        corpora=corpora,
        splits={split: counts.with_pairs(corpora[split]) for split, counts in splits.items()},
        columns=columns_of(config),
        documents=documents_info(job),
    )


def columns_of(config: Config) -> tuple[str, ...]:
    """Returns the columns of the records other than the IDs."""
    repeats = _ordered(config) and config.clean is not None and effective_dedup(config.clean).active
    wanted = {"document": _ordered(config), "weight": config.weight is not None}
    return (*(name for name, given in wanted.items() if given), *(REPEATED if repeats else ()))


def _recorded_settings(config: Config) -> dict[str, object]:
    """Returns the settings that only ``dataset.json`` records, by dotted key."""
    documents = (
        {} if config.documents is None or not _ordered(config) else config.documents.model_dump(exclude={"epochs"})
    )
    return (
        {f"input.{name}": value for name, value in config.input.model_dump().items()}
        | {f"documents.{name}": value for name, value in documents.items()}
        | origin_settings(config)
    )


def name_settings(config: Config) -> dict[str, object]:
    """Returns the name, the seed and the languages as settings of a stage."""
    languages = {f"languages.{side}": language for side, language in config.languages}
    return {"name": config.name, "seed": config.seed, **languages}


def origin_settings(config: Config) -> dict[str, object]:
    """Returns the settings of a stage that records the corpora's licenses, and the programs that made their text."""
    made = {f"{split}.{corpus.name}": config.made_side(corpus) for split, corpus in config.corpora if corpus.translate}
    stated = {f"{split}.{corpus.name}": corpus.licence for split, corpus in config.corpora}
    licences = {corpus: licence for corpus, licence in stated.items() if licence is not None}
    return {name: facts for name, facts in (("licences", licences), ("made", made)) if facts}


def _input_info(config: Config) -> InputInfo:
    return InputInfo(batch_tokens=config.input.batch_tokens, max_length=config.input.max_length)


def _linked(config: Config) -> bool:
    return config.records.layout == "text" and config.align is not None


def _columns(config: Config, split: str, parts: Sequence[PairFile]) -> Columns:
    """Returns the columns in text records: links, and the parts' columns other than the text."""
    if config.records.layout != "text":
        return ()
    columns = {LINKS: "string"} if _linked(config) and split in aligned_splits(config) else {}
    for part in parts:
        columns |= {name: str(kind) for name, kind in other_columns(part.path).items()}
    return tuple(columns.items())


def _row_length(config: Config) -> int | None:
    return config.records.row_length if config.records.layout == "packed" else None


def _corpora(config: Config, split: str, parts: Sequence[PairFile]) -> tuple[CorpusInfo, ...]:
    pairs: dict[str, int] = {}
    for part in parts:
        pairs[part.corpus] = pairs.get(part.corpus, 0) + part.pairs
    by_name = {corpus.name: corpus for corpus in config.directed(split)}
    listed = tuple(
        CorpusInfo(name=name, pairs=count, tag=by_name[name].tags, language_pair=str(by_name[name].pair or ""))
        for name, count in pairs.items()
    )
    return _with_origins(config, split, listed)


def _with_origins(config: Config, split: str, listed: Sequence[CorpusInfo]) -> tuple[CorpusInfo, ...]:
    origins = {
        corpus.name: {"licence": corpus.licence, "made": config.made_side(corpus)} for corpus in config.directed(split)
    }
    return tuple(corpus.model_copy(update=origins[corpus.name]) for corpus in listed)


def _pairs_of_corpora(config: Config, corpora: Mapping[str, Sequence[str]]) -> dict[str, tuple[LanguagePair, ...]]:
    known = {(split, corpus.name): corpus.pair for split in corpora for corpus in config.directed(split) if corpus.pair}
    return {split: tuple(known[split, name] for name in names) for split, names in corpora.items()}


def run_facts(job: Job, records: Path) -> RunFacts:
    """Returns a run's facts, for a stage after vocab."""
    config = job.config
    corpora: dict[str, tuple[str, ...]] = {
        split: tuple(dict.fromkeys(part.corpus for part in listed)) for split, listed in pair_files(job).items()
    }
    languages: dict[Side, str] = {"source": config.languages.source, "target": config.languages.target}
    frames = {side: config.vocab.frame.of(side) for side in SIDES}
    return RunFacts(
        name=config.name,
        seed=config.seed,
        languages=languages,
        shared=config.vocab.shared,
        vocabularies=built_vocabularies(job),
        frames={side: frame for side, frame in frames.items() if frame is not None},
        corpora=corpora,
        licences={
            corpus.name: corpus.licence
            for split in config.splits
            for corpus in config.directed(split)
            if corpus.licence is not None
        },
        fingerprint=job.fingerprint,
        records=records,
        pairs=_pairs_of_corpora(config, corpora) if config.pairs else {},
        weighted=config.weight is not None,
        causal=config.records.layout == "causal",
    )


def check_outputs(config: Config, run: RunFacts) -> None:
    """Checks that a run's outputs can hold its IDs and pieces."""
    for options in wanted_outputs(config).values():
        kind_of(options).check(options, run)
