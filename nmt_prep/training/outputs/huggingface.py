"""huggingface: Parquet files that ``datasets.load_dataset`` reads, with a dataset card.

The rows are translations, conversations with prompts, or IDs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from nmt_prep.base.columns import Ragged, concatenated
from nmt_prep.base.digests import digest_of
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.config.outputs import PROMPTED, HuggingFaceOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import parquet_file
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch
from nmt_prep.training.outputs.vocabulary_files import copy_file, copy_vocabularies, corpus_lines, write_lines
from nmt_prep.training.prompts import Prompter, language_problems

CORPUS = "corpus"  # Name of the column with the name of each pair's corpus
WEIGHT = "weight"  # Name of the column with the weight of each pair

LANGUAGE_PAIR = "language_pair"
"""Name of the column with each pair's languages, in a run with several language pairs."""

Sized: TypeAlias = "tuple[pa.RecordBatch, npt.NDArray[np.int64]]"  # Rows, and the approximate bytes of each

_ROW_BYTES = 16
_ROWS_AT_A_TIME = 8192  # Prompts may be much longer than texts
_IGNORED = -100  # The label of an ID that does not count for the loss

_COLUMNS = {
    "translation": ("translation",),
    "chat": ("messages",),
    "messages": ("messages",),
    "prompt_completion": ("prompt", "completion"),
    "preference": ("prompt", "chosen", "rejected"),
    "prompt_only": ("prompt", "reference"),
    "ids": ("input_ids", "labels", "length"),
    "causal": ("input_ids", "labels", "length"),
}
"""The columns for each kind of rows."""

_MEANINGS = {
    "translation": "the text of both sides, by language",
    "messages": "a prompt that asks for a translation, and the translation",
    "prompt": "asks for a translation",
    "completion": "the translation",
    "chosen": "the translation with the highest score",
    "rejected": "the translation with the lowest score",
    "reference": "a translation",
    "input_ids": "IDs of the source, with the end of sentence",
    "labels": "IDs of the target, with the end of sentence",
    "length": "number of input IDs",
}
_CAUSAL_MEANINGS = {
    "input_ids": "IDs of the prompt and of the translation",
    "attention_mask": "ones",
    "labels": f"IDs that count for the loss, {_IGNORED} for others",
}


class IdRows:
    """Rows ``input_ids``, ``labels`` and ``length``, the number of input IDs; causal ones with ``attention_mask``."""

    def __init__(self, task: ShardTask[Any]) -> None:
        self._task = task
        self.ids = ("input_ids", "attention_mask", "labels") if task.run.causal else ("input_ids", "labels")
        lists = [(name, pa.list_(pa.int32())) for name in self.ids]
        self.schema = pa.schema([*lists, ("length", pa.int32()), *_other_fields(task)])

    def batches(self, tick: Tick) -> Iterator[Sized]:
        for read in self._task.id_batches(tick):
            batch = read.rows() if self._task.run.causal else read
            inputs, labels = batch.sources, batch.targets
            lists = [inputs, labels]
            if self._task.run.causal:
                values, offsets = inputs.contiguous()
                labels = Ragged(np.where(batch.mask, values, _IGNORED).astype(np.int32), offsets)
                lists = [inputs, Ragged(np.ones_like(values), offsets), labels]
            lengths = pa.array(inputs.lengths.astype(np.int32))
            columns = [*map(_lists, lists), lengths, *_other_columns(self._task, batch)]
            yield pa.record_batch(columns, schema=self.schema), 4 * (inputs.lengths + labels.lengths) + _ROW_BYTES


