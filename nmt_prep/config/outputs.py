"""The list ``outputs`` of a config: one model per kind, selected by ``kind``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from nmt_prep.config.section import Count, Name, Section

Layout: TypeAlias = Literal["example", "chunk", "packed", "text"]
RowLength = Annotated[Count, Field(ge=1, le=1024)]
Shards = dict[str, Annotated[Count, Field(ge=1, le=99_999)]]

LAYOUT = (
    "example, chunk, packed or text: a record is a tf.train.Example of one pair, about 256 pairs, about 256 pairs "
    "packed into rows, or the text of 256 pairs, which loaders encode"
)
ROW_LENGTH = "an integer from 1 to 1024: ids of a row on either side, for layout packed"


class OutputOptions(Section):
    """The keys that all entries of the list ``outputs`` share."""

    if TYPE_CHECKING:
        kind: str

    name: Name | None = None
    """letters, digits, dots, dashes and underscores, or null for the kind: the directory in outputs/"""
    shards: Shards = Field(default_factory=dict)
    """a mapping from splits to integers from 1 to 99999: the number of shards of a split, by default that of
    records.shards"""
    order: Literal["shuffled", "corpus"] = "shuffled"
    """shuffled or corpus: the order of the records, or that of the corpora and their lines"""
    corpus: bool = False
    """true or false: also write the name of each pair's corpus, if the kind has a place for it"""

    @property
    def directory(self) -> str:
        """Name of the directory of the output."""
        return self.name or self.kind


class MarianOptions(OutputOptions):
    """TSV files for Marian, and its vocabularies."""

    kind: Literal["marian"]
    """marian: the kind of output"""
    pieces: bool | None = None
    """true, false, or null for false with a SentencePiece model, else true: write pieces separated by spaces, or text
    that Marian segments by the SentencePiece model"""
    tags: bool = True
    """true or false: begin lines of text with the tags of their corpora"""
    alignments: bool = False
    """true or false: add a third column with links of pieces, for guided alignment; needs a section align"""


_LABELLED = (
    "Translate the following text from {source_language} into {target_language}.\n"
    "{source_language}: {source}\n{target_language}:"
)
DEFAULT_PROMPTS = (
    _LABELLED,
    "Translate into {target_language}: {source}",
    "{source}\n\nTranslate this {source_language} text into {target_language}.",
    "What is the {target_language} translation of the following sentence?\n{source}",
)


class LanguageNames(Section):
    """Names of the two languages in prompts."""

    source: str = Field(min_length=1)
    """a text: the name of the source language"""
    target: str = Field(min_length=1)
    """a text: the name of the target language"""


class HuggingFaceOptions(OutputOptions):
    """Parquet files for datasets and transformers, with a dataset card."""

    kind: Literal["huggingface"]
    """huggingface: the kind of output"""
    rows: Literal["translation", "chat", "ids"] = "translation"
    """translation, chat or ids: a row is a Translation, a conversation with one prompt and its answer, or input_ids,
    labels and length"""
    prompts: tuple[str, ...] = Field(DEFAULT_PROMPTS, min_length=1)
    """a list of texts with {source}, {source_language} and {target_language}: prompts of chat rows, of which each row
    draws one"""
    tags: bool | None = None
    """true, false, or null for true in translations and false in chat rows: begin the text with the tags of its
    corpus"""
    language_names: LanguageNames | None = None
    """{source: …, target: …}, or null for the English names: the names of the languages in prompts"""


class FairseqOptions(OutputOptions):
    """Binarized files for fairseq, and its dictionaries."""

    kind: Literal["fairseq"]
    """fairseq: the kind of output"""


class MegatronOptions(OutputOptions):
    """Indexed files for Megatron-LM and NeMo, with one sequence of ids per pair."""

    kind: Literal["megatron"]
    """megatron: the kind of output"""
    pair: str = Field("{source}{sep}{target}{eos}", min_length=1)
    """a text of {source}, {target}, {sep}, {eos}, {bos}, {pad}, {unk} and pieces of vocab.reserved between spaces: the
    sequence of a pair"""
    sep: str | None = Field(None, min_length=1)
    """a piece of vocab.reserved, or null for the end of sentence: the piece for {sep}"""


ListFormat: TypeAlias = Literal["list", "eole", "joey", "hf_marian", "subword_nmt"]


class TextOptions(OutputOptions):
    """Text files, one per side and shard, with one sentence per line."""

    kind: Literal["text"]
    """text: the kind of output"""
    pieces: bool = True
    """true or false: write pieces separated by spaces, or the text as it is in the corpus"""
    vocab: tuple[ListFormat, ...] = ("list",)
    """a list of list, eole, joey, hf_marian and subword_nmt: formats in which the vocabularies are written too: lists
    for tensorflow/nmt and Marian, for Eole or for JoeyNMT, the files of a MarianTokenizer, and those of
    learn-joint-bpe-and-vocab"""
    tags: bool = True
    """true or false: begin lines of text with the tags of their corpora"""
    alignments: bool = False
    """true or false: add a third file with the links of pieces; needs a section align"""
    documents: Literal["joined", "lines"] = "joined"
    """joined or lines: with a section documents, a window on each line, or a segment on each line and an empty line
    between documents, as Eole reads them (pieces: false)"""


AnyOutput: TypeAlias = Annotated[
    MarianOptions | HuggingFaceOptions | FairseqOptions | MegatronOptions | TextOptions,
    Field(discriminator="kind"),
]
