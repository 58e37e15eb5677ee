"""Checks the list ``outputs``: names, splits, and what each kind can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nmt_prep.config import Config
from nmt_prep.config.problems import located
from nmt_prep.config.yaml_text import KeyPath
from nmt_prep.outputs import kind_of


def output_problems(config: Config, lines: Mapping[KeyPath, int]) -> Iterator[str]:
    """Yields the problems of the outputs of a config, each with its key.

    Args:
        config: the config, whose types were checked.
        lines: line numbers of keys, if known.
    """
    names: dict[str, int] = {}
    for number, options in enumerate(config.outputs):
        path: KeyPath = ("outputs", number)
        kind = kind_of(options)
        first = names.setdefault(options.directory, number)
        if first != number:
            yield (
                f"{located((*path, 'name'), lines)}: outputs.{first} is written to outputs/{options.directory} "
                "already; give one of them another name"
            )
        for split in sorted(set(options.shards) - set(config.splits)):
            yield (
                f"{located((*path, 'shards', split), lines)}: there is no split {split!r}; the splits are "
                f"{', '.join(config.splits)}"
            )
        if options.corpus and not kind.holds_corpus:
            yield (
                f"{located((*path, 'corpus'), lines)}: files of kind {options.kind} have no place for the name of a "
                "corpus; leave it out"
            )
        for key, problem in kind.problems(options, config):
            yield f"{located((*path, key), lines)}: {problem}"
    if config.records.export is not None and "text" in names:
        yield (
            f"{located(('records', 'export'), lines)}: stands for an output of kind text, and outputs.{names['text']} "
            "is written to outputs/text already; remove one of them"
        )
