"""export: writes pairs as text files of pieces, with vocabulary lists, for other toolkits.

tensorflow/nmt reads aligned files with one sentence per line and spaces between pieces, and lists with one piece per
line. A corpus's tag is the first piece of its lines. Lines have no end-of-sentence piece and are in the order of the
pairs in the parts, because toolkits add that piece and shuffle themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nmt_prep.artefacts import atomic_write
from nmt_prep.columns import joined_lines
from nmt_prep.config import SIDES, Config, Side
from nmt_prep.corpora import iter_pairs, strip_lines
from nmt_prep.pipeline.manifest import Counts
from nmt_prep.pipeline.rounds import Round, Rounds
from nmt_prep.pipeline.stage import AnyStage, Job, NoOutput, Result, Stage
from nmt_prep.progress import Meter
from nmt_prep.stages.frames import corpus_frames, tag_settings
from nmt_prep.stages.text import pair_parts, pair_stages
from nmt_prep.stages.vocab import BuiltVocabulary, Vocabulary, built_vocabularies, side_suffix
from nmt_prep.subwords.frame import Frame
from nmt_prep.subwords.piece_text import PieceText

LIST_HEAD = ("<unk>", "<s>", "</s>")
"""The pieces that every vocabulary list of tensorflow/nmt begins with."""


@dataclass(frozen=True)
class ExportTask:
    """A split to write.

    Attributes:
        key: the split's name.
        parts: its parts.
        outputs: the file to write for each side.
        frames: for each part, the special pieces around the ids of each row.
        vocabularies: vocabulary of each side.
    """

    key: str
    parts: tuple[Path, ...]
    outputs: Mapping[Side, Path]
    frames: tuple[Mapping[Side, Frame], ...]
    vocabularies: Mapping[Side, BuiltVocabulary]


@dataclass(frozen=True)
class ExportedSplit:
    """The number of pairs that a task wrote."""

    pairs: int


def vocabulary_list(pieces: PieceText) -> list[str]:
    """Returns :data:`LIST_HEAD`, then the other pieces in the order of ids.

    Raises:
        VocabularyError: a piece contains white space.
    """
    return [*LIST_HEAD, *(text for text in pieces.words() if text not in LIST_HEAD)]


def export_split(task: ExportTask, meter: Meter) -> ExportedSplit:
    """Writes both sides of one split; the meter counts pairs."""
    vocabularies = {side: PieceText(built.load()) for side, built in task.vocabularies.items()}
    for pieces in vocabularies.values():
        pieces.words()  # raises before anything is written if a piece cannot be a line of a vocabulary list
    pairs = 0
    with ExitStack() as stack:
        files = {
            side: stack.enter_context(stack.enter_context(atomic_write(path)).open("wb"))
            for side, path in task.outputs.items()
        }
        for part, frames in zip(task.parts, task.frames, strict=True):
            for batch in iter_pairs(part, columns=SIDES):
                for side, pieces in vocabularies.items():
                    rows = frames[side].around(pieces.tokenizer.encode_batch(strip_lines(batch.column(side))))
                    files[side].write(joined_lines(pieces.lines(rows)))
                pairs += len(batch)
                meter.advance(len(batch))
    return ExportedSplit(pairs)


# Runs in this process, so that each split can use all threads.
EXPORT = Round("export", export_split, ExportedSplit, here=True, made=lambda task, _: task.outputs.values())


class Export(Stage[NoOutput, int]):
    """Writes ``export/<split>.<language>`` and ``export/vocab.<language>``, if ``records.export`` is set."""

    name = "export"
    directory = "export"
    rounds = (EXPORT,)

    def applies(self, config: Config) -> bool:
        return config.records.export is not None

    def inputs(self, config: Config) -> tuple[type[AnyStage], ...]:
        return (*pair_stages(config), Vocabulary)

    def settings(self, config: Config) -> dict[str, object]:
        return {
            "languages.source": config.languages.source,
            "languages.target": config.languages.target,
            "records.export": config.records.export,
            **tag_settings(config),
        }

    def work(self, job: Job) -> Rounds[int]:
        frames, parts = corpus_frames(job, eos=False), pair_parts(job)
        tasks = [
            ExportTask(
                key=split,
                parts=tuple(part.path for part in listed),
                outputs={side: job.directory / f"{split}{side_suffix(job.config, side)}" for side in SIDES},
                frames=tuple(frames[split][part.corpus] for part in listed),
                vocabularies=built_vocabularies(job),
            )
            for split, listed in parts.items()
        ]
        exported = yield from EXPORT.run(tasks, sum(part.pairs for listed in parts.values() for part in listed))
        return sum(split.pairs for split in exported)

    def finish(self, job: Job, made: int) -> Result[NoOutput]:
        for side, built in built_vocabularies(job).items():
            pieces = vocabulary_list(PieceText(built.load()))
            with atomic_write(job.directory / f"vocab{side_suffix(job.config, side)}") as beside:
                beside.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        return Result(NoOutput(), Counts(pairs_in=made, pairs_out=made))
