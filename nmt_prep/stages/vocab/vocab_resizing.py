"""The rounds of the `vocab` stage, for existing vocabularies that are pruned or extended.

The first round counts, part by part, the pieces that the text uses, or the words to learn from. The second writes the
new files. The third encodes the text again with the old and the new vocabularies, and compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import blake2b
from io import BytesIO
from itertools import chain
from operator import add
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _nmt_prep_core import Lines, count_ids, line_lengths

from nmt_prep.base.artefacts import atomic_write, write_bytes
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.progress import Meter
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.vocab import ExtendSettings, PruneSettings
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job
from nmt_prep.stages.divide import directed, divided_files
from nmt_prep.stages.vocab.vocab_existing import (
    GivenVocabulary,
    given_vocabularies,
    kept_pieces,
    languages_of,
    layout_of,
    tags_of,
)
from nmt_prep.subwords import Tokenizer, dialect_in
from nmt_prep.subwords.dialect import CountColumns, read_counts, write_counts
from nmt_prep.subwords.facts import BuiltVocabulary, DescribedVocabulary, describe_vocabulary
from nmt_prep.subwords.resizing import (
    NewPiece,
    editable,
    kept_ids,
    learned_pieces,
    piece_rate,
    word_counts,
)

_SHOWN, _SHOWN_CHARACTERS = 3, 80  # Number of changed lines that are shown, and how many characters of each
_HELD_OUT = 20  # One of so many train lines is not learned from, but shows what an extension changes
_ALL = 1 << 62  # bytes
_DIGEST = 16  # bytes
_MOST_CHANGED = 0.001  # Share of other languages' words that an extension may change without a warning


@dataclass(frozen=True)
class UseTask:
    """A part whose pieces, or words, are counted."""

    key: str
    part: PairFile
    split: str
    languages: dict[Side, str]
    given: dict[Side, GivenVocabulary]
    most: int | None  # bytes of each side to learn from, which may be 0; None to count the pieces of all lines
    output: Path

    def file(self, side: Side) -> Path:
        """The file with the counts of a side."""
        return self.output.with_name(f"{self.output.name}-{side}")

    @property
    def digests(self) -> Path:
        """The file with the ID digests per batch and side."""
        return self.output.with_name(f"{self.output.name}-digests")


def count_use(task: UseTask, tick: Tick) -> int:
    """Writes a part's counts; returns how many pairs were read. Ticks are pairs."""
    tokenizers = {side: task.given[side].load() for side in SIDES}
    words = {side: word_counts(tokenizers[side]) for side in SIDES}
    ids = {side: np.zeros(len(tokenizers[side]), np.int64) for side in SIDES}
    digests = list[bytes]()
    row, read = 0, dict.fromkeys(SIDES, 0)
    for batch in task.part.batches(columns=SIDES):
        learned = pa.array(~_held_out(row, len(batch)))
        for side in SIDES:
            lines = strip_lines(batch.column(side))
            if task.most is None:
                rows = tokenizers[side].encode_batch(lines, threads=1)
                count_ids(ids[side], rows.values)
                digests.append(_digest(rows))
            else:
                words[side].add(lines.filter(learned), threads=1)
                read[side] += lines.nbytes
        row += len(batch)
        tick(len(batch))
        if task.most is not None and max(read.values()) >= task.most:
            break
    for side in SIDES:
        if task.most is None:
            write_bytes(task.file(side), ids[side].tobytes())
        else:
            write_counts(task.file(side), words[side].columns())
    write_bytes(task.digests, b"".join(digests))
    return row


def _digest(rows: Ragged) -> bytes:
    values, offsets = rows.contiguous()
    return blake2b(offsets.tobytes() + values.tobytes(), digest_size=_DIGEST).digest()


def _held_out(first: int, count: int) -> npt.NDArray[np.bool_]:
    """Returns True for the rows in a train part that an extension is not learned from."""
    held: npt.NDArray[np.bool_] = np.arange(first, first + count) % _HELD_OUT == _HELD_OUT - 1
    return held


USE = Round("use", count_use, int, words="counting pieces", made=lambda task, _: [*map(task.file, SIDES), task.digests])


@dataclass(frozen=True)
class ResizeTask:
    """The vocabularies to prune or to extend."""

    key: str
    given: dict[Side, GivenVocabulary]
    used: tuple[UseTask, ...]
    config: Config
    options: ExistingVocab
    directory: Path
    threads: int