class TextRows:
    """Rows ``translation``, or rows with prompts."""

    ids: ClassVar[tuple[str, ...]] = ()  # columns with lists of IDs

    def __init__(self, task: ShardTask[HuggingFaceOptions]) -> None:
        self._task = task
        self._codes = [task.run.codes[side] for side in SIDES]
        options, prompted = task.options, task.options.rows in PROMPTED
        pairs, files = task.run.pairs_of(task.split), (task.glossary, task.pools)
        self._prompter = Prompter.of(options, pairs, task.split, task.run.seed, *files) if prompted else None
        messages = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
        text = messages if options.has_messages else pa.string()
        columns = [(name, pa.string() if name == "reference" else text) for name in _COLUMNS[options.rows]]
        self.schema = pa.schema([*columns, *_other_fields(task)]) if prompted else self._translation_schema()

    def batches(self, tick: Tick) -> Iterator[Sized]:
        position = self._task.start
        for read in (part for whole in self._task.text_batches(tick) for part in whole.parts(_ROWS_AT_A_TIME)):
            batch, first, position = read, position, position + len(read)
            prompts = None if self._prompter is None else self._prompts(self._prompter, batch, first)
            if self._task.options.rows == "preference":  # other pairs have no rejected translation
                kept = np.flatnonzero(np.asarray(pc.not_equal(batch.links, "")))
                batch, prompts = batch.taken(kept), None if prompts is None else prompts.take(pa.array(kept))
            if prompts is None:
                sides = [lines.cast(pa.string()) for lines in (batch.sources, batch.targets)]
                columns = [pa.StructArray.from_arrays(sides, self._codes)]
            else:
                columns = self._prompted(prompts, batch)
            columns += _other_columns(self._task, batch)
            bytes_of = pc.add(pc.binary_length(batch.sources), pc.binary_length(batch.targets))
            sizes = np.asarray(bytes_of.to_numpy(zero_copy_only=False), np.int64) + _ROW_BYTES
            yield pa.record_batch(columns, schema=self.schema), sizes

    def _translation_schema(self) -> pa.Schema:
        features: dict[str, object] = {"translation": {"languages": self._codes, "_type": "Translation"}}
        for name, kind in _other_fields(self._task):
            features[name] = {"dtype": "string" if pa.types.is_string(kind) else "float32", "_type": "Value"}
        metadata = json.dumps({"info": {"features": features}})
        kind = pa.struct([(code, pa.string()) for code in self._codes])
        return pa.schema([("translation", kind), *_other_fields(self._task)], {"huggingface": metadata})

    def _prompts(self, prompter: Prompter, batch: TextBatch, first: int) -> pa.Array:
        prompts = prompter.filled(batch.sources, batch.targets, batch.corpora, first, batch.before)
        if batch.context is None or prompter.has("document context"):
            return prompts
        # the answer begins after the translation of the context
        return concatenated(prompts, pc.if_else(pc.equal(batch.context, ""), "", "\n"), batch.context)

    def _prompted(self, prompts: pa.Array, batch: TextBatch) -> list[pa.Array]:
        """Returns the columns of rows with prompts."""
        assert self._prompter is not None
        turns, answer = [("user", prompts)], ("assistant", batch.targets)
        if self._prompter.system is not None:
            systems = pa.array(self._prompter.systems, pa.large_string())
            turns.insert(0, ("system", systems.take(pa.array(batch.corpora))))
        others = {"prompt": turns, "messages": [*turns, answer], "rejected": [("assistant", batch.links)]}
        columns = []
        for name in _COLUMNS[self._task.options.rows]:
            content = others.get(name, [answer])
            is_list = pa.types.is_list(self.schema.field(name).type)
            columns.append(_conversations(content) if is_list else content[-1][1].cast(pa.string()))
        return columns


def _conversations(turns: Sequence[tuple[str, pa.Array]]) -> pa.Array:
    """Returns a conversation for each row, given the role and each turn's texts."""
    rows, count = len(turns[0][1]), len(turns)
    order = np.arange(count * rows).reshape(count, rows).T.ravel()  # turn by turn of each row
    contents = pc.take(pa.concat_arrays([lines for _, lines in turns]), pa.array(order)).cast(pa.string())
    roles = pc.take(pa.array([role for role, _ in turns]), pa.array(np.tile(np.arange(count), rows)))
    messages = pa.StructArray.from_arrays([roles, contents], ["role", "content"])
    return pa.ListArray.from_arrays(pa.array(np.arange(0, count * rows + 1, count, dtype=np.int32)), messages)


