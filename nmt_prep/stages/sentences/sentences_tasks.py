"""The tasks of the `sentences` stage: documents are read, divided into sentences, and aligned, shard by shard.

The rounds are

1. ``documents``: a task for each corpus reads its documents into shards (:mod:`~nmt_prep.stages.sentences.reading`);
2. ``sentences-first``: a task for each shard divides its documents into sentences, finds first paths, and divides long
   documents into pieces, so that a task of a later round holds a few thousand sentences;
3. ``sentences-1-learn`` and ``sentences-2-learn``: a task for each corpus learns a model from the previous paths;
4. ``sentences-1`` and ``sentences``, each after its model: a task for each shard finds paths by the model's words.
   The last round writes the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from nmt_prep.base.columns import TextColumn
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import AlignmentModelError, CorpusError
from nmt_prep.base.runtime import kept
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.learning import learn
from nmt_prep.cleaning.align.model import Model, check_known, shared_model
from nmt_prep.cleaning.align.settings import SCORE_SETTINGS
from nmt_prep.cleaning.health_warnings import document_warnings
from nmt_prep.cleaning.pair_sample import lines_of
from nmt_prep.cleaning.sentences.aligner import Aligner, Level, Lexicon, Texts, capped
from nmt_prep.cleaning.sentences.document_texts import joined, lines_of_html, sentences_of
from nmt_prep.cleaning.sentences.search import Beads, Priors, lengths_of, path_by_lengths
from nmt_prep.config import Languages
from nmt_prep.config.documents import Documents
from nmt_prep.corpora import iter_pairs
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round
from nmt_prep.stages.sentences.observed import DocumentNote, note_of
from nmt_prep.stages.sentences.reading import Shard, lists_of, read_shard, rows_of, write_shard, write_table

LONGEST_PIECE = 5_000  # Minimum number of source sentences in a document that is divided into pieces
_CUT_WITHIN = 500  # Number of sentences before and after an even cut among which the actual cut is chosen


@dataclass(frozen=True)
class FirstTask:
    """A shard whose documents are divided into sentences and aligned for the first time."""

    key: str
    where: str  # key of the corpus in the config, for messages
    raw: Path  # the shard
    options: Documents  # how the documents are divided
    languages: tuple[str, str]
    prior: Path | None  # a model of other text; None if there is none
    directory: Path  # directory for the files


@dataclass(frozen=True)
class FirstShards:
    """The shards made from one shard of raw documents."""

    shards: tuple[Shard, ...]  # several if it has a long document
    empty: tuple[str, ...]  # documents without sentences
    strange: tuple[tuple[str, str], ...]  # documents that seem to be in other languages, each with a warning


def align_first(task: FirstTask, tick: Tick) -> FirstShards:
    """Divides documents into sentences, and aligns them by lengths, equal words and a prior's words.

    Ticks are bytes of text.
    """
    empty: list[str] = []
    strange: list[tuple[str, str]] = []
    languages = Languages(source=task.languages[0], target=task.languages[1])
    held: list[tuple[str, Texts]] = []
    groups: list[list[tuple[str, Texts]]] = []
    for row in rows_of(task.raw):
        name, *raw = row["name"], row["source"], row["target"]
        try:
            texts = tuple(_divided(text, task.options, tag) for text, tag in zip(raw, task.languages, strict=True))
        except CorpusError as error:
            raise CorpusError(f"{task.where}: document {name}: {error}") from error
        tick(sum(len(text.encode()) for text in raw))
        if not all(map(len, texts)):
            empty.append(name)
            continue
        strange += document_warnings([(name, dict(zip(SIDES, texts, strict=True)))], languages)
        if len(texts[0]) <= LONGEST_PIECE:
            held.append((name, (texts[0], texts[1])))
        else:
            groups += [[(name, piece)] for piece in _pieces((texts[0], texts[1]))]
    groups += [held] if held else []
    shards = []
    for number, documents in enumerate(groups):
        file = task.directory / f"{task.key}-{number:05d}.parquet"
        names, texts_of = zip(*documents, strict=True)
        columns = [
            pa.array(names, pa.large_string()),
            *(lists_of([texts[side] for texts in texts_of]) for side in (0, 1)),
        ]
        write_table(file, pa.table(columns, ["name", "source", "target"]))
        paths = Aligner(texts_of, Lexicon.begun(texts_of, _checked_prior(task, texts_of))).first_paths()
        shards.append(write_shard(file, task.key, number, texts_of, paths, task.languages))
    return FirstShards(tuple(shards), tuple(empty), tuple(strange))


def _checked_prior(task: FirstTask, texts: Sequence[Texts]) -> Model | None:
    if task.prior is None:
        return None
    prior = shared_model(task.prior)
    try:
        check_known(
            prior, task.raw, *(TextColumn.from_arrow(pa.concat_arrays(side)) for side in zip(*texts, strict=True))
        )
    except AlignmentModelError as error:
        message = str(error).replace(str(task.raw), "the documents")
        raise AlignmentModelError(f"{task.where}.documents.model: {message}") from error
    return prior


def _divided(text: str, options: Documents, language: str) -> pa.Array:
    if options.format == "html":
        text = lines_of_html(text)
    return sentences_of(text, options.split, language)


def _pieces(texts: Texts) -> Iterator[Texts]:
    """Yields pieces of a long document, cut in the middle of the longest runs of two-sentence beads.

    The beads are found by sentence lengths, which takes a few bytes of memory for each sentence.
    """
    beads = path_by_lengths(*map(lengths_of, texts))
    single = (beads[:, 1] - beads[:, 0] == 1) & (beads[:, 3] - beads[:, 2] == 1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], single.astype(np.int8), [0]])))
    runs = edges.reshape(-1, 2)  # of each run: its first bead, and the bead after its last one
    count = -(-len(texts[0]) // LONGEST_PIECE)
    cuts = [(0, 0)]
    for number in range(1, count):
        middle = np.searchsorted(beads[:, 0], number * len(texts[0]) // count)
        inside = np.clip(runs, middle - _CUT_WITHIN, middle + _CUT_WITHIN)
        place = middle if not len(runs) else int(inside[np.argmax(np.diff(inside)[:, 0])].sum()) // 2
        cuts.append((int(beads[place, 0]), int(beads[place, 2])))
    cuts.append((len(texts[0]), len(texts[1])))
    for (a, c), (b, d) in pairwise(cuts):
        if b > a and d > c:
            yield texts[0][a:b], texts[1][c:d]


FIRST = Round(
    "sentences-first",
    align_first,
    FirstShards,
    unit="bytes",
    words="aligning sentences by lengths",
    made=lambda _, result: [file for shard in result.shards for file in shard.files],
)


@dataclass(frozen=True)
class Prior:
    """A prior model, which is capped to about the word count of a corpus's documents."""

    file: Path
    sentences: int  # source sentence count of the corpus

    def model(self) -> Model:
        """Returns the capped model."""
        return capped(shared_model(self.file), self.sentences)


