"""A config's stages in order: plans, runs, shares and lists them.

A stage reads the output of earlier stages and its own part of the config. Its fingerprint is a hash of both and of its
version. Its manifest, written last, holds the fingerprint and the digests of its files. A stage is fresh, and is not
run, if its manifest matches its current fingerprint and its files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_prep.base.artefacts import as_json, is_partial, remove_partial, writing
from nmt_prep.base.digests import DigestCache, digest_of
from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.base.runtime import available_cores, processor_seconds
from nmt_prep.config import Config
from nmt_prep.corpora.sources.downloads import Store
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.draft import (
    Draft,
    check_places,
    drafts_of,
    empty_trash,
    empty_trash_behind,
    note_made,
    throw_away,
)
from nmt_prep.pipeline.drivers import (
    Outcome,
    RoundState,
    RoundTime,
    Share,
    ShareOutcome,
    StageTasks,
    Step,
    TaskNotes,
    TaskRunner,
    list_rounds,
    run_rounds,
    run_share,
)
from nmt_prep.pipeline.engines import Engine, LocalEngine
from nmt_prep.pipeline.freshness import Freshness
from nmt_prep.pipeline.manifest import Manifest, Workspace, read_manifest
from nmt_prep.pipeline.stage import AnyStage, Job, Result, observed_in


@dataclass(frozen=True)
class _Making:
    """A stage that is running: its inputs, fingerprint and paths."""

    stage: AnyStage
    inputs: dict[str, str]
    settings: dict[str, object]
    fingerprint: str
    draft: Draft
    directory: Path

    @property
    def places(self) -> tuple[Path, ...]:
        """The stage's directory, and the directories beside it."""
        return (self.directory, *self.draft.beside.values())

    def open(self) -> None:
        """Creates the stage's directories if they do not exist."""
        self.draft.open()
        with writing(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)


