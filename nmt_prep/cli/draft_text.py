"""Writes a draft as the YAML text of a config, with comments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

import yaml

from nmt_prep.cli.draft import SPLITS, Draft
from nmt_prep.config.yaml_text import parse_yaml
from nmt_prep.errors import ConfigError

_WIDTH = 100


def config_text(draft: Draft, file: str) -> str:
    """Returns the text of a config.

    Args:
        draft: what to write.
        file: name of the file, for comments.
    """
    lines = [
        f"# {draft.languages.source} to {draft.languages.target}. `nmt-prep check {file}` looks at the corpora,",
        f"# `nmt-prep run {file}` prepares the data, `nmt-prep schema` lists all keys.",
        *(f"# {line}" for line in wrap(draft.origin, _WIDTH - 2)),
        f"name: {_scalar(draft.name)}",
        f"languages: {{source: {_scalar(draft.languages.source)}, target: {_scalar(draft.languages.target)}}}",
        f"output_dir: {_scalar(draft.output_dir)}  # relative to the directory where the run is started",
        f"seed: {draft.seed}  # of the sample and the shuffle; the same seed gives the same data",
        "",
        *_splits(draft),
        "",
        *_clean(draft),
        "",
        *_vocab(draft),
        "",
        *_records(draft),
    ]
    return "\n".join(lines) + "\n"


def _splits(draft: Draft) -> Iterator[str]:
    yield "# Where corpora can come from: paths relative to this file, URLs, and ids of OPUS, mtdata and sacrebleu."
    yield "splits:"
    for split in SPLITS:
        corpora = draft.splits.get(split, [])
        remarks = draft.left_out.get(split, [])
        if corpora:
            yield f"  {split}:"
        for corpus in corpora:
            yield f"    - name: {_scalar(corpus.name)}"
            yield from _keys(corpus.keys, "      ")
        for remark in remarks:
            first, *rest = wrap(f"left out: {remark}", _WIDTH - 8)
            yield f"    # {first}"
            yield from (f"    #   {line}" for line in rest)
    if "dev" not in draft.splits:
        yield "  # dev:  # such as a test set of an earlier year; the vocabularies are built without it"
        yield f"  #   - {{name: wmt22, url: sacrebleu:wmt22/{draft.pair}}}"


def _keys(keys: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in keys.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _keys(value, f"{indent}  ")
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _clean(draft: Draft) -> Iterator[str]:
    yield "# Which pairs are dropped: the presets are light, standard and strict. docs/cleaning.md has all rules, and"
    yield "# `nmt-prep plan CONFIG --show-rules` prints those of a preset."
    mark = "# " if draft.clean is None else ""
    yield f"{mark}clean:"
    yield f"{mark}  preset: {draft.clean or 'standard'}"


def _vocab(draft: Draft) -> Iterator[str]:
    yield "vocab:"
    yield f"  kind: {draft.vocab}  # t2t, byte_bpe or sentencepiece"
    about = " (approximately)" if draft.vocab == "t2t" else ""
    yield f"  size: {draft.size}  # pieces of each vocabulary{about}"
    yield f"  shared: {str(draft.shared).lower()}  # true for one vocabulary for both sides"


def _records(draft: Draft) -> Iterator[str]:
    others = [split for split in SPLITS if split in draft.splits and split != "train"]
    counts = ", ".join(["train: 16", *(f"{split}: 1" for split in others)])
    yield "records:"
    yield f"  shards: {{{counts}}}  # files per split"
    yield "input:"
    yield "  batch_tokens: 4096  # tokens of a batch on either side, padding included"
    yield "  max_length: 256  # longer pairs are left out of batches"
    yield "# Files for other trainers, beside the records: marian, fairseq, huggingface and more, see docs/outputs.md."
    yield "# outputs: [{kind: marian}]"


def _scalar(text: str) -> str:
    """Returns a text as a YAML scalar that means the same to every YAML parser, also within braces."""
    if not set(text) & set(",[]{}") and _means_itself(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _means_itself(text: str) -> bool:
    try:
        return bool(parse_yaml(f"- {text}", "")[0] == [text] == yaml.safe_load(f"- {text}"))
    except (ConfigError, yaml.YAMLError):
        return False
