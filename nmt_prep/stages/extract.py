"""extract: extracts the archive members that corpora name, and stores them by the digest of their archive.

Plain local files of line-based formats are not copied. Readers read them in place, and compare each step of a file with
the hash that was recorded when the file was digested.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from nmt_prep.base.digests import DigestCache, FileSteps, sha256_of
from nmt_prep.base.errors import AlignmentError, ArchiveError
from nmt_prep.config import Config, Corpus
from nmt_prep.config import ExtractSettings as Limits
from nmt_prep.corpora import column_files, format_of, parts_of, reader_of
from nmt_prep.corpora.archives.entry import Archive, DamagedError, is_pattern, member_name, paired, without_suffix
from nmt_prep.corpora.archives.extraction import WHOLE_FILE, MissingMemberError, digest_members, extract_members
from nmt_prep.corpora.sources.address import shown
from nmt_prep.corpora.sources.downloads import DownloadCache, Needed, Store, Stored
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job, Outputs, Result, Stage
from nmt_prep.stages.download import SACREBLEU, Download, Downloaded, downloaded_files, fetched_corpora, needed_by
from nmt_prep.text.chunks import one_byte_newlines


@dataclass(frozen=True)
class Wanted:
    """A file that a reader needs."""

    key: str  # `<split>/<corpus>/<both|source|target|document|scores.name>`
    container: Needed  # the archive that contains it, or the downloaded file itself
    member: str  # its path in the archive, or a pattern of paths; `WHOLE_FILE` if the file is not an archive


@dataclass(frozen=True)
class CorpusFile:
    """A file that a reader reads: an extracted member, or a plain local file read in place."""

    file: str | None  # path relative to the directory of the stage; None for a file read in place
    sha256: str  # SHA-256 of its bytes
    size: int  # size in bytes
    steps: FileSteps | None = None  # the steps of a file read in place, which its readers check


def wanted_by(split: str, corpus: Corpus) -> Iterator[Wanted]:
    """Yields the files that a corpus's reader needs, one for each of its sides, and the column files."""
    if not corpus.is_fetched:
        return
    containers = {needed.key.rpartition("/")[2]: needed for needed in needed_by(split, corpus)}
    for part in parts_of(corpus):
        member = corpus.member if part == "both" else getattr(corpus, part)
        container = containers.get(part) or containers["both"]
        yield Wanted(f"{split}/{corpus.name}/{part}", container, member_name(member) if member else WHOLE_FILE)
    for key, place in column_files(corpus).items():
        container = containers.get(key) or containers["both"]
        member = place.member
        yield Wanted(f"{split}/{corpus.name}/{key}", container, member_name(member) if member else WHOLE_FILE)


def is_in_place(
    config: Config, split: str, corpus: Corpus, wanted: Wanted, files: Sequence[tuple[Path, Downloaded]]
) -> bool:
    """Returns True if a file needs no copy: it is local and plain, and its reader reads and checks it line by line."""
    return (
        split != SACREBLEU
        and is_read_by_lines(corpus, wanted)
        and all(entry.steps is not None and entry.size <= config.extract.max_member_bytes for _, entry in files)
    )


def is_read_by_lines(corpus: Corpus, wanted: Wanted) -> bool:
    """Returns True if the reader of a corpus reads a file line by line, so that it can check it, if it is plain."""
    reader = reader_of(format_of(corpus))
    part = wanted.key.rpartition("/")[2]
    if part not in reader.parts or wanted.member != WHOLE_FILE:
        return False
    return reader.lines_apart and not reader.quote and one_byte_newlines(corpus.encoding_of(part))


@dataclass(frozen=True)
class Origin:
    """An archive's origin, on which the advice for a damaged archive depends."""

    corpus: str  # the name of a corpus that needs it
    local: bool  # True if it is the user's own file, not a download
    in_config: bool  # True if the config gives its SHA-256
    lock: Path | None  # the lock file with its SHA-256; None without a lock file


def _remedy(archive: Archive, origin: Origin) -> str:
    """Returns the remedy for a damaged archive; removes copies of a download that must be fetched again."""
    if origin.local:
        return (
            f"its SHA-256 is {archive.sha256}: compare it with the publisher's, and replace the file by an intact copy"
        )
    if _digest(archive.path) != archive.sha256:
        _drop(archive)
        return "it was damaged on this machine after the download, and was removed: run again to fetch it"
    if origin.in_config:
        return (
            f"it has the SHA-256 that the config gives ({archive.sha256}), so the publisher's file is damaged: use "
            "another file or mirror, and correct sha256 in the config"
        )
    _drop(archive)
    if origin.lock is not None:
        return (
            f"it has the SHA-256 that {origin.lock} gives ({archive.sha256}), so it was damaged when it was first "
            f"fetched, and was removed: fetch it again with `nmt-prep lock CONFIG --update {origin.corpus}`"
        )
    return "it was already damaged when it was fetched, and was removed: run again to fetch it"


def _digest(path: Path) -> str | None:
    try:
        return sha256_of(path)
    except OSError:
        return None


