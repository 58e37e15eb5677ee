"""The rounds of the `vocab` stage, for existing vocabularies that are pruned or extended.

The first round counts, part by part, the pieces that the text uses, or the words to learn from. The second writes the
new files. The third encodes the text again with the old and the new vocabularies, and compares.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from hashlib import blake2b
from io import BytesIO
from operator import add
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import count_ids

from nmt_prep.base.artefacts import write_bytes
from nmt_prep.base.columns import Ragged, concatenated
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.progress import Meter
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, ExistingVocab
from nmt_prep.config.vocab import ExtendSettings, PruneSettings
from nmt_prep.corpora import strip_lines
from nmt_prep.corpora.parts import PairFile
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import HealthWarning, Job, Warnings
from nmt_prep.stages.divide import directed, divided_files
from nmt_prep.stages.vocab.vocab_existing import (
    GivenVocabulary,
    given_vocabularies,
    kept_pieces,
    layout_of,
    tags_of,
)
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.dialect import CountColumns, read_counts, write_counts
from nmt_prep.subwords.facts import DescribedVocabulary, describe_vocabulary
from nmt_prep.subwords.resizing import Learning, NewPiece, editable, kept_ids, piece_rate, word_counts

_SHOWN, _SHOWN_CHARACTERS = 3, 80  # Number of changed texts that are shown, and how many characters of each
_HELD_OUT = 20  # One of so many train lines is not learned from, but shows what an extension changes
_DIGEST = 16  # bytes
_MOST_CHANGED = 0.001  # Share of other languages' words that an extension may change without a warning


@dataclass(frozen=True)
class UseTask:
    """A part whose pieces, or words, are counted."""

    key: str
    part: PairFile
    split: str
    languages: dict[str, str]  # by side
    given: dict[Side, GivenVocabulary]
    most: int | None  # bytes of text to learn from, which may be 0; None to count the pieces of all lines
    output: Path

    def file(self, name: str) -> Path:
        """The file with the counts of a side, or with the ID digests per batch and side (``digests``)."""
        return self.output.with_name(f"{self.output.name}-{name}")


def count_use(task: UseTask, tick: Tick) -> int:
    """Writes a part's counts; returns how many pairs were read. Ticks are pairs."""
    tokenizers = {side: task.given[side].load() for side in SIDES}
    words = {side: word_counts(tokenizers[side]) for side in SIDES}
    ids = {side: np.zeros(len(tokenizers[side]), np.int64) for side in SIDES}
    digests = list[bytes]()
    row = read = 0
    for batch in task.part.batches(columns=SIDES):
        learned = pa.array(~_held_out(row, len(batch)))
        for side in SIDES:
            lines = strip_lines(batch.column(side))
            read += lines.nbytes
            if task.most is None:
                rows = tokenizers[side].encode_batch(lines, threads=1)
                count_ids(ids[side], rows.values)
                digests.append(_digest(rows))
            else:
                words[side].add(lines.filter(learned), threads=1)
        row += len(batch)
        tick(len(batch))
        if task.most is not None and read >= task.most:
            break
    for side in SIDES:
        if task.most is None:
            write_bytes(task.file(side), ids[side].tobytes())
        else:
            write_counts(task.file(side), words[side].columns())
    write_bytes(task.file("digests"), b"".join(digests))
    return row


def _digest(rows: Ragged) -> bytes:
    values, offsets = rows.contiguous()
    return blake2b(offsets.tobytes() + values.tobytes(), digest_size=_DIGEST).digest()


def _held_out(first: int, count: int) -> npt.NDArray[np.bool_]:
    """Returns True for the rows in a train part that an extension is not learned from."""
    held: npt.NDArray[np.bool_] = np.arange(first, first + count) % _HELD_OUT == _HELD_OUT - 1
    return held


USE = Round("use", count_use, int, words="counting pieces", made=lambda task, _: [*map(task.file, (*SIDES, "digests"))])


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


@dataclass
class Resized:
    """The new vocabularies."""

    described: dict[Side, DescribedVocabulary] = field(default_factory=dict)
    rows: dict[Side, str] = field(default_factory=dict)  # the file with the start of each embedding
    learned: dict[Side, list[str]] = field(default_factory=dict)  # the languages that new pieces were learned from
    removed: int = 0  # number of pieces that went
    added: int = 0  # number of pieces that came