class Pipeline:
    """The stages of one config, in order."""

    def __init__(
        self,
        stages: Sequence[AnyStage],
        config: Config,
        progress: Progress,
        lock: LockFile | None = None,
    ) -> None:
        self.stages = stages
        self.config = config
        self.progress = progress
        self.lock = lock or LockFile(None)
        self.workspace = Workspace.of(config.run_dir)
        self._digests = DigestCache(self.workspace.root)
        self._fresh = Freshness(config, self.workspace, self._digests, self.lock)

    def plan(self, *, force: Collection[str] = (), verify: bool = False) -> list[Step]:
        """Returns which stages would run, and why. Runs nothing and writes nothing.

        A stage after one that would run may turn out to be fresh, if the earlier one gives the same bytes as before.
        """
        check_places(self.workspace, self.stages)
        self._check(self.stages)
        self._fresh.trust = not verify
        manifests: dict[str, Manifest] = {}
        steps: list[Step] = []
        rerun: set[str] = set()
        for stage in self.stages:
            follows = [above.name for above in stage.inputs(self.config) if above.name in rerun]
            reason = self._fresh.follow(stage, follows) if follows else self._fresh.reason(stage, manifests, force)
            if reason:
                rerun.add(stage.name)
            else:
                manifests[stage.name] = self._fresh.manifest(stage)
            steps.append(Step(stage.name, not reason, reason or "nothing changed"))
        return steps

    def check_places(self, last: str | None) -> None:
        """Checks that no stage up to ``last`` would replace a directory that nmt_prep did not make."""
        check_places(self.workspace, self.stages[: self._end(last)])

    def _end(self, last: str | None) -> int | None:
        """Returns the number of stages up to and including the named stage; None for all stages."""
        return next((place for place, stage in enumerate(self.stages, 1) if stage.name == last), None)

    def _check(self, stages: Iterable[AnyStage]) -> None:
        for stage in stages:
            stage.check(self.config)

    def tasks(self) -> list[StageTasks]:
        """Lists the tasks of each stage and whether they have ended. Runs nothing, writes nothing, needs no network."""
        above: dict[str, Manifest] = {}
        listed: list[StageTasks] = []
        waits = ""
        for stage in self.stages:
            reason = waits or self._fresh.reason(stage, above)
            if not reason:
                above[stage.name] = self._fresh.manifest(stage)
            rounds = self._rounds(stage, None if waits else above) if reason else ()
            listed.append(StageTasks(stage.name, not reason, reason, rounds))
            waits = waits or (f"waits for {stage.name}" if reason else "")
        return listed

    def _rounds(self, stage: AnyStage, above: dict[str, Manifest] | None) -> tuple[RoundState, ...]:
        """Returns the states of a stage's rounds; ``above`` is None unless all earlier stages are complete."""
        rounds = stage.rounds_for(self.config)
        if not rounds or above is None:
            return tuple(RoundState(round_.name, None) for round_ in rounds if not round_.by_all)
        making = self._making(stage, above)
        job = self._job(making, above, LocalEngine())
        return tuple(list_rounds(rounds, stage.work(job), TaskNotes(making.draft.notes)))

    def run(
        self,
        engine: Engine,
        *,
        until: str | None = None,
        force: Collection[str] = (),
        verify: bool = False,
        strict: bool = False,
    ) -> list[Outcome]:
        """Runs the stages that are not up to date, up to and including ``until``.

        With ``strict``, warnings end the run before a stage that changes something outside of the directory.
        """
        last = self._end(until)
        self._check(self.stages[:last])
        self._fresh.trust = not verify
        # What a killed run left. The caller holds the run's lock, so nothing else uses it.
        empty_trash(self.workspace.private)
        remove_partial(self.workspace.private)
        manifests: dict[str, Manifest] = {}
        outcomes: list[Outcome] = []
        deleting = ThreadPoolExecutor(1)  # large files take a while; the next stage need not wait
        try:
            for stage in self.stages:
                if strict and stage.outside and any(outcome.warnings for outcome in outcomes):
                    break
                # Decided only now, not at the start of the run: an earlier stage may have run and given the same bytes.
                reason = self._fresh.reason(stage, manifests, force)
                started, before, times = time.monotonic(), processor_seconds(), list[RoundTime]()
                # A forced stage starts without stored results; --verify does not trust what a store noted.
                anew = stage.name in force or (verify and stage.keeps and bool(reason))
                if not reason or anew:
                    throw_away(self.workspace.private, drafts_of(self.workspace.private, stage.directory))
                if stage.keeps and anew:
                    Store(self.workspace.root / stage.directory, self._digests).forget()
                if reason:
                    rounds = {r.name: r.words or r.name for r in stage.rounds_for(self.config) if not r.by_all}
                    self.progress.event("stage_started", stage=stage.name, reason=reason, rounds=rounds)
                    manifests[stage.name], times = self._run(stage, manifests, engine, stage.name in force)
                    deleting.submit(empty_trash_behind, self.workspace.private)
                else:
                    manifests[stage.name] = self._fresh.manifest(stage)
                # Warnings come from the manifest, so that a fresh stage gives the warnings of the run that made it.
                outcome = Outcome(
                    stage.name,
                    bool(reason),
                    reason or "nothing changed",
                    time.monotonic() - started,
                    manifests[stage.name].counts,
                    stage.warnings(observed_in(manifests[stage.name], type(stage)), self.config),
                    processor_seconds() - before + sum(taken.elsewhere for taken in times),
                    tuple(times),
                )
                self._report(outcome)
                outcomes.append(outcome)
                if stage.name == until:
                    break
        finally:
            self._digests.save()
            deleting.shutdown()
            empty_trash(self.workspace.private)
        return outcomes

    def _report(self, outcome: Outcome) -> None:
        for warning in outcome.warnings if outcome.ran else ():
            self.progress.event("warning", stage=outcome.stage, message=str(warning), **as_json(warning))
        self.progress.event("stage_finished" if outcome.ran else "stage_fresh", **outcome.numbers)

    def share(self, engine: Engine, share: Share) -> ShareOutcome:
        """Runs one member's share of a round of tasks; a later run completes the stage.

        Other members may run at the same time, even with the same share.
        """
        try:
            stage = self.stage_of(share.round)
            above = self._above(stage, share.round)
            self._check([stage])
            if not self._fresh.reason(stage, above):
                return ShareOutcome(share, 0, None)
            if all(share.round != round_.name for round_ in stage.rounds_for(self.config)):
                return ShareOutcome(share, 0, RoundState(share.round, ()))
        finally:
            self._digests.save()  # for the next member on a machine with its own cache
        making = self._making(stage, above)
        self._begin(making)
        tasks = TaskRunner(TaskNotes(making.draft.notes), engine, self.progress)
        ran, state = run_share(stage.work(self._job(making, above, engine)), tasks, share)
        return ShareOutcome(share, ran, state)

    def stage_of(self, round_name: str) -> AnyStage:
        """Returns a round's stage, whose tasks can be shared."""
        for stage in self.stages:
            rounds = (*stage.rounds, *stage.rounds_for(self.config))
            if any(round_.shareable and round_.name == round_name for round_ in rounds):
                return stage
        all_rounds = (round_ for stage in self.stages for round_ in stage.rounds_for(self.config))
        known = ", ".join(round_.name for round_ in all_rounds if round_.shareable)
        raise ArgumentError(f"there is no round {round_name!r} to share; the rounds are {known}")

    def _above(self, last: AnyStage, round_name: str) -> dict[str, Manifest]:
        """Returns the manifests of the stages before a round's stage; they must be up to date."""
        above: dict[str, Manifest] = {}
        place = self.stages.index(last)
        for stage in self.stages[:place]:
            reason = self._fresh.reason(stage, above)
            if reason:
                raise OutputError(
                    f"{stage.name} comes before {round_name} and is not up to date ({reason}); "
                    f"first run nmt-prep run CONFIG --until {self.stages[place - 1].name}"
                )
            above[stage.name] = self._fresh.manifest(stage)
        return above

    def _run(
        self, stage: AnyStage, above: dict[str, Manifest], engine: Engine, forced: bool
    ) -> tuple[Manifest, list[RoundTime]]:
        making = self._making(stage, above)
        making.draft.discard_others()
        self._begin(making)
        if stage.keeps:
            remove_partial(making.directory)
        job = self._job(making, above, engine)
        tasks = TaskRunner(TaskNotes(making.draft.notes), engine, self.progress)
        earlier = None if forced else self._fresh.renewable(stage, making.fingerprint)
        result = stage.renew(job, earlier) if earlier is not None else None
        if result is None:
            result = stage.finish(job, run_rounds(stage.work(job), tasks) if stage.rounds else None)
        for place in making.places:
            remove_partial(place)  # left by workers that were killed
        manifest = Manifest(
            stage=stage.name,
            version=stage.version,
            fingerprint=making.fingerprint,
            settings=making.settings,
            inputs=making.inputs,
            files=self._digests_of(making, result),
            counts=result.counts,
            details=as_json(result.output),
            observed={} if result.observed is None else as_json(result.observed),
        )
        self._install(making, manifest)
        # Read back from JSON, so that later stages see the same whether this one ran or was fresh.
        return self._fresh.manifest(stage), tasks.times

    def _making(self, stage: AnyStage, above: dict[str, Manifest]) -> _Making:
        inputs, settings = self._fresh.inputs(stage, above), stage.settings(self.config)
        fingerprint = digest_of([stage.name, stage.version, settings, inputs])
        draft = Draft(self.workspace.private, stage.directory, fingerprint, stage.beside)
        directory = self.workspace.root / stage.directory if stage.keeps else draft.output
        return _Making(stage, inputs, settings, fingerprint, draft, directory)

    def _job(self, making: _Making, above: dict[str, Manifest], engine: Engine) -> Job:
        return Job(
            config=self.config,
            root=self.workspace.root,
            fingerprint=making.fingerprint,
            directory=making.directory,
            scratch=making.draft.scratch,
            manifests={stage.name: above[stage.name] for stage in making.stage.inputs(self.config)},
            engine=engine,
            digests=self._digests,
            progress=self.progress,
            lock=self.lock,
        )

    def _digests_of(self, making: _Making, result: Result[Any]) -> dict[str, str]:
        """Returns the digests of a result's files, each of which must exist."""
        names, directory = result.files, making.directory
        if names is None:
            files = (path for place in making.places for path in place.rglob("*"))
            names = sorted(
                os.path.relpath(path, directory) for path in files if not is_partial(path) and path.is_file()
            )
        with writing(directory):
            for name in names:
                (directory / name).stat()
            unknown = [name for name in names if not result.digests.get(name)]
            with ThreadPoolExecutor(available_cores()) as pool:
                found = dict(
                    zip(unknown, pool.map(self._digests.digest, map(directory.joinpath, unknown)), strict=True)
                )
            return {name: result.digests.get(name) or found[name] for name in names}

    def _begin(self, making: _Making) -> None:
        making.open()
        if making.stage.outside:
            self._withdraw(making.stage)

    def _withdraw(self, stage: AnyStage) -> None:
        """Removes a stage's manifest, so that it is no longer fresh. The record of its files stays."""
        path = self.workspace.manifest(stage.name)
        manifest = read_manifest(path)
        if manifest is not None and not stage.keeps:
            for directory, files in _files_by_directory(stage, manifest).items():
                note_made(self.workspace.private, directory, files)
        with writing(path):
            path.unlink(missing_ok=True)

    def _install(self, making: _Making, manifest: Manifest) -> None:
        """Installs a stage's output, then writes its manifest."""
        stage = making.stage
        final, path = self.workspace.root / stage.directory, self.workspace.manifest(stage.name)
        # Old manifest, files, new manifest: a kill leaves a stage without a manifest, never one that lists other files.
        check_places(self.workspace, [stage])  # the user may have created something there since the run began
        self._withdraw(stage)
        if stage.keeps:
            throw_away(self.workspace.private, drafts_of(self.workspace.private, stage.directory))
        else:
            making.draft.install(final, _files_by_directory(stage, manifest))
        for name, digest in manifest.files.items():
            self._digests.remember(self.workspace.file(stage.directory, name), digest)
        manifest.write(path)


def _files_by_directory(stage: AnyStage, manifest: Manifest) -> dict[str, list[str]]:
    return {stage.directory: manifest.files_in(), **{name: manifest.files_in(name) for name in stage.beside}}
