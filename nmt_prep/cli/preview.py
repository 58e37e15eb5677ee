"""Shows one decoded batch at the end of a run, as training code gets it.

Reading a batch and loading the tokenizers takes longer than a run with nothing to do, so the text is cached under the
digest of the records that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from nmt_prep.artefacts import parse_json, write_json
from nmt_prep.config import Config
from nmt_prep.pipeline.manifest import Workspace, read_manifest
from nmt_prep.sides import SIDES

if TYPE_CHECKING:
    from nmt_prep.subwords import Tokenizer

_ROWS = 3
_CELLS = 80 - len("  source ids: ")
"""Cells of text on a terminal line of 80; a Chinese character takes two."""


def batch_preview(config: Config, split: str = "train") -> str:
    """Returns a description of the first batch of ``read_records``: padded shapes, and the first pairs decoded.

    Raises:
        NmtPrepError: the records are damaged.
    """
    workspace = Workspace(config.run_dir)
    kept = workspace.private / "preview.json"
    manifest = read_manifest(workspace.manifest("encode"))
    key = [manifest.output_digest if manifest else None, split, config.input.batch_tokens, config.input.max_length]
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = parse_json(kept.read_bytes())
        if stored["key"] == key:
            return str(stored["text"])
    text = _make(config, workspace, split)
    write_json(kept, {"key": key, "text": text})
    return text


def _make(config: Config, workspace: Workspace, split: str) -> str:
    from nmt_prep.batches import read_records  # noqa: PLC0415  (loads numpy)

    options = config.input
    batches = read_records(
        workspace.root, split, batch_tokens=options.batch_tokens, max_length=options.max_length, packed=False
    )
    batch = next(batches, None)
    if batch is None:
        return f"no pair of {split} is within input.max_length = {options.max_length}; there is no batch to show"
    shapes = [[len(side), int(side.lengths.max())] for side in batch]
    lines = [f"a batch: source {shapes[0]}, target {shapes[1]}, int32"]
    vocab = read_manifest(workspace.manifest("vocab"))
    details = vocab.details if vocab is not None else {}
    tokenizers = {side: _load(workspace, details[side]) for side in SIDES}
    tags = {
        side: sorted({corpus.tags[side] for corpus in config.splits[split] if side in corpus.tags}) for side in SIDES
    }
    for row in range(min(_ROWS, len(batch.source))):
        for side, rows in zip(SIDES, batch, strict=True):
            ids = rows[row].tolist()
            lines.append(f"  {side} ids: {shortened(' '.join(map(str, ids)))}")
            lines.append(
                f"  {side}:     {shortened(_text(tokenizers[side], config.vocab.frame.of(side), tags[side], ids))}"
            )
    return "\n".join(lines)


def shortened(text: str) -> str:
    """Returns the text, cut and ended by an ellipsis if it is too long for one line."""
    return text if cell_len(text) <= _CELLS else f"{set_cell_size(text, _CELLS - 1).rstrip()}…"


def _load(workspace: Workspace, facts: Mapping[str, Any]) -> Tokenizer:
    from nmt_prep.subwords import load_tokenizer  # noqa: PLC0415  (loads numpy)

    return load_tokenizer(workspace.root / "vocab" / facts["file"], id_layout=facts["id_layout"])


def _text(tokenizer: Tokenizer, frame: str | None, tags: Sequence[str], ids: list[int]) -> str:
    """Returns the text of a row without its frame. A tag is added by name, because not every dialect decodes it."""
    from nmt_prep.subwords.frame import Frame  # noqa: PLC0415  (loads numpy)

    for tag in tags:
        inside = Frame.parse(tokenizer, frame, tag).inside(ids)
        if inside is not None:
            return f"{tag} {tokenizer.decode(inside)}"
    inside = Frame.parse(tokenizer, frame).inside(ids)
    return tokenizer.decode(ids if inside is None else inside)
