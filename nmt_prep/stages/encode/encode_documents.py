"""Documents in the `encode` stage. One round finds each part's documents, another one shuffles them.

A document consists of a corpus's consecutive pairs with the same name in the column ``document``; a pair without a name
is a document of its own. Shuffles train documents; documents in other splits keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.digests import sha256_of
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.sides import Side
from nmt_prep.config import Config
from nmt_prep.corpora import iter_pairs, row_groups
from nmt_prep.corpora.parts import BEFORE, PairFile
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.corpora.scores import document_starts
from nmt_prep.pipeline.engines import Tick
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import Job
from nmt_prep.stages.encode.encode_tasks import spill_name
from nmt_prep.stages.vocab import built_vocabularies
from nmt_prep.training.records.dataset_json import DocumentsInfo
from nmt_prep.training.records.document_index import TABLE_BYTES, documents_path, write_table
from nmt_prep.training.records.record_columns import note_path
from nmt_prep.training.records.shuffle_plan import GlobalShuffle, ShardPlan


@dataclass(frozen=True)
class FindTask:
    """A part whose documents are to be found."""

    key: str
    part: PairFile
    # the previous part of the same corpus; None for the first one, and for a corpus without documents
    before: PairFile | None
    named: bool  # true if the corpus has documents
    notes: Path  # prefix of the file names to write


def find_documents(task: FindTask, tick: Tick) -> bool:
    """Writes lengths of documents, and ``document``; True if the first one continues the previous part's last."""
    # `lengths` divides the part into documents, to shuffle them whole. `continues` marks the pairs that may be joined
    # with the pair before: in the same document, and next to it in the corpus. Where cleaning dropped a pair, the two
    # are neighbors now, but a text that joins them would have a hole.
    lengths, continues = np.ones(task.part.pairs, np.int64), np.zeros(task.part.pairs, np.uint8)
    joined = False
    if task.named:
        last = _last_of(task.before)
        starts = np.empty(task.part.pairs, np.bool_)
        first = 0
        for batch in iter_pairs(task.part.path, columns=[DOCUMENT, "row", BEFORE["source"]]):
            names, rows, here = batch.column(DOCUMENT), batch.column("row").to_numpy(), slice(first, first + len(batch))
            starts[here] = False
            starts[here][document_starts(names)] = True
            starts[here][names.is_null().to_numpy(zero_copy_only=False)] = True
            same = names[0].is_valid and last is not None and names[0].as_py() == last[0]
            starts[first] = not same
            joined = joined or (same and first == 0)
            # Dropped duplicates that the pair keeps as context are no hole, so they do not count.
            gaps = np.diff(rows, prepend=-2 if last is None else last[1])
            if BEFORE["source"] in batch.schema.names:
                gaps -= batch.column(BEFORE["source"]).value_lengths().to_numpy()
            follows = gaps == 1
            continues[here] = follows & ~starts[here]
            last, first = (names[-1].as_py(), int(rows[-1])), first + len(batch)
            tick(len(batch))
        # Lengths are of this part only; `OrderTask.lengths` adds the first one to the last of the part before if
        # `joined`.
        starts[:1] = True
        lengths = np.diff(np.flatnonzero(starts), append=len(starts))
    for column, values in (("lengths", lengths), (DOCUMENT, continues)):
        with atomic_write(note_path(task.notes, column)) as beside:
            values.tofile(beside)
    return joined


def _last_of(part: PairFile | None) -> tuple[str | None, int] | None:
    if part is None:
        return None
    batch = [*iter_pairs(part.path, [len(row_groups(part.path)) - 1], [DOCUMENT, "row"])][-1]
    return batch.column(DOCUMENT)[-1].as_py(), batch.column("row")[-1].as_py()


FIND = Round(
    "documents",
    find_documents,
    bool,
    words="finding documents",
    made=lambda task, _: [note_path(task.notes, "lengths"), note_path(task.notes, DOCUMENT)],
)


