"""The `report` stage: writes a run's figures as a page and a text for people, and as JSON for programs.

``summary.json`` has the numbers, collected from the outputs of the stages; docs/report.md describes its keys.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_prep import __version__
from nmt_prep.base.artefacts import as_json, write_bytes
from nmt_prep.base.errors import NmtPrepError, VocabularyError
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.cleaning.health_warnings import encoded_warnings
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import AnyStage, HealthWarning, Job, NoOutput, Result, Stage, Warnings
from nmt_prep.reporting import Json
from nmt_prep.reporting.page import render_page
from nmt_prep.reporting.profile import combined
from nmt_prep.reporting.report_tables import LEARNED_RULES, render_text
from nmt_prep.reporting.sections.flow import corpus_flow
from nmt_prep.reporting.sections.provenance import shown_config, shown_settings, signature
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import cleaned_corpora
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.compile.compile_tasks import CorpusCounts
from nmt_prep.stages.divide import Divide
from nmt_prep.stages.download import (
    MERGES,
    Download,
    compared_vocabularies,
    downloaded_file,
    licences_of,
    needed_vocabularies,
)
from nmt_prep.stages.encode.encode_stage import Encode, origin_settings
from nmt_prep.stages.limits import Limits
from nmt_prep.stages.pair_files import pair_files, pair_stages
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.sentences import Sentences, documents_stages
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies
from nmt_prep.subwords import Tokenizer, dialect_in
from nmt_prep.training.records.dataset_json import DatasetInfo, SplitInfo, load_dataset_info

if TYPE_CHECKING:
    import pyarrow as pa


class Report(Stage[NoOutput, None]):
    """Writes ``report/index.html``, ``report/summary.json`` and ``report/summary.txt``."""

    name = "report"
    directory = "report"
    reads = (Download, Compile, Sample, Vocabulary, Encode)
    observes = True
    observed = Warnings
    version = 8

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        later: tuple[type[AnyStage], ...] = pair_stages(config)[1:]  # all but compile
        reads: tuple[type[AnyStage], ...] = (*self.reads, *later)
        existing = isinstance(config.vocab, ExistingVocab)
        of_documents = tuple(stage for stage in documents_stages(config) if stage is Sentences)
        return (*of_documents, *(stage for stage in reads if not existing or stage is not Sample))

    def check(self, config: Config) -> None:
        local = {needed.key: needed.local(config.base_dir) for needed in needed_vocabularies(config)}
        _compared(config, {key: path for key, path in local.items() if path is not None})

    def settings(self, config: Config) -> dict[str, object]:
        return {**shown_settings(config), **origin_settings(config)}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        info = load_dataset_info(job.directory_of(Encode))
        documented = {split for split, corpus in job.config.corpora if corpus.document is not None}
        warnings = tuple(encoded_warnings(info, job.config.input.max_length, documented))
        observed = observed_warnings(job, self.inputs(job.config))
        summary = summarise(job, info, [*observed, *((self.name, warning) for warning in warnings)])
        texts = {
            "summary.json": _by_lines(summary),
            "summary.txt": render_text(summary),
            "index.html": render_page(summary),
        }
        for name, text in texts.items():
            # Bytes of file names that are not UTF-8 are written as escapes.
            write_bytes(job.directory / name, text.encode(errors="backslashreplace"))
        pairs = sum(split.pairs for split in info.splits.values())
        return Result(NoOutput(), Counts(pairs_in=pairs, pairs_out=pairs), observed=Warnings(warnings))


def _by_lines(summary: Json) -> str:
    """Returns JSON with a line for each key; unsorted, since corpora keep the config's order."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in summary.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


SCHEMA = 1
"""Version of ``summary.json``. It increases when a key is removed or changes its meaning, not when keys are added."""


