"""publish: copies the files that training reads to an object store or a hub, with a manifest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from nmt_prep.base.artefacts import write_json
from nmt_prep.base.errors import OutputError
from nmt_prep.base.progress import Meter
from nmt_prep.base.runtime import check_extra
from nmt_prep.config import Config, PublishSettings
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.hub import EXTRA, HubAddress, hub_address
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, NoOutput, Result, Stage
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.download import Download, licences_of
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.outputs.outputs_stage import OutputsStage
from nmt_prep.stages.publish.hub import HubPublisher
from nmt_prep.stages.publish.publication import Content, PublishedFile, Publisher, StorePublisher
from nmt_prep.stages.report import Report
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab import Vocabulary
from nmt_prep.training.outputs import wanted_outputs
from nmt_prep.training.outputs.huggingface import card_config, card_head, plain_markdown
from nmt_prep.training.records.dataset_json import DatasetInfo, load_dataset_info

CARD_INPUTS: tuple[type[AnyStage], ...] = (Download, Encode, Report)  # The stages whose output the card describes

_LICENCES = re.compile(
    r"mit|apache-2\.0|bsd(-[23]-clause)?|cc0-1\.0|cc-by(-nc)?(-sa|-nd)?-[234]\.0|cc-by-2\.5|odc-by|odbl|pddl|"
    r"l?gpl-[23]\.0|lgpl-2\.1|agpl-3\.0|gfdl|mpl-2\.0|eupl-1\.[12]|etalab-2\.0|unlicense|other|unknown"
)
"""Licences of corpora that the hub knows by the same names."""

_CONTENT: Mapping[type[AnyStage], str] = {
    Vocabulary: "the vocabularies",
    Encode: "the pairs as IDs, in shuffled shards",
    Report: "a page about the data, and its numbers",
    OutputsStage: "the same pairs in the files of other trainers",
    Compile: "the aligned text, before any cleaning",
}


def publication_card(job: Job, url: str, stages: Sequence[type[AnyStage]]) -> bytes:
    """Returns the card, as Markdown with a YAML header which gives the hub languages, sizes, licenses and files."""
    info, config = load_dataset_info(job.directory_of(Encode)), job.config
    hub = hub_address(url)
    assert hub is not None
    licences = licences_of(job)
    source, target = config.languages.source, config.languages.target
    named = info.splits["train"].language_pairs if "train" in info.splits else {}
    pairs = ", ".join(named) or f"{source} to {target}"
    lines = [
        *_head(job, info, licences, hub, stages),
        f"# {config.name}",
        "",
        f"Sentence pairs, {pairs}, prepared with nmt_prep.",
        "",
    ]
    lines += ["| split | corpus | pairs | licence |", "|---|---|---|---|", *_rows(info, licences), ""]
    lines += ["## Files", "", "| directory | content |", "|---|---|"]
    lines += [f"| `{stage.directory}/` | {_CONTENT.get(stage, stage.name)} |" for stage in stages]
    lines += ["", f"`{_below(hub)}nmt_prep-manifest.json` lists all files with sizes and SHA-256.", ""]
    lines += ["## Use", "", *_use(config, hub, stages), ""]
    lines += [f"Signature: `{_signature(job)}`", ""]
    return "\n".join(lines).encode()


def _head(
    job: Job,
    info: DatasetInfo,
    licences: Mapping[tuple[str, str], str],
    hub: HubAddress,
    stages: Sequence[type[AnyStage]],
) -> list[str]:
    corpora = [(split, corpus.name) for split, listed in info.corpora.items() for corpus in listed]
    licence = {"license": sorted({_hub_licence(licences.get(corpus)) for corpus in corpora})}
    configs = [
        card_config(
            name,
            f"{_below(hub)}{OutputsStage.directory}/{name}/",
            job.config.splits,
            {file: digest for file, digest in job.manifest(OutputsStage).files.items() if file.startswith(f"{name}/")},
        )
        for name in _parquet_outputs(job.config, stages)
    ]
    files: dict[str, object] = {"configs": configs} if configs else {"viewer": False}
    used = {job.config.languages_of(corpus) for _, corpus in job.config.corpora}
    languages = sorted({tag for pair in used for tag in (pair.source, pair.target)})
    return card_head(languages, sum(split.pairs for split in info.splits.values()), licence, files)


def _hub_licence(licence: str | None) -> str:
    """Returns the hub's name for a license: ``unknown`` without one, ``other`` if the hub does not list it."""
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


PUBLISHABLE: tuple[type[AnyStage], ...] = (Compile, Clean, Sample, Vocabulary, Encode, OutputsStage, Report)
"""The stages that ``publish.stages`` may name."""

_READ_BY_TRAINING: tuple[type[AnyStage], ...] = (Vocabulary, Encode, Report)


@dataclass(frozen=True)
class AnnounceTask:
    """A publication to begin."""

    key: str
    settings: PublishSettings
    fingerprint: str
    wanted: dict[str, PublishedFile]


@dataclass(frozen=True)
class UploadTask:
    """A file to upload."""

    key: str
    settings: PublishSettings  # URL and options of the store
    path: Path
    name: str  # name of the file in the publication
    file: PublishedFile  # size and digest of the file
    number: int