@dataclass(frozen=True)
class Resized:
    """The new vocabularies."""

    described: dict[Side, DescribedVocabulary]
    rows: dict[Side, str]  # the file with the start of each embedding
    removed: int  # number of pieces that went
    added: int  # number of pieces that came
    learned: dict[Side, list[str]]  # the languages that new pieces were learned from


def resize(task: ResizeTask, meter: Meter) -> Resized:
    """Writes the new vocabularies, and the start of their embeddings. The meter counts files."""
    tokenizers = {side: task.given[side].load() for side in SIDES}
    alike = tokenizers["source"].pieces == tokenizers["target"].pieces  # one numbering, and so one embedding
    described, rows, learned = dict[Side, DescribedVocabulary](), dict[Side, str](), dict[Side, list[str]]()
    removed = added = 0
    for sides in (SIDES,) if alike else tuple((side,) for side in SIDES):
        group = _Group(task, sides, tokenizers)
        prune, extend = task.options.prune, task.options.extend
        new = group.extension(extend) if extend is not None else []
        ids = group.pruned(prune) if prune is not None else np.arange(len(group.tokenizer))
        name = "embeddings.json" if alike else f"embeddings.{sides[0]}.json"
        for side in sides:
            loaded = group.written(side, ids, new)
            layout, tags = layout_of(loaded, task.options), tags_of(task.config, task.options, side)
            described[side] = describe_vocabulary(loaded, task.given[side].name, layout, tags)
            rows[side], learned[side] = name, group.learned
            meter.advance(1)
        content = {
            "vocabulary": task.given[sides[0]].name,
            "old_size": len(group.tokenizer),
            "size": len(ids) + len(new),
            "rows": [*ids.tolist(), *([*piece.starts] for piece in new)],
        }
        write_bytes(task.directory / name, json.dumps(content).encode() + b"\n")
        removed, added = removed + len(group.tokenizer) - len(ids), added + len(new)
    return Resized(described, rows, removed, added, learned)


class _Group:
    """The vocabularies of the sides that share a numbering."""

    def __init__(self, task: ResizeTask, sides: tuple[Side, ...], tokenizers: dict[Side, Tokenizer]) -> None:
        self._task, self._sides, self._tokenizers = task, sides, tokenizers
        self.tokenizer = tokenizers[sides[0]]
        self.learned: list[str] = []
        files = {task.given[side].path: side for side in reversed(sides)}
        opened = {path: editable(tokenizers[side], path, task.given[side].where) for path, side in files.items()}
        self._edited = {side: opened[task.given[side].path] for side in sides}

    def pruned(self, options: PruneSettings) -> npt.NDArray[np.int64]:
        """Returns the ids that stay."""
        counts = np.zeros(len(self.tokenizer), np.int64)
        for used in self._task.used:
            for side in self._sides:
                counts += np.fromfile(used.file(side), np.int64)
        named = [kept_pieces(self.tokenizer, self._task.config, self._task.options, side) for side in self._sides]
        stays = (
            kept_ids(self._edited[side], self.tokenizer, counts, options.min_count, chain(*named))
            for side in self._sides
        )
        return reduce(np.union1d, stays)

    def extension(self, options: ExtendSettings) -> list[NewPiece]:
        """Returns the new pieces, learned from all languages but the one with the fewest pieces per character."""
        first, threads = self._sides[0], self._task.threads
        languages = [*dict.fromkeys(used.languages[side] for used in self._task.used for side in self._sides)]
        rates = {name: piece_rate(self.tokenizer, self._words([name]), threads) for name in languages}
        known = sorted(languages, key=lambda name: (rates[name], name))[: len(languages) > 1]
        self.learned = [name for name in languages if name not in known]
        return learned_pieces(
            self._edited[first],
            self.tokenizer,
            self._words(self.learned),
            self._words(known),
            options.size,
            options.tokens,
            lambda new: self.written(first, np.arange(len(self.tokenizer)), new),
            characters=options.characters,
            threads=threads,
        )

    def _words(self, languages: Sequence[str]) -> CountColumns:
        counts = word_counts(self.tokenizer)
        for used in self._task.used:
            for side in self._sides:
                if used.languages[side] in languages:
                    counts.add_counted(read_counts(used.file(side)))
                    counts.check_memory(self._task.config.engine.memory)
        return counts.columns()

    def written(self, side: Side, ids: npt.NDArray[np.int64], new: Sequence[NewPiece]) -> Tokenizer:
        """Writes the vocabulary of a side; returns its tokenizer."""
        given = self._task.given[side]
        path = self._task.directory / given.name
        with atomic_write(path) as beside:
            beside.write_bytes(self._edited[side].edited(ids, new))
        loaded = dialect_in(path).load(path, id_layout=given.options.id_layout)
        old = self._tokenizers[side].pieces
        if [*loaded.pieces] != [*(old[number] for number in ids.tolist()), *(piece.text for piece in new)]:
            raise VocabularyError(
                f"{given.where}: the pieces have other IDs in the file that was written, so the vocabulary cannot be "
                "pruned or extended; use another file of the same model, such as its tokenizer.json"
            )
        return loaded


