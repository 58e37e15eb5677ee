"""Vocabularies in the formats of other toolkits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from _nmt_prep_core import PieceTable, piece_lines

from nmt_prep.base.artefacts import atomic_write, link_or_copy, write_json, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import VocabularyError
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config, Vocab
from nmt_prep.config.outputs import ListFormat, OutputOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.subwords import SubwordNMTTokenizer, Tokenizer, dialect_of, inner_of
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.subwords.words import files_of
from nmt_prep.training.outputs.output import RunFacts, ShardTask
from nmt_prep.training.outputs.output_pairs import TextBatch, TextPairs

LIST_HEAD = ("<unk>", "<s>", "</s>")
"""The first pieces in every tensorflow/nmt vocabulary list; Marian needs them too."""


def check_frames(options: OutputOptions, run: RunFacts, *, pieces: bool) -> None:
    """Checks that text or piece lines can have the frames in ``vocab.frame``.

    Lines can have a tag, and piece lines also other pieces before the IDs. Since the trainer adds the end of
    sentence, a frame can have no other piece after the IDs.
    """
    for side, text in run.frames.items():
        tokenizer = run.vocabularies[side].load()
        frame = Frame.parse(tokenizer, text)
        if frame.after not in ((), (tokenizer.eos_id,)):
            problem = "puts more than the end of sentence after the IDs, and the trainer ends each line itself"
        elif frame.before and not pieces:
            problem = "puts pieces before the IDs, which text cannot have; set pieces: true"
        else:
            continue
        raise VocabularyError(
            f"vocab.frame.{side}: {text!r} {problem}. The output {options.directory} cannot hold such rows; outputs of "
            "IDs can: {kind: huggingface, rows: ids}, megatron"
        )


def headed_list(tokenizer: Tokenizer) -> list[str]:
    """Returns a tensorflow/nmt vocabulary list: :data:`LIST_HEAD`, then the other pieces in ID order."""
    return [*LIST_HEAD, *(text for text in PieceText(tokenizer).words() if text not in LIST_HEAD)]


def plain_list(tokenizer: Tokenizer) -> list[str]:
    """Returns the pieces in ID order, without special pieces, which Eole and JoeyNMT add themselves."""
    special = (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id)
    return [text for number, text in enumerate(PieceText(tokenizer).words()) if number not in special]


_LISTS: Mapping[str, Callable[[Tokenizer], list[str]]] = {"list": headed_list, "eole": plain_list, "joey": plain_list}


def write_lists(directory: Path, run: RunFacts, formats: Sequence[ListFormat]) -> None:
    """Writes ``vocab.<side>`` (format ``list``), ``vocab.<format>.<side>`` or the files of a MarianTokenizer.

    The format ``subword_nmt`` has files of codes too.
    """
    for list_format in formats:
        if list_format == "hf_marian":
            write_hf_marian(directory, run)
            continue
        if list_format == "subword_nmt":
            for side in SIDES:
                tokenizer = inner_of(run.vocabularies[side].load())
                assert isinstance(tokenizer, SubwordNMTTokenizer)
                tokenizer.save(directory / f"codes.{run.codes[side]}")
                write_lines(directory / f"vocab.subword_nmt.{run.codes[side]}", tokenizer.vocabulary())
            continue
        middle = "" if list_format == "list" else f".{list_format}"
        for side in SIDES:
            pieces = _LISTS[list_format](run.vocabularies[side].load())
            write_lines(directory / f"vocab{middle}.{run.codes[side]}", pieces)


def write_hf_marian(directory: Path, run: RunFacts) -> None:
    """Writes the files for a ``transformers.MarianTokenizer`` with the SentencePiece models' IDs.

    The files are ``source.spm``, ``target.spm``, ``vocab.json``, ``target_vocab.json`` unless the sides share a
    vocabulary, and ``tokenizer_config.json``. MarianTokenizer needs ``<pad>``, ``</s>`` and ``<unk>``; they get new IDs
    if a model lacks them.
    """
    names = {"source": "vocab.json"} if run.shared else {"source": "vocab.json", "target": "target_vocab.json"}
    for side in SIDES:
        copy_file(run.vocabularies[side].path, directory / f"{side}.spm")
        if side in names:
            ids = {piece: number for number, piece in enumerate(run.vocabularies[side].load().pieces)}
            for needed in ("<unk>", "</s>", "<pad>"):
                ids.setdefault(needed, len(ids))
            write_json(directory / names[side], ids)
    config = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": run.languages["source"],
        "target_lang": run.languages["target"],
        "separate_vocabs": not run.shared,
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
    }
    write_json(directory / "tokenizer_config.json", config)


def copy_vocabularies(directory: Path, run: RunFacts) -> None:
    """Copies the vocabularies and the steps before them, with the names that ``transformers`` loads where it can.

    SentencePiece models become the files of a MarianTokenizer. A shared ``tokenizer.json`` keeps this name; one per
    side gets the name ``<side>.tokenizer.json``. Other vocabularies keep the names of their files.
    """
    if all(run.vocabularies[side].load().has_spm and not run.vocabularies[side].facts.words for side in SIDES):
        write_hf_marian(directory, run)
        return
    for side in SIDES:
        path, facts = run.vocabularies[side].path, run.vocabularies[side].facts
        whole = "tokenizer.json" if run.shared else f"{side}.tokenizer.json"
        is_whole = path.suffix == ".json" and facts.kind != "subword_nmt" and facts.words is None
        copy_file(path, directory / (whole if is_whole else path.name))
        for file in [] if facts.words is None else files_of(path.with_name(facts.words)):
            copy_file(file, directory / file.name)


def without_spm(vocab: Vocab) -> str:
    """Returns the reason why the vocabularies are no SentencePiece models, for messages."""
    dialect = dialect_of(vocab)
    return "vocab.from is a tokenizer.json" if dialect.has_spm else f"vocab.kind is {dialect.kind}"


def copy_file(source: Path, target: Path) -> None:
    """Copies a file into an output."""
    with atomic_write(target) as beside, writing(target):
        link_or_copy(source, beside)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes a text file atomically, as UTF-8."""
    with atomic_write(path) as beside:
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def line_batches(task: ShardTask[Any], tick: Tick) -> Iterator[TextBatch]:
    """Yields a task's pairs as lines: text lines, or for IDs piece lines without eos.

    Ticks are pairs that were read.
    """
    if isinstance(task.pairs, TextPairs):
        yield from task.text_batches(tick)
        return
    source, target = task_pieces(task)
    for batch in task.id_batches(tick):
        lines = source.lines(batch.sources), target.lines(batch.targets)
        yield TextBatch(*lines, batch.corpora, weights=batch.weights)


