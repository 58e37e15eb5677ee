"""export: the compiled pairs as plain text of pieces, with plain vocabulary lists, for toolkits that read those.

tensorflow/nmt reads aligned files, a sentence a line, its pieces between spaces, and lists of pieces, one a line. A
corpus's tag is the first piece of its lines; the end of the sentence is left to the toolkit. Lines are in the order of
the compiled pairs; toolkits shuffle for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from nmt_prep.artefacts import published
from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.engines import HereEngine, Tick
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.stage import Context, Result, Stage
from nmt_prep.pipeline.tasks import Round
from nmt_prep.stages.frames import corpus_frames, tag_settings
from nmt_prep.stages.vocab import BuiltVocabulary, built_vocabularies, side_suffix
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.piece_text import PieceText

LIST_HEAD = ("<unk>", "<s>", "</s>")
"""What tensorflow/nmt wants first in a vocabulary list."""


@dataclass(frozen=True)
class ExportTask:
    """One split to write.

    Attributes:
        key: the split's name.
        parts: its compiled parts.
        outputs: the file of each side.
        frames: for each part, what is put round the ids of each row.
        vocabularies: of either side.
    """

    key: str
    parts: tuple[Path, ...]
    outputs: Mapping[Side, Path]
    frames: tuple[Mapping[Side, Frame], ...]
    vocabularies: Mapping[Side, BuiltVocabulary]


class Export(Stage):
    """Writes ``export/<split>.<language>`` and ``export/vocab.<language>``, where ``records.export`` asks for it."""

    name: ClassVar[str] = "export"
    inputs: ClassVar[tuple[str, ...]] = ("compile", "vocab")
    directory: ClassVar[str] = "export"

    def applies(self, config: Config) -> bool:
        return config.records.export is not None

    def settings(self, config: Config) -> dict[str, object]:
        return {
            "languages.source": config.languages.source,
            "languages.target": config.languages.target,
            "records.export": config.records.export,
            **tag_settings(config),
        }

    def run(self, context: Context) -> Result:
        vocabularies = built_vocabularies(context)
        frames = corpus_frames(context.config, vocabularies, eos=False)
        compiled = context.manifests["compile"]
        tasks = [
            ExportTask(
                key=split,
                parts=tuple(context.workspace.root / "compiled" / part["file"] for part in parts),
                outputs={side: context.directory / f"{split}{side_suffix(context.config, side)}" for side in SIDES},
                frames=tuple(frames[split][part["corpus"]] for part in parts),
                vocabularies=vocabularies,
            )
            for split, parts in compiled.details["parts"].items()
        ]
        pairs = compiled.counts.pairs_out
        lists = {side: vocabulary_list(PieceText(built.load())) for side, built in vocabularies.items()}
        # Here, where all threads can be had for each split.
        context.tasks.run(Round("export", export_split, tasks, pairs, engine=HereEngine()))
        for side, pieces in lists.items():
            with published(context.directory / f"vocab{side_suffix(context.config, side)}") as beside:
                beside.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        return Result(Counts(pairs_in=pairs, pairs_out=pairs))


def vocabulary_list(pieces: PieceText) -> list[str]:
    """The pieces in the order of ids, after those that such lists begin with.

    Raises:
        VocabularyError: a piece holds white space.
    """
    return [*LIST_HEAD, *(text for text in pieces.words() if text not in LIST_HEAD)]


def export_split(task: ExportTask, tick: Tick) -> dict[str, Any]:
    """Writes both sides of one split; returns the number of pairs, in which ticks are too."""
    vocabularies = {side: PieceText(built.load()) for side, built in task.vocabularies.items()}
    pairs = 0
    with ExitStack() as stack:
        files = {
            side: stack.enter_context(stack.enter_context(published(path)).open("wb"))
            for side, path in task.outputs.items()
        }
        for part, frames in zip(task.parts, task.frames, strict=True):
            for batch in iter_pairs(part):
                for side, pieces in vocabularies.items():
                    rows = frames[side].around(pieces.tokenizer.encode_batch(strip_lines(batch.column(side))))
                    files[side].write(joined_lines(pieces.lines(rows)))
                pairs += len(batch)
                tick(len(batch))
    return {"pairs": pairs}
