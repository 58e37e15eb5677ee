"""Looks at all corpora of a config."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.base.errors import AlignmentError, CorpusError, InvalidTextError, NmtPrepError
from nmt_prep.base.sides import OTHER, SIDES, Side
from nmt_prep.cleaning.health_warnings import (
    SideFacts,
    corpus_warnings,
    facts_by_side,
    installed_identifier,
    language_warnings,
)
from nmt_prep.cleaning.languages import LanguageIdentifier
from nmt_prep.config import Config, Corpus, Languages
from nmt_prep.corpora import PairBatch, format_of, open_corpus, parts_of, reader_of
from nmt_prep.corpora.archives.contents import Beginning
from nmt_prep.corpora.archives.entry import paired
from nmt_prep.corpora.formats.markup import XmlReader
from nmt_prep.corpora.sources.downloads import Needed
from nmt_prep.corpora.sources.lockfile import lock_of
from nmt_prep.corpora.sources.remote_file import BEGINNING
from nmt_prep.corpora.sources.transfers import Stop, at_once
from nmt_prep.runs.inspection.inspected_files import FileFacts, Looked, Looker
from nmt_prep.stages import STAGES
from nmt_prep.stages.compile.compile_tasks import without_blanks
from nmt_prep.stages.compile.slices import CorpusFiles
from nmt_prep.stages.download import fetched_corpora, needed_vocabularies
from nmt_prep.stages.extract import Wanted, config_key, wanted_by
from nmt_prep.text.blocks import blank_lines

LINES = 1000  # Number of pairs whose languages are identified
SMALL = 16 << 20  # Maximum size of a side in bytes at which all pairs of a corpus are read


@dataclass
class FirstPairs:
    """The first pairs of a corpus."""

    # the first lines of each side, at most `LINES`, of pairs with text on both sides
    lines: dict[Side, pa.Array] = field(default_factory=lambda: dict.fromkeys(SIDES, pa.array([], pa.large_string())))
    read: int | None = None  # as a run counts pairs; None if not all were read
    pairs: int | None = None  # pairs with text on both sides; None if not all were read
    problem: str = ""  # the error of the reader; empty if there was none
    unseen: str = ""  # the reason why no pairs can be read from the beginning of the files; empty if some can be read


def first_pairs(
    split: str,
    corpus: Corpus,
    groups: Sequence[Mapping[str, Beginning]],
    names: Mapping[Path, str],
    languages: Languages,
    sides: Sequence[Side] = SIDES,
    *,
    complete: bool,
) -> FirstPairs:
    """Reads the first pairs of a corpus, or all pairs if its files are whole and small.

    Args:
        sides: the sides that the files hold.
        complete: true if the groups have all files of the corpus.
    """
    reader = reader_of(format_of(corpus))
    beginnings = [file for group in groups for file in group.values()]
    whole = complete and all(file.whole for file in beginnings)
    for file in beginnings:
        if not file.whole and reader.lines_apart:
            data = file.path.read_bytes()
            file.path.write_bytes(data[: data.rfind(b"\n") + 1])  # without the last line, which may be cut within it
        elif not file.whole and not issubclass(reader, XmlReader):
            return FirstPairs(unseen=f"format {format_of(corpus)} cannot be read from its beginning alone")
    files = [{part: file.path for part, file in group.items()} for group in groups]
    sizes = {path: path.stat().st_size for group in files for path in group.values()}
    counting = whole and sum(sizes.values()) <= 2 * SMALL
    first, failure = FirstPairs(read=0, pairs=0), None
    try:
        _read(first, open_corpus(corpus, files, languages).pairs(), sides, counting=counting)
    except CorpusError as error:
        failure = error
    if failure is not None and (whole or (isinstance(failure, InvalidTextError) and not first.pairs)):
        first.problem = str(CorpusFiles(split, 0, corpus, files, sizes, names).explained(failure))
    elif not first.pairs and not whole:
        first.unseen = "no pair could be read from the beginning of the files"
    elif not first.pairs and corpus.role != "vocab":
        first.problem = f"splits.{split}.{corpus.name}: {corpus.lacks_text}; check its format and options"
    if failure is not None or not counting:
        first.read = first.pairs = None
    return first


def _read(first: FirstPairs, batches: Iterator[PairBatch], sides: Sequence[Side], *, counting: bool) -> None:
    """Reads all pairs if they are counted, otherwise the first :data:`LINES`."""
    assert first.read is not None
    assert first.pairs is not None
    for every in batches:
        first.read += len(without_blanks(every))
        batch = _with_text(every, sides)
        first.pairs += len(batch)
        wanted = LINES - len(first.lines["source"])
        if wanted > 0:
            for side in SIDES:
                first.lines[side] = pa.concat_arrays([first.lines[side], batch.side(side)[:wanted]])
        elif not counting:
            return


def _with_text(batch: PairBatch, sides: Sequence[Side]) -> PairBatch:
    """Returns the pairs of a batch that have no fault, and text on some sides."""
    pairs = batch.sound()
    either = np.logical_or.reduce([blank_lines(pairs.side(side)) for side in sides])
    return pairs.filter(~either) if either.any() else pairs


_MOST_TEMPORARY = 1 << 30  # Bytes of all temporary files together


@dataclass
class CorpusFacts:
    """A corpus."""

    split: str
    name: str
    format: str  # name of the format; for a document corpus, the documents' format
    files: list[FileFacts] = field(default_factory=list)
    # the members of archives that have its text, by part, with their sizes in bytes
    members: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    read: int | None = None  # as a run counts pairs; None if not all were read
    pairs: int | None = None  # pairs with text on both sides; None if not all were read
    # the first pairs; None for a side that cannot be seen
    first: list[tuple[str | None, str | None]] = field(default_factory=list)
    languages: dict[Side, SideFacts] = field(default_factory=dict)  # languages of the first lines, by side
    problems: list[str] = field(default_factory=list)  # errors that a run would end with
    warnings: list[str] = field(default_factory=list)  # properties of the text that look wrong
    unseen: list[str] = field(default_factory=list)  # facts that are not known before the files are fetched


@dataclass(frozen=True)
class Inspection:
    """The facts about all corpora."""

    corpora: tuple[CorpusFacts, ...]
    vocabularies: tuple[FileFacts, ...]  # existing vocabularies that the config names
    problems: tuple[str, ...]  # problems of vocabularies, models, evaluation sets and other files that a run needs
    model: str | None  # the model that identified the languages; None if none is installed
    warnings: tuple[str, ...] = ()  # warnings that are not about a single corpus

    def all_problems(self) -> Iterator[str]:
        for corpus in self.corpora:
            yield from corpus.problems
        yield from self.problems


def inspect_config(config: Config, *, pairs: int = 3) -> Inspection:
    """Looks at the corpora and vocabularies that a config names, without fetching them."""
    corpora = list(fetched_corpora(config))
    wanted = [list(wanted_by(split, corpus)) for split, corpus in corpora]
    vocabularies = list(needed_vocabularies(config))
    containers = {_identity(file.container): file.container for files in wanted for file in files}
    containers |= {_identity(needed): needed for needed in vocabularies}
    members: dict[tuple[str, ...], list[str]] = {identity: [] for identity in containers}
    for file in (file for files in wanted for file in files):
        if file.member not in members[_identity(file.container)]:
            members[_identity(file.container)].append(file.member)
    members = {identity: names or [""] for identity, names in members.items()}
    most = max(BEGINNING, min(SMALL, _MOST_TEMPORARY // max(1, sum(map(len, members.values())))))
    identified = installed_identifier()
    with tempfile.TemporaryDirectory(prefix="nmt-prep-") as directory:
        looker = Looker(config, lock_of(config), Stop(), most)
        looked = _look_at_all(looker, list(containers.values()), members, Path(directory))
        facts = tuple(
            _Examined(split, corpus, files, looked, config.languages_of(corpus)).facts(
                identified and identified[1], pairs
            )
            for (split, corpus), files in zip(corpora, wanted, strict=True)
        )
    warned = [*corpus_warnings(config)]
    for corpus in facts:
        corpus.warnings += [each.text for each in warned if (each.split, each.corpus) == (corpus.split, corpus.name)]
    existing = [(needed.key, looked[_identity(needed)]) for needed in vocabularies]
    # A stage checks local vocabularies, see `_others`.
    problems = [f"{key}: {problem}" for key, file in existing if file.place != "local" for problem in file.problems]
    return Inspection(
        facts,
        tuple(_file_facts(key, file) for key, file in existing),
        (*problems, *_others(config)),
        identified and identified[0],
        tuple(warning.text for warning in warned if warning.corpus is None),
    )


def _others(config: Config) -> Iterator[str]:
    """Yields the problems that would stop a stage, such as a missing model, vocabulary or evaluation set."""
    for stage in STAGES:
        if stage.applies(config):
            try:
                stage.check(config)
            except NmtPrepError as error:
                yield from str(error).splitlines()


def _identity(needed: Needed) -> tuple[str, ...]:
    """Returns a key that differs for different files: the mirrors, or for a repository its key in the config.

    The config's key decides which repository files are used.
    """
    return (needed.key,) if needed.is_repository else needed.mirrors


def _look_at_all(
    looker: Looker,
    containers: Sequence[Needed],
    members: Mapping[tuple[str, ...], Sequence[str]],
    directory: Path,
) -> dict[tuple[str, ...], Looked]:
    """Looks into all files, several at once."""

    def look(numbered: tuple[int, Needed]) -> Looked:
        number, needed = numbered
        subdirectory = directory / str(number)
        subdirectory.mkdir()
        return looker.look(needed, members[_identity(needed)], subdirectory)

    looked = at_once(look, [*enumerate(containers)], looker.config.download.parallel, looker.stop.now)
    return {_identity(needed): file for needed, file in zip(containers, looked, strict=True)}


def _file_facts(part: str, looked: Looked) -> FileFacts:
    contents = looked.contents
    if looked.files:
        return FileFacts(part, looked.address, looked.place, looked.size, "repository", len(looked.files))
    if contents is None:
        return FileFacts(part, looked.address, looked.place, looked.size)
    seen = len(contents.names) if contents.kind != "file" else 0
    return FileFacts(part, looked.address, looked.place, looked.size, contents.kind, seen, contents.complete)


def _format(corpus: Corpus) -> str:
    if corpus.documents is not None:
        return f"documents ({corpus.documents.format})"
    return "pivot" if corpus.pivot is not None else format_of(corpus)


@dataclass(frozen=True)
class _Examined:
    """A corpus, and the facts about its files."""

    split: str
    corpus: Corpus
    wanted: Sequence[Wanted]  # the files that the reader needs
    looked: Mapping[tuple[str, ...], Looked]  # the facts about all files, by `_identity`
    languages: Languages

    def facts(self, identifier: LanguageIdentifier | None, pairs: int) -> CorpusFacts:
        """Returns the facts about the corpus, with its first pairs; ``pairs`` is their number."""
        facts = CorpusFacts(self.split, self.corpus.name, _format(self.corpus))
        beginnings = self._beginnings(facts)
        if self.corpus.is_made:
            made = "sentences aligns the documents" if self.corpus.documents else "compile joins the corpora"
            facts.unseen.append(f"the pairs, before the stage {made}")
            return facts
        groups, sides = self._groups(facts, beginnings), self.corpus.read_sides
        if not groups and facts.unseen:
            groups, sides = self._one_side(beginnings)
        if not groups:
            return facts
        complete = not any(map(self._unseen, self.wanted))
        names = self._names(beginnings)
        first = first_pairs(self.split, self.corpus, groups, names, self.languages, sides, complete=complete)
        facts.read, facts.pairs = first.read, first.pairs
        facts.problems += filter(None, [first.problem])
        facts.unseen += filter(None, [first.unseen])
        columns = [first.lines[side].to_pylist() if side in sides else repeat(None) for side in SIDES]
        facts.first = list(islice(zip(*columns, strict=False), pairs))
        if identifier is not None:
            lines = {side: first.lines[side] for side in sides}
            facts.languages.update(facts_by_side(lines, identifier, self.languages))
            facts.warnings += language_warnings(facts.languages)
        return facts

    def _beginnings(self, facts: CorpusFacts) -> dict[str, list[Beginning]]:
        """Returns the beginnings of the files by part; adds the files and their problems to the facts."""
        beginnings: dict[str, list[Beginning]] = {}
        noted: set[tuple[str, ...]] = set()
        for wanted in self.wanted:
            part, mirrors = wanted.key.rpartition("/")[2], _identity(wanted.container)
            looked = self.looked[mirrors]
            if mirrors not in noted:
                facts.files.append(_file_facts(wanted.container.key.rpartition("/")[2], looked))
                facts.problems += looked.problems
            if looked.contents is not None:
                for member, fault in looked.contents.faults:
                    if member == wanted.member:
                        facts.problems.append(f"{config_key(wanted.key)}: {fault}")
                    elif member is None and mirrors not in noted:
                        facts.problems.append(str(fault))
                beginnings[part] = looked.contents.beginnings[wanted.member]
            noted.add(mirrors)
            if looked.files:
                facts.members[part] = [(file.path, file.size) for file in looked.files]
                facts.unseen.append("the pairs, before the files are fetched")
            members = [(file.member, file.size) for file in beginnings.get(part, ()) if file.member]
            if members:
                facts.members[part] = members
            if self._unseen(wanted):
                what = f"other members that match {wanted.member!r}" if members else f"the member {wanted.member!r}"
                facts.unseen.append(f"{what} of {looked.address}: {looked.unseen}")
        return beginnings

    def _unseen(self, wanted: Wanted) -> bool:
        """Returns true if the archive may have members with the requested name or pattern that were not seen."""
        looked = self.looked[_identity(wanted.container)]
        return bool(looked.unseen) and looked.contents is not None and wanted.member in looked.contents.unseen()

    def _groups(self, facts: CorpusFacts, beginnings: Mapping[str, list[Beginning]]) -> list[dict[str, Beginning]]:
        """Returns the groups of files that are read together, by part; none if a part has no file."""
        parts = parts_of(self.corpus)
        named = {part: {file.member: file for file in beginnings.get(part, ())} for part in parts}
        patterns = {key: wanted.member for wanted in self.wanted if (key := wanted.key.rpartition("/")[2]) in parts}
        if not all(named.values()):
            return []
        try:
            order = paired(patterns, {part: list(found) for part, found in named.items()})
        except AlignmentError as error:
            if not facts.unseen:
                facts.problems.append(f"splits.{self.split}.{self.corpus.name}: {error}")
            order = {part: list(found) for part, found in named.items()}
        return [
            {part: named[part][name] for part, name in zip(parts, names, strict=True)}
            for names in zip(*(order[part] for part in parts), strict=False)
        ]

    def _one_side(
        self, beginnings: Mapping[str, list[Beginning]]
    ) -> tuple[list[dict[str, Beginning]], tuple[Side, ...]]:
        """Returns the first file of the only side that was seen, and the side; none for other formats than plain."""
        seen = [side for side in SIDES if beginnings.get(side)]
        if len(seen) != 1 or format_of(self.corpus) != "plain":
            return [], ()
        [side] = seen
        return [{side: beginnings[side][0]}], (OTHER[side] if self.corpus.swap else side,)

    def _names(self, beginnings: Mapping[str, list[Beginning]]) -> dict[Path, str]:
        """Returns the names of the files in the config, for messages."""
        names = {}
        for wanted in self.wanted:
            container = self.looked[_identity(wanted.container)].address
            for file in beginnings.get(wanted.key.rpartition("/")[2], ()):
                names[file.path] = f"{file.member} (in {container})" if file.member else container
        return names