def link_problems(config: Config) -> Iterator[tuple[str, str]]:
    """Yields an output key and the reason for each setting that leaves the training split without piece links."""
    if config.align is None:
        yield "alignments", "the run has no word links; add a section align"
    elif config.align.splits is not None and "train" not in config.align.splits:
        yield "alignments", "align.splits lacks train; add it there"


def unlinked(batch: TextBatch) -> int:
    """Returns the number of pairs without a link; 0 for a batch without links."""
    return 0 if batch.links is None else pc.sum(pc.equal(pc.binary_length(batch.links), 0)).as_py() or 0


def weight_lines(weights: npt.NDArray[np.float32]) -> pa.Array:
    """Returns weights as their shortest decimal numbers, a ``large_string`` array."""
    return pa.array(weights, pa.float32()).cast(pa.large_string())


class Pieces:
    """Converts ID rows to piece lines, natively."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._text = PieceText(tokenizer)
        pieces = TextColumn.from_strings(self._text.words())
        self._table = PieceTable(pieces.data, pieces.offsets)
        self._eos = -1 if tokenizer.eos_id is None else tokenizer.eos_id

    def lines(self, rows: Ragged) -> pa.Array:
        """Returns one line per row, without eos at its end, as a ``large_string`` array."""
        self._text.check(rows.values)
        return TextColumn(*self._table.lines(rows.values, rows.offsets, self._eos)).to_arrow()

    def column(self, rows: Ragged) -> PieceColumn:
        self._text.check(rows.values)
        return self._table, rows.values, rows.offsets, self._eos


PieceColumn: TypeAlias = "tuple[PieceTable, npt.NDArray[np.int32], npt.NDArray[np.int64], int]"
"""A piece table, the values and offsets of ID rows, and the eos ID."""


def piece_rows(*columns: PieceColumn) -> memoryview:
    r"""Returns piece lines as file content, each followed by ``\n``, with tabs between columns."""
    return piece_lines(columns).data


def task_pieces(task: ShardTask[Any]) -> tuple[Pieces, Pieces]:
    """Returns the pieces on both sides of a task."""
    source, target = (pieces_of(task.run.vocabularies[side].load()) for side in SIDES)
    return source, target


@functools.lru_cache(maxsize=2)
def pieces_of(tokenizer: Tokenizer) -> Pieces:
    """Returns a tokenizer's pieces; each process converts them only once."""
    return Pieces(tokenizer)


def corpus_lines(run: RunFacts, split: str, corpora: npt.NDArray[np.int32]) -> pa.Array:
    """Returns the name of each pair's corpus, as a ``large_string`` array."""
    names = pa.array(list(run.corpora[split]), pa.large_string())
    return pc.take(names, pa.array(corpora))
