"""Chooses a run's pairs, one batch from a part or shard at a time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.base.columns import Ragged
from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.base.sides import OTHER, SIDES, Side
from nmt_prep.config import Config
from nmt_prep.corpora import row_groups
from nmt_prep.corpora.parts import WORDS, PairFile
from nmt_prep.corpora.reader import DOCUMENT
from nmt_prep.pipeline.stage import AnyStage, Outputs, outputs_in
from nmt_prep.runs.lineage import CorpusRows, Lineage, corpus_of
from nmt_prep.runs.runner import check_current
from nmt_prep.stages import STAGES
from nmt_prep.stages.clean import Clean
from nmt_prep.stages.clean.cleaned_corpora import cleaned_corpora
from nmt_prep.stages.clean.parts import REJECTED
from nmt_prep.stages.compile import Compile
from nmt_prep.stages.divide import Divide
from nmt_prep.stages.encode.encode_stage import Encode
from nmt_prep.stages.limits import Limits, limited_splits, rejected_files
from nmt_prep.stages.pair_files import files_after
from nmt_prep.stages.sentences import documents_stages
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies, steps_dir
from nmt_prep.subwords import Tokenizer
from nmt_prep.subwords.frame import Frame
from nmt_prep.training.records.causal_rows import divided_rows, text_of
from nmt_prep.training.records.dataset_json import DatasetInfo, load_dataset_info
from nmt_prep.training.records.record_columns import REPEATED, Column, ShardIndex
from nmt_prep.training.records.shard_reader import read_span
from nmt_prep.training.records.text_records import TextEncoder, read_text

Row: TypeAlias = "dict[str, Any]"  # A pair: its columns by name


@dataclass(frozen=True)
class Wanted:
    """A selection of pairs."""

    split: str
    corpus: str | None  # a corpus of the split; None for all
    row: int | None  # a row of that corpus; None for all
    pattern: str | None  # a regular expression (RE2) that a side must match; None for any text
    number: int  # maximum number of pairs
    seed: int | None  # seed of a random choice; None for the first pairs
    pieces: bool  # true to add the pieces of each side


def require(outputs: Outputs, *stages: type[AnyStage]) -> None:
    """Checks that stages have run."""
    for stage in stages:
        if stage.name not in outputs.manifests:
            raise OutputError(f"the stage {stage.name} has not run yet in {outputs.root}; run it --until {stage.name}")


def chosen(config: Config, stage: str | None, wanted: Wanted) -> Iterator[Row]:
    """Yields pairs of a run as a stage left them, as :func:`chosen_in`; None is the last stage that has text."""
    return chosen_in(
        outputs_in(config.run_dir, STAGES, config),
        stage or last_stage(config, wanted.split),
        wanted,
    )


def last_stage(config: Config, split: str) -> str:
    """Returns the last stage that has a split's text."""
    if config.limits.pieces is not None and split in limited_splits(config):
        return Limits.name
    if any(corpus.is_divided or corpus.is_held_out for corpus in config.splits.get(split, ())):
        return Divide.name
    return Clean.name if config.cleans(split) else Compile.name


def chosen_in(outputs: Outputs, stage: str, wanted: Wanted) -> Iterator[Row]:
    """Yields pairs of a run; the outputs need a config only for a wanted row or for pieces."""
    if stage == Encode.name:
        return _chosen_records(outputs, wanted)
    if stage == REJECTED:
        require(outputs, *([] if Limits.name in outputs.manifests else [Clean]))
        files = [
            _pairs_of_part(PairFile(str(path), 0, ""))
            for split, path in rejected_files(outputs)
            if split == wanted.split
        ]
        return _picked(wanted, files, of_corpus=wanted.corpus is None)
    of_text: dict[str, type[AnyStage]] = {each.name: each for each in (Compile, Clean, Divide, Limits)}
    if stage not in of_text:
        raise ArgumentError(f"no stage {stage!r} has pairs; choose {', '.join(of_text)}, rejected or encode")
    parts = _parts(outputs, of_text[stage], wanted.split)
    _check_corpus(wanted, [part.corpus for part in parts])
    rows = _of_parts(wanted, parts) if wanted.row is None else _one_row(outputs, parts, wanted)
    return _with_pieces(outputs, rows) if wanted.pieces else rows