def _resized_files(task: ResizeTask, made: Resized) -> list[Path]:
    names = {*made.rows.values(), *(described.facts.file for described in made.described.values())}
    return [task.directory / name for name in sorted(names)]


RESIZE = Round(
    "resize", resize, Resized, unit="files", here=True, made=_resized_files, words="writing the vocabularies"
)


@dataclass(frozen=True)
class ProveTask:
    """A part to encode with the old and the new vocabularies."""

    key: str
    use: UseTask
    made: Resized
    directory: Path  # of the new vocabularies


@dataclass(frozen=True)
class Proof:
    """What changed in lines that were encoded with the old and the new vocabularies."""

    lines: int = 0  # line count of both sides together
    changed: int = 0  # number of lines with other pieces
    words: int = 0
    changed_words: int = 0  # number of words with other pieces
    examples: list[str] = field(default_factory=list)  # the first changed lines, with their old and new pieces

    def __add__(self, other: Proof) -> Proof:
        return Proof(
            self.lines + other.lines,
            self.changed + other.changed,
            self.words + other.words,
            self.changed_words + other.changed_words,
            [*self.examples, *other.examples][:_SHOWN],
        )


def prove(task: ProveTask, tick: Tick) -> Proof:
    """Compares a part. Ticks are pairs."""
    proof, row, use = Proof(), 0, task.use
    digests = BytesIO(use.digests.read_bytes() if use.most is None else b"")
    old_ids = {side: _old_ids(task.directory / task.made.rows[side]) for side in SIDES}
    for batch in use.part.batches(columns=SIDES):
        for side in SIDES:
            if use.languages[side] in task.made.learned[side]:
                continue
            lines = strip_lines(batch.column(side))
            if use.most is not None and use.split == "train":
                lines = lines.filter(pa.array(_held_out(row, len(batch))))
            proof += _compared(task, side, lines, old_ids[side], digests.read(_DIGEST))
        row += len(batch)
        tick(len(batch))
    return proof


def _old_ids(path: Path) -> npt.NDArray[np.int32]:
    """Returns the old id of each new id; -1 for a new piece."""
    rows = json.loads(path.read_bytes())["rows"]
    return np.array([row if isinstance(row, int) else -1 for row in rows], np.int32)


def _compared(task: ProveTask, side: Side, lines: pa.Array, old_ids: npt.NDArray[np.int32], digest: bytes) -> Proof:
    facts = task.made.described[side].facts
    new = BuiltVocabulary(task.directory / facts.file, facts).load()
    rows = new.encode_batch(lines, threads=1)
    after = Ragged(old_ids[rows.values], rows.offsets)
    if digest == _digest(after):
        return Proof(len(lines))
    old = task.use.given[side].load()
    before = old.encode_batch(lines, threads=1)
    column = TextColumn.from_arrow(lines)
    words = int(line_lengths(Lines(column.data, column.offsets), "word").sum())
    changed, changed_words, examples = _changed_rows(before, after), 0, list[str]()
    for line in lines.take(pa.array(changed)).to_pylist():
        parts = [*dict.fromkeys(line.split(" ")), line]
        both = [tokenizer.encode_batch(parts, threads=1).to_lists() for tokenizer in (old, new)]
        other = {
            word
            for word, one, two in zip(parts, *both, strict=True)
            if one != old_ids[two].tolist()
            and old.unk_id not in one  # an unknown character that is known now is no loss
        }
        changed_words += sum(word in other for word in line.split(" ")) or (line in other)
        if len(examples) < _SHOWN:
            pairs = zip((old, new), both, strict=True)
            shown = (" ".join(tokenizer.pieces[number] for number in rows[-1]) for tokenizer, rows in pairs)
            one, two = (f"{text[:_SHOWN_CHARACTERS]}{'…' * (len(text) > _SHOWN_CHARACTERS)}" for text in shown)
            examples.append(f"{task.use.split}/{task.use.part.corpus}, {side}: {one!r} became {two!r}")
    return Proof(len(lines), len(changed), words, changed_words, examples)


