"""huggingface: Parquet files that ``datasets.load_dataset`` reads, with a dataset card.

The rows are translations, conversations or ids; :mod:`nmt_prep.outputs.hf_rows` builds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nmt_prep.config import Config
from nmt_prep.config.outputs import HuggingFaceOptions
from nmt_prep.engines import Tick
from nmt_prep.outputs.card import Card, dataset_card
from nmt_prep.outputs.files import parquet_file
from nmt_prep.outputs.hf_rows import CORPUS, IdRows, Prompt, TextRows, english_name, parse_prompt
from nmt_prep.outputs.output import Form, Made, Output, ShardMade, ShardTask
from nmt_prep.outputs.pairs import IdPairs
from nmt_prep.outputs.vocabulary import copy_vocabularies, write_text
from nmt_prep.sides import SIDES


class HuggingFace(Output[HuggingFaceOptions]):
    """Writes ``train-00000-of-00004.parquet`` and ``README.md``, and vocabularies beside rows of ids."""

    kind = "huggingface"
    share = 1.0
    holds_corpus = True

    def form(self, options: HuggingFaceOptions, config: Config) -> Form:
        return "ids" if options.rows == "ids" else "text"

    def problems(self, options: HuggingFaceOptions, config: Config) -> Iterator[tuple[str, str]]:
        for split in config.splits:
            if re.fullmatch(r"\w+(\.\w+)*", split) is None:
                yield "kind", f"datasets does not allow the name of the split {split}; it must be letters, digits and _"
        if options.rows != "chat":
            for key in sorted({"prompts", "language_names"} & options.model_fields_set):
                yield key, f"is for chat rows, and rows is {options.rows}; leave it out"
            return
        for number, prompt in enumerate(options.prompts):
            try:
                parse_prompt(prompt)
            except ValueError as error:
                yield f"prompts.{number}", str(error)
        named = options.language_names is not None
        for side, code in (("source", config.languages.source), ("target", config.languages.target)):
            if not named and english_name(code) is None:
                yield "language_names", f"the English name of the {side} language {code} is not known; set this key"

    def write(self, task: ShardTask[HuggingFaceOptions], tick: Tick) -> ShardMade:
        rows = IdRows(task) if isinstance(task.pairs, IdPairs) else TextRows(task, _prompts(task.options, task))
        pairs = 0
        with parquet_file(task.directory, f"{task.label}.parquet", rows.schema, [CORPUS], rows.ids) as file:
            for batch, sizes in rows.batches():
                file.add(batch, sizes)
                pairs += len(batch)
                tick(len(batch))
        return ShardMade(pairs, (file.file.facts,), {})

    def finish(self, made: Made[HuggingFaceOptions]) -> None:
        if made.options.rows == "ids":
            copy_vocabularies(made.directory, made.run)
        write_text(made.directory / "README.md", dataset_card(_card(made)))


def _prompts(options: HuggingFaceOptions, task: ShardTask[HuggingFaceOptions]) -> tuple[Prompt, ...]:
    """Returns the prompts of chat rows, with the names of the languages; no prompts for other rows."""
    if options.rows != "chat":
        return ()
    given = options.language_names
    source, target = (
        (given.source, given.target) if given else (english_name(task.run.languages[side]) or "" for side in SIDES)
    )
    return tuple(parse_prompt(prompt).named(source, target) for prompt in options.prompts)


def _card(made: Made[HuggingFaceOptions]) -> Card:
    run, source, target = made.run, *(made.run.languages[side] for side in SIDES)
    columns = {
        "translation": {"translation": "the text of both sides, by language"},
        "chat": {"messages": "a prompt that asks for a translation, and the translation"},
        "ids": {
            "input_ids": "ids of the source, with the end of sentence",
            "labels": "ids of the target, with the end of sentence",
            "length": "number of input ids",
        },
    }[made.options.rows]
    return Card(
        name=run.name,
        languages=(source, target),
        pairs={split: made.pairs(split) for split in made.shards},
        corpora=run.corpora,
        licences=run.licences,
        columns={**columns, **({CORPUS: "name of the pair's corpus"} if made.options.corpus else {})},
        signature=f"nmt_prep|{run.name}|{source}-{target}|seed:{run.seed}|rows:{made.options.rows}|{run.fingerprint[:16]}",
    )


HUGGINGFACE = HuggingFace()
