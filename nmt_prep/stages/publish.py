"""publish: copies of what training reads, in an object store, under a manifest that is written last."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.artefacts import publish_json
from nmt_prep.config import Config
from nmt_prep.config.publish import PublishSettings
from nmt_prep.engines import HereEngine, Tick
from nmt_prep.errors import OutputError
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.publishing.object_store import ObjectStore
from nmt_prep.publishing.publication import PublishedFile, announce, complete, is_current
from nmt_prep.sources.address import shown
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.encode import Encode
from nmt_prep.stages.export import Export
from nmt_prep.stages.report import Report
from nmt_prep.stages.sample import Sample
from nmt_prep.stages.vocab import Vocabulary

_DIRECTORIES = {stage.name: stage.directory for stage in (Compile, Sample, Vocabulary, Encode, Export, Report)}


@dataclass(frozen=True)
class AnnounceTask:
    """A publication to make ready for."""

    key: str
    settings: PublishSettings
    fingerprint: str
    wanted: dict[str, PublishedFile]


@dataclass(frozen=True)
class UploadTask:
    """A file to send.

    Attributes:
        key: names the task.
        settings: where to, and how.
        path: the file.
        name: in the publication.
        file: what it must be.
        number: of the publication.
    """

    key: str
    settings: PublishSettings
    path: Path
    name: str
    file: PublishedFile
    number: int


class Publish(Stage):
    """Uploads the outputs that ``publish.stages`` names, where the config has that section.

    Writes ``publish/published.json``: the URL, and size and digest of each file.
    """

    name: ClassVar[str] = "publish"
    inputs: ClassVar[tuple[str, ...]] = tuple(_DIRECTORIES)
    directory: ClassVar[str] = "publish"
    rounds: ClassVar[tuple[str, ...]] = ("publish",)
    outside: ClassVar[bool] = True

    def applies(self, config: Config) -> bool:
        return config.publish is not None

    def reads(self, config: Config) -> tuple[str, ...]:
        return tuple(name for name in _DIRECTORIES if name in _settings(config).stages)

    def settings(self, config: Config) -> dict[str, object]:
        settings = _settings(config)
        return {"publish.url": shown(settings.url), "publish.options": settings.options}

    def run(self, context: Context) -> Result:
        settings, fingerprint = _settings(context.config), context.fingerprint
        store = _store(settings)
        paths = {
            f"{_DIRECTORIES[stage]}/{name}": (context.workspace.root / _DIRECTORIES[stage] / name, digest)
            for stage, manifest in context.manifests.items()
            for name, digest in sorted(manifest.files.items())
        }
        wanted = {name: PublishedFile(path.stat().st_size, digest) for name, (path, digest) in paths.items()}
        (announced,) = context.tasks.run(
            Round(
                "announce",
                announce_publication,
                [AnnounceTask("announce", settings, fingerprint, wanted)],
                unit="steps",
                engine=HereEngine(),
                valid=lambda result: is_current(store, result["number"], fingerprint, wanted),
                by_all=True,
            )
        )
        number, missing = announced["number"], set(announced["missing"])
        tasks = [
            UploadTask(f"{index:06d}", settings, paths[name][0], name, file, number)
            for index, (name, file) in enumerate(wanted.items())
            if name in missing
        ]
        sizes = store.sizes()
        context.tasks.run(
            Round(
                "publish",
                upload_file,
                tasks,
                sum(task.file.size for task in tasks),
                "bytes",
                valid=lambda result: result["number"] == number and sizes.get(result["name"]) == result["size"],
            )
        )
        complete(store, number, fingerprint, wanted)
        files = {name: vars(file) for name, file in wanted.items()}
        publish_json(context.directory / "published.json", {"url": store.url, "files": files})
        return Result(Counts(other={"files": len(wanted), "bytes": sum(file.size for file in wanted.values())}))


def announce_publication(task: AnnounceTask, tick: Tick) -> dict[str, Any]:
    """Makes the place ready; returns the number of the publication, and the names of the files to send.

    Raises:
        ConfigError: a package for the URL's scheme is not installed.
        OutputError: the storage failed.
    """
    journal = announce(_store(task.settings), task.fingerprint, task.wanted)
    tick(1)
    return {"number": journal.number, "missing": journal.missing(task.wanted)}


def upload_file(task: UploadTask, tick: Tick) -> dict[str, Any]:
    """Sends one file; returns its name and size, and the number of the publication. Ticks are bytes.

    Raises:
        OutputError: the storage failed, or the file is not what it was.
    """
    digest = _store(task.settings).upload(task.path, task.name, tick)
    if digest != task.file.sha256:
        raise OutputError(f"{task.path} was changed after it was made; run again with --verify, which makes it anew")
    return {"name": task.name, "size": task.file.size, "number": task.number}


def _settings(config: Config) -> PublishSettings:
    if config.publish is None:
        raise OutputError("the config has no publish section")
    return config.publish


def _store(settings: PublishSettings) -> ObjectStore:
    return ObjectStore(settings.url, settings.options, settings.retries, OutputError)