def resize(task: ResizeTask, meter: Meter) -> Resized:
    """Writes the new vocabularies, and the start of their embeddings. The meter counts files."""
    made, prune, extend = Resized(), task.options.prune, task.options.extend
    source, target = (task.given[side].load() for side in SIDES)
    alike = source.pieces == target.pieces  # one numbering, and so one embedding
    for sides in (SIDES,) if alike else tuple((side,) for side in SIDES):
        group = _Group(task, sides)
        new = group.extension(extend) if extend is not None else []
        ids = group.pruned(prune) if prune is not None else np.arange(len(group.tokenizer))
        name = "embeddings.json" if alike else f"embeddings.{sides[0]}.json"
        written = group.written(ids, new)
        for side in sides:
            loaded, tags = written[task.given[side].name], tags_of(task.config, task.options, side)
            layout = layout_of(loaded, task.options)
            made.described[side] = describe_vocabulary(loaded, task.given[side].name, layout, tags)
            made.rows[side], made.learned[side] = name, group.learned
            meter.advance(1)
        content = {
            "vocabulary": task.given[sides[0]].name,
            "old_size": len(group.tokenizer),
            "size": len(ids) + len(new),
            "rows": [*ids.tolist(), *([*piece.starts] for piece in new)],
        }
        write_bytes(task.directory / name, json.dumps(content).encode() + b"\n")
        made.removed += len(group.tokenizer) - len(ids)
        made.added += len(new)
    return made


class _Group:
    """The vocabularies of the sides that share a numbering."""

    def __init__(self, task: ResizeTask, sides: tuple[Side, ...]) -> None:
        self._task, self._sides = task, sides
        self._given = {task.given[side].name: task.given[side] for side in sides}
        self._edited = {name: editable(file.load(), file.path, file.where) for name, file in self._given.items()}
        self.tokenizer = task.given[sides[0]].load()
        self.learned: list[str] = []

    def pruned(self, options: PruneSettings) -> npt.NDArray[np.int64]:
        """Returns the IDs that stay."""
        task, counts = self._task, np.zeros(len(self.tokenizer), np.int64)
        for used in task.used:
            for side in self._sides:
                counts += np.fromfile(used.file(side), np.int64)
        keep = [at for side in self._sides for at in kept_pieces(self.tokenizer, task.config, task.options, side)]
        edited = self._edited.values()
        return reduce(np.union1d, (kept_ids(each, self.tokenizer, counts, options.min_count, keep) for each in edited))

    def extension(self, options: ExtendSettings) -> list[NewPiece]:
        """Returns the new pieces, learned from all languages but the one with the fewest pieces per character."""
        first, threads = self._task.given[self._sides[0]].name, self._task.threads
        languages = [*dict.fromkeys(used.languages[side] for used in self._task.used for side in self._sides)]
        rates = {name: piece_rate(self.tokenizer, self._words([name]), threads) for name in languages}
        known = sorted(languages, key=lambda name: (rates[name], name))[: len(languages) > 1]
        self.learned = [name for name in languages if name not in known]
        edited, words, known_words = self._edited[first], self._words(self.learned), self._words(known)
        learning = Learning(edited, self.tokenizer, words, known_words, threads)
        every = np.arange(len(self.tokenizer))
        return learning.pieces(options, lambda new: self.written(every, new)[first])

    def _words(self, languages: Sequence[str]) -> CountColumns:
        counts = word_counts(self.tokenizer)
        for used in self._task.used:
            for side in self._sides:
                if used.languages[side] in languages:
                    counts.add_counted(read_counts(used.file(side)))
                    counts.check_memory(self._task.config.engine.memory)
        return counts.columns()

    def written(self, ids: npt.NDArray[np.int64], new: Sequence[NewPiece]) -> dict[str, Tokenizer]:
        """Writes the files; returns their tokenizers."""
        pieces = [*map(self.tokenizer.pieces.__getitem__, ids.tolist()), *(piece.text for piece in new)]
        for name, edited in self._edited.items():
            write_bytes(self._task.directory / name, edited.edited(ids, new))
        made = {name: given.copied(self._task.directory).load() for name, given in self._given.items()}
        for name, loaded in made.items():
            if [*loaded.pieces] != pieces:
                raise VocabularyError(
                    f"{self._given[name].where}: the pieces have other IDs in the file that was written, so the "
                    "vocabulary cannot be pruned or extended; use another file of the same model, such as its "
                    "tokenizer.json"
                )
        return made


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
    """What changed in lines, or if pieces were added in words of other languages."""

    texts: int = 0  # number of lines or words that were compared
    changed: int = 0  # number of those with other pieces
    examples: list[str] = field(default_factory=list)  # the first changed ones: their old and new pieces

    def __add__(self, other: Proof) -> Proof:
        examples = [*self.examples, *other.examples][:_SHOWN]
        return Proof(self.texts + other.texts, self.changed + other.changed, examples)


def prove(task: ProveTask, tick: Tick) -> Proof:
    """Compares a part. Ticks are pairs."""
    proof, row, use = Proof(), 0, task.use
    digests = BytesIO(use.file("digests").read_bytes() if use.most is None else b"")
    old_ids = {side: _old_ids(task.directory / task.made.rows[side]) for side in SIDES}
    for batch in use.part.batches(columns=SIDES):
        for side in SIDES:
            if use.languages[side] in task.made.learned[side]:
                continue
            texts = strip_lines(batch.column(side))
            if use.most is not None:
                texts = _words(texts.filter(pa.array(_held_out(row, len(batch)))) if use.split == "train" else texts)
            proof += _compared(task, side, texts, old_ids[side], digests.read(_DIGEST))
        row += len(batch)
        tick(len(batch))
    return proof


