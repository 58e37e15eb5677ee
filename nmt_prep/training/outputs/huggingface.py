"""huggingface: Parquet files that ``datasets.load_dataset`` reads, with a dataset card.

The rows are translations, conversations with prompts, or ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from nmt_prep.base.columns import Ragged
from nmt_prep.base.digests import digest_of, seed_of
from nmt_prep.base.sides import SIDES
from nmt_prep.config import Config
from nmt_prep.config.outputs import HuggingFaceOptions
from nmt_prep.pipeline.engines import Tick
from nmt_prep.training.modifiers.draws import mixed
from nmt_prep.training.outputs.output import Form, Made, Output, RunFacts, ShardMade, ShardTask
from nmt_prep.training.outputs.output_files import parquet_file
from nmt_prep.training.outputs.output_pairs import IdBatch, IdPairs, TextBatch
from nmt_prep.training.outputs.vocabulary_files import copy_vocabularies, corpus_lines, write_lines

CORPUS = "corpus"  # Name of the column with the name of each pair's corpus
WEIGHT = "weight"  # Name of the column with the weight of each pair

LANGUAGE_PAIR = "language_pair"
"""Name of the column with the languages of each pair, in a run with several language pairs."""

Sized: TypeAlias = "tuple[pa.RecordBatch, npt.NDArray[np.int64]]"  # Rows, and the approximate bytes of each

_ROW_BYTES = 16
_PLACE = re.compile(r"\{([^{}]*)\}")
_PLACES = ("source", "source_language", "target_language")

_LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "ig": "Igbo", "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "ky": "Kyrgyz", "lb": "Luxembourgish", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "mg": "Malagasy", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi",
    "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian Bokmål", "ne": "Nepali", "nl": "Dutch",
    "nn": "Norwegian Nynorsk", "no": "Norwegian", "oc": "Occitan", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sd": "Sindhi", "si": "Sinhala", "sk": "Slovak",
    "sl": "Slovenian", "so": "Somali", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili",
    "ta": "Tamil", "te": "Telugu", "tg": "Tajik", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "tt": "Tatar",
    "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "xh": "Xhosa", "yo": "Yoruba", "zh": "Chinese",
    "zu": "Zulu",
}  # fmt: skip


@dataclass(frozen=True)
class Prompt:
    """A prompt: the text before and after the source."""

    before: str
    after: str

    def named(self, source: str, target: str) -> Prompt:

        def fill(text: str) -> str:
            return text.replace("{source_language}", source).replace("{target_language}", target)

        return replace(self, before=fill(self.before), after=fill(self.after))


def parse_prompt(text: str) -> Prompt:
    """Splits a prompt at ``{source}``."""
    places = _PLACE.findall(text)
    for name in places:
        if name not in _PLACES:
            raise ValueError(f"{{{name}}} is not one of {', '.join(f'{{{place}}}' for place in _PLACES)}")
    if places.count("source") != 1:
        raise ValueError("must have {source} once")
    before, after = text.split("{source}")
    return Prompt(before, after)


def english_name(code: str) -> str | None:
    """Returns the English name of a language, given its tag; None for an unknown language."""
    return _LANGUAGES.get(code.replace("_", "-").partition("-")[0].lower())


class IdRows:
    """Rows ``input_ids``, ``labels`` and ``length``, the number of input ids."""

    ids: ClassVar[tuple[str, ...]] = ("input_ids", "labels")
    """Columns of lists of ids."""

    def __init__(self, task: ShardTask[Any]) -> None:
        self._task = task
        ids = pa.list_(pa.int32())
        self.schema = pa.schema([("input_ids", ids), ("labels", ids), ("length", pa.int32()), *_other_fields(task)])

    def batches(self, tick: Tick) -> Iterator[Sized]:
        for batch in self._task.id_batches(tick):
            lengths = batch.sources.lengths
            columns = [_lists(batch.sources), _lists(batch.targets), pa.array(lengths.astype(np.int32))]
            columns += _other_columns(self._task, batch)
            sizes = 4 * (lengths + batch.targets.lengths) + _ROW_BYTES
            yield pa.record_batch(columns, schema=self.schema), sizes


class TextRows:
    """Rows ``translation``, or with prompts rows ``messages``."""

    ids: ClassVar[tuple[str, ...]] = ()
    """Columns of lists of ids."""

    def __init__(self, task: ShardTask[Any], prompts: tuple[Prompt, ...]) -> None:
        self._task = task
        self._codes = [task.run.codes[side] for side in SIDES]
        self._choices = len(task.options.prompts) if prompts else 0
        self._before = pa.array([prompt.before for prompt in prompts], pa.large_string())
        self._after = pa.array([prompt.after for prompt in prompts], pa.large_string())
        messages = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
        chat = pa.schema([("messages", messages), *_other_fields(task)])
        self.schema = chat if prompts else self._translation_schema()

    def batches(self, tick: Tick) -> Iterator[Sized]:
        position = self._task.start
        for batch in self._task.text_batches(tick):
            column = self._messages(batch, position) if len(self._before) else self._translations(batch)
            columns = [column, *_other_columns(self._task, batch)]
            bytes_of = pc.add(pc.binary_length(batch.sources), pc.binary_length(batch.targets))
            sizes = np.asarray(bytes_of.to_numpy(zero_copy_only=False), np.int64) + _ROW_BYTES
            yield pa.record_batch(columns, schema=self.schema), sizes
            position += len(batch)

    def _translation_schema(self) -> pa.Schema:
        features: dict[str, object] = {"translation": {"languages": self._codes, "_type": "Translation"}}
        for name, kind in _other_fields(self._task):
            features[name] = {"dtype": "string" if pa.types.is_string(kind) else "float32", "_type": "Value"}
        metadata = json.dumps({"info": {"features": features}})
        kind = pa.struct([(code, pa.string()) for code in self._codes])
        return pa.schema([("translation", kind), *_other_fields(self._task)], {"huggingface": metadata})

    def _translations(self, batch: TextBatch) -> pa.Array:
        return pa.StructArray.from_arrays(
            [batch.sources.cast(pa.string()), batch.targets.cast(pa.string())], self._codes
        )

    def _messages(self, batch: TextBatch, position: int) -> pa.Array:
        choice = drawn(self._task.run.seed, self._task.split, position, len(batch), self._choices)
        choice = pa.array(choice + self._choices * np.asarray(batch.corpora, np.int64))
        nothing = pa.scalar("", pa.large_string())
        questions = pc.binary_join_element_wise(
            pc.take(self._before, choice), batch.sources, pc.take(self._after, choice), nothing
        )
        if batch.context is not None:  # the answer begins after the translation of the context
            breaks = pc.if_else(pc.equal(batch.context, nothing), nothing, pa.scalar("\n", pa.large_string()))
            questions = pc.binary_join_element_wise(questions, breaks, batch.context, nothing)
        pairs = len(batch)
        order = np.arange(2 * pairs).reshape(2, pairs).T.ravel()  # question, answer, question, answer, …
        contents = pc.take(pa.concat_arrays([questions, batch.targets]), pa.array(order)).cast(pa.string())
        roles = pc.take(pa.array(["user", "assistant"]), pa.array(np.tile([0, 1], pairs)))
        messages = pa.StructArray.from_arrays([roles, contents], ["role", "content"])
        return pa.ListArray.from_arrays(pa.array(np.arange(0, 2 * pairs + 1, 2, dtype=np.int32)), messages)


def drawn(seed: int, split: str, position: int, count: int, choices: int) -> npt.NDArray[np.int64]:
    """Draws numbers below ``choices`` for consecutive positions of a split; int64, shape ``[count]``.

    A number depends only on position, seed and split.
    """
    key = np.array([seed_of(f"nmt_prep prompts 1\n{seed}\n{split}")], np.uint64)
    random = mixed(key, np.arange(position, position + count) - 1)
    scaled = (random >> np.uint64(32)) * np.uint64(choices)
    return (scaled >> np.uint64(32)).astype(np.int64)


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
    """Writes ``train-00000-of-00004.parquet`` and ``README.md``, and vocabularies beside rows of ids."""

    kind = "huggingface"
    holds_corpus = True

    def form(self, options: HuggingFaceOptions, config: Config) -> Form:
        return "ids" if options.rows == "ids" else "text"

    def tagged(self, options: HuggingFaceOptions) -> bool:
        return options.rows != "chat" if options.tags is None else options.tags

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
        if named and config.pairs is not None:
            yield "language_names", "is for one pair of languages; leave it out"
        pairs = {config.languages_of(corpus) for split in config.splits for corpus in config.directed(split)}
        for side, code in sorted({item for pair in pairs for item in pair.model_dump().items()}):
            if not named and english_name(code) is None:
                yield "language_names", f"the English name of the {side} language {code} is not known; set this key"

    def write(self, task: ShardTask[HuggingFaceOptions], tick: Tick) -> ShardMade:
        rows = IdRows(task) if isinstance(task.pairs, IdPairs) else TextRows(task, _prompts(task.options, task))
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
        write_lines(made.directory / "README.md", _card(made))


def _prompts(options: HuggingFaceOptions, task: ShardTask[HuggingFaceOptions]) -> tuple[Prompt, ...]:
    """Returns the prompts of chat rows, with the names of the languages, for each corpus; none for other rows."""
    if options.rows != "chat":
        return ()
    given = options.language_names
    names = [
        (given.source, given.target) if given else tuple(english_name(language) or "" for language in pair)
        for pair in task.run.pairs_of(task.split)
    ]
    return tuple(parse_prompt(prompt).named(source, target) for source, target in names for prompt in options.prompts)


def _card(made: Made[HuggingFaceOptions]) -> list[str]:
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
    """Returns an entry of the key ``configs`` of a card.

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
    """Returns the lines of the YAML header of a card."""
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