def _lists(rows: Ragged) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(rows.offsets.astype(np.int32)), pa.array(rows.values))


def _other_fields(task: ShardTask[Any]) -> list[tuple[str, pa.DataType]]:
    fields = [(CORPUS, pa.string())] if task.options.corpus else []
    fields += [(LANGUAGE_PAIR, pa.string())] if task.run.pairs else []
    return [*fields, (WEIGHT, pa.float32())] if task.weights else fields


def _other_columns(task: ShardTask[Any], batch: IdBatch | TextBatch) -> list[pa.Array]:
    columns = [corpus_lines(task.run, task.split, batch.corpora).cast(pa.string())] if task.options.corpus else []
    if task.run.pairs:
        names = pa.array([str(pair) for pair in task.run.pairs_of(task.split)])
        columns.append(names.take(pa.array(batch.corpora)))
    return columns if batch.weights is None else [*columns, pa.array(batch.weights)]


class HuggingFace(Output[HuggingFaceOptions]):
    """Writes ``train-00000-of-00004.parquet`` and ``README.md``, and vocabularies beside rows of IDs."""

    kind = "huggingface"
    holds_rows = True
    holds_corpus = True

    def form(self, options: HuggingFaceOptions, config: Config) -> Form:
        if options.rows in ("ids", "causal"):
            return "ids"
        return "preference" if options.rows == "preference" else "text"

    def tagged(self, options: HuggingFaceOptions) -> bool:
        return options.rows not in PROMPTED if options.tags is None else options.tags

    def problems(self, options: HuggingFaceOptions, config: Config) -> Iterator[tuple[str, str]]:
        for split in config.splits:
            if re.fullmatch(r"\w+(\.\w+)*", split) is None:
                yield "kind", f"datasets does not allow the name of the split {split}; it must be letters, digits and _"
        if options.rows == "causal" and config.records.layout != "causal":
            yield "rows", "causal rows come from records of layout causal; set records.layout"
        if options.rows == "ids" and config.records.causal:
            yield "rows", "ids are for an encoder and a decoder; set causal for records of layout causal"
        if options.rows not in PROMPTED:
            return
        scored = {score for _, corpus in config.corpora for score in corpus.scores}
        scored |= set() if config.clean is None else {"translation", "adequacy"}
        if options.score is not None and options.score not in scored:
            yield "score", f"no corpus has the score {options.score!r}; name one of scores of a corpus"
        if options.rows == "preference" and config.documents is not None:
            yield "rows", "preference is for single segments; remove the section documents"
        for problem in language_problems(options, config):
            yield "language_names", problem

    def write(self, task: ShardTask[HuggingFaceOptions], tick: Tick) -> ShardMade:
        rows = IdRows(task) if isinstance(task.pairs, IdPairs) else TextRows(task)
        pairs = 0
        names = [CORPUS, LANGUAGE_PAIR]
        with parquet_file(task.directory, f"{task.label}.parquet", rows.schema, names, rows.ids) as file:
            for batch, sizes in rows.batches(tick):
                file.add(batch, sizes)
                pairs += len(batch)
        return ShardMade(pairs, (file.file.facts,), {})

    def finish(self, made: Made[HuggingFaceOptions]) -> None:
        if made.options.rows == "ids":
            copy_vocabularies(made.directory, made.run)
        elif made.options.rows == "causal":
            path = made.run.vocabularies["target"].path
            copy_file(path, made.directory / path.name)
        write_lines(made.directory / "README.md", _card(made))


