"""The `modify` command: a filter that changes pairs as training would, for evaluation sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmt_prep.base.digests import seed_of
from nmt_prep.base.errors import CorpusError
from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible

with delayed_imports():
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from nmt_prep.base import columns
    from nmt_prep.cli import text_stream
    from nmt_prep.config import file as config_file
    from nmt_prep.training import curriculum
    from nmt_prep.training.modifiers import block, draws, registry

if TYPE_CHECKING:
    from nmt_prep.training.modifiers.block import Block

_KIND = (
    "Kind of evaluation set: aug-upper, aug-lower, aug-title, aug-punct, aug-typos, aug-noise, aug-inline-noise or "
    "aug-mix."
)
_MODIFIER = "A modifier with its probability and options in YAML, such as 'Typos: 0.1', instead of KIND; repeatable."
_SEED = "Seed: decides what is changed, and how."
_SPACED = "Links count the words between spaces, as other aligners do, unlike nmt-prep align."

_EVALUATION: dict[str, tuple[dict[str, Any], ...]] = {
    "aug-upper": ({"UpperCase": 1},),
    "aug-lower": ({"LowerCase": 1},),
    "aug-title": ({"TitleCase": 1},),
    "aug-punct": ({"RemoveEndPunct": 1},),
    "aug-typos": ({"Typos": 1, **dict.fromkeys(("char_swap", "missing_char", "extra_char", "nearby_char"), 0.5)},),
    "aug-noise": ({"Noise": 1},),
    "aug-inline-noise": ({"Tags": 0.1, "augment": 1, "tag": 0},),
    "aug-mix": ({"UpperCase": 0.1}, {"TitleCase": 0.1}, {"RemoveEndPunct": 0.1}, {"Typos": 0.3}, {"Noise": 0.05}),
}
"""The modifiers of each evaluation-set kind, by the kind's name."""


def modify(
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help=_KIND)] = None,
    modifier: Annotated[list[str] | None, typer.Option("--modifier", metavar="YAML", help=_MODIFIER)] = None,
    seed: Annotated[int, typer.Option(min=0, help=_SEED)] = 0,
    pretokenized: Annotated[bool, typer.Option("--pretokenized", help=_SPACED)] = False,
) -> None:
    """Change lines of source, tab, target from standard input to standard output, as modifiers of training do.

    A third column has word links, such as 0-0 1-2, which follow each change. The change of a line depends only on
    the seed and the line number, not on other lines.
    """
    if (kind is None) == (not modifier):
        raise typer.BadParameter("give a kind of evaluation set, or modifiers with --modifier")
    if kind is not None and kind not in _EVALUATION:
        raise typer.BadParameter(f"no kind is named {kind!r}; the kinds are {', '.join(_EVALUATION)}")
    entries = list(_EVALUATION[kind]) if kind else [_entry(text) for text in modifier or ()]
    modifiers = registry.read_modifiers(entries, "--modifier", Path())
    with interruptible("interrupted"):
        for pairs in _blocks(seed, pretokenized):
            if modifiers.needing_links and pairs.links is None:
                raise CorpusError(f"{modifiers.needing_links} needs links; give them in a third column")
            made = modifiers(pairs)
            sides = [made.source, made.target, *([] if made.links is None else [made.links])]
            text_stream.write_lines(columns.concatenated(*sides, between="\t"))


def _entry(text: str) -> dict[str, object]:
    """Returns a modifier that is given as YAML; options follow the probability: ``{Typos: 1, unichar: 1}``."""
    value, _ = config_file.parse_yaml(text, "--modifier")
    if not isinstance(value, dict):
        raise typer.BadParameter(f"--modifier {text!r}: expected a modifier and its probability, such as 'Typos: 0.1'")
    return value


def _blocks(seed: int, pretokenized: bool) -> Iterator[Block]:
    """Yields the pairs of standard input, in blocks that do not depend on how the input arrives."""
    key = np.array([seed_of(f"{seed}\nmodify")], np.uint64)
    waiting, first, columns = pa.array([], pa.large_string()), 0, 0
    inputs = text_stream.input_lines()
    while True:
        part = next(inputs, None)
        waiting = waiting if part is None else pa.concat_arrays([waiting, part.text])
        while len(waiting) >= (curriculum.BLOCK_ROWS if part else 1):
            lines, waiting = waiting[: curriculum.BLOCK_ROWS], waiting[curriculum.BLOCK_ROWS :]
            columns = columns or str(lines[0]).count("\t") + 1
            counts = pc.count_substring(lines, "\t").to_numpy() + 1
            if columns not in (2, 3) or (counts != columns).any():
                wrong = int((counts != columns).argmax()) if columns in (2, 3) else 0
                raise CorpusError(
                    f"standard input, line {first + wrong + 1}: {counts[wrong]} columns; a line has a source and a "
                    "target, and all lines or none have links"
                )
            cells = pc.list_flatten(pc.split_pattern(lines, "\t"))
            sides = [cells.take(pa.array(np.arange(side, len(cells), columns))) for side in range(columns)]
            if columns == 3 and (unread := block.first_wrong(sides[2])) is not None:
                raise CorpusError(
                    f"standard input, line {first + unread + 1}: {str(sides[2][unread])!r} in the third column are no "
                    "links of words such as 0-0 1-2"
                )
            rows = np.arange(first, first + len(lines))
            units: block.Units = "spaced" if pretokenized else "words"
            yield block.Block(
                sides[0], sides[1], sides[2] if columns == 3 else None, draws.mixed(key, rows), rows, units
            )
            first += len(lines)
        if part is None:
            return
