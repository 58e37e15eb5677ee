"""The `words` command: text to words by steps such as Moses' tokenizer, and back; truecasing models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import _nmt_prep_core
import typer

from nmt_prep.cli import delayed_imports
from nmt_prep.cli.interrupts import interruptible
from nmt_prep.cli.shared_options import STANDARD_INPUT, STANDARD_OUTPUT, ThreadsOption, check_outputs
from nmt_prep.text import STEPS

with delayed_imports():
    from nmt_prep.base import artefacts, columns, runtime
    from nmt_prep.cli import text_stream
    from nmt_prep.config import file as config_file
    from nmt_prep.text import chain, step

if TYPE_CHECKING:
    from nmt_prep.text.chain import Chain

_LANGUAGE = "The language of the text, such as de."
_STEP = (
    "A step in YAML, such as moses, 'moses: {aggressive: true}' or 'truecase: model.de'; repeatable, in this order. "
    f"Steps (docs/words.md, docs/cleaning.md): {', '.join(STEPS)}."
)
_UNDO = "Undo the steps, the last one first, to get text from words."
_TRAIN = "Learn each word's usual case from tokens, and write it to this file instead of writing text."
_FIRST = "Also count words at the beginning of sentences for --train-truecaser, as --possiblyUseFirstToken."


def words(
    language: Annotated[str | None, typer.Option(metavar="TAG", help=_LANGUAGE)] = None,
    step: Annotated[list[str] | None, typer.Option("--step", metavar="YAML", help=_STEP)] = None,
    undo: Annotated[bool, typer.Option("--undo", help=_UNDO)] = False,
    train_truecaser: Annotated[Path | None, typer.Option("--train-truecaser", metavar="MODEL", help=_TRAIN)] = None,
    first_tokens: Annotated[bool, typer.Option("--first-tokens", help=_FIRST)] = False,
    threads: ThreadsOption = None,
) -> None:
    """Apply steps, in the given order, to the lines of standard input, and write them to standard output.

    Each line of the result is made from one line of the input alone.
    """
    if not step and train_truecaser is None:
        raise typer.BadParameter("give steps with --step, or --train-truecaser")
    if step and language is None:
        raise typer.BadParameter("--step needs --language: steps depend on the language of the text")
    if train_truecaser is not None and undo:
        raise typer.BadParameter("--train-truecaser reads tokens; give it without --undo")
    changes = _changes(step or [], language or "")
    files = {f"--step {name}": path for each in changes.steps for name, path in each.files.items()}
    outputs = STANDARD_OUTPUT if train_truecaser is None else {"--train-truecaser": train_truecaser}
    check_outputs(outputs, {**STANDARD_INPUT, **files})
    threads = threads or runtime.available_cores()
    with interruptible("interrupted"):
        if train_truecaser is not None:
            _train(changes, train_truecaser, first_tokens, threads)
            return
        for lines in text_stream.input_lines():
            made = changes.undo(lines.text, threads) if undo else changes.apply(lines.text, threads).lines
            text_stream.write_lines(made)


def _changes(steps: list[str], language: str) -> Chain:
    specs = [config_file.parse_yaml(each, f"--step {each!r}")[0] for each in steps]
    try:
        return chain.Chain.of(specs, step.StepContext(language, Path()))
    except ValueError as error:
        raise typer.BadParameter(f"--step: {error}") from error


def _train(changes: Chain, model: Path, first_tokens: bool, threads: int) -> None:
    trainer = _nmt_prep_core.TruecaserTrainer(first_tokens)
    for lines in text_stream.input_lines():
        column = columns.TextColumn.from_arrow(changes.apply(lines.text, threads).lines)
        trainer.add(column.data, column.offsets)
    artefacts.write_bytes(model, "".join(f"{line}\n" for line in trainer.model()).encode())
