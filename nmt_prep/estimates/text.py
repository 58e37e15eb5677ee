"""The text to calibrate on: the beginning of a config's own corpora, or a generated one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config, Corpus, Side
from nmt_prep.corpora import open_corpus
from nmt_prep.corpora.lines import text_bytes
from nmt_prep.errors import ConfigError
from nmt_prep.estimates.calibration import TextFacts
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.stages import Extract
from nmt_prep.toy_corpus.grammar import Grammar

GENERATED = Path(__file__).with_name("generated.yaml")
"""The config that stands in for one where text is generated."""

_SEED = 1
_BATCH_PAIRS = 4096


@dataclass(frozen=True)
class PairLines:
    """Some pairs: the lines of either side, ``large_string`` arrays of the same length."""

    source: pa.Array
    target: pa.Array

    def side(self, side: Side) -> pa.Array:
        return self.source if side == "source" else self.target


def generated_pairs() -> Iterator[PairLines]:
    """Pairs of the toy corpus's grammar, without end."""
    pairs = Grammar(_SEED).pairs()
    while True:
        sources, targets = zip(*(next(pairs) for _ in range(_BATCH_PAIRS)), strict=True)
        yield PairLines(pa.array(sources, pa.large_string()), pa.array(targets, pa.large_string()))


def corpora_pairs(config: Config, budget: int) -> Iterator[PairLines]:
    """The beginning of each training corpus of a config, as the extract stage left them.

    Args:
        config: a checked config.
        budget: bytes of text to take, of each corpus in proportion to its size.

    Raises:
        ConfigError: the corpora are not extracted yet.
        CorpusError: a corpus cannot be read.
    """
    files = {corpus.name: extracted(config, corpus) for corpus in config.splits["train"] if corpus.role != "vocab"}
    sizes = {
        name: sum(path.stat().st_size for each in parts for path in each.values()) for name, parts in files.items()
    }
    for corpus in config.splits["train"]:
        if corpus.name not in files:
            continue
        left = budget * sizes[corpus.name] / max(sum(sizes.values()), 1)
        for batch in open_corpus(corpus, files[corpus.name], config.languages).pairs():
            sound = batch.sound()
            pairs = first_pairs(PairLines(_on_one_line(sound.source), _on_one_line(sound.target)), left)
            yield pairs
            left -= text_bytes(pairs.source) + text_bytes(pairs.target)
            if left <= 0:
                break


def extracted(config: Config, corpus: Corpus) -> list[dict[str, Path]]:
    """The files of a training corpus in the run's directory, by the names that its reader has for them.

    Raises:
        ConfigError: they are not there yet.
    """
    workspace = Workspace(config.run_dir)
    manifest = read_manifest(workspace.manifest(Extract.name))
    details: dict[str, Any] = {} if manifest is None else dict(manifest.details)
    keys = {part: f"train/{corpus.name}/{part}" for part in corpus.parts}
    if any(key not in details for key in keys.values()):
        raise ConfigError(
            f"the corpus {corpus.name} is not extracted in {workspace.root} yet; first do nmt-prep run CONFIG --until "
            "extract, or calibrate on generated text: nmt-prep calibrate, without CONFIG"
        )
    directory = workspace.root / Extract.directory
    columns = [[directory / entry["file"] for entry in details[key]] for key in keys.values()]
    return [dict(zip(keys, files, strict=True)) for files in zip(*columns, strict=True)]


def first_pairs(pairs: PairLines, budget: float) -> PairLines:
    """The first pairs until a budget in bytes is used up."""
    sizes = pc.add(pc.binary_length(pairs.source), pc.binary_length(pairs.target))
    ends = np.cumsum(sizes.to_numpy(zero_copy_only=False), dtype=np.int64)
    count = int(np.searchsorted(ends, budget)) + 1
    return PairLines(pairs.source[:count], pairs.target[:count])


def write_text(batches: Iterator[PairLines], directory: Path, count: int, size: int, origin: str) -> TextFacts:
    """Writes pairs to ``<number>.source`` and ``<number>.target``, so many pairs of files, of about the same size.

    Args:
        batches: the pairs; they may be endless.
        directory: where to.
        count: pairs of files.
        size: bytes of text for all of them; fewer where there are no more pairs.
        origin: of the text, in words.

    Raises:
        ConfigError: there is not a pair for each pair of files.
    """
    totals = dict.fromkeys(("pairs", "source_bytes", "target_bytes", "source_characters", "target_characters"), 0)
    written = [0] * count
    with ExitStack() as stack:
        files = [
            {side: stack.enter_context((directory / f"{number}.{side}").open("wb")) for side in SIDES}
            for number in range(count)
        ]
        for batch in batches:
            for piece in _pieces(batch, count):
                number = written.index(min(written))
                for side in SIDES:
                    lines = piece.side(side)
                    length = files[number][side].write(joined_lines(lines))
                    written[number] += length
                    totals[f"{side}_bytes"] += length
                    totals[f"{side}_characters"] += pc.sum(pc.utf8_length(lines)).as_py() or 0
                totals["pairs"] += len(piece.source)
            if sum(written) >= size:
                break
    if not all(written):
        raise ConfigError(f"{totals['pairs']} pairs are too few to calibrate on; calibrate without CONFIG")
    return TextFacts(origin=origin, **totals)


def _on_one_line(lines: pa.Array) -> pa.Array:
    """Lines without the newlines that some formats allow in them."""
    return pc.replace_substring(lines, "\n", " ")


def _pieces(batch: PairLines, count: int) -> Iterator[PairLines]:
    """Cuts pairs into so many pieces, or one a pair where there are fewer."""
    length = -(-len(batch.source) // count)
    for first in range(0, len(batch.source), length or 1):
        yield PairLines(batch.source[first : first + length], batch.target[first : first + length])