def summarise(job: Job, info: DatasetInfo, warnings: Iterable[tuple[str, HealthWarning]]) -> Json:
    """Returns the report as JSON values."""
    from nmt_prep.reporting.batch_estimates import estimate_batches  # noqa: PLC0415  (loads numpy)
    from nmt_prep.reporting.profile import column_facts  # noqa: PLC0415  (loads numpy)
    from nmt_prep.reporting.sections.training import training_facts  # noqa: PLC0415  (loads numpy)

    config = job.config
    asked = None if isinstance(config.vocab, ExistingVocab) else config.vocab.asked_size
    profile, downloads = as_json(job.observed(Encode)), job.read(Download).files
    text = _in_order(config, profile["corpora"])
    digests = {key: file.sha256 for key, file in downloads.items()}
    documents = Sentences().applies(config)
    summary = {
        "schema": SCHEMA,
        "name": info.name,
        "languages": info.languages.model_dump(),
        "signature": signature(__version__, config, info, digests),
        "warnings": [{"stage": stage, **as_json(warning)} for stage, warning in warnings],
        "corpora": _corpora(job, info),
        "flow": (flow := _flow(job, text)),
        **_pairs(job, info, profile, flow),
        **({"documents": _in_order(config, as_json(job.observed(Sentences))["corpora"])} if documents else {}),
        **_cleaning(job),
        "sample": {} if asked is None else dict(job.manifest(Sample).counts.other),
        "vocab": {side: as_json(facts) for side, facts in job.read(Vocabulary).sides().items()},
        "pieces": profile["vocabularies"],
        **_comparison(job),
        "text": text,
        "lengths": {name: combined(text.get(name, {})) for name in config.splits},
        "splits": {name: _split(info.splits[name]) for name in config.splits},
        "batches": {
            name: [as_json(estimate) for estimate in estimate_batches(job.directory_of(Encode), info, name)]
            if info.layout != "causal"
            else []
            for name in config.splits
        },
        **_rows(job, info),
        **column_facts(job.directory_of(Encode), info),
        "training": training_facts(
            config, {corpus.name: corpus.pairs for corpus in info.corpora["train"]}, text.get("train", {})
        ),
        "provenance": {
            "nmt_prep": __version__,
            "config": shown_config(config),
            "input": config.input.model_dump(mode="json"),
            "vocab_size": asked,
            "downloads": [
                {"file": key, "name": file.name, "bytes": file.size, "sha256": file.sha256}
                for key, file in sorted(downloads.items())
            ],
            "vocabularies": {side: facts.sha256 for side, facts in info.vocab},
            "records": {name: [shard.sha256 for shard in info.splits[name].shards] for name in config.splits},
        },
    }
    if config.clean is not None:
        _sort_fixes(config, summary)
    return summary


def _sort_fixes(config: Config, summary: Json) -> None:
    """Puts each corpus's fixes in the config's order; manifests list them by name."""
    from nmt_prep.cleaning.cleaner import chains_of, labels_of  # noqa: PLC0415  (loads all rules)

    for each in cleaned_corpora(config):
        labels = labels_of(each.cleaning, chains_of(each.cleaning, each.context(config)))
        sides = each.cleaning.fix if isinstance(each.cleaning.fix, Mapping) else labels
        order = [label for side in sides for label in labels.get(side, ())]
        _sort(summary["repaired"].get(each.split, {}), each.corpus.name, order)
        for section, key in (("flow", "fixed"), ("clean", "altered"), ("untranslated", "altered")):
            _sort(summary.get(section, {}).get(each.split, {}).get(each.corpus.name, {}), key, order)


def _sort(facts: Json, key: str, order: Sequence[str]) -> None:
    if key in facts:
        places = {name: order.index(name) if name in order else -1 for name in facts[key]}
        facts[key] = {name: facts[key][name] for name in sorted(places, key=places.__getitem__)}


def _rows(job: Job, info: DatasetInfo) -> Json:
    """Returns the section on causal language model rows, or nothing for other records."""
    if info.layout != "causal":
        return {}
    from nmt_prep.reporting.row_facts import row_facts  # noqa: PLC0415  (loads numpy)

    return {"rows": row_facts(job.directory_of(Encode), info, built_vocabularies(job)["target"].load())}


COMPARED_PAIRS = 10_000
"""Maximum pair count per corpus on which the report compares vocabularies."""


def _compared(config: Config, files: Mapping[str, Path]) -> dict[str, Tokenizer]:
    """Loads the vocabularies to compare that are among files."""
    loaded: dict[str, Tokenizer] = {}
    for key, addresses in compared_vocabularies(config).items():
        try:
            if path := files.get(key):
                loaded[addresses[0]] = dialect_in(path).load(path, merges=files.get(f"{key}/{MERGES}"))
        except NmtPrepError as error:
            raise VocabularyError(f"{key}: {error}") from error
    return loaded