def _old_ids(path: Path) -> npt.NDArray[np.int32]:
    """Returns the old ID of each new ID; -1 for a new piece."""
    rows = json.loads(path.read_bytes())["rows"]
    return np.array([row if isinstance(row, int) else -1 for row in rows], np.int32)


def _words(lines: pa.Array) -> pa.Array:
    """Returns the words of lines, each with a space before it, as within a line."""
    words = pc.list_flatten(pc.split_pattern(lines, " "))
    return concatenated(" ", words.filter(pc.not_equal(words, "")))


def _compared(task: ProveTask, side: Side, texts: pa.Array, old_ids: npt.NDArray[np.int32], digest: bytes) -> Proof:
    given = task.use.given[side]
    new = given.copied(task.directory).load()
    rows = new.encode_batch(texts, threads=1)
    after = Ragged(old_ids[rows.values], rows.offsets)
    if digest == _digest(after):
        return Proof(len(texts))
    old = given.load()
    before = old.encode_batch(texts, threads=1)
    changed = _changed_rows(before, after)
    if task.use.most is not None:  # an unknown character that is known now is no loss
        changed = [place for place in changed if old.unk_id not in before[place]]
    examples = [
        f"{task.use.split}/{task.use.part.corpus}, {side}: {_pieces(old, before[place])!r} became "
        f"{_pieces(new, rows[place])!r}"
        for place in changed[:_SHOWN]
    ]
    return Proof(len(texts), len(changed), examples)


def _changed_rows(before: Ragged, after: Ragged) -> list[int]:
    changed = before.lengths != after.lengths
    alike = np.flatnonzero(~changed)
    one, two = before.taken(alike), after.taken(alike)
    changed[np.repeat(alike, one.lengths)[one.values != two.values]] = True
    return np.flatnonzero(changed).tolist()


def _pieces(tokenizer: Tokenizer, ids: npt.NDArray[np.int32]) -> str:
    text = " ".join(tokenizer.pieces[number] for number in ids.tolist())
    return f"{text[:_SHOWN_CHARACTERS]}{'…' * (len(text) > _SHOWN_CHARACTERS)}"


PROVE = Round("prove", prove, Proof, words="comparing the vocabularies")


def resize_rounds(
    job: Job, options: ExistingVocab
) -> Rounds[tuple[dict[Side, DescribedVocabulary], Warnings, dict[str, int]]]:
    """Yields the rounds; returns the new vocabularies, warnings about what changed, and counts."""
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
    proof = reduce(add, proofs, Proof())
    counts = {"added": made.added, "changed_words": proof.changed, "compared_words": proof.texts}
    if options.prune is not None:
        counts = {"removed": made.removed, "changed_lines": proof.changed}
    return made.described, Warnings(tuple(_warnings(options, made, proof))), counts


def _use_tasks(job: Job, options: ExistingVocab, given: dict[Side, GivenVocabulary]) -> Iterator[UseTask]:
    budget = len(SIDES) * job.config.sample.budget
    for split, files in divided_files(job).items():
        languages = {corpus.name: dict(job.config.languages_of(corpus)) for corpus in job.config.directed(split)}
        parts = [*directed(job.config.splits[split], files)]
        of_corpus = Counter(part.corpus for part in parts)
        for number, part in enumerate(parts):
            most = None if options.extend is None else 0
            if options.extend is not None and options.extend.size and split == "train":
                most = -(-budget // of_corpus[part.corpus])
            key = f"use-{split}-{number:05d}"
            yield UseTask(key, part, split, languages[part.corpus], given, most, job.scratch / key)


def _warnings(options: ExistingVocab, made: Resized, proof: Proof) -> Iterator[HealthWarning]:
    """Yields warnings about what changed.

    Raises:
        VocabularyError: the config does not allow the change.
    """
    share, counts = proof.changed / max(proof.texts, 1), f"{proof.changed:,} of {proof.texts:,}"
    if options.prune is not None:
        most, code, key, advice = 0.0, "changed_lines", "vocab.prune", "lower min_count, list pieces in keep,"
        text = f"{counts} lines have other pieces, since pieces that occur less often than {key}.min_count are gone"
    else:
        most, code, key, advice = _MOST_CHANGED, "changed_words", "vocab.extend", "lower size,"
        text = f"the new pieces change {counts} held-out words of the languages that nothing was learned from"
    if share > most:
        text += f": {'; '.join(proof.examples)}"
        if any(settings is not None and settings.strict for settings in (options.prune, options.extend)):
            raise VocabularyError(f"{key}: {text}; {advice} or set strict to false")
        yield HealthWarning(code, text, value=proof.changed, share=share)
    wanted = 0 if options.extend is None else options.extend.size + len(options.extend.tokens)
    if made.added < wanted:
        text = f"the text of train gives {made.added:,} new pieces, but {wanted:,} were requested (vocab.extend.size)"
        yield HealthWarning("few_new_pieces", text, value=made.added)
