"""text: a text file per side and shard, with a sentence per line, as most toolkits read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from nmt_prep.base.artefacts import write_bytes
from nmt_prep.base.columns import joined_lines
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config, Vocab
from nmt_prep.config.outputs import TextOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import expects_spm
from nmt_prep.text.blocks import iter_lines
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import output_file
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch, TextPairs
from nmt_prep.training.outputs.piece_lists import Limits, count_pieces, piece_list
from nmt_prep.training.outputs.vocabulary_files import (
    check_frames,
    corpus_lines,
    link_problems,
    piece_rows,
    task_pieces,
    unlinked,
    weight_lines,
    without_spm,
    write_lists,
)


class Text(Output[TextOptions]):
    """Writes ``train-00000-of-00004.en``, ``train-00000-of-00004.zh``, ``vocab.en``, ``vocab.zh``."""

    kind = "text"
    holds_corpus = True

    def form(self, options: TextOptions, config: Config) -> Form:
        if options.alignments:
            return "linked_pieces" if options.pieces else "linked_text"
        return "ids" if options.pieces else "text"

    def problems(self, options: TextOptions, config: Config) -> Iterator[tuple[str, str]]:
        if len(set(options.vocab)) < len(options.vocab):
            yield "vocab", "names a format twice"
        if options.lists and not options.pieces:
            yield "lists", "count pieces; set pieces to true, or remove lists"
        names = [*options.vocab, *(each.trainer for each in options.lists)]
        if len(set(names)) < len(names):
            yield "lists", "has a trainer twice, or one whose list vocab names"
        if options.alignments:
            yield from link_problems(config)
        if options.documents == "lines":
            if config.documents is None:
                yield (
                    "documents",
                    "lines are for the section documents, which the config lacks; remove documents",
                )
            wrong = [key for key in ("pieces", "corpus", "alignments") if getattr(options, key)]
            if wrong:
                yield "documents", f"lines are only text; set {' and '.join(wrong)} to false, or remove documents"
            if config.weight is not None:
                yield "documents", "lines are without weights, which the config has; remove weight or documents"

    def vocab_problems(self, options: TextOptions, vocab: Vocab) -> Iterator[tuple[str, str]]:
        if "hf_marian" in options.vocab and not expects_spm(vocab):
            yield "vocab", f"hf_marian needs a SentencePiece model, and {without_spm(vocab)}"
        elif "hf_marian" in options.vocab and vocab.words:
            yield "vocab", "hf_marian segments text without the steps of vocab.words; remove one of them"
        if "subword_nmt" in options.vocab and not getattr(vocab, "joint", False):
            yield "vocab", "subword_nmt needs codes that are learned from both sides; set vocab.joint to true"

    def check(self, options: TextOptions, run: RunFacts) -> None:
        check_frames(options, run, pieces=options.pieces)

    def write(self, task: ShardTask[TextOptions], tick: Tick) -> ShardMade:
        linked = isinstance(task.pairs, TextPairs) and task.pairs.linked
        suffixes = [*(task.run.codes[side] for side in SIDES), *(["align"] if linked else [])]
        suffixes += ["weight"] if task.weights else []
        suffixes += ["corpus"] if task.options.corpus else []
        pairs = without = cut = 0
        with ExitStack() as stack:
            files = [stack.enter_context(output_file(task.directory, f"{task.label}.{end}")) for end in suffixes]
            for batch in task.id_batches(tick) if isinstance(task.pairs, IdPairs) else task.text_batches(tick):
                columns = _columns(task, batch)
                columns += [] if batch.weights is None else [joined_lines(weight_lines(batch.weights))]
                columns += (
                    [joined_lines(corpus_lines(task.run, task.split, batch.corpora))] if task.options.corpus else []
                )
                for file, column in zip(files, columns, strict=True):
                    file.write(column)
                pairs += len(batch)
                if isinstance(batch, TextBatch):
                    without, cut = without + unlinked(batch), cut + batch.cut
        counts = {name: count for name, count in (("without_links", without), ("links_cut", cut)) if count}
        return ShardMade(pairs, tuple(file.facts for file in files), counts)

    def finish(self, made: Made[TextOptions]) -> None:
        write_lists(made.directory, made.run, made.options.vocab)
        files = {
            side: [
                made.directory / file.name
                for shard in made.shards["train"]
                for file in shard.files
                if file.name.endswith(f".{made.run.codes[side]}")
            ]
            for side in SIDES
        }
        for wanted in made.options.lists:
            lists = (
                {f".{made.run.codes[side]}": (side,) for side in SIDES} if wanted.joint is None else {"": wanted.joint}
            )
            for suffix, sides in lists.items():
                counts = count_pieces(lines for side in sides for path in files[side] for lines in iter_lines(path))
                text = piece_list(wanted.trainer, counts, Limits(wanted.least, wanted.most, wanted.multiple))
                write_bytes(made.directory / f"vocab.{wanted.trainer}{suffix}", text.encode())


def _columns(task: ShardTask[TextOptions], batch: IdBatch | TextBatch) -> list[memoryview]:
    """Returns the lines on both sides, and the link lines if there are links."""
    if isinstance(batch, IdBatch):
        source, target = task_pieces(task)
        return [piece_rows(source.column(batch.sources)), piece_rows(target.column(batch.targets))]
    return [joined_lines(lines) for lines in (batch.sources, batch.targets, batch.links) if lines is not None]


TEXT = Text()
