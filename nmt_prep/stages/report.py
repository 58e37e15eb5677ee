"""report: writes the numbers of pairs read, dropped and written, as text for people and JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nmt_prep.artefacts import as_json, atomic_write, parse_json_as, write_json
from nmt_prep.config import SIDES, Config
from nmt_prep.health.encoded import encoded_warnings
from nmt_prep.health.warning import HealthWarning, Warnings
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import AnyStage, Job, NoOutput, Result, Stage
from nmt_prep.records import DatasetInfo, load_dataset_info
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.encode import Encode, licence_settings
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab import Vocabulary


class Report(Stage[NoOutput, None]):
    """Writes ``report/summary.json`` and ``report/summary.txt``."""

    name = "report"
    directory = "report"
    reads = (Compile, Sample, Vocabulary, Encode)
    observes = True
    observed = Warnings
    version = 3

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return self.reads if config.clean is None else (*self.reads, Clean)

    def settings(self, config: Config) -> dict[str, object]:
        return {"name": config.name, **licence_settings(config)}

    def finish(self, job: Job, made: None) -> Result[NoOutput]:
        info = load_dataset_info(job.directory_of(Encode))
        summary = summarise(job, info)
        own = tuple(encoded_warnings(info, job.config.input.max_length))
        summary["warnings"] = [as_json(each) for each in (*observed_warnings(job, self.inputs(job.config)), *own)]
        write_json(job.directory / "summary.json", summary)
        with atomic_write(job.directory / "summary.txt") as beside:
            beside.write_text(render(summary), encoding="utf-8")
        pairs = sum(split.pairs for split in info.splits.values())
        return Result(NoOutput(), Counts(pairs_in=pairs, pairs_out=pairs), observed=Warnings(own))


def observed_warnings(job: Job, stages: Iterable[type[AnyStage]]) -> list[HealthWarning]:
    """Returns the warnings of some stages, in their order."""
    return [warning for stage in stages for warning in getattr(job.observed(stage), "warnings", ())]


def summarise(job: Job, info: DatasetInfo) -> dict[str, Any]:
    """Returns the report as JSON values."""
    compiled = job.read(Compile).corpora
    tags = {(split, corpus.name): corpus.tag for split, listed in info.corpora.items() for corpus in listed}
    return {
        "name": info.name,
        "languages": info.languages.model_dump(),
        "corpora": {
            split: {
                corpus.name: {
                    **as_json(compiled[split][corpus.name]),
                    **({"tag": tag} if (tag := tags.get((split, corpus.name))) else {}),
                    **({"licence": corpus.licence} if corpus.licence is not None else {}),
                }
                for corpus in corpora
            }
            for split, corpora in job.config.splits.items()
        },
        **({} if job.config.clean is None else {"clean": as_json(job.read(Clean))["corpora"], **_observed(job)}),
        "sample": dict(job.manifest(Sample).counts.other),
        "vocab": {side: as_json(facts) for side, facts in job.read(Vocabulary).sides().items()},
        "splits": {
            name: {
                "pairs": split.pairs,
                "shards": len(split.shards),
                "bytes": sum(shard.bytes for shard in split.shards),
                "source_tokens": split.source_tokens,
                "target_tokens": split.target_tokens,
                "longest_source": max((length for length, _ in split.source_lengths), default=0),
                "longest_target": max((length for length, _ in split.target_lengths), default=0),
            }
            for name, split in ((name, info.splits[name]) for name in job.config.splits)
        },
    }


def _observed(job: Job) -> dict[str, Any]:
    """Returns what was observed while cleaning, by split.

    Returns:
        ``translation``: how the rule was applied to each corpus; ``leaks``: evaluation segments in the corpora. A key
        is missing if there is nothing to report.
    """
    observed = as_json(job.observed(Clean))
    return {key: observed[key] for key in ("translation", "leaks") if observed[key]}


def render(summary: dict[str, Any]) -> str:
    """Returns the report as text."""
    lines = [f"{summary['name']}: {summary['languages']['source']} → {summary['languages']['target']}", "", "corpora"]
    for split, corpora in summary["corpora"].items():
        for corpus, counts in corpora.items():
            dropped = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts["dropped"].items()) if count)
            tag = ", ".join(f"{side} {piece}" for side, piece in counts.get("tag", {}).items())
            licence = counts.get("licence", "")
            lines.append(
                f"  {split}/{corpus}: {counts['pairs_in']:,} pairs in, {counts['pairs_out']:,} out, "
                f"dropped: {dropped or 'none'}{'; tag: ' * bool(tag)}{tag}{'; licence: ' * bool(licence)}{licence}"
            )
    lines += _cleaning(summary.get("clean", {}))
    lines += _leaks(summary.get("leaks", {}))
    lines += _misaligned(summary.get("translation", {}))
    lines += ["", "vocabularies"]
    for side in SIDES:
        facts = summary["vocab"][side]
        lines.append(f"  {side}: {facts['size']:,} pieces, {facts['kind']}, {facts['file']}")
    if summary["warnings"]:
        lines += ["", "warnings", *(f"  {parse_json_as(HealthWarning, each)}" for each in summary["warnings"])]
    lines += ["", "records"]
    for name, split in summary["splits"].items():
        lines.append(
            f"  {name}: {split['pairs']:,} pairs in {_shards(split['shards'])}, {split['bytes']:,} bytes; tokens: "
            f"source {split['source_tokens']:,} (longest {split['longest_source']}), "
            f"target {split['target_tokens']:,} (longest {split['longest_target']})"
        )
    return "\n".join(lines) + "\n"


def _cleaning(splits: dict[str, Any]) -> list[str]:
    """Returns the lines on cleaning; none if there was none."""
    lines = ["", "cleaning"] if splits else []
    for split, corpora in splits.items():
        for corpus, counts in corpora.items():
            share = f" ({counts['pairs_out'] / counts['pairs_in']:.1%})" if counts["pairs_in"] else ""
            lines.append(
                f"  {split}/{corpus}: {counts['pairs_in']:,} pairs in, {counts['pairs_out']:,} out{share}, "
                f"dropped: {_listed(counts['dropped'])}; lines fixed: {_listed(counts['altered'])}"
            )
    return lines


def _misaligned(splits: dict[str, Any]) -> list[str]:
    """Returns the lines on the rule ``translation``; none if there is no such rule."""
    lines = ["", "misaligned pairs (rule translation)"] if splits else []
    for split, corpora in splits.items():
        for corpus, facts in corpora.items():
            if facts["left_out"]:
                lines.append(f"  {split}/{corpus}: left out: {facts['left_out']}")
                continue
            source = f"a model of {facts['learned_from']:,} pairs" if facts["learned_from"] else "the given model"
            estimates = (
                ""
                if facts["noise"] is None
                else f"; by estimate {facts['noise']:.2%} of the pairs are misaligned; the threshold finds "
                f"{facts['found']:.1%} of them and {facts['lost']:.2%} of the others"
            )
            lines.append(f"  {split}/{corpus}: threshold {facts['threshold']:.2f}, with {source}{estimates}")
    return lines


def _leaks(splits: dict[str, Any]) -> list[str]:
    """Returns the lines on the evaluation segments that corpora contain; none if they contain none."""
    lines = ["", "evaluation segments in corpora"] if splits else []
    for split, leaks in splits.items():
        lines += [
            f"  {split}/{leak['corpus']}: {leak['segments']:,} of {leak['size']:,} segments of {leak['set']}, in "
            f"{leak['pairs']:,} pairs, of which {leak['dropped']:,} were dropped"
            for leak in leaks
        ]
    return lines


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count) or "none"


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count} shards"
