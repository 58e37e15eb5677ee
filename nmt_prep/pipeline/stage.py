"""A stage's declaration, and the job that it is given.

To add a stage, write one module with a subclass of :class:`Stage` and add it to the list in :mod:`nmt_prep.stages`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

from nmt_prep.base.artefacts import parse_json_as
from nmt_prep.base.digests import DigestCache
from nmt_prep.base.errors import OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.base.sides import Side
from nmt_prep.config import Config
from nmt_prep.corpora.sources.lockfile import LockFile
from nmt_prep.pipeline.engines import Engine
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace, read_manifest
from nmt_prep.pipeline.rounds import P, Round, Rounds


@dataclass(frozen=True)
class HealthWarning:
    """A warning about a run's data. The run goes on, unless the user asked for ``--strict``."""

    code: str  # a short identifier that does not change, such as `frequent_line`
    text: str  # a sentence for people, perhaps with text of a corpus
    corpus: str | None = None  # corpus name; None if the warning is not about a single corpus
    split: str | None = None  # name of the split; None if the warning is not about a single split
    side: Side | None = None  # the side; None if the warning is about both
    value: float | None = None  # the number that caused the warning, such as a count or a ratio
    # the affected share of the corpus or the side, from 0 to 1; None if there is no such share
    share: float | None = None

    @property
    def about(self) -> str:
        """Split and corpus, such as ``train/news``; empty if the warning is not about a single corpus."""
        return "" if self.corpus is None else f"{self.split}/{self.corpus}"

    def __str__(self) -> str:
        return f"{self.about}: {self.text}" if self.about else self.text


@dataclass(frozen=True)
class Warnings:
    """The observations of a stage that only has warnings."""

    warnings: tuple[HealthWarning, ...] = ()


O = TypeVar("O")  # noqa: E741 - O as in output
B = TypeVar("B")


@dataclass(frozen=True)
class Outputs:
    """A run's config, and the outputs of some of its stages."""

    config: Config
    root: Path  # directory of the run
    manifests: Mapping[str, Manifest]  # manifests of the stages whose output may be read, by name

    @cached_property
    def _read(self) -> dict[str, Any]:
        return {}

    def read(self, stage: type[Stage[B, Any]]) -> B:
        """Returns a stage's output, as its manifest records it."""
        kind: type[B] = stage.output
        try:
            if stage.name not in self._read:  # the output of a run with many corpora takes long to parse
                self._read[stage.name] = parse_json_as(kind, self.manifest(stage).details)
        except ValueError as error:
            raise OutputError(
                f"the manifest of {stage.name} lacks its output; run again with --force {stage.name}"
            ) from error
        found: B = self._read[stage.name]
        return found

    def observed(self, stage: type[AnyStage]) -> Any:
        """Returns a stage's observations, of type ``stage.observed``.

        A stage without ``observes`` may use it only to decide what to observe itself.

        Raises:
            OutputError: the stage's manifest does not hold observations.
        """
        return observed_in(self.manifest(stage), stage)

    def manifest(self, stage: type[AnyStage]) -> Manifest:
        """Returns a stage's manifest: counts, and file digests by file name."""
        return self.manifests[stage.name]

    def directory_of(self, stage: type[AnyStage]) -> Path:
        """Returns the directory with a stage's files."""
        return self.root / stage.directory


def outputs_in(root: Path, stages: Iterable[type[AnyStage] | AnyStage], config: Config | None = None) -> Outputs:
    """Returns the outputs of the stages that have run in a directory. Their ``config`` is read only if it is given."""
    workspace = Workspace(root)
    read = ((stage.name, read_manifest(workspace.manifest(stage.name))) for stage in stages)
    manifests = {name: manifest for name, manifest in read if manifest is not None}
    return Outputs(cast("Config", config), workspace.root, manifests)


@dataclass(frozen=True)
class Job(Outputs):
    """A running stage's inputs and tools: outputs of earlier stages, directories to write to, and the engine."""

    fingerprint: str  # fingerprint of the stage, as in its manifest
    # directory for the stage's output, installed as `root / Stage.directory` at the end; `beside` returns the others
    directory: Path
    scratch: Path  # directory for files that only later tasks read; deleted at the end of the stage
    engine: Engine
    digests: DigestCache
    progress: Progress
    lock: LockFile

    def beside(self, directory: str) -> Path:
        """Returns one of the directories in ``Stage.beside``, where the stage also writes output."""
        return self.directory.parent / directory

    @property
    def task_memory(self) -> int:
        """Bytes that each task may use. Reading it may start the engine's workers."""
        return self.engine.worker_memory(self.config.engine.memory)


@dataclass
class Result(Generic[O]):
    """The result of a stage."""

    output: O  # data for later stages, stored in the manifest
    counts: Counts = field(default_factory=Counts)  # numbers for the table of stages and for the report
    # names of the files written, relative to the stage's directory (`../<name>/…` for those in a directory of
    # `Stage.beside`); None for all files in its directories
    files: list[str] | None = None
    digests: dict[str, str] = field(default_factory=dict)  # SHA-256 of files, if already known; others are read for it
    observed: object = None  # observations about the data, for the report; not part of the output


