"""Stages, their fingerprints, and the two things one does with them: plan and run.

A stage reads what the stages above published and its own part of the config. Its fingerprint is a hash of those, and
of its version. Its manifest, written last, holds the fingerprint and the digests of what it published; a stage whose
manifest agrees with what would be done now, and with the files, is fresh and is not run.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from nmt_prep.artefacts import publish_directory, remove_partial, writing
from nmt_prep.config import Config
from nmt_prep.digests import DigestCache, digest_of
from nmt_prep.engines import Engine
from nmt_prep.errors import DownloadError, OutputError
from nmt_prep.lockfile import LockFile
from nmt_prep.manifest import Counts, Manifest, Workspace, differences, read_manifest
from nmt_prep.progress import Progress
from nmt_prep.tasks import TaskLog


@dataclass(frozen=True)
class Context:
    """What a stage is given to work with.

    Attributes:
        fingerprint: of this stage, as its manifest will say.
        directory: where to write; for a stage that is rebuilt as a whole this is not yet the published place.
        base_dir: what local paths of the config are relative to.
        manifests: of the stages above.
        tasks: runs the stage's tasks, and keeps those that ended before a kill.
        lock: what downloads must be.
    """

    config: Config
    base_dir: Path
    workspace: Workspace
    fingerprint: str
    directory: Path
    manifests: dict[str, Manifest]
    digests: DigestCache
    engine: Engine
    progress: Progress
    tasks: TaskLog
    lock: LockFile


@dataclass
class Result:
    """What a stage reports of its work.

    Attributes:
        counts: numbers for the table of stages and for the report.
        files: what it published, relative to its directory; None is everything in the directory.
        digests: of files whose SHA-256 is known from the writing; the others are read.
        details: what the stages below want to know of the result, as JSON.
    """

    counts: Counts = field(default_factory=Counts)
    files: list[str] | None = None
    digests: dict[str, str] = field(default_factory=dict)
    details: dict[str, object] = field(default_factory=dict)


class Stage(ABC):
    """One step of the way of the data.

    Attributes:
        name: as on the command line and in the manifest.
        version: raised when the same inputs would give other bytes than before.
        inputs: names of the stages whose output it reads.
        directory: where its output is, below the run's directory.
        keeps: true where the directory is a store by digest that is added to, false where it is replaced as a whole.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    inputs: ClassVar[tuple[str, ...]]
    directory: ClassVar[str]
    keeps: ClassVar[bool] = False

    @abstractmethod
    def settings(self, config: Config) -> dict[str, object]:
        """The part of the config that decides the result: values by dotted key."""

    def local_files(self, config: Config, base_dir: Path) -> dict[str, Path]:
        """Files outside the run's directory that it reads, by the name that the config gives them."""
        return {}

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        """Why the stage must run though its fingerprint and files are as they should be; empty where it need not."""
        return ""

    @abstractmethod
    def run(self, context: Context) -> Result:
        """Does the work."""


