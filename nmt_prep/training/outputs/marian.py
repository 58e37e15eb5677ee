"""marian: TSV files with both sides of a pair on a line, and the vocabularies that Marian reads.

Marian segments text itself, with a SentencePiece model. With other vocabularies the lines are pieces, and the
vocabulary is a plain list. A tab in the text would start another column, so tabs become spaces. Further columns may
have the piece links, for guided alignment, and the pair weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import concatenated
from nmt_prep.base.sides import SIDES, Side
from nmt_prep.config import Config, Vocab
from nmt_prep.config.outputs import MarianOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import expects_spm
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import output_file
from nmt_prep.training.outputs.output_pairs import IdPairs
from nmt_prep.training.outputs.vocabulary_files import (
    check_frames,
    copy_file,
    headed_list,
    line_batches,
    link_problems,
    piece_rows,
    task_pieces,
    unlinked,
    weight_lines,
    without_spm,
    write_lines,
)


class Marian(Output[MarianOptions]):
    """Writes ``train-00000-of-00004.tsv``, and ``vocab.en.spm`` or ``vocab.en.txt`` for each side."""

    kind = "marian"

    def form(self, options: MarianOptions, config: Config) -> Form:
        pieces = not expects_spm(config.vocab) if options.pieces is None else options.pieces
        if options.alignments:
            return "linked_pieces" if pieces else "linked_tsv"
        return "ids" if pieces else "text"

    def problems(self, options: MarianOptions, config: Config) -> Iterator[tuple[str, str]]:
        if options.alignments:
            yield from link_problems(config)

    def vocab_problems(self, options: MarianOptions, vocab: Vocab) -> Iterator[tuple[str, str]]:
        if options.pieces is False and not expects_spm(vocab):
            yield (
                "pieces",
                f"Marian segments text by a SentencePiece model only, and {without_spm(vocab)}; set it to true",
            )

        if not options.pieces and expects_spm(vocab) and vocab.words:
            yield "pieces", "Marian segments text without the steps of vocab.words; set it to true"

    def check(self, options: MarianOptions, run: RunFacts) -> None:
        has_spm = run.vocabularies["source"].load().has_spm
        pieces = not has_spm if options.pieces is None else options.pieces
        check_frames(options, run, pieces=pieces)

    def write(self, task: ShardTask[MarianOptions], tick: Tick) -> ShardMade:
        counts: Counter[str] = Counter()
        with output_file(task.directory, f"{task.label}.tsv") as file:
            only_pieces = isinstance(task.pairs, IdPairs) and not task.weights
            for rows, pairs in _pieces(task, tick) if only_pieces else _lines(task, tick, counts):
                file.write(rows)
                counts["pairs"] += pairs
        return ShardMade(
            counts.pop("pairs", 0), (file.facts,), {name: count for name, count in counts.items() if count}
        )

    def finish(self, made: Made[MarianOptions]) -> None:
        for side, name in vocabulary_names(made.run).items():
            vocabulary = made.run.vocabularies[side]
            if name.endswith(".spm"):
                copy_file(vocabulary.path, made.directory / name)
            else:
                write_lines(made.directory / name, headed_list(vocabulary.load()))


def vocabulary_names(run: RunFacts) -> dict[Side, str]:
    """Returns the file names of the vocabularies by side; one name if both sides share the vocabulary.

    The suffix tells Marian the format: ``.spm`` is a SentencePiece model, and ``.txt`` a list.
    """
    sides = SIDES[:1] if run.shared else SIDES
    return {
        side: f"vocab{'' if run.shared else f'.{run.codes[side]}'}"
        f".{'spm' if run.vocabularies[side].load().has_spm else 'txt'}"
        for side in sides
    }


def _pieces(task: ShardTask[MarianOptions], tick: Tick) -> Iterator[tuple[memoryview, int]]:
    """Yields ID pairs as piece lines, and their count."""
    source, target = task_pieces(task)
    for batch in task.id_batches(tick):
        yield piece_rows(source.column(batch.sources), target.column(batch.targets)), len(batch)


def _lines(task: ShardTask[MarianOptions], tick: Tick, counts: Counter[str]) -> Iterator[tuple[memoryview, int]]:
    """Yields pairs of text as lines, and their number; counts replaced tabs, and pairs that lack links."""
    for batch in line_batches(task, tick):
        (source, more), (target, more_of_target) = _without_tabs(batch.sources), _without_tabs(batch.targets)
        counts["tabs_replaced"] += more + more_of_target
        counts["without_links"] += unlinked(batch)
        counts["links_cut"] += batch.cut
        others = [] if batch.links is None else [batch.links]
        others += [] if batch.weights is None else [weight_lines(batch.weights)]
        yield _table(source, target, *others), len(batch)


def _without_tabs(lines: pa.Array) -> tuple[pa.Array, int]:
    """Returns lines with spaces for tabs, and the number of tabs."""
    tabs = pc.sum(pc.count_substring(lines, "\t")).as_py() or 0
    return (pc.replace_substring(lines, "\t", " ") if tabs else lines), tabs


def _table(*columns: pa.Array) -> memoryview:
    parts = [part for column in columns for part in (column, "\t")]
    rows = concatenated(*parts[:-1], "\n")
    return memoryview(rows.buffers()[2])[: pc.sum(pc.binary_length(rows)).as_py() or 0]


MARIAN = Marian()