def _comparison(job: Job) -> Json:
    """Returns how the run's and the compared vocabularies divide the first pairs of each train corpus."""
    from nmt_prep.corpora import strip_lines  # noqa: PLC0415  (loads numpy)
    from nmt_prep.subwords.comparison import TextFit  # noqa: PLC0415  (loads numpy)

    config = job.config
    if not config.vocab.compare:
        return {}
    files = {file.key: downloaded_file(job, file)[0] for file in needed_vocabularies(config)}
    vocabularies: dict[str, dict[Side, Tokenizer]] = {
        "of the run": {side: built.load() for side, built in built_vocabularies(job).items()},
        **{name: dict.fromkeys(SIDES, loaded) for name, loaded in _compared(config, files).items()},
    }
    texts: dict[tuple[Side, str], list[pa.Array]] = {}
    split = "train" if "train" in config.splits else next(iter(config.splits))
    languages = {corpus.name: corpus.pair or config.languages for corpus in config.directed(split)}
    left = dict.fromkeys(languages, COMPARED_PAIRS)
    for part in pair_files(job)[split]:
        for batch in part.batches(columns=SIDES):
            for side in SIDES:
                lines = strip_lines(batch.column(side)[: left[part.corpus]])
                texts.setdefault((side, getattr(languages[part.corpus], side)), []).append(lines)
            left[part.corpus] -= len(lines)
            if not left[part.corpus]:
                break
    fits = {
        name: {
            f"{side} ({language})": as_json(TextFit.of(by_side[side], blocks))
            for (side, language), blocks in texts.items()
        }
        for name, by_side in vocabularies.items()
    }
    return {"comparison": fits}


def _corpora(job: Job, info: DatasetInfo) -> Json:
    """Returns the counts from compile, and each corpus's tag, license, role and program."""
    compiled, licences = _compiled(job), licences_of(job)
    tags = {(split, corpus.name): corpus.tag for split, listed in info.corpora.items() for corpus in listed}
    return {
        split: {
            corpus.name: {
                **as_json(compiled[split][corpus.name]),
                **({"tag": tag} if (tag := tags.get((split, corpus.name))) else {}),
                **({"licence": licence} if (licence := licences.get((split, corpus.name))) is not None else {}),
                **({"role": corpus.role} if corpus.role != "parallel" else {}),
                **({"made": made} if (made := job.config.made_side(corpus)) else {}),
            }
            for corpus in corpora
        }
        for split, corpora in job.config.splits.items()
    }


def _flow(job: Job, profile: Json) -> Json:
    compiled, cleaned = _compiled(job), None if job.config.clean is None else job.read(Clean)
    divided = job.read(Divide) if job.config.divides else None
    limited = job.read(Limits) if job.config.limits.pieces is not None else None
    sizes = _text_bytes(job.read(Compile).parts)
    left = {} if cleaned is None else _text_bytes(cleaned.parts)
    changed = {**(divided.parts if divided else {}), **(limited.parts if limited else {})}
    last = _text_bytes(changed)
    rejected = {} if cleaned is None else job.observed(Clean).rejected

    def flow(split: str, corpus: str) -> Json:
        counts = cleaned.corpora.get(split, {}).get(corpus) if cleaned else None
        if cleaned and counts is not None and (before := cleaned.untranslated.get(split, {}).get(corpus)):
            counts = replace(before + counts, pairs_in=before.pairs_in, pairs_out=counts.pairs_out)
        later = {"division": divided.dropped.get(split, {}).get(corpus, {})} if divided else {}
        if limited and (beyond := limited.corpora.get(split, {}).get(corpus)):
            later["limits"] = {reason: pairs for reason, pairs in beyond.dropped.items() if pairs}
        return corpus_flow(
            as_json(compiled[split][corpus]),
            sizes.get((split, corpus), last.get((split, corpus), 0)),
            None if counts is None else {**as_json(counts), "bytes": left[split, corpus]},
            rejected[split][corpus].bytes if counts is not None else {},
            {"dropped": later, "bytes": last.get((split, corpus), 0)} if split in changed else None,
            profile.get(split, {}).get(corpus),
        )

    return {
        split: {corpus.name: flow(split, corpus.name) for corpus in corpora}
        for split, corpora in job.config.splits.items()
    }


def _compiled(job: Job) -> dict[str, dict[str, CorpusCounts]]:
    """Returns the counts of all corpora as they were read; corpora that are held out of others were read there."""
    counts = {split: {**corpora} for split, corpora in job.read(Compile).corpora.items()}
    for (split, corpus), files in job.read(Divide).held_out.items() if job.config.divides else ():
        pairs = sum(file.pairs for file in files)
        source, target = (sum(getattr(file, f"{side}_bytes") or 0 for file in files) for side in SIDES)
        counts.setdefault(split, {})[corpus] = CorpusCounts(pairs, pairs, {}, {}, source, target)
    return counts