def _changed_rows(before: Ragged, after: Ragged) -> npt.NDArray[np.int64]:
    changed = before.lengths != after.lengths
    alike = np.flatnonzero(~changed)
    one, two = before.taken(alike), after.taken(alike)
    changed[np.repeat(alike, one.lengths)[one.values != two.values]] = True
    return np.flatnonzero(changed)


PROVE = Round("prove", prove, Proof, words="comparing the vocabularies")


def resize_rounds(job: Job, options: ExistingVocab) -> Rounds[tuple[Resized, Proof]]:
    """Yields the rounds; returns the new vocabularies, and what changed."""
    given = given_vocabularies(job, options)
    every = [*_use_tasks(job, options, given)]
    using = [task for task in every if task.most != 0]
    yield from USE.run(using, sum(task.part.pairs for task in using))
    threads = job.engine.threads_here
    [made] = yield from RESIZE.run(
        [ResizeTask("resize", given, tuple(using), job.config, options, job.directory, threads)]
    )
    tasks = [ProveTask(task.key.replace("use", "prove", 1), task, made, job.directory) for task in every]
    proofs = yield from PROVE.run(tasks, sum(task.part.pairs for task in every))
    return made, reduce(add, proofs, Proof())


def _use_tasks(job: Job, options: ExistingVocab, given: dict[Side, GivenVocabulary]) -> Iterator[UseTask]:
    left: dict[str, int] = {}
    budget = job.config.sample.bytes_per_corpus
    for split, files in divided_files(job).items():
        languages = {corpus.name: languages_of(job.config, corpus) for corpus in job.config.directed(split)}
        for number, part in enumerate(directed(job.config.splits[split], files)):
            most = None if options.extend is None else 0
            if options.extend is not None and options.extend.size and split == "train":
                most = left.get(part.corpus, _ALL if budget == "all" else budget)
                read = max(part.source_bytes or 0, part.target_bytes or 0, part.text_bytes // 2)
                left[part.corpus] = max(most - read, 0)
            key = f"use-{split}-{number:05d}"
            of_sides = dict(zip(SIDES, languages[part.corpus], strict=True))
            yield UseTask(key, part, split, of_sides, given, most, job.scratch / key)


def resizing_warnings(options: ExistingVocab, made: Resized, proof: Proof) -> Iterator[HealthWarning]:
    """Yields warnings about what changed.

    Raises:
        VocabularyError: the config does not allow the change.
    """
    shown = "; ".join(proof.examples)
    if options.prune is not None and proof.changed:
        text = (
            f"{proof.changed:,} of {proof.lines:,} lines have other pieces, since pieces that occur less often than "
            f"vocab.prune.min_count are gone: {shown}"
        )
        if options.prune.strict:
            raise VocabularyError(f"vocab.prune: {text}; lower min_count, list pieces in keep, or set strict to false")
        yield HealthWarning("changed_lines", text, value=proof.changed, share=proof.changed / proof.lines)
    if options.extend is None:
        return
    share = proof.changed_words / max(proof.words, 1)
    if share > _MOST_CHANGED:
        text = (
            f"the new pieces change {proof.changed_words:,} of {proof.words:,} held-out words of the languages that "
            f"nothing was learned from: {shown}"
        )
        if options.extend.strict:
            raise VocabularyError(f"vocab.extend: {text}; lower size, or set strict to false")
        yield HealthWarning("changed_words", text, value=proof.changed_words, share=share)
    wanted = options.extend.size + len(options.extend.tokens)
    if made.added < wanted:
        text = f"the text of train gives {made.added:,} new pieces, but {wanted:,} were requested (vocab.extend.size)"
        yield HealthWarning("few_new_pieces", text, value=made.added)
