"""Writes a run's links as text, and lexical shortlists from them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nmt_prep.base.artefacts import output_file, writing
from nmt_prep.base.columns import Ragged, TextColumn
from nmt_prep.base.errors import ArgumentError, OutputError
from nmt_prep.base.progress import Progress
from nmt_prep.base.sides import SIDES
from nmt_prep.cleaning.align.links import LexicalCounts, Links, pharaoh_text, piece_links, pieces_of, write_shortlist
from nmt_prep.cleaning.align.word_vocabulary import words_of
from nmt_prep.cli.shared_options import STANDARD_OUTPUT, check_outputs, files_of_run
from nmt_prep.cli.terminal import SafeConsole
from nmt_prep.corpora import strip_lines
from nmt_prep.pipeline.manifest import Workspace
from nmt_prep.pipeline.stage import Outputs, outputs_in
from nmt_prep.runs.checks import load_config
from nmt_prep.runs.runner import check_current
from nmt_prep.runs.viewing import require
from nmt_prep.stages import STAGES
from nmt_prep.stages.align import Align, AlignedPart
from nmt_prep.stages.vocab import Vocabulary, built_vocabularies
from nmt_prep.subwords.piece_text import PieceText
from nmt_prep.subwords.tokenizer import Tokenizer


def write_links(config: Path, overrides: Iterable[str], split: str, output: Path | None) -> None:
    """Writes the links of a run's split, one line per pair.

    Args:
        output: the file; None for standard output.
    """
    checked = load_config(config, overrides)
    run = checked.run_dir
    parts = _aligned(outputs_in(run, STAGES), split, hint=f"nmt-prep run {config} --until align")
    check_current(checked, Align, "the links")
    read = {part.file: run / Align.directory / part.file for part in parts}
    outputs = STANDARD_OUTPUT if output is None else {"--links": output}
    check_outputs(outputs, files_of_run(checked) | read)
    with ExitStack() as stack:
        file: BinaryIO = sys.stdout.buffer
        if output is not None:
            file = stack.enter_context(output_file(output))
        stack.enter_context(writing(output or Path("standard output")))
        for part in parts:
            for links in part.below(run / Align.directory).linked():
                file.write(pharaoh_text(links))


def write_shortlists(
    run: Path, split: str, directory: Path | None, best: int | None, console: SafeConsole, progress: Progress
) -> None:
    """Writes ``lex.s2t`` and ``lex.t2s`` of a run.

    Args:
        directory: directory for the files; None for ``shortlist`` in the run's directory.
        best: maximum piece count to keep for each piece on the other side, or None for all.
    """
    outputs = outputs_in(run, STAGES)
    parts = _aligned(outputs, split, hint="nmt-prep run CONFIG with a section align")
    _check_text(outputs)
    require(outputs, Vocabulary)
    source, target = (vocabulary.load() for vocabulary in built_vocabularies(outputs).values())
    tokenizers = (source, target)
    pieces = [PieceText(tokenizer).words() for tokenizer in tokenizers]
    counts = LexicalCounts(*map(len, pieces))
    skipped = cut = 0
    with progress.meter("counting links", sum(part.pairs for part in parts), "pairs") as meter:
        for part in parts:
            for text, links in zip(part.texts(run), part.below(run / Align.directory).linked(), strict=True):
                left_out, long = _count(counts, text, links, tokenizers)
                skipped, cut = skipped + left_out, cut + long
                meter.advance(len(text))
    place = directory or run / "shortlist"
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    for name, backward in (("lex.s2t", False), ("lex.t2s", True)):
        lines = write_shortlist(counts, place / name, (pieces[0], pieces[1]), backward=backward, best=best)
        console.print(f"{place / name}: {lines:,} lines", soft_wrap=True)
    if skipped:
        console.print(
            f"{skipped:,} pairs were skipped: their pieces do not spell the text, which the vocabulary normalizes",
            soft_wrap=True,
        )
    if cut:
        console.print(
            f"{cut:,} pairs have words with too many pieces; the links of these words were skipped", soft_wrap=True
        )


def _count(
    counts: LexicalCounts, text: pa.RecordBatch, links: Links, tokenizers: tuple[Tokenizer, Tokenizer]
) -> tuple[int, int]:
    """Counts a batch's pairs; returns how many were skipped, and how many lack the links for long words."""
    words, places, rows = [], [], []
    fits = np.ones(len(text), np.bool_)
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        stripped = strip_lines(text.column(side))
        lines = TextColumn.from_arrow(stripped)
        encoded = tokenizer.encode_batch(stripped)
        spans, whole = pieces_of(lines, encoded, tokenizer)
        words.append(words_of(lines))
        places.append(spans)
        rows.append(encoded)
        fits &= whole
    linked = piece_links(links, (words[0], words[1]), (places[0], places[1]))
    chosen = Links(*_kept(linked.links, linked.offsets, fits), 0)
    counts.add(chosen, *(Ragged(*_kept(side.values, side.offsets, fits)) for side in rows))
    return int((~fits).sum()), linked.too_long - links.too_long


def _kept(
    values: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    lengths = np.diff(offsets)
    return values[np.repeat(kept, lengths)], np.append(0, np.cumsum(lengths[kept]))


def _aligned(outputs: Outputs, split: str, hint: str) -> tuple[AlignedPart, ...]:
    if Align.name not in outputs.manifests:
        raise OutputError(f"{outputs.root} has no links; first run {hint}")
    parts = outputs.read(Align).parts
    if split not in parts:
        raise ArgumentError(f"{split!r} is not a split with links (splits: {', '.join(parts)})")
    return parts[split]


def _check_text(outputs: Outputs) -> None:
    """Checks that the links of a run belong to its text, and that the files of both exist."""
    links, run = outputs.manifest(Align), outputs.root
    advice = "first run nmt-prep run CONFIG"
    for stage in (stage for stage in STAGES if stage.name in (*links.inputs, Align.name)):
        manifest = outputs.manifests.get(stage.name)
        if manifest is None:
            raise OutputError(f"the links in {run} have no text: {stage.name} was interrupted; {advice}")
        if stage.name in links.inputs and manifest.output_digest != links.inputs[stage.name]:
            raise OutputError(f"the links in {run} do not belong to its text: {stage.name} has run since; {advice}")
        files = [Workspace(run).file(stage.directory, name) for name in manifest.files]
        for missing in (path for path in files if not path.exists()):
            raise OutputError(f"{missing} is missing; {advice}")
