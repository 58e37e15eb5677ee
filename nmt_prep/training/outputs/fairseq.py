"""fairseq: a binarized data directory with dictionaries, as ``fairseq-preprocess`` makes it.

fairseq numbers its pieces: 0 ``<s>``, 1 ``<pad>``, 2 ``</s>``, 3 ``<unk>``, then the dictionary's lines. Ids of
special pieces are mapped to the IDs of fairseq's special pieces, all other IDs to the lines, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
from _nmt_prep_core import count_ids

from nmt_prep.base.artefacts import atomic_write
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.config.outputs import FairseqOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.training.outputs.output import Form, Made, Output, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import IdType, id_type, sequence_file
from nmt_prep.training.outputs.vocabulary_files import write_lines

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
_MULTIPLE = 8  # Divisor for the size of every dictionary, special pieces included


class Fairseq(Output[FairseqOptions]):
    """Writes ``train.en-zh.en.bin``, ``train.en-zh.en.idx``, the same for zh, and ``dict.en.txt``, ``dict.zh.txt``.

    Further shards are ``train1.en-zh.…`` and so on; fairseq joins the shards of the training split only. A run with
    several language pairs gives files for each pair, as fairseq's tasks with ``lang_pairs`` read them.
    """

    kind = "fairseq"

    def form(self, options: FairseqOptions, config: Config) -> Form:
        return "ids"

    def shards(self, options: FairseqOptions, config: Config, split: str) -> int:
        return options.shards.get(split, config.shards(split) if split == "train" else 1)

    def problems(self, options: FairseqOptions, config: Config) -> Iterator[tuple[str, str]]:
        for split, shards in options.shards.items():
            if split != "train" and shards > 1:
                yield (
                    "shards",
                    f"fairseq reads the first shard of {split} only, as of every split but train; set it to 1",
                )
        if config.pairs is not None and not config.vocab.shared:
            yield "kind", "fairseq has one dictionary for each language, on both sides; set vocab.shared to true"
        count = self.shards(options, config, "train")
        names = {f"train{number}" for number in range(1, count)}
        for split in sorted(names & set(config.splits)):
            yield "shards", f"shard {split[5:]} of train would have the files of the split {split}; rename that split"

    def write(self, task: ShardTask[FairseqOptions], tick: Tick) -> ShardMade:
        tokenizers = [task.run.vocabularies[side].load() for side in SIDES]
        counts = [np.zeros(len(tokenizer), np.int64) for tokenizer in tokenizers]
        pairs = 0
        numbers, sizes = _languages(task)
        with ExitStack() as stack:
            opened = {}
            for codes, size in sizes.items():
                for side, code in zip(SIDES, codes, strict=True):
                    stem = f"{task.split}{task.shard or ''}.{'-'.join(codes)}.{code}"
                    dtype = _dtype(tokenizers[SIDES.index(side)])
                    opened[codes, side] = stack.enter_context(
                        sequence_file(task.directory, stem, dtype, size, documents=False)
                    )
            tables = [new_ids(tokenizer).astype(_dtype(tokenizer)) for tokenizer in tokenizers]
            texts = [PieceText(tokenizer) for tokenizer in tokenizers]
            for batch in task.id_batches(tick):
                for side, text, table, count, rows in zip(
                    SIDES, texts, tables, counts, (batch.sources, batch.targets), strict=True
                ):
                    text.check(rows.values)  # the dictionary could not spell a piece with white space
                    count_ids(count, rows.values)
                    for group, codes in enumerate(sizes):
                        own = rows
                        if len(sizes) > 1:
                            own = rows.taken(np.flatnonzero(numbers[batch.corpora] == group))
                        opened[codes, side][0].add(table.take(own.values), own.offsets)
                pairs += len(batch)
        made = tuple(file for _, facts in opened.values() for file in facts())
        counted = task.scratch_path("counts.npy")
        with atomic_write(counted) as beside, beside.open("wb") as output:
            np.save(output, np.concatenate(counts))
        return ShardMade(pairs, made, {}, (str(counted),))

    def finish(self, made: Made[FairseqOptions]) -> None:
        sizes = [len(made.run.vocabularies[side].load()) for side in SIDES]
        total = np.zeros(sum(sizes), np.int64)
        for path in (path for shard in made.shards["train"] for path in shard.scratch):
            total += np.load(path)
        source, target = np.split(total, [sizes[0]])
        for side, occurring in zip(SIDES, [source + target] * 2 if made.run.shared else [source, target], strict=True):
            lines = dictionary(made.run.vocabularies[side].load(), occurring)
            listed = [pair._asdict()[side] for pairs in made.run.pairs.values() for pair in pairs]
            for code in dict.fromkeys(listed or [made.run.codes[side]]):
                write_lines(made.directory / f"dict.{code}.txt", lines)


def new_ids(tokenizer: Tokenizer) -> npt.NDArray[np.int64]:
    """Returns fairseq's ID for each tokenizer ID."""
    special = (tokenizer.bos_id, tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id)
    ids = np.full(len(tokenizer), -1)
    for new, old in enumerate(special):
        if old is not None:
            ids[old] = new
    others = ids < 0
    ids[others] = len(SPECIALS) + np.arange(int(others.sum()))
    return ids


def dictionary(tokenizer: Tokenizer, counts: npt.NDArray[np.int64]) -> list[str]:
    """Returns the lines of a dictionary: the pieces with their counts, without special pieces, then padding.

    A piece spelled like an earlier piece or a special piece is marked, so that it keeps its ID.
    """
    ids, seen, lines = new_ids(tokenizer), set(SPECIALS), list[str]()
    for new, piece, count in zip(ids.tolist(), PieceText(tokenizer).words(), counts.tolist(), strict=True):
        if new >= len(SPECIALS):
            lines.append(f"{piece} {count}{' #fairseq:overwrite' if piece in seen else ''}")
            seen.add(piece)
    missing = -(len(SPECIALS) + len(lines)) % _MULTIPLE
    return [*lines, *(f"madeupword{number:04d} 0" for number in range(missing))]


def _dtype(tokenizer: Tokenizer) -> IdType:
    at_most = -(-(len(tokenizer) + len(SPECIALS)) // _MULTIPLE) * _MULTIPLE  # lines of the dictionary
    return id_type(at_most, "uint32")


def _languages(task: ShardTask[FairseqOptions]) -> tuple[npt.NDArray[np.int64], dict[tuple[str, ...], int]]:
    """Returns the index of each corpus's language pair, and the shard's number of sentence pairs by language pair."""
    of_corpora = task.run.pairs.get(task.split)
    if not of_corpora:
        return np.zeros(0, np.int64), {tuple(task.run.codes[side] for side in SIDES): task.sequences()}
    known = list(dict.fromkeys(of_corpora))
    numbers = np.array([known.index(pair) for pair in of_corpora], np.int64)
    sizes = np.zeros(len(known), np.int64)
    for batch in task.id_batches(lambda pairs: None):
        sizes += np.bincount(numbers[batch.corpora], minlength=len(known))
    return numbers, {tuple(pair): count for pair, count in zip(known, sizes.tolist(), strict=True)}


FAIRSEQ = Fairseq()