def _check_corpus(wanted: Wanted, names: Iterable[str]) -> None:
    known = dict.fromkeys(names)
    if wanted.corpus is not None and wanted.corpus not in known:
        raise ArgumentError(
            f"there is no corpus {wanted.corpus!r} in {wanted.split}; its corpora are {', '.join(known)}"
        )


def trace(config: Config, split: str, where: str, *, pieces: bool) -> tuple[Row, int]:
    """Returns where a record comes from, and its split's record count.

    Args:
        pieces: true to add each side's pieces.
    """
    outputs = outputs_in(config.run_dir, STAGES, config)
    require(outputs, *documents_stages(config), Compile, Vocabulary, Encode)
    check_current(config, Encode, "the records")
    lineage = Lineage(outputs, split)
    row = asdict(lineage.trace(lineage.record(where)))
    directed = {corpus.name: corpus for corpus in (config.directed(split) if split in config.splits else ())}
    if known := directed.get(row["corpus"]):
        facts = {"made": config.made_side(known), "tag": known.tags}
        row |= {name: fact for name, fact in facts.items() if fact}
    home, _, corpus = corpus_of(config, split, row["corpus"])
    if config.cleans(home):
        fixes = _fixes_of(outputs, Wanted(home, corpus.name, row["row"], None, 1, None, pieces=False))
        turned = row["corpus"] != corpus.name
        row["fixes"] = [{**fix, "side": OTHER[fix["side"]] if turned else fix["side"]} for fix in fixes]
    return next(_with_pieces(outputs, [row])) if pieces else row, lineage.pairs


def _fixes_of(outputs: Outputs, wanted: Wanted) -> Iterator[Row]:
    """Yields the fixes that altered a row, in their order, with the line before and after."""
    from nmt_prep.cleaning.cleaner import chains_of  # noqa: PLC0415  (loads all rules)

    config = outputs.config
    [raw] = _one_row(outputs, _parts(outputs, Compile, wanted.split), wanted)
    for cleaned in cleaned_corpora(config):
        if (cleaned.split, cleaned.corpus.name) == (wanted.split, wanted.corpus):
            for side, chain in chains_of(cleaned.cleaning, cleaned.context(config)).items():
                lines = [line[0].as_py() for line in chain.trace(pa.array([raw[side]]))]
                for fix, before, after in zip(chain.labels, lines, lines[1:], strict=False):
                    if before != after:
                        yield {"fix": fix, "side": side, "before": before, "after": after}


def _of_parts(wanted: Wanted, parts: Iterable[PairFile]) -> Iterator[Row]:
    files: list[_Pairs] = []
    numbers: Counter[str] = Counter()
    for part in parts:
        if wanted.corpus in (None, part.corpus):
            files.append(_pairs_of_part(part, numbers[part.corpus]))
        numbers[part.corpus] += part.pairs
    return _picked(wanted, files, of_corpus=True)


def _chosen_records(outputs: Outputs, wanted: Wanted) -> Iterator[Row]:
    """Yields chosen pairs of the shards, decoded."""
    require(outputs, Vocabulary, Encode)
    directory = outputs.directory_of(Encode)
    info = load_dataset_info(directory)
    if wanted.split not in info.splits:
        raise ArgumentError(f"there is no split {wanted.split!r}; the splits are {', '.join(info.splits)}")
    _check_corpus(wanted, (corpus.name for corpus in info.corpora[wanted.split]))
    if wanted.row is not None:
        raise ArgumentError(
            f"--row is for text; --trace {wanted.corpus or 'CORPUS'}:{wanted.row} finds the record of a row"
        )
    decoder = _Decoder(outputs, info, wanted)
    first = 0
    shards = []
    for shard in info.splits[wanted.split].shards:
        shards.append(_pairs_of_shard(directory / shard.file, first, decoder))
        first += shard.pairs
    return _picked(wanted, shards, of_corpus=wanted.corpus is None)


def _parts(outputs: Outputs, stage: type[AnyStage], split: str) -> list[PairFile]:
    config: Config | None = outputs.config
    if stage is Clean and config is not None:
        if config.clean is None:
            raise ArgumentError("the config has no section clean; use --stage compile")
        if split in config.splits and not config.cleans(split):
            raise ArgumentError(f"the split {split} is not cleaned (clean.splits); use --stage compile")
    require(outputs, stage)
    if stage is not Compile and config is not None:
        parts = files_after(outputs, stage.name)
    else:
        directory = outputs.directory_of(stage)
        parts = {name: [part.below(directory) for part in files] for name, files in outputs.read(stage).parts.items()}
    if split not in parts:
        raise ArgumentError(f"there is no split {split!r}; the splits are {', '.join(parts)}")
    return parts[split]


