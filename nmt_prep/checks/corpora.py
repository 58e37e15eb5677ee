"""Checks of a corpus against the reader of its format."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from nmt_prep.config import Corpus
from nmt_prep.config.problems import problems_of
from nmt_prep.corpora.registry import format_of, option_keys, reader_of


def check_format(name: str) -> None:
    """Checks the name of a format.

    Raises:
        ValueError: no reader has that name.
    """
    reader_of(name)


def check_corpus(corpus: Corpus) -> None:
    """Checks that the reader of a corpus accepts its files and options.

    Raises:
        ValueError: it does not; the message names the first problem.
    """
    if corpus.awaits_catalogue:
        return  # checked once it is filled in
    for problem in (*_file_problems(corpus), *_option_problems(corpus)):
        raise ValueError(problem)


def _file_problems(corpus: Corpus) -> Iterator[str]:
    kind, sides = format_of(corpus), corpus.sides
    if reader_of(kind).parts == ("both",):
        if corpus.source or corpus.target or corpus.url.both is None:
            yield f"format {kind} holds both sides in one file: name it with member, not source and target"
        if corpus.role == "monolingual":
            yield f"role monolingual is for one side, but format {kind} holds both; use format plain"
        return
    if corpus.member is not None:
        yield f"format {kind} has one file per side: name them with source and target, not member"
    if not sides:
        yield (
            f"format {kind} has one file per side: name the members of the archive with source and target, or give "
            "url as {source: …, target: …}"
        )
    if corpus.source is not None and corpus.source == corpus.target and corpus.url.both is not None:
        yield "source and target are the same member"
    if len(sides) == 1 and corpus.role == "parallel":
        yield "source and target name one file per side: give both, or set role to vocab or monolingual"
    if len(sides) == 1 and kind != "plain":
        yield f"a corpus of one side has format plain, not {kind}"
    if len(sides) == 2 and corpus.role == "monolingual":
        yield "role monolingual is for a corpus of one side: give source or target, not both"


def _option_problems(corpus: Corpus) -> Iterator[str]:
    kind = format_of(corpus)
    reader = reader_of(kind)
    for option in sorted(option_keys() & corpus.model_fields_set - reader.options):
        yield f"{option} does not belong to format {kind}, which takes {', '.join(sorted(reader.options))}"
    if "fields" in reader.options and corpus.fields is None:
        yield f"format {kind} needs fields, such as {{source: translation.en, target: translation.zh}}"
    if corpus.columns is not None and corpus.columns.source == corpus.columns.target:
        yield "columns.source and columns.target are the same column"
    if reader.section is None:
        if corpus.options:
            yield f"format {kind} has no options"
        return
    try:
        reader.section.model_validate(corpus.options)
    except ValidationError as error:
        yield "; ".join(f"options.{problem}" for problem in sorted(problems_of(error, reader.section, {})))