@dataclass(frozen=True)
class LearnTask:
    """A corpus to learn a model from."""

    key: str
    pairs: tuple[Path, ...]  # files with the text of beads
    prior: Prior | None
    threads: int
    output: Path  # file for the model


def learn_beads(task: LearnTask, tick: Tick) -> str:
    """Writes a corpus's model; returns its file name. Reports progress per bead in each round of learning."""

    def text() -> Iterator[tuple[TextColumn, TextColumn]]:
        for path in task.pairs:
            yield from map(lines_of, iter_pairs(path, columns=SIDES))

    prior = None if task.prior is None else task.prior.model()
    learn(text, SCORE_SETTINGS, prior, task.threads, tick).save(task.output)
    return task.output.name


LEARN = tuple(Round(f"sentences-{number}-learn", learn_beads, str, words="learning alignment") for number in (1, 2))


@dataclass(frozen=True)
class AlignTask:
    """A shard to align by a model's words."""

    key: str
    shard: Shard  # the shard with the previous beads
    model: Path
    prior: Prior | None  # the model that learning started from; None without one
    learned: bool  # True if the model learned from the previous beads
    priors: Priors
    level: Level | None  # the scores of the corpus; None before they are known
    languages: tuple[str, str]
    least: float | None  # least score of a pair; None to keep all
    output: Path  # directory for files, or the last round's pair file


