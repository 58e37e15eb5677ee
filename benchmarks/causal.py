"""Compares packed batches for language models with TRL's: packing a data set, and loading its rows.

    python -m benchmarks.causal [--repeat 12]

Run it in the root of the checkout, with torch, datasets and trl. The text is that of
benchmarks.input: WMT22 English–Chinese from the directory of real corpora beside the checkout, or else the toy corpus.
A sequence is a prompt of eight IDs, the source and the target, of which the target counts. Rows have 4,096 IDs.

The peer packs a memory-mapped data set with ``pack_dataset`` (best fit decreasing, within 1,000 sequences, its default)
and writes it. It packs up to 16 copies of the text, and its time is multiplied; nmt_prep packs ``--repeat`` copies, of
which 378 are ten million sequences. Its time covers reading the shards, packing, and the arrays of all rows. The peer
then loads its rows in a DataLoader with TRL's collator, without padding. Fill is the share of IDs in the cells of rows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset, disable_progress_bars
from torch.utils.data import DataLoader
from trl import pack_dataset
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from benchmarks.figures import Figure, Spent, record, with_version
from benchmarks.input_runs import read_text, vocabulary, write_run
from nmt_prep.torch import Batches
from nmt_prep.training.batches import Options, plan_batches, read_records

ROW, ROWS = 4096, 4


def spent(work: Callable[[], Any]) -> tuple[Any, Spent]:
    """Returns what a function returns, and its time, that of child processes included."""
    started, cpu = time.perf_counter(), sum(os.times()[:4])
    found = work()
    return found, Spent(time.perf_counter() - started, sum(os.times()[:4]) - cpu)


def data_set(run: Path, path: Path) -> Dataset:
    """Returns the sequences of a run as a memory-mapped data set."""
    with pa.OSFile(str(path), "wb") as file:
        writer = None
        for batch in read_records(run, "train", features="causal", max_length=ROW, batch_tokens=1 << 20):
            sizes = batch["attention_mask"].sum(axis=1)
            inside = batch["attention_mask"].astype(bool)
            offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
            columns = {
                name: pa.ListArray.from_arrays(offsets, pa.array(batch[name][inside].astype(np.int32)))
                for name in ("input_ids", "labels")
            }
            table = pa.table(columns)
            writer = writer or pa.ipc.new_stream(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return Dataset.from_file(str(path))


def cells_in(batches: Iterable[dict[str, Any]]) -> int:
    """Reads batches, and counts their cells."""
    return sum(int(np.prod(batch["input_ids"].shape)) for batch in batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=378, help="number of copies of the text in the shards")
    options = parser.parse_args()
    torch.set_num_threads(1)
    disable_progress_bars()
    name, texts = read_text()
    vocabularies = [vocabulary(lines) for lines in texts]
    with tempfile.TemporaryDirectory() as directory:
        peer_copies = min(options.repeat, 16)
        peer_run, run = (
            write_run(Path(directory, str(copies)), "causal", texts, vocabularies, copies)
            for copies in (peer_copies, options.repeat)
        )
        data = data_set(peer_run, Path(directory, "sequences.arrow"))
        plan = plan_batches(run, "train", Options(row_length=ROW, batch_size=ROWS), causal=True)
        tokens, sequences = plan.info.splits["train"].source_tokens, plan.info.splits["train"].pairs
        print(f"{name}: {sequences:,} sequences of {tokens / sequences:.1f} ids; {os.cpu_count()} cores", flush=True)
        ours: Any = {"features": "causal", "row_length": ROW, "batch_size": ROWS}
        rows, counted = spent(lambda: plan.pairs)
        _, own = spent(lambda: cells_in(read_records(run, "train", **ours)))
        packed, theirs = spent(lambda: pack_dataset(data, ROW, "bfd"))
        factor = options.repeat / peer_copies
        theirs = theirs.times(factor)
        fill, peer_fill = tokens / (rows * ROW), tokens / (len(packed) * factor * ROW)
        print(f"rows counted in {counted.clock:.1f} s, read in {own.clock:.1f} s, filled {fill:.2%}")
        print(f"pack_dataset: {theirs.clock:.1f} s, filled {peer_fill:.2%}", flush=True)
        work = f"{sequences / 1e6:.2g} million sequences packed into rows of {ROW} IDs"
        fills = f"filled {fill:.2%} (the peer {peer_fill:.2%})"
        show(Figure(f"{work}, {fills}", "s", [own], f"{with_version('trl')}, pack_dataset", [theirs]))
        _, loaded = spent(lambda: cells_in(Batches(run, "train", **ours)))
        collator = DataCollatorForLanguageModeling(pad_token_id=0, padding_free=True)
        for workers in (0, 2):
            loader: Any = DataLoader(packed, ROWS, shuffle=True, collate_fn=collator, num_workers=workers)
            _, by_peer = spent(partial(cells_in, loader))
            peer = f"{with_version('trl')}, DataLoader of {workers or 'no'} workers, collator"
            what = f"nmt_prep.torch.Batches, packed rows of {ROW} IDs for language models"
            show(Figure(what, "tokens/s", [loaded], peer, [by_peer.times(factor)], tokens))


def show(figure: Figure) -> None:
    """Records and prints a figure."""
    record(figure)
    [ratio] = figure.ratios()
    print(
        f"{figure.what} against {figure.peer}: {ratio.clock:.0f} times by the clock, {ratio.processor:.0f} by CPU time"
    )


if __name__ == "__main__":
    main()