def _card(made: Made[HuggingFaceOptions]) -> list[str]:
    run, source, target = made.run, *(made.run.languages[side] for side in SIDES)
    rows = made.options.rows
    columns = {name: _MEANINGS[name] for name in _COLUMNS[rows]} | (_CAUSAL_MEANINGS if rows == "causal" else {})
    columns |= {CORPUS: "name of the pair's corpus"} if made.options.corpus else {}
    columns |= {LANGUAGE_PAIR: "languages of the pair, such as en-de"} if made.run.pairs else {}
    columns |= {WEIGHT: "weight of the pair in the loss"} if made.run.weighted else {}
    signature = f"nmt_prep|{run.name}|{source}-{target}|seed:{run.seed}|rows:{made.options.rows}|{run.fingerprint[:16]}"
    digests = {file.name: file.sha256 for shards in made.shards.values() for shard in shards for file in shard.files}
    config = card_config("default", "", made.shards, digests)
    return dataset_card(run, config, {split: made.pairs(split) for split in made.shards}, columns, signature)


HUGGINGFACE = HuggingFace()


_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B")


def card_config(name: str, directory: str, splits: Iterable[str], digests: Mapping[str, str]) -> dict[str, object]:
    """Returns an entry for a card's key ``configs``.

    ``datasets`` looks up cached rows by the names of directory and config, and this entry. The digest in it separates
    runs.
    """
    files = [{"split": split, "path": f"{directory}{split}-*.parquet"} for split in splits]
    return {"config_name": name, "description": f"content {digest_of(digests)[:16]}", "data_files": files}


def dataset_card(
    run: RunFacts, config: Mapping[str, object], pairs: Mapping[str, int], columns: Mapping[str, str], signature: str
) -> list[str]:
    """Returns a card as Markdown with a YAML header, which gives the Hub and ``load_dataset`` the splits and files."""
    source, target = run.languages["source"], run.languages["target"]
    tags = dict.fromkeys(tag for pairs in run.pairs.values() for pair in pairs for tag in pair)
    lines = card_head([*tags] or (source, target), sum(pairs.values()), {}, {"configs": [config]})
    directions = dict.fromkeys(f"{pair.source} to {pair.target}" for pairs in run.pairs.values() for pair in pairs)
    lines += [f"# {run.name}", "", f"Sentence pairs, {', '.join(directions) or f'{source} to {target}'}.", ""]
    lines += ["| split | pairs | corpora |", "|---|---|---|"]
    lines += [f"| {split} | {count:,} | {', '.join(run.corpora[split])} |" for split, count in pairs.items()]
    lines += ["", "| column | content |", "|---|---|"]
    lines += [f"| `{column}` | {meaning} |" for column, meaning in columns.items()]
    lines += ["", "## Licences", ""]
    names = dict.fromkeys(name for listed in run.corpora.values() for name in listed)
    lines += [f"- {name}: {plain_markdown(run.licences.get(name, 'not stated'))}" for name in names]
    lines += ["", "## Use", "", "```python", "from datasets import load_dataset", ""]
    lines += ['data = load_dataset("PATH_OR_OWNER/NAME")', "```", "", f"Signature: `{signature}`"]
    return lines


def card_head(
    languages: Sequence[str], pairs: int, licence: Mapping[str, object], files: Mapping[str, object]
) -> list[str]:
    """Returns the lines of a card's YAML header."""
    header = {
        "language": sorted({tag.replace("_", "-").partition("-")[0].lower() for tag in languages}),
        **licence,
        "multilinguality": ["translation"],
        "task_categories": ["translation"],
        "size_categories": [size_category(pairs)],
        **files,
    }
    return ["---", yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip(), "---", ""]


def plain_markdown(text: str) -> str:
    """Returns text on one line, with escapes so that Hugging Face sees no Markdown in it."""
    return re.sub(r"([\\`*_~|<>&$!#\[\]])", r"\\\1", " ".join(text.split()))


def size_category(pairs: int) -> str:
    """Returns the Hub's name for a size."""
    place = min(max(len(str(pairs)) - 3, 0), len(_SIZES) - 1)
    return "<n<".join(_SIZES[place - 1 : place + 1]) if place else "n<1K"
