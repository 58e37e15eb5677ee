"""Stages, their fingerprints, and the two things one does with them: plan and run.

A stage reads what the stages above published and its own part of the config. Its fingerprint is a hash of those, and
of its version. Its manifest, written last, holds the fingerprint and the digests of what it published; a stage whose
manifest agrees with what would be done now, and with the files, is fresh and is not run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.artefacts import remove_partial, writing
from nmt_prep.config import Config
from nmt_prep.digests import DigestCache, digest_of
from nmt_prep.draft import Draft, empty_trash
from nmt_prep.engines import Engine
from nmt_prep.errors import DownloadError, OutputError
from nmt_prep.lockfile import LockFile
from nmt_prep.manifest import Counts, Manifest, Workspace, differences, read_manifest
from nmt_prep.progress import Progress
from nmt_prep.stage import Context, Result, Stage
from nmt_prep.store import Store
from nmt_prep.tasks import TaskLog


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
            follows = [name for name in stage.inputs if name in rerun]
            reason = self._follow(stage, follows) if follows else self._reason(stage, manifests, force)
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
        empty_trash(self.workspace.private)
        remove_partial(self.workspace.private)
        manifests: dict[str, Manifest] = {}
        outcomes: list[Outcome] = []
        try:
            for stage in self.stages:
                reason = self._reason(stage, manifests, force)
                started = time.monotonic()
                if not reason or stage.name in force:
                    self._draft(stage).discard()
                if stage.keeps and stage.name in force:
                    Store(self.workspace.root / stage.directory, self._digests).forget()
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
            return "was interrupted" if self._draft(stage).exists() else "never run here"
        reasons = differences(manifest, stage.version, stage.settings(self.config), inputs)
        damage = "; ".join(reasons) or self._damage(stage, manifest)
        return damage or stage.outdated(manifest, self.config, self.lock)

    def _follow(self, stage: Stage, above: Sequence[str]) -> str:
        """Why a stage below others that run must run too, its own changes included."""
        manifest = read_manifest(self.workspace.manifest(stage.name))
        own = []
        if manifest is not None:
            own = differences(manifest, stage.version, stage.settings(self.config), manifest.inputs)
        return "; ".join([f"follows {' and '.join(above)}", *own])

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
        draft = self._draft(stage)
        if stage.keeps:
            directory, notes = self.workspace.root / stage.directory, None
            with writing(directory):
                directory.mkdir(parents=True, exist_ok=True)
            remove_partial(directory)
        else:
            draft.open(fingerprint)
            directory, notes = draft.output, draft.notes
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
                tasks=TaskLog(notes, engine, self.progress),
                lock=self.lock,
            )
        )
        digests = self._digests_of(directory, result)
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
        self._publish(stage, manifest)
        # Read back, so that the stages below see the same whether this one ran or was fresh.
        return self._manifest(stage)

    def _digests_of(self, directory: Path, result: Result) -> dict[str, str]:
        """Digests of all files of a result, each of which must be there."""
        names = result.files
        if names is None:
            names = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
        with writing(directory):
            sizes = {name: (directory / name).stat().st_size for name in names}
            return {name: result.digests.get(name) or self._digests.digest(directory / name) for name in sizes}

    def _publish(self, stage: Stage, manifest: Manifest) -> None:
        """Puts a stage's output in its place, and its manifest last."""
        final, path = self.workspace.root / stage.directory, self.workspace.manifest(stage.name)
        with writing(path):
            path.unlink(missing_ok=True)
        if not stage.keeps:
            self._draft(stage).publish(final)
        for name, digest in manifest.files.items():
            self._digests.remember(final / name, digest)
        manifest.write(path)

    def _draft(self, stage: Stage) -> Draft:
        return Draft(self.workspace.private, stage.directory)