@dataclass(frozen=True)
class OrderTask:
    """A split's documents to order."""

    key: str
    split: str
    seed: int
    notes: tuple[Path, ...]  # prefix of each part's file names
    # for each part, whether its first document continues the last document of the previous part
    joined: tuple[bool, ...]
    table: Path  # the table to write

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yields all document lengths in the order of the rows."""
        held = np.empty(0, np.int64)
        for note, joined in zip(self.notes, self.joined, strict=True):
            read = np.fromfile(note_path(note, "lengths"), np.int64)
            if joined:
                read[0] += held[-1]
            elif len(held):
                yield held
            yield read[:-1]
            held = read[-1:]
        yield held


def order_documents(task: OrderTask, tick: Tick) -> int:
    """Writes a split's document table; returns its document count."""
    del tick

    def shuffle(documents: int) -> GlobalShuffle:
        return GlobalShuffle(documents, task.seed, f"documents of {task.split}")

    return write_table(task.table, task.lengths(), shuffle if task.split == "train" else None)


ORDER = Round("document-order", order_documents, int, unit="splits", made=lambda task, _: [task.table])


def order_splits(
    job: Job, parts: Mapping[str, Sequence[PairFile]], plans: Mapping[str, ShardPlan]
) -> Rounds[dict[str, int]]:
    """Yields the rounds that order the splits' documents; returns their document counts."""
    named = {
        split: {corpus.name for corpus in job.config.directed(split) if corpus.document is not None} for split in parts
    }
    notes = {
        split: tuple(job.scratch / spill_name(split, plan, number) for number in range(len(parts[split])))
        for split, plan in plans.items()
    }
    tasks = {
        split: [
            FindTask(
                key=f"documents-{split}-{number:05d}",
                part=part,
                before=listed[number - 1]
                if number and listed[number - 1].corpus == part.corpus and part.corpus in named[split]
                else None,
                named=part.corpus in named[split],
                notes=notes[split][number],
            )
            for number, part in enumerate(listed)
        ]
        for split, listed in parts.items()
    }
    joined = yield from FIND.run_groups(tasks, sum(plan.rows for plan in plans.values()))
    orders = [
        OrderTask(
            key=f"document-order-{split}",
            split=split,
            seed=job.config.seed,
            notes=notes[split],
            joined=tuple(flags),
            table=documents_path(job.directory, split),
        )
        for split, flags in joined.items()
    ]
    counts = yield from ORDER.run(orders, len(orders))
    return dict(zip(joined, counts, strict=True))


def tables_of(job: Job, splits: Iterable[str]) -> tuple[dict[str, str], dict[str, int]]:
    """Returns the digests of the splits' tables, and the document count as a stage count."""
    if job.config.documents is None or job.config.records.layout == "causal":
        return {}, {}
    paths = [documents_path(job.directory, split) for split in splits]
    digests = {str(path.relative_to(job.directory)): sha256_of(path) for path in paths}
    return digests, {"documents": sum(path.stat().st_size // TABLE_BYTES for path in paths)}


def document_settings(config: Config) -> dict[str, object]:
    """Returns the corpora with documents, as settings of a stage that orders pairs by documents."""
    return {f"{split}.{corpus.name}": True for split, corpus in config.corpora if corpus.document is not None}


def documents_info(job: Job) -> DocumentsInfo | None:
    """Returns how loaders join the segments of documents; None for single segments."""
    settings = job.config.documents
    if settings is None or job.config.records.layout == "causal":
        return None
    pieces: dict[Side, int | None] = {}
    for side, built in built_vocabularies(job).items():
        tokenizer = built.load()
        if settings.piece is not None:
            try:
                pieces[side] = tokenizer.piece_id(settings.piece)
            except VocabularyError as error:
                raise VocabularyError(f"documents.separator: {error}; add it to vocab.reserved") from error
            continue
        first, second = "It is late.", "We go."
        if tokenizer.encode(f"{first} {second}") != [*tokenizer.encode(first), *tokenizer.encode(second)]:
            raise VocabularyError(
                f"documents.separator: words at the start of a text have other pieces than words after a space in "
                f"{built.path.name}, so that texts cannot be joined by a space; name a piece of vocab.reserved"
            )
        pieces[side] = None
    context = settings.context
    return DocumentsInfo(
        source_separator=pieces["source"],
        target_separator=pieces["target"],
        max_tokens=settings.max_tokens,
        max_segments=settings.max_segments,
        share=settings.share,
        context=None if context is None else (context.source, context.target),
    )