@dataclass(frozen=True)
class NoOutput:
    """Output of a stage that only writes files."""


class Stage(ABC, Generic[O, P]):
    """One step of the data flow.

    Type parameters: ``O``, the output's type; ``P``, the type that :meth:`work` returns to :meth:`finish`.

    Attributes:
        name: the stage's name, on the command line and in the manifest.
        version: must be increased if the same inputs would give other bytes than before.
        directory: the path that it owns, below the run's directory.
        beside: names of other directories that it owns there, for files that no other stage reads. They are installed
            together with ``directory``.
        output: type of the output, a dataclass that the manifest stores for later stages.
        observed: type of its observations about the data, a dataclass whose fields all have defaults. The manifest
            stores it, and :meth:`Outputs.observed` reads it.
        observes: True if it reads what other stages observed, and so is rebuilt when that changes.
        reads: the stages whose output it reads, unless :meth:`inputs` returns others.
        rounds: its rounds of tasks that do not depend on the config. :meth:`rounds_for` returns those that a config
            needs, in order.
        divides: True if its plain local files are read in place, so that their digests come with their steps.
        outside: True if it changes something outside of the run's directory; its manifest is then removed at its start.
        keeps: True if its directory is a store by digest; files are added to it, and it is never replaced as a whole.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    directory: ClassVar[str]
    beside: ClassVar[tuple[str, ...]] = ()
    output: ClassVar[type[Any]] = NoOutput
    observed: ClassVar[type[Any]] = NoOutput
    observes: ClassVar[bool] = False
    reads: ClassVar[tuple[type[AnyStage], ...]] = ()
    rounds: ClassVar[tuple[Round[Any, Any], ...]] = ()
    divides: ClassVar[bool] = False
    outside: ClassVar[bool] = False
    keeps: ClassVar[bool] = False

    def applies(self, config: Config) -> bool:
        """Returns True if the config asks for this stage."""
        return True

    def rounds_for(self, config: Config) -> tuple[Round[Any, Any], ...]:
        """Returns the rounds that a run with this config has, in order."""
        return self.rounds

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        """Returns the stages whose output this stage reads with this config."""
        return self.reads

    def digest_of_input(self, earlier: Manifest) -> str:
        """Returns the digest of the data read from an earlier stage; a change makes this stage run again."""
        return earlier.observed_digest if self.observes else earlier.output_digest

    @classmethod
    def directories(cls) -> tuple[str, ...]:
        """Returns the names of all directories that the stage owns, ``directory`` first."""
        return (cls.directory, *cls.beside)

    @abstractmethod
    def settings(self, config: Config) -> dict[str, object]:
        """Returns the config values that the output depends on, by dotted key."""

    def check(self, config: Config) -> None:
        """Checks files and services outside of the run's directory that the config names. Called before any stage runs.

        Raises:
            NmtPrepError: something is missing or unusable.
        """

    def local_files(self, config: Config) -> dict[str, Path]:
        """Returns the files that the stage reads outside of the run's directory, by their names in the config."""
        return {}

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        """Returns a reason to run the stage although its inputs are unchanged, or an empty text."""
        return ""

    def renew(self, job: Job, earlier: Manifest) -> Result[O] | None:
        """Derives the output from existing files with the same fingerprint; returns None if the stage must run.

        Called if :meth:`outdated` gives a reason and the files match the manifest.
        """
        return None

    def warnings(self, observed: Any, config: Config) -> tuple[HealthWarning, ...]:
        """Returns the warnings among the stage's observations, except warnings that a later stage replaces.

        Args:
            observed: its observations, of type ``Stage.observed``.
            config: the config.
        """
        return tuple(getattr(observed, "warnings", ()))

    def misnamed(self, outputs: Outputs) -> str:
        """Describes a file of this stage that does not match the digest in its name; empty if all match.

        Only called with ``--verify``, for a stage whose files match its manifest. It may read all files again.
        """
        return ""

    def work(self, job: Job) -> Rounds[P]:
        """Yields each round's tasks, and returns the data that :meth:`finish` needs.

        It is also called to list tasks, so it must only compute, from the job's manifests and from earlier results.
        """
        raise NotImplementedError(f"{self.name} declares no rounds")

    @abstractmethod
    def finish(self, job: Job, made: P) -> Result[O]:
        """Writes the remaining files and returns the result; ``made`` comes from :meth:`work`, None without rounds."""


AnyStage: TypeAlias = "Stage[Any, Any]"  # A stage, whatever its output


def observed_in(manifest: Manifest, stage: type[AnyStage]) -> Any:
    """Returns a stage's observations, of type ``stage.observed``, from its manifest."""
    try:
        return parse_json_as(stage.observed, manifest.observed)
    except ValueError as error:
        raise OutputError(
            f"the manifest of {stage.name} lacks its observations; run again with --force {stage.name}"
        ) from error
