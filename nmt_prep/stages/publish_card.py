"""The dataset card of a publication on the Hugging Face Hub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from nmt_prep.config import Config
from nmt_prep.errors import OutputError
from nmt_prep.outputs import wanted_outputs
from nmt_prep.outputs.card import plain_markdown, size_category
from nmt_prep.pipeline.stage import AnyStage, Job
from nmt_prep.records.dataset_json import DatasetInfo, load_dataset_info
from nmt_prep.sources.hub import HubAddress, hub_address
from nmt_prep.sources.hub_listing import read_listing
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.download import Download
from nmt_prep.stages.encode import Encode
from nmt_prep.stages.needed_files import needed_files
from nmt_prep.stages.outputs import OutputsStage
from nmt_prep.stages.report import Report
from nmt_prep.stages.vocab import Vocabulary

CARD_INPUTS: tuple[type[AnyStage], ...] = (Download, Encode, Report)
"""The stages whose output the card describes."""

_LICENCES = re.compile(
    r"mit|apache-2\.0|bsd(-[23]-clause)?|cc0-1\.0|cc-by(-nc)?(-sa|-nd)?-[234]\.0|cc-by-2\.5|odc-by|odbl|pddl|"
    r"l?gpl-[23]\.0|lgpl-2\.1|agpl-3\.0|gfdl|mpl-2\.0|eupl-1\.[12]|etalab-2\.0|unlicense|other|unknown"
)
"""The licences that the hub knows by these names, among those of corpora."""

_CONTENT: Mapping[type[AnyStage], str] = {
    Vocabulary: "the vocabularies",
    Encode: "the pairs as ids, in shuffled shards",
    Report: "a page about the data, and its numbers",
    OutputsStage: "the same pairs in the files of other trainers",
    Compile: "the aligned text, before any cleaning",
}


def publication_card(job: Job, url: str, stages: Sequence[type[AnyStage]]) -> bytes:
    """Returns the card, as Markdown with a YAML header from which the hub knows languages, sizes, licences and files.

    Args:
        job: job of the stage publish.
        url: URL of the publication.
        stages: the stages whose output is published.

    Raises:
        OutputError: the report of the run cannot be read.
        RecordsError: ``dataset.json`` cannot be read.
    """
    info, config = load_dataset_info(job.directory_of(Encode)), job.config
    hub = hub_address(url)
    assert hub is not None
    licences = _licences(job)
    source, target = config.languages.source, config.languages.target
    lines = ["---", _header(config, info, licences, hub, stages), "---", ""]
    lines += [f"# {config.name}", "", f"Sentence pairs, {source} to {target}, prepared with nmt_prep.", ""]
    lines += ["| split | corpus | pairs | licence |", "|---|---|---|---|", *_rows(info, licences), ""]
    lines += ["## Files", "", "| directory | content |", "|---|---|"]
    lines += [f"| `{stage.directory}/` | {_CONTENT.get(stage, stage.name)} |" for stage in stages]
    lines += ["", f"`{_below(hub)}nmt_prep-manifest.json` lists all files with sizes and SHA-256.", ""]
    lines += ["## Use", "", *_use(config, hub, stages), ""]
    lines += [f"Signature: `{_signature(job)}`", ""]
    return "\n".join(lines).encode()


def _header(
    config: Config,
    info: DatasetInfo,
    licences: Mapping[tuple[str, str], str],
    hub: HubAddress,
    stages: Sequence[type[AnyStage]],
) -> str:
    tags = (config.languages.source, config.languages.target)
    corpora = [(split, corpus.name) for split, listed in info.corpora.items() for corpus in listed]
    header: dict[str, Any] = {
        "language": sorted({tag.replace("_", "-").partition("-")[0].lower() for tag in tags}),
        "license": sorted({_hub_licence(licences.get(corpus)) for corpus in corpora}),
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": [size_category(sum(split.pairs for split in info.splits.values()))],
    }
    configs = [
        {
            "config_name": name,
            "data_files": [
                {"split": split, "path": f"{_below(hub)}{OutputsStage.directory}/{name}/{split}-*.parquet"}
                for split in config.splits
            ],
        }
        for name in _parquet_outputs(config, stages)
    ]
    header |= {"configs": configs} if configs else {"viewer": False}
    return yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip()


def _hub_licence(licence: str | None) -> str:
    """Returns the hub's name for a licence: ``unknown`` without one, ``other`` if the hub does not list it."""
    if licence is None:
        return "unknown"
    name = "-".join(licence.lower().split())
    return name if _LICENCES.fullmatch(name) else "other"


def _rows(info: DatasetInfo, licences: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for split, listed in info.corpora.items():
        for corpus in listed:
            licence = plain_markdown(licences.get((split, corpus.name), "not stated"))
            yield f"| {split} | {corpus.name} | {corpus.pairs:,} | {licence} |"
        yield f"| {split} | all | {info.splits[split].pairs:,} | |"


def _licences(job: Job) -> dict[tuple[str, str], str]:
    """Returns the licences of corpora by split and name: those of the config, else those of the hub's own cards."""
    licences: dict[tuple[str, str], str] = {}
    entries, directory = job.read(Download).files, job.directory_of(Download)
    for needed in needed_files(job.config):
        split, _, rest = needed.key.partition("/")
        if needed.is_repository and split in job.config.splits:
            entry = entries[needed.key]
            licence = read_listing(directory / entry.sha256 / entry.name).licence
            licences |= {(split, rest.partition("/")[0]): licence} if licence is not None else {}
    for split, corpora in job.config.splits.items():
        licences |= {(split, corpus.name): corpus.licence for corpus in corpora if corpus.licence is not None}
    return licences


def _use(config: Config, hub: HubAddress, stages: Sequence[type[AnyStage]]) -> Iterator[str]:
    yield from ("```sh", f"nmt-prep fetch {hub} DIRECTORY", "```", "")
    if {Vocabulary, Encode} <= set(stages):
        yield from ("```python", "from nmt_prep import fetch_run, make_dataset", "")
        yield f'dataset = make_dataset(fetch_run("{hub}", "DIRECTORY"), "{next(iter(config.splits))}")'
        yield from ("```", "")
    for name in _parquet_outputs(config, stages):
        revision = "" if hub.revision is None else f', revision="{hub.revision}"'
        yield from ("```python", "from datasets import load_dataset", "")
        yield f'data = load_dataset("{hub.repository}", "{name}"{revision})'
        yield from ("```", "")


def _parquet_outputs(config: Config, stages: Sequence[type[AnyStage]]) -> list[str]:
    """Returns the directories of the published outputs that the library datasets reads."""
    if OutputsStage not in stages:
        return []
    return [name for name, options in wanted_outputs(config).items() if options.kind == "huggingface"]


def _below(hub: HubAddress) -> str:
    """Returns the beginning of the paths in the repository."""
    path = hub.path.strip("/")
    return f"{path}/" if path else ""


def _signature(job: Job) -> str:
    path = job.directory_of(Report) / "summary.json"
    try:
        return str(json.loads(path.read_bytes())["signature"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"cannot read the signature in {path} ({error}); run again with --force report") from error
