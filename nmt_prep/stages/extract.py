"""extract: the members that corpora name, out of their archives, decompressed, in a store by the archive's digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.archives import (
    WHOLE_FILE,
    Archive,
    DamagedError,
    MissingMemberError,
    digest_members,
    extract_members,
    is_pattern,
    member_name,
    without_suffix,
)
from nmt_prep.config import Config, Corpus
from nmt_prep.config import Extract as Limits
from nmt_prep.digests import DigestCache
from nmt_prep.engines import Tick
from nmt_prep.errors import AlignmentError, ArchiveError
from nmt_prep.pipeline.manifest import Counts, Manifest, Workspace
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.sources.address import shown
from nmt_prep.stages.damage import Origin, advising
from nmt_prep.stages.download import Needed, downloaded_file, needed_by
from nmt_prep.store import Store, Stored


@dataclass(frozen=True)
class Wanted:
    """A file that a reader wants.

    Attributes:
        key: ``<split>/<corpus>/<both|source|target>``.
        container: the downloaded file that it is, or is in.
        member: its path in the archive, or a pattern of paths, or ``WHOLE_FILE``.
    """

    key: str
    container: Needed
    member: str


@dataclass(frozen=True)
class ExtractTask:
    """One archive, and all that is wanted of it.

    Attributes:
        key: names the task.
        archive: the archive.
        members: what is wanted, each with the key of the config that names it.
        directory: of the stage.
        limits: to what may come out.
        origin: where the archive is from.
    """

    key: str
    archive: Archive
    members: Mapping[str, str]
    directory: Path
    limits: Limits
    origin: Origin


class Extract(Stage):
    """Writes ``extracted/<SHA-256 of the archive>/<name>``, where the name is of our choosing.

    Details are ``{key: [{file, sha256, size}, …]}`` by :attr:`Wanted.key`, the files relative to the stage's directory;
    where a pattern was wanted they are sorted by the members' names.
    """

    name: ClassVar[str] = "extract"
    inputs: ClassVar[tuple[str, ...]] = ("download",)
    directory: ClassVar[str] = "extracted"
    rounds: ClassVar[tuple[str, ...]] = ("extract",)
    keeps: ClassVar[bool] = True

    def settings(self, config: Config) -> dict[str, object]:
        wanted = (wanted for split, corpora in config.splits.items() for c in corpora for wanted in wanted_by(split, c))
        return {f"splits.{file.key.replace('/', '.')}": [file.container.key, file.member] for file in wanted}

    def misnamed(self, config: Config, base_dir: Path, workspace: Workspace, manifests: Mapping[str, Manifest]) -> str:
        archives: dict[Archive, dict[str, list[dict[str, Any]]]] = {}
        for key, (archive, member) in _places(config, base_dir, workspace, manifests).items():
            archives.setdefault(archive, {})[member] = manifests[self.name].details[key]
        for archive, members in archives.items():
            try:
                digests = digest_members(archive, members, config.extract)
            except DamagedError as error:  # extraction says what to do
                return str(error)
            for member, found in digests.items():
                stored = [(entry["sha256"], entry["size"]) for entry in members[member]]
                if stored != [(each.sha256, each.size) for each in found.values()]:
                    return f"{workspace.root / self.directory / archive.sha256} is not what is in {archive.path}"
        return ""

    def run(self, context: Context) -> Result:
        places = _places(context.config, context.base_dir, context.workspace, context.manifests)
        members: dict[Archive, dict[str, str]] = {}
        for key, (archive, member) in places.items():
            members.setdefault(archive, {}).setdefault(member, config_key(key))
        origins = _origins(context, places)
        tasks = [
            ExtractTask(
                key=f"{number:05d}-{archive.sha256}",
                archive=archive,
                members=names,
                directory=context.directory,
                limits=context.config.extract,
                origin=origins[archive],
            )
            for number, (archive, names) in enumerate(members.items())
        ]
        valid = partial(_all_there, context.directory)
        results = context.tasks.run(Round("extract", extract_archive, tasks, unit="bytes", valid=valid))
        extracted = {task.archive: result for task, result in zip(tasks, results, strict=True)}
        details = {key: extracted[archive][member] for key, (archive, member) in places.items()}
        _check_counts(context.config, details)
        digests = {entry["file"]: entry["sha256"] for files in details.values() for entry in files}
        counts = Counts(other={"archives": len(tasks), "files": len(digests)})
        return Result(counts, files=sorted(digests), digests=digests, details={**details})


def _places(
    config: Config, base_dir: Path, workspace: Workspace, manifests: Mapping[str, Manifest]
) -> dict[str, tuple[Archive, str]]:
    """The archive and the member, or pattern, that each wanted file comes from, by :attr:`Wanted.key`."""
    places: dict[str, tuple[Archive, str]] = {}
    for split, corpora in config.splits.items():
        for wanted in (wanted for corpus in corpora for wanted in wanted_by(split, corpus)):
            path, entry = downloaded_file(wanted.container, base_dir, workspace, manifests)
            places[wanted.key] = Archive(path, entry["name"], entry["sha256"]), wanted.member
    return places


def _origins(context: Context, places: Mapping[str, tuple[Archive, str]]) -> dict[Archive, Origin]:
    """Where each archive is from."""
    origins: dict[Archive, Origin] = {}
    for split, corpora in context.config.splits.items():
        for wanted in (wanted for corpus in corpora for wanted in wanted_by(split, corpus)):
            file = wanted.container
            origins[places[wanted.key][0]] = Origin(
                corpus=file.corpus,
                local=file.local(context.base_dir) is not None,
                in_config=file.sha256 is not None,
                lock=context.lock.path,
            )
    return origins


def wanted_by(split: str, corpus: Corpus) -> Iterator[Wanted]:
    """The files that the reader of a corpus wants, by the names that it has for them."""
    containers = {needed.key.rpartition("/")[2]: needed for needed in needed_by(split, corpus)}
    for part in corpus.parts:
        member = corpus.member if part == "both" else getattr(corpus, part)
        container = containers.get(part) or containers["both"]
        yield Wanted(f"{split}/{corpus.name}/{part}", container, member_name(member) if member else WHOLE_FILE)


def config_key(key: str) -> str:
    """Returns the key of the config that names a file with this :attr:`Wanted.key`."""
    corpus, _, part = key.rpartition("/")
    return f"splits.{corpus.replace('/', '.')}.{'member' if part == 'both' else part}"


def file_names(context: Context, split: str, corpus: Corpus) -> dict[Path, str]:
    """Returns what the config calls the extracted files of a corpus, for messages."""
    details = context.manifests["extract"].details
    names: dict[Path, str] = {}
    for wanted in wanted_by(split, corpus):
        container = shown(wanted.container.mirrors[0])
        for entry in details[wanted.key]:
            path = context.workspace.root / Extract.directory / entry["file"]
            # A file that a pattern matched ends with its own name, after the digest of its path in the archive.
            if is_pattern(wanted.member):
                names[path] = f"{path.name[17:]} ({wanted.member} in {container})"
            else:
                names[path] = f"{wanted.member} (in {container})" if wanted.member else container
    return names


def extracted_files(context: Context, split: str, corpus: Corpus) -> list[dict[str, Path]]:
    """The files of a corpus by the names that its reader has for them, for a stage that has extract above it.

    Where a part is several files, the first of each part belong together, and so on.
    """
    details = context.manifests["extract"].details
    directory = context.workspace.root / Extract.directory
    parts = {part: [entry["file"] for entry in details[f"{split}/{corpus.name}/{part}"]] for part in corpus.parts}
    together = zip(*parts.values(), strict=True)
    return [{part: directory / file for part, file in zip(parts, files, strict=True)} for files in together]


def extract_archive(task: ExtractTask, tick: Tick) -> dict[str, Any]:
    """Extracts what is not in the store yet; returns place, digest and size of each file by what was wanted.

    Ticks are bytes.

    Raises:
        ArchiveError: the archive is damaged, hostile, or lacks a member.
        OutputError: a file cannot be stored.
    """

    def file_of(member: str) -> str:
        return f"{task.archive.sha256}/{_safe_name(member, task.archive)}"

    store = Store(task.directory, DigestCache(task.directory.parent))
    found: dict[str, list[Stored]] = {}
    for member in task.members:  # what a pattern matches is not known before the archive is read
        stored = None if is_pattern(member) else store.find(_key(file_of(member)))
        if stored is not None:
            found[member] = [stored]
    wanted = [member for member in task.members if member not in found]
    if wanted:
        try:
            with advising(task.archive, task.origin):
                extracted = extract_members(
                    task.archive, wanted, lambda member: store.directory / file_of(member), task.limits, tick
                )
        except MissingMemberError as error:
            raise ArchiveError(f"{task.members[error.member]}: {error}") from error
        for member, matched in extracted.items():
            files = ((file_of(name), content) for name, content in matched.items())
            found[member] = [store.note(_key(file), Stored(file, each.sha256, each.size)) for file, each in files]
    return {member: [vars(stored) for stored in files] for member, files in found.items()}


def _all_there(directory: Path, result: dict[str, Any]) -> bool:
    """Whether the files that a task noted are still there."""
    paths = [(directory / entry["file"], entry["size"]) for entries in result.values() for entry in entries]
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


def _check_counts(config: Config, details: Mapping[str, list[dict[str, Any]]]) -> None:
    """Sees to it that patterns of the two sides matched as many files each."""
    for split, corpora in config.splits.items():
        for corpus in corpora:
            counts = {part: len(details[f"{split}/{corpus.name}/{part}"]) for part in corpus.parts}
            if len(set(counts.values())) > 1:
                raise AlignmentError(
                    f"splits.{split}.{corpus.name}: {corpus.source!r} matches {counts['source']} members, but "
                    f"{corpus.target!r} matches {counts['target']}; the sides' members pair up in the order of their "
                    "names: make the patterns match as many"
                )


def _key(file: str) -> list[str]:
    return ["member", file]


def _safe_name(member: str, archive: Archive) -> str:
    """A file name that is the member's own and in which nothing is left to whoever made the archive."""
    base = without_suffix((member or archive.name).rpartition("/")[2])
    digest = hashlib.sha256(member.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{digest[:16]}-{re.sub(r'[^A-Za-z0-9._+-]', '_', base)[-100:]}"