@dataclass(frozen=True)
class Step:
    """A stage in a plan: whether it would run, and why."""

    stage: str
    fresh: bool
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What became of a stage in a run."""

    stage: str
    ran: bool
    reason: str
    seconds: float
    counts: Counts


class Pipeline:
    """The stages of one config, in order."""

    def __init__(
        self, stages: Sequence[Stage], config: Config, base_dir: Path, progress: Progress, lock: LockFile | None = None
    ) -> None:
        self.stages = stages
        self.config = config
        self.base_dir = base_dir
        self.progress = progress
        self.lock = lock or LockFile(None)
        self.workspace = Workspace(config.run_dir)
        self._digests = DigestCache(self.workspace.root)
        self._trust = True

    def plan(self, *, force: Iterable[str] = (), verify: bool = False) -> list[Step]:
        """Which stages would run, and why; runs nothing, writes nothing.

        A stage below one that would run may turn out to be fresh after all, if that one gives the same bytes as before.

        Args:
            force: stages to run even if they are fresh.
            verify: read every published file again instead of trusting its size and times.
        """
        self._trust = not verify
        manifests: dict[str, Manifest] = {}
        steps: list[Step] = []
        rerun: set[str] = set()
        for stage in self.stages:
            follows = " and ".join(name for name in stage.inputs if name in rerun)
            reason = f"follows {follows}" if follows else self._reason(stage, manifests, force)
            if reason:
                rerun.add(stage.name)
            else:
                manifests[stage.name] = self._manifest(stage)
            steps.append(Step(stage.name, not reason, reason or "nothing changed"))
        return steps

    def run(
        self, engine: Engine, *, until: str | None = None, force: Iterable[str] = (), verify: bool = False
    ) -> list[Outcome]:
        """Runs the stages that are not fresh, up to and including ``until``.

        Raises:
            NmtPrepError: a stage failed; what the others published stays.
        """
        self._trust = not verify
        remove_partial(self.workspace.private)
        manifests: dict[str, Manifest] = {}
        outcomes: list[Outcome] = []
        try:
            for stage in self.stages:
                reason = self._reason(stage, manifests, force)
                started = time.monotonic()
                if reason:
                    self.progress.event("stage_started", stage=stage.name, reason=reason)
                    manifests[stage.name] = self._run(stage, manifests, engine)
                else:
                    manifests[stage.name] = self._manifest(stage)
                counts, seconds = manifests[stage.name].counts, time.monotonic() - started
                outcomes.append(Outcome(stage.name, bool(reason), reason or "nothing changed", seconds, counts))
                name = "stage_finished" if reason else "stage_fresh"
                self.progress.event(name, stage=stage.name, seconds=round(seconds, 3), **counts.as_json())
                if stage.name == until:
                    break
        finally:
            self._digests.save()
        return outcomes

    def _manifest(self, stage: Stage) -> Manifest:
        manifest = read_manifest(self.workspace.manifest(stage.name))
        if manifest is None:
            raise OutputError(f"{self.workspace.manifest(stage.name)} vanished while it was in use; run again")
        return manifest

    def _reason(self, stage: Stage, above: dict[str, Manifest], force: Iterable[str]) -> str:
        """Why a stage must run; empty where it is fresh."""
        inputs = self._inputs(stage, above)
        if stage.name in force:
            return "asked for by --force"
        manifest = read_manifest(self.workspace.manifest(stage.name))
        if manifest is None:
            interrupted = self.workspace.partial(stage.directory).exists()
            return "was interrupted" if interrupted else "never run here"
        reasons = differences(manifest, stage.version, stage.settings(self.config), inputs)
        damage = "; ".join(reasons) or self._damage(stage, manifest)
        return damage or stage.outdated(manifest, self.config, self.lock)

    def _inputs(self, stage: Stage, above: dict[str, Manifest]) -> dict[str, str]:
        """Digests of what a stage reads."""
        inputs = {name: above[name].output_digest for name in stage.inputs}
        for name, path in stage.local_files(self.config, self.base_dir).items():
            try:
                inputs[f"file {name}"] = self._digests.digest(path)
            except OSError as error:
                raise DownloadError(
                    f"cannot read {path} (url {name} in the config): {error.strerror}; "
                    "local paths are relative to the config file"
                ) from error
        return inputs

    def _damage(self, stage: Stage, manifest: Manifest) -> str:
        for name, digest in manifest.files.items():
            path = self.workspace.root / stage.directory / name
            try:
                if self._digests.digest(path, trust=self._trust) != digest:
                    return f"{path} was changed after it was made"
            except OSError:
                return f"{path} is missing"
        return ""

    def _run(self, stage: Stage, above: dict[str, Manifest], engine: Engine) -> Manifest:
        inputs, settings = self._inputs(stage, above), stage.settings(self.config)
        fingerprint = digest_of([stage.name, stage.version, settings, inputs])
        final = self.workspace.root / stage.directory
        directory = final if stage.keeps else self.workspace.partial(stage.directory)
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
        if stage.keeps:
            remove_partial(directory)
        tasks = TaskLog(directory, fingerprint, engine, self.progress, resume=not stage.keeps)
        result = stage.run(
            Context(
                config=self.config,
                base_dir=self.base_dir,
                workspace=self.workspace,
                fingerprint=fingerprint,
                directory=directory,
                manifests={name: above[name] for name in stage.inputs},
                digests=self._digests,
                engine=engine,
                progress=self.progress,
                tasks=tasks,
                lock=self.lock,
            )
        )
        tasks.clear()
        names = result.files
        if names is None:
            names = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
        digests = {name: result.digests.get(name) or self._digests.digest(directory / name) for name in names}
        self.workspace.manifest(stage.name).unlink(missing_ok=True)
        if not stage.keeps:
            publish_directory(directory, final)
        for name, digest in digests.items():
            self._digests.remember(final / name, digest)
        manifest = Manifest(
            stage=stage.name,
            version=stage.version,
            fingerprint=fingerprint,
            settings=settings,
            inputs=inputs,
            files=digests,
            counts=result.counts,
            details=result.details,
        )
        manifest.write(self.workspace.manifest(stage.name))
        # Read back, so that the stages below see the same whether this one ran or was fresh.
        return self._manifest(stage)
