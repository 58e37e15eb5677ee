"""Asks for what a config needs, on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import typer

from nmt_prep.cli.draft import languages_of
from nmt_prep.cli.draft_corpus import DraftCorpus, corpus_of
from nmt_prep.cli.terminal import print_remark, printable
from nmt_prep.config import Languages
from nmt_prep.errors import ConfigError

_T = TypeVar("_T")

_CORPORA = """\
Training corpora, one per line; an empty line ends the list:
  opus:Europarl/v8                a corpus of OPUS (https://opus.nlpl.eu)
  mtdata:Statmt-europarl-10-…     a corpus of mtdata
  hf:Helsinki-NLP/opus-100/de-en  a data set of the Hugging Face Hub
  data/a.en,data/a.de             two files, a line of each makes a pair
  data/a.tsv                      a file with both sides; also .tmx, .jsonl, .parquet, …
  data/a.tgz::d/a.en,d/a.de       an archive, and its members
  URLs (https, s3, gs) instead of paths"""


def ask_languages() -> Languages:
    """Asks for the languages."""
    return _ask("Languages, source and target, such as en-de", None, languages_of)


def ask_training(languages: Languages, config_dir: Path) -> list[DraftCorpus]:
    """Asks for the training corpora, at least one."""
    _say(_CORPORA)
    found: list[DraftCorpus] = []
    while True:
        corpus = _ask(f"Corpus {len(found) + 1}", "", lambda text: _corpus_or_none(text, languages, config_dir))
        if corpus is None and found:
            return found
        if corpus is None:
            print_remark("a config needs at least one training corpus")
        else:
            found.append(corpus)


def ask_evaluation(split: str, languages: Languages, config_dir: Path) -> list[DraftCorpus]:
    """Asks for the set of another split, which may be empty."""
    question = f"{split.capitalize()} set, such as sacrebleu:wmt22 or two files (empty for none)"
    corpus = _ask(question, "", lambda text: _corpus_or_none(text, languages, config_dir))
    return [] if corpus is None else [corpus]


def ask_choice(question: str, choices: tuple[str, ...], default: str) -> str:
    """Asks for one of several words."""

    def chosen(text: str) -> str:
        if text not in choices:
            raise ConfigError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return _ask(f"{question}: {', '.join(choices)}", default, chosen)


def ask_size(default: int) -> int:
    """Asks for the size of the vocabularies."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise ConfigError(f"{text!r} is not a number of pieces")
        return int(text)

    return _ask("Pieces of each vocabulary", str(default), number)


def ask_text(question: str, default: str) -> str:
    """Asks for a text that is not empty."""
    return _ask(question, default, lambda text: text)


def ask_yes(question: str) -> bool:
    """Asks a question whose answer is no unless it is yes."""
    return _ask(f"{question} (yes or no)", "no", lambda text: text.lower() in ("y", "yes"))


def _corpus_or_none(text: str, languages: Languages, config_dir: Path) -> DraftCorpus | None:
    return corpus_of(text, languages, config_dir) if text else None


def _ask(question: str, default: str | None, parse: Callable[[str], _T]) -> _T:
    """Asks until the answer can be parsed.

    Raises:
        Exit: the input ended.
    """
    shown = f"{question} [{default}]: " if default else f"{question}: "
    while True:
        try:
            answer = input(printable(shown)).strip()
        except EOFError:
            _say("")
            print_remark("nothing was written")
            raise typer.Exit(1) from None
        if not answer and default is None:
            continue
        try:
            return parse(answer or default or "")
        except ConfigError as error:
            print_remark(str(error))


def _say(text: str) -> None:
    typer.echo(printable(text))