@dataclass(frozen=True)
class Announced:
    """A publication's number, and the names of the files to upload."""

    number: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Uploaded:
    """A file that was uploaded: its name and size in bytes, and the number of the publication."""

    name: str
    size: int
    number: int


def announce_publication(task: AnnounceTask, meter: Meter) -> Announced:
    """Begins a publication in the object store."""
    number, missing = publisher_for(task.settings).announce(task.fingerprint, task.wanted)
    meter.advance(1)
    return Announced(number, tuple(missing))


def upload_file(task: UploadTask, tick: Tick) -> Uploaded:
    """Uploads one file. Ticks are bytes."""
    digest = publisher_for(task.settings).upload(task.path, task.name, tick)
    if digest != task.file.sha256:
        raise OutputError(f"{task.path} was changed after it was made; run again with --verify to rebuild it")
    return Uploaded(task.name, task.file.size, task.number)


ANNOUNCE = Round("announce", announce_publication, Announced, unit="steps", by_all=True)
PUBLISH = Round("publish", upload_file, Uploaded, unit="bytes", words="uploading files")


class Publish(Stage[NoOutput, int]):
    """Uploads the outputs of the stages in ``publish.stages``, if the config has that section.

    Writes ``publish/published.json`` with the URL, and the size and digest of each file.
    """

    name = "publish"
    version = 2
    directory = "publish"
    rounds = (ANNOUNCE, PUBLISH)
    outside = True

    def applies(self, config: Config) -> bool:
        return config.publish is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        stages = published(config)
        return tuple(dict.fromkeys((*stages, *CARD_INPUTS))) if _is_hub(_settings(config)) else stages

    def check(self, config: Config) -> None:
        settings = _settings(config)
        if _is_hub(settings):
            check_extra("huggingface_hub", EXTRA, settings.url)

    def settings(self, config: Config) -> dict[str, object]:
        settings = _settings(config)
        return {"publish.url": shown(settings.url), "publish.options": settings.options}

    def work(self, job: Job) -> Rounds[int]:
        settings, paths, wanted = _settings(job.config), self._paths(job), self._wanted(job)
        publisher = cache(partial(publisher_for, settings))  # contacts the store only when used
        [announced] = yield from ANNOUNCE.run(
            [AnnounceTask("announce", settings, job.fingerprint, wanted)],
            valid=lambda result: publisher().is_current(result.number, job.fingerprint, wanted),
        )
        number, missing = announced.number, set(announced.missing)
        tasks = [
            UploadTask(f"{index:06d}", settings, paths[name], name, file, number)
            for index, (name, file) in enumerate(wanted.items())
            if name in missing and name in paths
        ]
        yield from PUBLISH.run(
            tasks,
            sum(task.file.size for task in tasks),
            valid=lambda result: result.number == number and publisher().holds(result.name, result.size),
        )
        return number

    def finish(self, job: Job, made: int) -> Result[NoOutput]:
        publisher, wanted = publisher_for(_settings(job.config)), self._wanted(job)
        contents: dict[str, Content] = {**self._paths(job), **_cards(job)}
        publisher.complete(made, job.fingerprint, wanted, contents)
        files = {name: vars(file) for name, file in wanted.items()}
        write_json(job.directory / "published.json", {"url": publisher.url, "files": files})
        total = sum(file.size for file in wanted.values())
        return Result(NoOutput(), Counts(other={"files": len(wanted), "bytes": total}))

    def _paths(self, job: Job) -> dict[str, Path]:
        """Returns the files to publish by their names in the publication."""
        return {
            f"{stage.directory}/{name}": job.directory_of(stage) / name
            for stage in published(job.config)
            for name in sorted(job.manifest(stage).files_in())
        }

    def _wanted(self, job: Job) -> dict[str, PublishedFile]:
        """Returns the size and digest of each file to publish."""
        digests = {
            f"{stage.directory}/{name}": digest
            for stage in published(job.config)
            for name, digest in job.manifest(stage).files.items()
        }
        cards = {
            name: PublishedFile(len(content), hashlib.sha256(content).hexdigest())
            for name, content in _cards(job).items()
        }
        files = {name: PublishedFile(path.stat().st_size, digests[name]) for name, path in self._paths(job).items()}
        return {**files, **cards}


def published(config: Config) -> tuple[type[AnyStage], ...]:
    """Returns the stages whose output is published."""
    settings = _settings(config)
    if settings.stages is None:
        return (*_READ_BY_TRAINING, *((OutputsStage,) if wanted_outputs(config) else ()))
    return tuple(stage for stage in PUBLISHABLE if stage.name in settings.stages)


def _settings(config: Config) -> PublishSettings:
    if config.publish is None:
        raise OutputError("the config has no publish section")
    return config.publish


def publisher_for(settings: PublishSettings) -> Publisher:
    """Returns the publisher for a URL."""
    return HubPublisher(settings) if _is_hub(settings) else StorePublisher(settings)


def _is_hub(settings: PublishSettings) -> bool:
    return settings.url.startswith("hf://")


def _cards(job: Job) -> dict[str, bytes]:
    """Returns the dataset card by its name, for a data set of the Hugging Face Hub; nothing for other storage."""
    settings = _settings(job.config)
    return {"README.md": publication_card(job, settings.url, published(job.config))} if _is_hub(settings) else {}