def align_again(task: AlignTask, tick: Tick) -> Shard:
    """Finds a shard's paths by the words in a model. Reports progress per bead."""
    _, texts, before = read_shard(task.shard)
    aligner, paths = _aligned(task, texts, before)
    shard = write_shard(task.shard.file, task.key, 0, texts, paths, task.languages, task.output)
    tick(task.shard.count)
    scores = aligner.scores(paths, before if task.learned else None)
    return replace(shard, level=Level.of(scores, aligner.shuffled_scores(paths), aligner.cut))


def _aligned(task: AlignTask, texts: Sequence[Texts], before: Sequence[Beads]) -> tuple[Aligner, list[Beads]]:
    aligner = Aligner(texts, _lexicon(task.model, task.prior, task.model.stat().st_mtime_ns))
    return aligner, aligner.paths(before, task.priors, learned=task.learned)


AGAIN = Round("sentences-1", align_again, Shard, made=lambda _, shard: shard.files, words="aligning sentences by words")


@dataclass(frozen=True)
class AlignedPairs:
    """A shard's pairs."""

    pairs: int
    weak: int  # number of pairs that were dropped for their scores
    notes: tuple[DocumentNote, ...]  # notes on its documents, or on pieces of documents
    sha256: str  # digest of the file; empty if there are no pairs, and so no file
    size: int


def write_pairs(task: AlignTask, tick: Tick) -> AlignedPairs:
    """Finds the last paths of a shard, and writes its pairs with documents and scores. Reports progress per bead."""
    names, texts, before = read_shard(task.shard)
    assert task.level is not None
    aligner, paths = _aligned(task, texts, before)
    scores = aligner.scores(paths, before if task.learned else None)
    notes, chosen, weak, first = [], [], 0, 0
    for name, sides, path in zip(names, texts, paths, strict=True):
        own = scores[first : first + len(path)]
        first += len(path)
        sizes = len(sides[0]), len(sides[1])
        notes.append(note_of(name, path, own, task.level, sizes))
        kept = (path[:, 1] > path[:, 0]) & (path[:, 3] > path[:, 2])
        strong = kept if task.least is None else kept & ~(own < task.least)
        weak += int(kept.sum() - strong.sum())
        if not notes[-1].translated:
            continue
        columns = joined(sides, path[strong], task.languages)
        documents = pa.array([name] * int(strong.sum()), pa.large_string())
        chosen.append(pa.table([*columns, documents, pa.array(own[strong], from_pandas=True)], _COLUMNS))
    tick(task.shard.count)
    pairs = sum(map(len, chosen))
    if not pairs:
        return AlignedPairs(0, weak, tuple(notes), "", 0)
    write_table(task.output, pa.concat_tables(chosen))
    return AlignedPairs(pairs, weak, tuple(notes), sha256_of(task.output), task.output.stat().st_size)


_COLUMNS = ["source", "target", "document", "score"]

PAIRS = Round(
    "sentences",
    write_pairs,
    AlignedPairs,
    made=lambda task, result: [task.output] if result.pairs else [],
    words="writing aligned sentences",
)


@kept()
def _lexicon(model: Path, prior: Prior | None, changed: int) -> Lexicon:
    """Returns a model's lexicon; the file's modification time is part of the cache key."""
    del changed
    lexicon = Lexicon(Model.load(model), None if prior is None else prior.model())
    _ = lexicon.links  # threads of several tasks would each compute it
    return lexicon