SHOWN_TEMPERATURES = (1, 2, 5)


def _pairs(job: Job, info: DatasetInfo, profile: Json, flow: Json) -> Json:
    """Returns the sections on language pairs and on languages; none if the run has one language pair."""
    from nmt_prep.training.batches.epoch import tempered_draws  # noqa: PLC0415  (loads numpy)

    config, split = job.config, "train"
    if config.pairs is None:
        return {}
    draws = {heat: tempered_draws(info.corpora[split], heat) for heat in SHOWN_TEMPERATURES}
    numbers = {corpus.name: number for number, corpus in enumerate(info.corpora[split])}
    pairs: dict[str, Json] = {}
    for stored in config.splits[split]:
        counts = flow[split][stored.name]
        for corpus in filter(None, (stored, stored.reverse)):
            assert corpus.pair is not None
            empty = {**corpus.pair._asdict(), "read": 0, "kept": 0, "dropped": {}, "drawn": {}}
            facts = pairs.setdefault(str(corpus.pair), empty)
            facts["read"] += counts["read"]["pairs"]
            for drop in counts["drops"]:
                facts["dropped"][drop["reason"]] = facts["dropped"].get(drop["reason"], 0) + drop["pairs"]
            if (number := numbers.get(corpus.name)) is not None:
                facts["kept"] += info.corpora[split][number].pairs
                for heat, drawn in draws.items():
                    facts["drawn"][str(heat)] = facts["drawn"].get(str(heat), 0) + drawn[number]
    return {"pairs": pairs, "languages_of_sides": profile["languages"]}


def _text_bytes(parts: Mapping[str, Sequence[PairFile]]) -> Counter[tuple[str, str]]:
    sizes: Counter[tuple[str, str]] = Counter()
    for split, listed in parts.items():
        for part in listed:
            sizes[split, part.corpus] += part.text_bytes
    return sizes


def _cleaning(job: Job) -> Json:
    if job.config.clean is None:
        return {}
    output, seen = as_json(job.read(Clean)), as_json(job.observed(Clean))
    nearest, repaired = (
        {split: {corpus: notes[key] for corpus, notes in own.items()} for split, own in seen["rejected"].items()}
        for key in ("nearest", "repaired")
    )
    ordered_only = ("parts", "corpora", "untranslated", "translations")
    others = {name: value for name, value in output.items() if name not in ordered_only}
    sections = {"clean": output["corpora"], "rules": seen["rules"], "rejects": nearest, "repaired": repaired}
    sections |= {rule: seen[rule] for rule in LEARNED_RULES if seen[rule]}
    for split, corpus in job.config.corpora:
        if corpus.name in output["translations"].get(split, {}):
            output["translations"][split][corpus.name]["by"] = job.config.made_side(corpus)
    sections |= {name: output[name] for name in ("untranslated", "translations") if output[name]}
    ordered = {name: _in_order(job.config, section) for name, section in sections.items()}
    by_split = {name: seen[name] for name in ("duplicates", "leaks", "mended") if seen.get(name)}
    return {**ordered, **others, **by_split}


def _in_order(config: Config, section: Json) -> Json:
    return {
        split: {
            corpus.name: section[split][corpus.name]
            for corpus in config.directed(split)
            if corpus.name in section[split]
        }
        for split in config.splits
        if split in section
    }


def _split(info: SplitInfo) -> Json:
    return {
        "pairs": info.pairs,
        "shards": len(info.shards),
        "bytes": sum(shard.bytes for shard in info.shards),
        "source_tokens": info.source_tokens,
        "target_tokens": info.target_tokens,
        "longest_source": max((length for length, _ in info.source_lengths), default=0),
        "longest_target": max((length for length, _ in info.target_lengths), default=0),
        "max_lengths": [list(entry) for entry in info.max_lengths],
    }


def observed_warnings(job: Job, stages: Iterable[type[AnyStage]]) -> list[tuple[str, HealthWarning]]:
    """Returns some stages' warnings, in their order, each with its stage's name."""
    return [(stage.name, warning) for stage in stages for warning in stage().warnings(job.observed(stage), job.config)]