def _drop(archive: Archive) -> None:
    with suppress(OSError):
        archive.path.unlink(missing_ok=True)
    DownloadCache().drop(archive.sha256)


@dataclass(frozen=True)
class ExtractTask:
    """An archive, and the members to extract."""

    key: str
    archive: Archive
    members: Mapping[str, str]  # members to extract, with the config key that names each
    directory: Path
    limits: Limits
    origin: Origin


ExtractedMembers: TypeAlias = dict[str, dict[str, Stored]]
"""The files extracted from an archive by the names of their members, for each member, pattern or ``WHOLE_FILE``."""


def _found(outputs: Outputs) -> tuple[dict[str, CorpusFile], dict[str, tuple[Wanted, list[Archive]]]]:
    """Returns the files to read in place, and each file's archives to extract, both by :attr:`Wanted.key`.

    There are several archives for a Hugging Face Hub repository's files, each of which is taken whole.
    """
    in_place: dict[str, CorpusFile] = {}
    archived: dict[str, tuple[Wanted, list[Archive]]] = {}
    for split, corpus in fetched_corpora(outputs.config):
        for wanted in wanted_by(split, corpus):
            files = downloaded_files(outputs, wanted.container)
            if is_in_place(outputs.config, split, corpus, wanted, files):
                [(_, entry)] = files
                in_place[wanted.key] = CorpusFile(None, entry.sha256, entry.size, entry.steps)
            else:
                archived[wanted.key] = wanted, [Archive(path, entry.name, entry.sha256) for path, entry in files]
    return in_place, archived


def path_of(outputs: Outputs, wanted: Wanted, file: CorpusFile) -> Path:
    """Returns an entry's path in :attr:`ExtractOutput.files`."""
    if file.file is not None:
        return outputs.directory_of(Extract) / file.file
    local = wanted.container.local(outputs.config.base_dir)
    assert local is not None
    return local


def config_key(key: str) -> str:
    """Returns the config key that names the file with a given :attr:`Wanted.key`."""
    corpus, _, part = key.rpartition("/")
    if key.startswith(SACREBLEU):
        return f"clean.decontaminate.against: {corpus.replace(':/', ':')}"
    return f"splits.{corpus.replace('/', '.')}.{'member' if part == 'both' else part}"


def file_names(outputs: Outputs, split: str, corpus: Corpus) -> dict[Path, str]:
    """Returns descriptions of a corpus's extracted files, in the config's terms, for messages."""
    extracted = outputs.read(Extract).files
    names: dict[Path, str] = {}
    for wanted in wanted_by(split, corpus):
        container = shown(wanted.container.mirrors[0])
        for stored in extracted[wanted.key]:
            path = path_of(outputs, wanted, stored)
            if wanted.container.is_repository:
                names[path] = f"{path.name[17:]} (of {corpus.url.hub_id})"
            # The file name consists of the first digits of the member path's digest, a dash, and the member's name.
            elif is_pattern(wanted.member):
                names[path] = f"{path.name[17:]} ({wanted.member} in {container})"
            else:
                names[path] = f"{wanted.member} (in {container})" if wanted.member else container
    return names


def extract_archive(task: ExtractTask, tick: Tick) -> ExtractedMembers:
    """Extracts the members that are not in the store yet. Ticks are bytes."""

    def file_of(member: str) -> str:
        return f"{task.archive.sha256}/{_safe_name(member, task.archive)}"

    store = Store(task.directory, DigestCache(task.directory.parent))
    found: ExtractedMembers = {}
    for member in task.members:  # patterns are always matched against the archive
        stored = None if is_pattern(member) else store.find(_key(file_of(member)))
        if stored is not None:
            found[member] = {member: stored}
    wanted = [member for member in task.members if member not in found]
    if wanted:
        try:
            extracted = extract_members(
                task.archive, wanted, lambda member: store.directory / file_of(member), task.limits, tick
            )
        except DamagedError as error:
            raise ArchiveError(f"{error}; {_remedy(task.archive, task.origin)}") from error
        except MissingMemberError as error:
            raise ArchiveError(f"{task.members[error.member]}: {error}") from error
        for member, matched in extracted.items():
            files = {name: Stored(file_of(name), content.sha256, content.size) for name, content in matched.items()}
            found[member] = {name: store.note(_key(stored.file), stored) for name, stored in files.items()}
    return found


EXTRACT = Round(
    "extract",
    extract_archive,
    ExtractedMembers,
    unit="bytes",
    words="extracting files",
    made=lambda task, result: (task.directory / stored.file for files in result.values() for stored in files.values()),
)


@dataclass(frozen=True)
class ExtractOutput:
    """The files by :attr:`Wanted.key`; files of both sides at the same index are a pair."""

    files: dict[str, tuple[CorpusFile, ...]]


