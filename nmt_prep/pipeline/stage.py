"""What a stage is, what it is given, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from nmt_prep.config import Config
from nmt_prep.digests import DigestCache
from nmt_prep.engines import Engine
from nmt_prep.lockfile import LockFile
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.pipeline.tasks import TaskLog
from nmt_prep.progress import Progress


@dataclass(frozen=True)
class Context:
    """What a stage is given to work with.

    Attributes:
        fingerprint: of this stage, as its manifest will say.
        directory: where to write; for a stage that is rebuilt as a whole this is not yet the published place.
        base_dir: what local paths of the config are relative to.
        scratch: where tasks write what only later tasks read; it is gone once the stage is published.
        manifests: of the stages above.
        tasks: runs the stage's tasks, and keeps those that ended before a kill.
        lock: what downloads must be.
    """

    config: Config
    base_dir: Path
    workspace: Workspace
    fingerprint: str
    directory: Path
    scratch: Path
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
        inputs: names of the stages whose output it may read.
        directory: where its output is, below the run's directory.
        rounds: names of its rounds of tasks that several processes may share, in order.
        outside: true where it changes what is not in the run's directory: it is not fresh from when it begins.
        keeps: true where the directory is a store by digest that is added to, false where it is replaced as a whole.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    inputs: ClassVar[tuple[str, ...]]
    directory: ClassVar[str]
    rounds: ClassVar[tuple[str, ...]] = ()
    outside: ClassVar[bool] = False
    keeps: ClassVar[bool] = False

    def applies(self, config: Config) -> bool:
        """Whether the config asks for this stage at all."""
        return True

    def reads(self, config: Config) -> tuple[str, ...]:
        """Names of the stages whose output it reads."""
        return self.inputs

    @abstractmethod
    def settings(self, config: Config) -> dict[str, object]:
        """The part of the config that decides the result: values by dotted key."""

    def local_files(self, config: Config, base_dir: Path) -> dict[str, Path]:
        """Files outside the run's directory that it reads, by the name that the config gives them."""
        return {}

    def outdated(self, manifest: Manifest, config: Config, lock: LockFile) -> str:
        """Why the stage must run though its fingerprint and files are as they should be; empty where it need not."""
        return ""

    def renew(self, context: Context, published: Manifest) -> Result | None:
        """Makes the output from what the stage published with the same fingerprint; None where it must run.

        Asked where :meth:`outdated` says why the stage must run, and its published files are those of the manifest.
        """
        return None

    def misnamed(self, config: Config, base_dir: Path, workspace: Workspace, manifests: Mapping[str, Manifest]) -> str:
        """Why what the stage published is not what the digests in its names say; empty where it is.

        Asked with ``--verify`` only, of a stage whose files are those of its manifest: everything may be read again.

        Args:
            config: the config.
            base_dir: what local paths of the config are relative to.
            workspace: of the run.
            manifests: of this stage and those above.
        """
        return ""

    @abstractmethod
    def run(self, context: Context) -> Result:
        """Does the work."""