def _one_row(outputs: Outputs, parts: list[PairFile], wanted: Wanted) -> Iterator[Row]:
    corpora = list(dict.fromkeys(part.corpus for part in parts))
    if wanted.corpus is None and len(corpora) > 1:
        raise ArgumentError(f"--row needs --corpus, because {wanted.split} has several: {', '.join(corpora)}")
    corpus = wanted.corpus or corpora[0]
    assert wanted.row is not None
    part, number = CorpusRows(outputs, wanted.split, corpus).find(parts, wanted.row)
    [pair] = _pairs_of_part(parts[part]).take([number])
    document = {DOCUMENT: pair[DOCUMENT]} if DOCUMENT in pair else {}
    yield {"corpus": corpus, "row": wanted.row, **{side: pair[side] for side in SIDES}, **document}


@dataclass(frozen=True)
class _Pairs:
    """Pairs of a file in batches, which are read one at a time."""

    sizes: Callable[[], list[int]]  # returns each batch's pair count
    read: Callable[[int], pa.Table]  # returns a batch by its index

    def take(self, numbers: Sequence[int]) -> Iterator[Row]:
        """Yields some pairs, by their ascending numbers in the file; reads only the batches that they are in."""
        first = 0
        for batch, size in enumerate(self.sizes()):
            here = [number - first for number in numbers if first <= number < first + size]
            if here:
                yield from self.read(batch).take(pa.array(here)).to_pylist()
            first += size


def _pairs_of_part(part: PairFile, first: int = 0) -> _Pairs:
    """Returns the pairs of a part: a batch is a row group. ``first`` is the number of its first pair in its corpus."""

    def read(batch: int) -> pa.Table:
        table = pa.Table.from_batches(list(part.batches([batch])))
        named = {name: table[name] for name in table.schema.names if name not in WORDS.values()}
        columns = {"corpus": named.pop("corpus").cast(pa.string())}
        if "row" in named:
            columns["row"] = named.pop("row")
        else:
            start = first + sum(row_groups(part.path)[:batch])
            columns["pair"] = pa.array(range(start, start + len(table)))
        return pa.table({**columns, **named})

    return _Pairs(lambda: row_groups(part.path), read)


def _pairs_of_shard(path: Path, before: int, decoder: _Decoder) -> _Pairs:
    """Returns a shard's pairs: a batch is a block in its index. ``before`` is the number of pairs before it."""
    index = ShardIndex.load(path)
    sizes = index.blocks[:, 2].tolist()
    beside = {name: Column([(path, sum(sizes))], name) for name in decoder.columns}

    def read(batch: int) -> pa.Table:
        starts = [*index.blocks[:, 0].tolist(), path.stat().st_size]
        first = sum(sizes[:batch])
        columns = {name: column.values(first, first + sizes[batch]).tolist() for name, column in beside.items()}
        columns = {"continues" if name == DOCUMENT else name: values for name, values in columns.items()}
        if decoder.encoder is None:
            pairs = read_span(path, starts[batch], starts[batch + 1], decoder.layout)
        else:
            text = read_text(path, first, sizes[batch])
            pairs = decoder.encoder.pairs(text, 0, 0)
            if DOCUMENT in text.schema.names:
                columns[DOCUMENT] = text.column(DOCUMENT).to_pylist()
        corpora = index.pairs[first : first + len(pairs), 2]
        sides = divided_rows(pairs) if decoder.layout == "causal" else (pairs.inputs, pairs.targets)
        table = decoder.table(path.name, before, first, corpora, *sides)
        return pa.table({**{name: table[name] for name in table.schema.names}, **columns})

    return _Pairs(lambda: sizes, read)