class Extract(Stage[ExtractOutput, ExtractOutput]):
    """Writes ``extracted/<SHA-256 of the archive>/<name>``, with names that are safe on any file system."""

    name = "extract"
    directory = "extracted"
    reads = (Download,)
    version = 3
    output = ExtractOutput
    rounds = (EXTRACT,)
    keeps = True

    def settings(self, config: Config) -> dict[str, object]:
        wanted = (wanted for split, corpus in fetched_corpora(config) for wanted in wanted_by(split, corpus))
        return {f"splits.{file.key.replace('/', '.')}": [file.container.key, file.member] for file in wanted}

    def misnamed(self, outputs: Outputs) -> str:
        extracted = outputs.read(Extract).files
        archives: dict[Archive, dict[str, tuple[CorpusFile, ...]]] = {}
        for key, (wanted, listed) in _found(outputs)[1].items():
            for number, archive in enumerate(listed):
                files = extracted[key] if len(listed) == 1 else extracted[key][number : number + 1]
                archives.setdefault(archive, {})[wanted.member] = files
        for archive, members in archives.items():
            try:
                digests = digest_members(archive, members, outputs.config.extract)
            except DamagedError as error:  # the stage then runs, and reports the error
                return str(error)
            for member, digested in digests.items():
                stored = sorted((file.sha256, file.size) for file in members[member])
                if stored != sorted((content.sha256, content.size) for content in digested.values()):
                    return f"{outputs.directory_of(Extract) / archive.sha256} does not match {archive.path}"
        return ""

    def work(self, job: Job) -> Rounds[ExtractOutput]:
        in_place, archived = _found(job)
        members: dict[Archive, dict[str, str]] = {}
        origins: dict[Archive, Origin] = {}
        for key, (wanted, archives) in archived.items():
            file = wanted.container
            local = file.local(job.config.base_dir) is not None
            for archive in archives:
                members.setdefault(archive, {}).setdefault(wanted.member, config_key(key))
                origins[archive] = Origin(file.corpus, local, file.sha256 is not None, job.lock.path)
        tasks = [
            ExtractTask(
                key=f"{number:05d}-{archive.sha256}",
                archive=archive,
                members=names,
                directory=job.directory,
                limits=job.config.extract,
                origin=origins[archive],
            )
            for number, (archive, names) in enumerate(members.items())
        ]
        results = yield from EXTRACT.run(tasks, valid=partial(_are_whole, job.directory))
        extracted = dict(zip(members, results, strict=True))
        files = {
            key: [(name, stored) for archive in archives for name, stored in extracted[archive][wanted.member].items()]
            for key, (wanted, archives) in archived.items()
        }
        _pair_members(job.config, files)
        made = {key: tuple(CorpusFile(s.file, s.sha256, s.size) for _, s in listed) for key, listed in files.items()}
        return ExtractOutput(made | {key: (file,) for key, file in in_place.items()})

    def finish(self, job: Job, made: ExtractOutput) -> Result[ExtractOutput]:
        every = [file for files in made.files.values() for file in files]
        digests = {file.file: file.sha256 for file in every if file.file is not None}
        in_place = {file.sha256 for file in every if file.file is None}
        containers = {file.partition("/")[0] for file in digests} | in_place
        counts = Counts(other={"archives": len(containers), "files": len(digests) + len(in_place)})
        return Result(made, counts, files=sorted(digests), digests=digests)


def _are_whole(directory: Path, result: ExtractedMembers) -> bool:
    """Returns True if the extracted files have the recorded sizes."""
    every = (file for files in result.values() for file in files.values())
    return all((directory / file.file).stat().st_size == file.size for file in every)


def _pair_members(config: Config, files: dict[str, list[tuple[str, Stored]]]) -> None:
    """Sorts the members on both sides of a corpus so that pairs have the same index."""
    for split, corpus in fetched_corpora(config):
        where = f"splits.{split}.{corpus.name}"
        patterns = {
            wanted.key: wanted.member
            for wanted in wanted_by(split, corpus)
            if wanted.key.rpartition("/")[2] in parts_of(corpus) and not wanted.container.is_repository
        }
        named = {key: dict(files[key]) for key in patterns if key in files}
        try:
            order = paired(patterns, {key: list(named.get(key, [WHOLE_FILE])) for key in patterns}) if patterns else {}
        except AlignmentError as error:
            raise AlignmentError(f"{where}: {error}") from None
        files.update({key: [(name, listed[name]) for name in order[key]] for key, listed in named.items()})
        for key in column_files(corpus):
            if (count := len(files.get(f"{split}/{corpus.name}/{key}", ()))) > 1:
                raise AlignmentError(
                    f"{where}.{key}: the pattern matches {count} members, but its values are in "
                    "one file for the whole corpus: name one"
                )


def _key(file: str) -> list[str]:
    return ["member", file]


def _safe_name(member: str, archive: Archive) -> str:
    """Returns a safe file name for a member; the archive's author cannot influence the path."""
    base = without_suffix((member or archive.name).rpartition("/")[2])
    digest = hashlib.sha256(member.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{digest[:16]}-{re.sub(r'[^A-Za-z0-9._+-]', '_', base)[-100:]}"