class _Decoder:
    """Turns IDs into tables of text."""

    def __init__(self, outputs: Outputs, info: DatasetInfo, wanted: Wanted) -> None:
        self.layout = info.layout
        self.columns = [name for name in info.columns if name not in REPEATED]
        directory = outputs.directory_of(Encode)
        code = steps_dir(outputs.config)
        self.encoder = TextEncoder.of(directory, info, wanted.split, base_dir=code) if info.layout == "text" else None
        self._frames: dict[Side, str | None] = {"source": info.vocab.source.frame, "target": info.vocab.target.frame}
        self._names = np.array([corpus.name for corpus in info.corpora[wanted.split]], object)
        self._wanted = wanted
        self._tokenizers = {side: built.load() for side, built in built_vocabularies(outputs).items()}
        tags = {corpus.name: corpus.tag for corpus in info.corpora[wanted.split]}
        self._tags: dict[str, dict[Side, str]] = {name: dict(tag or {}) for name, tag in tags.items()}

    def table(self, shard: str, before: int, first: int, corpora: Any, inputs: Ragged, targets: Ragged) -> pa.Table:
        """Returns pairs from a shard: record, shard, position, corpus, source, target, and the pieces on both sides.

        In layout ``packed``, whose order differs from the shuffle's, the column ``packed`` replaces record and
        position.
        """
        names = self._names[np.asarray(corpora, np.int64)].tolist()
        ids: dict[Side, list[list[int]]] = {"source": inputs.to_lists(), "target": targets.to_lists()}
        positions = range(first, first + len(names))
        shards = [shard] * len(names)
        columns: dict[str, list[Any]] = (
            {"shard": shards, "packed": list(positions)}
            if self.layout == "packed"
            else {"record": [before + position for position in positions], "shard": shards, "position": list(positions)}
        )
        columns["corpus"] = names
        for side in SIDES:
            columns[side] = [self._text(side, name, row) for name, row in zip(names, ids[side], strict=True)]
        for side in SIDES if self._wanted.pieces else ():
            pieces = self._tokenizers[side].pieces
            columns[f"{side}_pieces"] = [[pieces[number] for number in row] for row in ids[side]]
        return pa.table(columns)

    def _text(self, side: Side, corpus: str, ids: list[int]) -> str:
        tokenizer = self._tokenizers[side]
        if self.layout == "causal":
            return text_of(tokenizer, ids)
        inside = Frame.parse(tokenizer, self._frames[side], self._tags[corpus].get(side)).inside(ids)
        return tokenizer.decode(list(ids if inside is None else inside))


def _picked(wanted: Wanted, files: Sequence[_Pairs], *, of_corpus: bool) -> Iterator[Row]:
    """Yields the first pairs that match, or a random choice of those that match, in their order.

    ``of_corpus`` is true if all pairs in the files belong to the requested corpus.
    """
    batches = (file.read(batch) for file in files for batch in range(len(file.sizes())))
    matching = (row for batch in batches for row in _matching(batch, wanted))
    if wanted.seed is None:
        yield from islice(matching, wanted.number)
        return
    draw = random.Random(wanted.seed)  # noqa: S311
    if wanted.pattern is not None or not of_corpus:
        keyed = ((draw.random(), place, row) for place, row in enumerate(matching))
        for _, _, row in sorted(nsmallest(wanted.number, keyed), key=lambda drawn: drawn[1]):
            yield row
        return
    counts = [sum(file.sizes()) for file in files]
    numbers = sorted(draw.sample(range(sum(counts)), min(wanted.number, sum(counts))))
    first = 0
    for file, count in zip(files, counts, strict=True):
        yield from file.take([number - first for number in numbers if first <= number < first + count])
        first += count


def _matching(table: pa.Table, wanted: Wanted) -> list[Row]:
    if wanted.corpus is not None:
        table = table.filter(pc.equal(table["corpus"], wanted.corpus))
    if wanted.pattern is not None:
        try:
            sides = [pc.match_substring_regex(table[side], wanted.pattern) for side in SIDES]
        except pa.ArrowInvalid as error:
            raise ArgumentError(f"--grep {wanted.pattern}: {error}") from error
        table = table.filter(pc.or_(*sides))
    rows: list[Row] = (table.slice(0, wanted.number) if wanted.seed is None else table).to_pylist()
    return rows


def _with_pieces(outputs: Outputs, rows: Iterable[Row]) -> Iterator[Row]:
    """Yields pairs with the pieces of both sides, without tags and eos."""
    require(outputs, Vocabulary)
    tokenizers: dict[Side, Tokenizer] = {side: built.load() for side, built in built_vocabularies(outputs).items()}
    for row in rows:
        pieces = {
            f"{side}_pieces": [tokenizers[side].pieces[number] for number in tokenizers[side].encode(row[side])]
            for side in SIDES
        }
        yield {**row, **pieces}
